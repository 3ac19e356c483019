//! What has to be settled before a session can begin: trust, which session, a key.

use tiller_config::{Danger, ProjectTrust, config_dir};
use tiller_model::ModelError;
use tiller_protocol::env::Env;
use tiller_tui::dialog::{ChoiceOption, TrustOutcome, TrustQuestion};
use tiller_tui::{Manner, ask_trust, choose, pick};

use super::choices::sessions;
use crate::args::Args;
use crate::{settings, trust as trusted};

/// What follows a question.
pub(super) enum Before {
    GoOn,
    Leave,
}

/// How far the project is trusted, asked before each session: its files may have changed since the last one.
#[derive(Default)]
pub(super) struct Trust {
    /// What the user said no to; the same is not asked twice.
    declined: Option<tiller_config::TrustQuestion>,
}

impl Trust {
    /// Asks if there is something to ask; nothing if the user would rather leave. What `--trust` covers is what is
    /// there when Tiller is started.
    pub(super) async fn settle(
        &mut self,
        args: &mut Args,
        env: &Env,
        manner: &Manner,
    ) -> anyhow::Result<Option<ProjectTrust>> {
        let given = std::mem::take(&mut args.trust);
        let Some(question) = trusted::question(&env.cwd, &settings::request(args)?, env)? else {
            return Ok(Some(ProjectTrust::Full));
        };
        if self.declined.as_ref() == Some(&question) {
            return Ok(Some(ProjectTrust::Restricted));
        }
        let outcome = if given { TrustOutcome::Trusted } else { ask(&question, manner).await? };
        Ok(match outcome {
            TrustOutcome::Trusted => {
                question.confirm(&config_dir(env))?;
                Some(ProjectTrust::Full)
            }
            TrustOutcome::Untrusted => {
                self.declined = Some(question);
                Some(ProjectTrust::Restricted)
            }
            TrustOutcome::Leave | TrustOutcome::Handled | TrustOutcome::Ignored => None,
        })
    }
}

async fn ask(question: &tiller_config::TrustQuestion, manner: &Manner) -> anyhow::Result<TrustOutcome> {
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
    Ok(ask_trust(shown, manner).await?)
}

/// `--resume` without an id lets the user choose.
pub(super) async fn session(args: &mut Args, env: &Env, manner: &Manner) -> anyhow::Result<Before> {
    if args.resume.as_deref() != Some("") {
        return Ok(Before::GoOn);
    }
    let sessions = sessions(env, "");
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

/// Whether there is no way to reach a model yet.
pub(super) fn is_missing_key(error: &anyhow::Error) -> bool {
    let is_setup = |cause: &(dyn std::error::Error + 'static)| matches!(cause.downcast_ref::<ModelError>(), Some(ModelError::Setup(text)) if text.starts_with("no credential"));
    error.chain().any(is_setup)
}

/// The line that sets a key, and where it goes.
fn key_in_shell(env: &Env) -> String {
    let shell = env.var("SHELL").and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let (line, file) = match shell {
        "fish" => ("set -gx ANTHROPIC_API_KEY sk-ant-...", "~/.config/fish/config.fish"),
        "zsh" => ("export ANTHROPIC_API_KEY=sk-ant-...", "~/.zshrc"),
        "bash" => ("export ANTHROPIC_API_KEY=sk-ant-...", "~/.bashrc"),
        _ => ("export ANTHROPIC_API_KEY=sk-ant-...", "~/.profile"),
    };
    format!(
        "Type this in your shell, with your own key from console.anthropic.com:\n\n  {line}\n\nAdd the line to {file} \
         to have it in every shell."
    )
}

/// Says what to do without a key; whether the user would like to watch the demo meanwhile.
pub(super) async fn without_key(problem: &str, env: &Env, manner: &Manner) -> anyhow::Result<bool> {
    let body = format!(
        "Tiller needs access to a model, which is not set up yet:\n\n{problem}.\n\n{}",
        key_in_shell(env)
    );
    let options = vec![
        ChoiceOption {
            label: "Watch the demo".to_owned(),
            detail: "a recorded model fixes a bug in a scratch repository; no account, no network".to_owned(),
        },
        ChoiceOption { label: "Leave".to_owned(), detail: "set the key, then start tiller again".to_owned() },
    ];
    Ok(choose("Welcome to Tiller", &body, options, manner).await? == Some(0))
}
