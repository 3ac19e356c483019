//! `diagnostics`, `lsp_diagnostics`: problems that an editor or language servers have found.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{self, Diagnostic, FileDiagnostics, attach};

/// Problems that are told at once.
const MOST: usize = 30;

/// Whoever knows problems in files.
pub trait DiagnosticsProvider: Send + Sync {
    /// All problems in these files as they are now.
    fn diagnostics<'a>(&'a self, files: &'a [PathBuf]) -> BoxFuture<'a, Vec<FileDiagnostics>>;
}

/// Asks one provider: the editor, or the language servers.
pub(super) struct Diagnostics<const SERVERS: bool> {
    provider: Option<Arc<dyn DiagnosticsProvider>>,
    /// All problems of the last time.
    known: Mutex<HashSet<(String, Diagnostic)>>,
}

impl<const SERVERS: bool> Diagnostics<SERVERS> {
    pub(super) fn new(provider: Option<Arc<dyn DiagnosticsProvider>>) -> Self {
        Self { provider, known: Mutex::default() }
    }

    /// The problems that were not there the last time.
    fn new_ones(&self, now: &[FileDiagnostics]) -> Vec<FileDiagnostics> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = now.iter().map(|file| {
            let is_new = |problem: &&Diagnostic| !known.contains(&(file.uri.clone(), (*problem).clone()));
            let diagnostics = file.diagnostics.iter().filter(is_new).cloned().collect();
            FileDiagnostics { uri: file.uri.clone(), diagnostics }
        });
        let fresh = fresh.filter(|file| !file.diagnostics.is_empty()).collect();
        let every =
            now.iter().flat_map(|file| file.diagnostics.iter().map(|one| (file.uri.clone(), one.clone())));
        *known = every.collect();
        fresh
    }
}

impl<const SERVERS: bool> Source for Diagnostics<SERVERS> {
    const LABEL: &'static str = if SERVERS { "lsp_diagnostics" } else { "diagnostics" };
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["diagnostics"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let Some(provider) = &self.provider else { return Ok(Observation::nothing()) };
        let touched: Vec<PathBuf> = cx.files.iter().map(|seen| seen.path.clone()).collect();
        if touched.is_empty() {
            return Ok(Observation::nothing());
        }
        let files = self.new_ones(&provider.diagnostics(&touched).await);
        let found: usize = files.iter().map(|file| file.diagnostics.len()).sum();
        if found == 0 {
            return Ok(Observation::nothing());
        }
        let told = attachment::Diagnostics {
            files: worst(files),
            is_new: true,
            left_out: found.saturating_sub(MOST),
        };
        Ok(attach(&told, Self::LABEL, format!("{found} new problems were reported")).into())
    }
}

/// As many problems as are told, the worst of each file first.
fn worst(files: Vec<FileDiagnostics>) -> Vec<FileDiagnostics> {
    let mut room = MOST;
    let kept = files.into_iter().map(|mut file| {
        file.diagnostics.sort_by_key(|problem| (problem.severity, problem.line, problem.column));
        file.diagnostics.truncate(room);
        room -= file.diagnostics.len();
        file
    });
    kept.filter(|file| !file.diagnostics.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::ready;

    use super::super::trial::{Trial, observe};
    use super::*;
    use crate::attachment::Severity;

    #[derive(Default)]
    struct Scripted(Mutex<Vec<FileDiagnostics>>);

    impl DiagnosticsProvider for Scripted {
        fn diagnostics<'a>(&'a self, files: &'a [PathBuf]) -> BoxFuture<'a, Vec<FileDiagnostics>> {
            assert_eq!(files, [PathBuf::from("/p/a.rs")]);
            ready(self.0.lock().unwrap().clone()).boxed()
        }
    }

    impl Scripted {
        fn says(&self, lines: impl IntoIterator<Item = u64>) {
            let problem = |line| Diagnostic {
                severity: if line % 2 == 0 { Severity::Error } else { Severity::Warning },
                line,
                column: 1,
                message: "odd".to_owned(),
                source: None,
            };
            let diagnostics = lines.into_iter().map(problem).collect();
            *self.0.lock().unwrap() = vec![FileDiagnostics { uri: "/p/a.rs".to_owned(), diagnostics }];
        }
    }

    fn told(observation: &Observation) -> Vec<u64> {
        let Some(first) = observation.attachments.first() else { return Vec::new() };
        let problems = first.attachment["files"][0]["diagnostics"].as_array().unwrap();
        problems.iter().map(|problem| problem["line"].as_u64().unwrap()).collect()
    }

    // STEER-45
    #[tokio::test]
    async fn only_new_problems_are_told_by_either_source() {
        let trial = Trial::default().file("/p/a.rs", "x").seen("/p/a.rs");
        let provider = Arc::new(Scripted::default());
        let (editor, servers) = (
            Diagnostics::<false>::new(Some(Arc::clone(&provider) as Arc<dyn DiagnosticsProvider>)),
            Diagnostics::<true>::new(Some(Arc::clone(&provider) as Arc<dyn DiagnosticsProvider>)),
        );
        provider.says([1, 2]);
        assert_eq!(told(&observe(&editor, &trial.facts, &trial).await), [2, 1], "the worst come first");
        assert_eq!(told(&observe(&servers, &trial.facts, &trial).await), [2, 1]);
        provider.says([1, 2, 3]);
        assert_eq!(told(&observe(&editor, &trial.facts, &trial).await), [3]);
        provider.says([3]);
        assert_eq!(told(&observe(&editor, &trial.facts, &trial).await), Vec::<u64>::new());
        provider.says([2, 3]);
        assert_eq!(told(&observe(&editor, &trial.facts, &trial).await), [2], "it had gone and came back");
    }

    // STEER-45
    #[tokio::test]
    async fn many_problems_are_cut() {
        let trial = Trial::default().file("/p/a.rs", "x").seen("/p/a.rs");
        let provider = Arc::new(Scripted::default());
        provider.says(1..=50);
        let source = Diagnostics::<true>::new(Some(provider));
        let observation = observe(&source, &trial.facts, &trial).await;
        assert_eq!(told(&observation).len(), MOST);
        assert!(
            observation.attachments[0].rendered[0].as_text().unwrap().contains("(20 more are not listed)")
        );
    }

    #[tokio::test]
    async fn without_a_provider_there_are_no_problems() {
        let trial = Trial::default().file("/p/a.rs", "x").seen("/p/a.rs");
        assert_eq!(
            observe(&Diagnostics::<false>::new(None), &trial.facts, &trial).await,
            Observation::nothing()
        );
    }
}
