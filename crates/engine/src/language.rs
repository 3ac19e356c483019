//! Language servers for a session: how they are held, and what of their reports the model is told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tiller_config::LanguageServer;
use tiller_language::{Languages, Patience, Problem, Surroundings, Waits, Wish, languages};
use tiller_steering::attachment::{Diagnostic, FileDiagnostics, Severity};
use tiller_steering::source::DiagnosticsProvider;
use tiller_tools::Vault;

use crate::services::Services;
use crate::session::Aside;

/// Nobody waits for servers longer than this, whatever settings say.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What the settings say about language servers.
#[derive(Clone, Debug, Default)]
pub struct LanguageChoice {
    /// Whether there are any.
    pub enabled: bool,
    /// How long a request waits for their reports on what was just changed.
    pub wait: Duration,
    /// How long after the start of a server, until it has reported for the first time.
    pub start_wait: Duration,
    /// What is said about single languages.
    pub servers: BTreeMap<String, LanguageServer>,
}

/// Why what is said about a language can have no effect, if so.
#[must_use]
pub fn doubt_about_server(language: &str, server: &LanguageServer) -> Option<&'static str> {
    wish(server.clone()).doubt(language)
}

fn wish(server: LanguageServer) -> Wish {
    let LanguageServer { enabled, command, extensions, confined, initialization_options, settings } = server;
    Wish { enabled, command, extensions, confined, initialization_options, settings }
}

impl LanguageChoice {
    /// Nothing is started yet; none if there shall be no servers.
    pub(crate) fn begin(&self, services: &Services) -> Option<Arc<Languages>> {
        if !self.enabled {
            return None;
        }
        let (confiner, policy) = (Arc::clone(&services.confiner), services.policy.clone());
        let asides = services.asides.clone();
        let surroundings = Surroundings {
            folders: services.policy.now().roots.clone(),
            vars: Arc::clone(&services.env.vars),
            hold: Arc::new(move |permit| confiner.hold_server(permit, &policy.now())),
            // The session may be over; then nobody wants to know.
            tell: Arc::new(move |notice| _ = asides.send(Aside::Notice(notice))),
            patience: Patience::default(),
        };
        let wishes = self.servers.iter().map(|(name, server)| (name.clone(), wish(server.clone())));
        Some(Arc::new(Languages::new(languages(wishes.collect()), surroundings)))
    }

    /// Tells what they have found.
    pub(crate) fn provider(
        &self,
        languages: &Arc<Languages>,
        services: &Services,
    ) -> Arc<dyn DiagnosticsProvider> {
        Arc::new(Reporter { languages: Arc::clone(languages), secrets: Arc::clone(&services.secrets) })
    }

    /// How long a request waits for reports.
    pub(crate) fn waits(&self) -> Waits {
        Waits { report: self.wait.min(LONGEST_WAIT), start: self.start_wait.min(LONGEST_WAIT) }
    }
}

struct Reporter {
    languages: Arc<Languages>,
    secrets: Arc<Vault>,
}

impl DiagnosticsProvider for Reporter {
    fn diagnostics<'a>(&'a self, files: &'a [PathBuf]) -> BoxFuture<'a, Vec<FileDiagnostics>> {
        async move {
            let found = self.languages.problems(files).into_iter().map(|file| FileDiagnostics {
                uri: file.path.display().to_string(),
                diagnostics: file.problems.into_iter().map(|problem| self.told(problem)).collect(),
            });
            found.collect()
        }
        .boxed()
    }
}

impl Reporter {
    fn told(&self, problem: Problem) -> Diagnostic {
        Diagnostic {
            severity: match problem.severity {
                tiller_language::Severity::Error => Severity::Error,
                tiller_language::Severity::Warning => Severity::Warning,
                tiller_language::Severity::Info => Severity::Info,
            },
            line: problem.line,
            column: problem.column,
            // A message may quote the line.
            message: self.secrets.mask(&problem.message).into_owned(),
            source: problem.source,
        }
    }
}
