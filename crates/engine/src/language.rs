//! Language servers for a session: how they are held, and what of their reports the model is told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tiller_config::LanguageServer;
use tiller_language::{Languages, Patience, Problem, Surroundings, Wish, languages};
use tiller_protocol::mode::Mode;
use tiller_steering::attachment::{Diagnostic, FileDiagnostics, Severity};
use tiller_steering::pipeline::BUDGET;
use tiller_steering::source::DiagnosticsProvider;
use tiller_tools::Vault;

use crate::policy::Standpoint;
use crate::services::Services;
use crate::session::Aside;

/// What is left of the time for attachments when servers have taken theirs.
const SPARE: Duration = Duration::from_millis(100);

/// What the settings say about language servers.
#[derive(Clone, Debug, Default)]
pub struct LanguageChoice {
    /// Whether there are any.
    pub enabled: bool,
    /// How long a request waits for their reports.
    pub wait: Duration,
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
        Arc::new(Reporter {
            languages: Arc::clone(languages),
            policy: services.policy.clone(),
            secrets: Arc::clone(&services.secrets),
            wait: self.wait.min(BUDGET.saturating_sub(SPARE)),
        })
    }
}

struct Reporter {
    languages: Arc<Languages>,
    policy: Standpoint,
    secrets: Arc<Vault>,
    wait: Duration,
}

impl DiagnosticsProvider for Reporter {
    fn diagnostics<'a>(&'a self, files: &'a [PathBuf]) -> BoxFuture<'a, Vec<FileDiagnostics>> {
        async move {
            // Servers that are told something may build something, which is not for planning.
            if self.policy.now().mode != Mode::Plan {
                self.languages.settle(self.wait).await;
            }
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
