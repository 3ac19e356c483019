//! Which settings count, for commands that look at things as a session would.

use std::path::PathBuf;

use clap::Args;
use tiller_config::{CommandLine, Permissions, Places, ProjectTrust, Resolved, Settings, Sources};
use tiller_protocol::env::Env;

use crate::{complain, extensions, settings, trust};

/// The settings that count in a session that was started with these arguments, in a project that is trusted as far as it
/// is there. What is wrong with them was said when the session began.
pub(crate) fn of_session(typed: &crate::args::Args, env: &Env) -> anyhow::Result<Resolved> {
    let trust = typed.at_terminal.unwrap_or(ProjectTrust::Full);
    Ok(Resolved::load(&Places::of(env), &settings::request(typed)?, env, trust)?)
}

/// The options that say so. They mean what they mean for a session.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Scope {
    /// Additional settings: a file, or an object such as '{"model": "opus"}'
    #[arg(long, value_name = "FILE-OR-JSON")]
    settings: Option<String>,

    /// The settings files to use: user, project, local; "" for none
    #[arg(long, value_name = "SOURCES")]
    setting_sources: Option<Sources>,

    /// Ignore the project's settings
    #[arg(long)]
    no_project_settings: bool,

    /// Additional working directories
    #[arg(long, value_name = "DIR")]
    add_dir: Vec<PathBuf>,
}

impl Scope {
    /// What these options say in the words of settings.
    pub(crate) fn request(&self) -> CommandLine {
        let sources = self.setting_sources.unwrap_or_default();
        let additional_directories =
            self.add_dir.iter().map(|dir| dir.to_string_lossy().into_owned()).collect();
        CommandLine {
            flags: Settings {
                permissions: Permissions { additional_directories, ..Permissions::default() },
                ..Settings::default()
            },
            settings: self.settings.clone(),
            sources: if self.no_project_settings { sources.without_project() } else { sources },
        }
    }

    /// The settings that count. As in a headless run, those of the project do.
    pub(crate) fn load(&self, env: &Env) -> anyhow::Result<Resolved> {
        self.load_as(ProjectTrust::Full, env)
    }

    /// The same for what really runs: a project that nobody trusts yet loosens nothing.
    pub(crate) fn load_trusted(&self, env: &Env) -> anyhow::Result<Resolved> {
        if trust::question(&env.cwd, &self.request(), env)?.is_none() {
            return self.load_as(ProjectTrust::Full, env);
        }
        complain(
            "warning: this project is not trusted, so what its settings run or loosen does not count; see `tiller trust --show`",
        );
        self.load_as(ProjectTrust::Restricted, env)
    }

    fn load_as(&self, trust: ProjectTrust, env: &Env) -> anyhow::Result<Resolved> {
        let request = self.request();
        let mut settings = Resolved::load(&Places::of(env), &request, env, trust)?;
        for warning in &settings.warnings {
            complain(&format!("warning: {warning}"));
        }
        extensions::add_hooks(&mut settings, &mut extensions::found(request.sources, env));
        Ok(settings)
    }
}
