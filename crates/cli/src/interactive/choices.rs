//! What the user can choose from: sessions, models, output styles, files of instructions.

use std::path::PathBuf;

use jiff::Timestamp;
use tiller_config::config_dir;
use tiller_engine::store::{self, Head, LogFile};
use tiller_model::name::Names;
use tiller_model::{Catalog, ModelInfo};
use tiller_protocol::command::OutputStyle;
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_steering::source::{StyleError, all_styles, describe_style, find_style};
use tiller_steering::user_context::instructions;
use tiller_tui::app::ModelRow;
use tiller_tui::host::{InstructionRow, StyleRow};
use tiller_tui::menu::Candidate;
use tiller_tui::panel::SessionRow;

use crate::args::Args;
use crate::extensions::{self, Offered, OfferedRecipe};
use crate::inspect::size;

/// Short names of models.
const ALIASES: [&str; 5] = ["sonnet", "opus", "haiku", "fable", "opusplan"];
/// The file that instructions are written to where there are none yet.
pub(super) const INSTRUCTIONS: &str = "AGENTS.md";
/// The usual way to answer.
const USUAL_STYLE: &str = "default";

/// The sessions of the project in which something was said, newest first; only those in which these words were said, if
/// there are any.
pub(super) fn sessions(env: &Env, words: &str) -> Vec<SessionRow> {
    let project = fs_err::canonicalize(&env.cwd).unwrap_or_else(|_| env.cwd.clone());
    let row = |file: LogFile| {
        let head = file.head();
        let found = if words.is_empty() { None } else { Some(said(&file, words)?) };
        (!head.title.is_empty()).then(|| session_row(&file, head, found, env.now()))
    };
    store::here(&config_dir(env), &project).filter_map(row).collect()
}

/// Where words were said last in a session.
fn said(file: &LogFile, words: &str) -> Option<String> {
    let hit = store::search(&file.log, words).ok()?.pop()?;
    Some(format!("{}: {}", hit.role, hit.excerpt))
}

fn session_row(file: &LogFile, head: Head, found: Option<String>, now: Timestamp) -> SessionRow {
    let id: String = file.id.to_string().chars().take(8).collect();
    let branch = head.branch.map(|branch| format!("on {branch}"));
    let facts = [found, branch, Some(size(file.length)), Some(id)];
    SessionRow {
        id: file.id,
        age: ago(file, now),
        title: head.title,
        detail: facts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        elsewhere: None,
    }
}

/// Other sessions than this one.
pub(super) fn other_sessions(env: &Env, words: &str, current: SessionId) -> Vec<SessionRow> {
    let mut sessions = sessions(env, words);
    sessions.retain(|session| session.id != current);
    sessions
}

/// How long ago a session was used.
fn ago(file: &LogFile, now: Timestamp) -> String {
    let Ok(modified) = Timestamp::try_from(file.modified) else { return String::new() };
    let minutes = now.duration_since(modified).as_secs() / 60;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        1_440..2_880 => "yesterday".to_owned(),
        _ => format!("{} days ago", minutes / 1_440),
    }
}

/// The models that can be chosen: short names, those of the catalogue, and the one in use.
pub(super) fn models(catalog: &Catalog, names: &Names, current: &str) -> Vec<ModelRow> {
    let described = |name: &str, info: &ModelInfo| {
        let price =
            info.price(0).map(|price| format!(" · ${} in, ${} out per million", price.input, price.output));
        let lead = if name == info.id { String::new() } else { format!("{} · ", info.id) };
        let switch = if name == "opusplan" { "opus while planning · " } else { "" };
        let window = match info.context_window {
            million if million % 1_000_000 == 0 => format!("{}M", million / 1_000_000),
            other => format!("{}k", other / 1_000),
        };
        format!("{switch}{lead}{window} tokens{}", price.unwrap_or_default())
    };
    let row = |name: &str, info: &ModelInfo| ModelRow {
        name: name.to_ascii_lowercase(),
        id: info.id.to_ascii_lowercase(),
        detail: described(name, info),
        window: info.known.then_some(info.context_window),
    };
    let mut rows: Vec<ModelRow> =
        ALIASES.iter().map(|alias| row(alias, &catalog.info(&names.resolve(alias)))).collect();
    rows.extend(catalog.models().iter().map(|info| row(&info.id, info)));
    if rows.iter().all(|row| row.id != current.to_ascii_lowercase()) {
        rows.push(ModelRow { id: current.to_ascii_lowercase(), ..row(current, &catalog.info(current)) });
    }
    rows
}

/// Commands and skills that the user can call for.
pub(super) fn commands(offered: &Offered) -> Vec<Candidate> {
    let candidate = |recipe: &OfferedRecipe| Candidate {
        text: recipe.name.clone(),
        hint: recipe.argument_hint.clone(),
        help: recipe.description.clone(),
        source: recipe.source.clone(),
    };
    offered.commands().map(candidate).collect()
}

/// The output styles there are.
pub(super) fn styles(args: &Args, env: &Env, current: &str) -> Vec<StyleRow> {
    let row = |(name, path): (String, Option<PathBuf>)| {
        let own = || describe_style(&name).unwrap_or("comes with Tiller").to_owned();
        let source = path.map_or_else(own, |path| path.display().to_string());
        StyleRow { is_current: name.eq_ignore_ascii_case(current), name, source }
    };
    let mut rows: Vec<StyleRow> = all_styles(&styles_in_files(args, env)).into_iter().map(row).collect();
    rows.sort_by_key(|row| (!row.name.eq_ignore_ascii_case(USUAL_STYLE), row.name.clone()));
    rows
}

/// Those that count for this run: a project that is not trusted has none.
fn styles_in_files(args: &Args, env: &Env) -> Vec<tiller_config::OutputStyle> {
    extensions::of_run(args, env).styles.all
}

/// The output style of a name.
pub(super) fn style(args: &Args, env: &Env, name: &str) -> Result<OutputStyle, StyleError> {
    Ok(match find_style(name, &styles_in_files(args, env))? {
        Some(style) => OutputStyle { name: style.name, guidelines: Some(style.guidelines) },
        None => OutputStyle { name: USUAL_STYLE.to_owned(), guidelines: None },
    })
}

/// The files with instructions that hold here, and those that could be written.
pub(super) fn instruction_files(env: &Env) -> Vec<InstructionRow> {
    let config_dir = config_dir(env);
    let places = instructions::Places {
        config_dir: &config_dir,
        home: &env.home,
        working_directory: &env.cwd,
        may_read: &|_| true,
    };
    let detail = |lines: usize| if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    let found = instructions::find(places).into_iter();
    let mut rows: Vec<InstructionRow> = found
        .map(|file| InstructionRow { detail: detail(file.text.lines().count()), path: file.path })
        .collect();
    let new: [(PathBuf, &str); 2] = [
        (env.cwd.join(INSTRUCTIONS), "new: for everyone who works on this project"),
        (config_dir.join(INSTRUCTIONS), "new: for you, in all projects"),
    ];
    for (path, detail) in new {
        let is_there = rows.iter().any(|row| row.path.parent() == path.parent());
        if !is_there {
            rows.push(InstructionRow { path, detail: detail.to_owned() });
        }
    }
    rows
}
