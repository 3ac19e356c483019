//! Working together at a terminal: a session with a front end that people see.

mod before;
mod choices;
mod editor;
mod files;
mod history;
mod host;
mod images;
mod look;
mod shell;

use std::io::IsTerminal;
use std::sync::Arc;

use clap::Parser;
use tiller_config::{ProjectTrust, config_dir};
use tiller_engine::{SandboxChoice, Session, Setup, Start, store};
use tiller_model::Catalog;
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_sandbox::Level;
use tiller_tui::app::{Confinement, Exit as Left, Info};
use tiller_tui::menu::Candidate;

use crate::args::Args;
use crate::doctor::confinement::means;
use crate::exit::Exit;
use crate::setup::{self, Parts};
use crate::{demo, explain};
use before::Before;
use host::World;

/// Whether somebody sits at a terminal.
pub(crate) fn is_possible(args: &Args) -> bool {
    args.plain || (std::io::stdin().is_terminal() && std::io::stdout().is_terminal())
}

/// Works with the user until they leave.
pub(crate) async fn run(mut args: Args, env: Env) -> anyhow::Result<Exit> {
    let manner = look::manner(&args, &env);
    let mut trust = before::Trust::default();
    args.at_terminal = trust.settle(&mut args, &env, &manner).await?;
    if args.at_terminal.is_none() {
        return Ok(Exit::Success);
    }
    match before::session(&mut args, &env, &manner).await? {
        Before::GoOn => {}
        Before::Leave => return Ok(Exit::Success),
    }
    let (mut start, mut mode) = (None, None);
    let mut prompt = args.prompt.clone();
    loop {
        let mut parts = match setup::build(&args, &env) {
            Ok(parts) => parts,
            Err(error) if before::is_missing_key(&error) => {
                let wants_demo = before::without_key(&explain(&error), &env, &manner).await?;
                return if wants_demo { demo::run(&env).await } else { Ok(Exit::Failure) };
            }
            Err(error) => return Err(error),
        };
        // The options say which session is the first; those that follow are chosen here.
        (args.resume, args.continue_latest, args.fork_session) = (None, false, false);
        parts.setup.mode = mode.take().or(parts.setup.mode);
        let (left, id) = Box::pin(work(parts, start.take(), prompt.take(), &args, &env, &manner)).await?;
        start = match left {
            Left::Cleared(kept) => {
                mode = Some(kept.mode);
                args.model = kept.model.or(args.model);
                Some(Start::Cleared)
            }
            Left::Resume(id) => Some(Start::Resume(id)),
            Left::Quit => {
                farewell(id, &env);
                return Ok(Exit::Success);
            }
            Left::Lost => {
                anyhow::bail!("the session ended unexpectedly; `tiller --resume {id}` continues it")
            }
        };
        // The next session stands apart from this one. That nobody reads it is no reason to fail.
        let _ = crate::text::print("");
        args.at_terminal = trust.settle(&mut args, &env, &manner).await?;
        if args.at_terminal.is_none() {
            return Ok(Exit::Success);
        }
    }
}

/// One session, from its start until it is left.
async fn work(
    parts: Parts,
    start: Option<Start>,
    prompt: Option<String>,
    args: &Args,
    env: &Env,
    manner: &tiller_tui::Manner,
) -> anyhow::Result<(Left, SessionId)> {
    let Parts { mut setup, facts, .. } = parts;
    if let Some(start) = start {
        setup.start = start;
    }
    let stage = Stage {
        model: facts.model,
        catalog: facts.catalog,
        commands: choices::commands(&facts.offered),
        prompt,
        advice: advice(args),
    };
    Box::pin(present(setup, stage, args, env, manner)).await
}

/// What a session is shown with.
pub(crate) struct Stage {
    /// The model, as it is called.
    pub(crate) model: String,
    /// What is known of models.
    pub(crate) catalog: Catalog,
    /// Commands and skills that the session carries out.
    pub(crate) commands: Vec<Candidate>,
    /// What is said first.
    pub(crate) prompt: Option<String>,
    /// What the user should know before anything else.
    pub(crate) advice: Vec<String>,
}

/// Shows a session that is no work of the user's, with their colours and keys.
pub(crate) async fn demonstrate(setup: Setup, stage: Stage, env: &Env) -> anyhow::Result<SessionId> {
    let mut args = Args::parse_from(["tiller"]);
    args.at_terminal = Some(ProjectTrust::Restricted);
    let manner = look::manner(&args, env);
    let (_, id) = Box::pin(present(setup, stage, &args, env, &manner)).await?;
    Ok(id)
}

/// Whether somebody sits at a terminal on which a session can be drawn.
pub(crate) fn can_draw(env: &Env) -> bool {
    let args = Args::parse_from(["tiller"]);
    is_possible(&args) && look::surface(&args, env) != tiller_tui::Surface::Plain
}

async fn present(
    setup: Setup,
    stage: Stage,
    args: &Args,
    env: &Env,
    manner: &tiller_tui::Manner,
) -> anyhow::Result<(Left, SessionId)> {
    let config_dir = config_dir(env);
    let window = stage.catalog.info(&stage.model).context_window;
    let models = choices::models(&stage.catalog, &setup.names, &stage.model);
    let (options, chosen) = look::options(args, env)?;
    let confinement = confinement(&setup.sandbox);
    let bypass_available = setup.bypass_available;
    let (session, past) = Session::start_with_past(setup)?;
    let (id, world) = (session.id, World::new(args, env.clone(), session.id, chosen));
    let info = Info {
        id,
        cwd: env.cwd.clone(),
        home: env.home.clone(),
        model: stage.model,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: session.mode,
        confinement,
        context_window: Some(window),
        models,
        plans: config_dir.join("plans"),
        bypass_available,
        commands: stage.commands,
        advice: stage.advice,
    };
    let start = tiller_tui::Start {
        commands: session.commands,
        events: session.events,
        past,
        info,
        options,
        history: history::load(&config_dir),
        prompt: stage.prompt,
        host: Arc::clone(&world) as Arc<dyn tiller_tui::host::Host>,
        surface: manner.surface,
    };
    let left = Box::pin(tiller_tui::run(start)).await?;
    world.end().await;
    Ok((left, id))
}

/// How commands are held, as far as settings and kernel decide it.
fn confinement(sandbox: &SandboxChoice) -> Confinement {
    let level = tiller_sandbox::probe().level.min(sandbox.at_most);
    let means = (level != Level::None).then(|| means(level).to_owned());
    Confinement { means, is_wanted: sandbox.enabled }
}

fn advice(args: &Args) -> Vec<String> {
    let restricted = args.at_terminal == Some(ProjectTrust::Restricted);
    let advice = "This project is not trusted: its agents, skills, commands and plugins, and what its settings would \
                  run or loosen, are left out; `tiller trust` changes that.";
    restricted.then(|| advice.to_owned()).into_iter().collect()
}

/// How to come back, if anything was said.
fn farewell(id: SessionId, env: &Env) {
    let project = fs_err::canonicalize(&env.cwd).unwrap_or_else(|_| env.cwd.clone());
    if store::latest(&config_dir(env), &project).is_some_and(|latest| latest.id == id) {
        // That nobody reads it is no reason to fail.
        let _ = crate::text::print(&format!("tiller --resume {id} continues this session"));
    }
}
