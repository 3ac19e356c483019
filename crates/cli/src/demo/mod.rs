//! `tiller demo`: the real loop, tools and permissions on a scratch repository, with a recorded model. Needs no account
//! and no network.

mod narrate;
mod scene;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use tiller_config::config_dir;
use tiller_engine::{
    CompactionChoice, Limits, PromptChoice, SandboxChoice, Session, Setup, Start, SteeringChoice,
};
use tiller_model::name::{Names, Provider};
use tiller_model::recording::Player;
use tiller_model::{Catalog, Model, Thinking};
use tiller_policy::Rules;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;

use crate::exit::Exit;
use crate::interactive::{self, Stage};
use narrate::Narrator;
use scene::Scene;

const RECORDING: &str = include_str!("recording.jsonl");
const PROMPT: &str = "./test.sh fails. Find out why and fix it.";
/// The answer to whatever else is said where one can go on.
const WHAT_FOLLOWS: &str = concat!(
    r#"{"blocks":[{"type":"text","text":"My recording ends here. Set `ANTHROPIC_API_KEY` and start `tiller` in a project of "#,
    r#"yours to go on with a model that answers."}],"usage":{"input_tokens":7000,"output_tokens":30}}"#,
    "\n"
);
/// How long each recorded word takes.
const PACE_MS: u64 = 75;
/// Nobody says more than this.
const FURTHER_PROMPTS: usize = 100;
const ADVICE: &str = "\
    This is the demo: the model's words are recorded. The loop, the tools, the permission checks and the repository are \
    real. Try /help, /context or /rewind afterwards; Ctrl+C pressed twice leaves.";
const HELP: &str = "\
Watch Tiller find and fix a bug in a scratch repository.

Usage: tiller demo

The model's words are recorded; the loop, the tools, the permission checks and the repository are real. No account and
no network are needed. The scratch repository stays for you to look at. At a terminal it is drawn as work is, and you
can look around afterwards; elsewhere, and where TERM is dumb, it is printed line by line. TILLER_DEMO_PACE_MS=0 plays
it as fast as it goes.
";

/// Runs the demo.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    match words.get(1).map(String::as_str) {
        None => {}
        Some("-h" | "--help") => {
            narrate::say(HELP)?;
            return Ok(Exit::Success);
        }
        Some(other) => {
            crate::complain_in_red(&format!(
                "tiller demo takes no options, but was given {other}; `tiller demo --help` says more"
            ));
            return Ok(Exit::Usage);
        }
    }
    crate::runtime()?.block_on(run(env))
}

/// Plays the demo to its end.
pub(crate) async fn run(env: &Env) -> anyhow::Result<Exit> {
    let scene = Scene::build(env)?;
    if interactive::can_draw(env) {
        return drawn(env, &scene).await;
    }
    let mut narrator = Narrator::new();
    narrator.opening(&scene, PROMPT)?;
    let mut session = Session::start(setup(env, &scene, RECORDING)?)?;
    session.commands.send(Command::Submit(UserInput::text(PROMPT))).await?;
    session.commands.send(Command::Close).await?;
    let mut outcome = None;
    while let Some(event) = session.events.recv().await {
        if let Event::Appended(entry) = &event
            && let Body::TurnEnded(end) = &entry.body
        {
            outcome = Some(end.outcome.clone());
        }
        narrator.event(&event)?;
        if matches!(event, Event::Closed) {
            break;
        }
    }
    narrator.closing(&scene, scene.diff()?.as_str(), session.id)?;
    match outcome {
        Some(Outcome::Success) => Ok(Exit::Success),
        Some(Outcome::Error { message, .. }) => anyhow::bail!("the demo failed: {message}"),
        other => anyhow::bail!("the demo did not come to its end: {other:?}"),
    }
}

/// The same as people see it who work with Tiller.
async fn drawn(env: &Env, scene: &Scene) -> anyhow::Result<Exit> {
    let stage = Stage {
        model: "recorded".to_owned(),
        catalog: Catalog::shipped()?,
        commands: Vec::new(),
        prompt: Some(PROMPT.to_owned()),
        advice: vec![ADVICE.to_owned()],
    };
    let place = Env { cwd: scene.dir.clone(), ..env.clone() };
    let recording = format!("{RECORDING}\n{}", WHAT_FOLLOWS.repeat(FURTHER_PROMPTS));
    let setup = Setup { interactive: true, ..setup(env, scene, &recording)? };
    let id = interactive::demonstrate(setup, stage, &place).await?;
    Narrator::new().closing(scene, scene.diff()?.as_str(), id)?;
    Ok(Exit::Success)
}

fn setup(env: &Env, scene: &Scene, recording: &str) -> anyhow::Result<Setup> {
    let env = Env { cwd: scene.dir.clone(), ..env.clone() };
    let places = BTreeMap::from([("cwd".to_owned(), scene.dir.display().to_string())]);
    let player = Player::new(recording, &places, Catalog::shipped()?)?.with_pace(pace(&env));
    let model: Arc<dyn Model> = Arc::new(player);
    Ok(Setup {
        config_dir: config_dir(&env),
        start: Start::New(None),
        additional_dirs: Vec::new(),
        persist: true,
        model,
        names: Names::new(Provider::FirstParty, &env),
        model_setting: None,
        fallback_model: None,
        registry: tiller_tools::built_in(),
        rules: Rules { allow: vec!["Bash(./test.sh)".parse()?], ..Rules::default() },
        sandbox: SandboxChoice::default(),
        hooks: BTreeMap::new(),
        mode: Some(Mode::AcceptEdits),
        default_mode: Mode::Default,
        bypass_available: false,
        interactive: false,
        mask_secrets: true,
        offline: false,
        prompt: PromptChoice::default(),
        user_context: true,
        limits: Limits { concurrency: tiller_config::tool_concurrency(&env), ..Limits::default() },
        agents: Vec::new(),
        recipes: Vec::new(),
        readable: Vec::new(),
        streaming_tools: true,
        stream_events: true,
        thinking: Thinking::ModelDefault,
        effort: None,
        betas: Vec::new(),
        steering: SteeringChoice::default(),
        compaction: CompactionChoice::default(),
        mcp: tiller_engine::McpChoice::default(),
        env,
    })
}

/// People at a terminal get time to read: the whole takes some ten seconds. A variable says otherwise.
fn pace(env: &Env) -> Duration {
    let usual = if std::io::stdout().is_terminal() { PACE_MS } else { 0 };
    let wanted = env.var("TILLER_DEMO_PACE_MS").and_then(|pace| pace.parse().ok());
    Duration::from_millis(wanted.unwrap_or(usual))
}
