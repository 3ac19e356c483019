//! What has to be settled before a session can begin: trust, which session, a key.

use jiff::Timestamp;
use tiller_config::{Danger, ProjectTrust, config_dir};
use tiller_engine::store::{self, SessionSummary};
use tiller_model::ModelError;
use tiller_protocol::env::Env;
use tiller_tui::dialog::{ChoiceOption, TrustOutcome, TrustQuestion};
use tiller_tui::panel::SessionRow;
use tiller_tui::{Manner, ask_trust, choose, pick};

use crate::args::Args;
use crate::{settings, trust as trusted};

/// What follows a question.
pub(super) enum Before {
    GoOn,
    Leave,
}

/// How far the project is trusted; nothing if the user would rather leave.
pub(super) async fn trust(args: &Args, env: &Env, manner: &Manner) -> anyhow::Result<Option<ProjectTrust>> {
    let Some(question) = trusted::question(&env.cwd, &settings::request(args)?, env)? else {
        return Ok(Some(ProjectTrust::Full));
    };
    if args.trust {
        return Ok(Some(ProjectTrust::Full));
    }
    let concern = |concern: &tiller_config::Concern| {
        let danger = match concern.danger {
            Danger::Runs => "run",
            Danger::Loosens => "loosen",
        };
        (format!("{danger} {}", concern.row.key), concern.row.value.to_string())
    };
    let shown = TrustQuestion {
        directory: question.project.clone(),
        concerns: question.concerns.iter().map(concern).collect(),
    };
    Ok(match ask_trust(shown, manner).await? {
        TrustOutcome::Trusted => {
            question.confirm(&config_dir(env))?;
            Some(ProjectTrust::Full)
        }
        TrustOutcome::Untrusted => Some(ProjectTrust::Restricted),
        TrustOutcome::Leave | TrustOutcome::Handled | TrustOutcome::Ignored => None,
    })
}

/// `--resume` without an id lets the user choose.
pub(super) async fn session(args: &mut Args, env: &Env, manner: &Manner) -> anyhow::Result<Before> {
    if args.resume.as_deref() != Some("") {
        return Ok(Before::GoOn);
    }
    let sessions = sessions(env);
    if sessions.is_empty() {
        anyhow::bail!("there is no session to continue in {}", env.cwd.display());
    }
    match pick(sessions, manner).await? {
        Some(id) => {
            args.resume = Some(id.to_string());
            Ok(Before::GoOn)
        }
        None => Ok(Before::Leave),
    }
}

/// The sessions of the project in which something was said, newest first.
pub(super) fn sessions(env: &Env) -> Vec<SessionRow> {
    let project = fs_err::canonicalize(&env.cwd).unwrap_or_else(|_| env.cwd.clone());
    let all = store::list(&config_dir(env), &project).into_iter();
    let row = |session: SessionSummary| SessionRow {
        id: session.id,
        age: ago(&session, env.now()),
        title: session.title,
        detail: String::new(),
        elsewhere: None,
    };
    all.filter(|session| !session.title.is_empty()).map(row).collect()
}

/// How long ago a session was used.
fn ago(session: &SessionSummary, now: Timestamp) -> String {
    let Ok(modified) = Timestamp::try_from(session.modified) else { return String::new() };
    let minutes = now.duration_since(modified).as_secs() / 60;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1_440),
    }
}

/// Whether there is no way to reach a model yet.
pub(super) fn is_missing_key(error: &anyhow::Error) -> bool {
    let is_setup = |cause: &(dyn std::error::Error + 'static)| matches!(cause.downcast_ref::<ModelError>(), Some(ModelError::Setup(text)) if text.starts_with("no credential"));
    error.chain().any(is_setup)
}

/// Says what to do without a key; whether the user would like to watch the demo meanwhile.
pub(super) async fn without_key(problem: &str, manner: &Manner) -> anyhow::Result<bool> {
    let body = format!("Tiller needs a model to talk to, and there is none yet.\n\n{problem}.");
    let options = vec![
        ChoiceOption {
            label: "Watch the demo".to_owned(),
            detail: "a recorded model fixes a bug in a scratch repository; no account, no network".to_owned(),
        },
        ChoiceOption { label: "Leave".to_owned(), detail: "and set a key".to_owned() },
    ];
    Ok(choose("Welcome to Tiller", &body, options, manner).await? == Some(0))
}
