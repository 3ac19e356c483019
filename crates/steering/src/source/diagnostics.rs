//! `diagnostics`, `lsp_diagnostics`: problems that an editor or language servers have found.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{self, Diagnostic, FileDiagnostics, Severity, attach};

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
    /// All problems of the last time, and where they stood.
    known: Mutex<HashMap<Matter, Vec<Position>>>,
}

/// A problem wherever it stands: one that only moved with the lines around it is not new.
type Matter = (String, Severity, String, Option<String>);

/// Line and column.
type Position = (u64, u64);

impl<const SERVERS: bool> Diagnostics<SERVERS> {
    pub(super) fn new(provider: Option<Arc<dyn DiagnosticsProvider>>) -> Self {
        Self { provider, known: Mutex::default() }
    }

    /// The problems that were not there the last time.
    fn new_ones(&self, now: &[FileDiagnostics]) -> Vec<FileDiagnostics> {
        let mut present: HashMap<Matter, Vec<Position>> = HashMap::new();
        for (file, problem) in now.iter().flat_map(|file| file.diagnostics.iter().map(move |one| (file, one)))
        {
            present.entry(matter(file, problem)).or_default().push(position(problem));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fresh: HashMap<&Matter, Vec<Position>> = HashMap::new();
        for (matter, places) in &present {
            fresh.insert(matter, new_places(places, known.get(matter).map_or(&[], Vec::as_slice)));
        }
        let told = now.iter().map(|file| {
            let is_new = |problem: &&Diagnostic| {
                let places = fresh.get(&matter(file, problem));
                places.is_some_and(|places| places.contains(&position(problem)))
            };
            let diagnostics = file.diagnostics.iter().filter(is_new).cloned().collect();
            FileDiagnostics { uri: file.uri.clone(), diagnostics }
        });
        let told = told.filter(|file| !file.diagnostics.is_empty()).collect();
        *known = present;
        told
    }
}

fn matter(file: &FileDiagnostics, problem: &Diagnostic) -> Matter {
    (file.uri.clone(), problem.severity, problem.message.clone(), problem.source.clone())
}

fn position(problem: &Diagnostic) -> Position {
    (problem.line, problem.column)
}

/// As many places as there are more than before. Which of those that changed is the new one cannot be told; what stands
/// where it stood is none of them.
fn new_places(now: &[Position], before: &[Position]) -> Vec<Position> {
    let more = now.len().saturating_sub(before.len());
    let elsewhere = now.iter().rev().filter(|place| !before.contains(place));
    elsewhere.take(more).copied().collect()
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
    async fn a_problem_that_only_moved_is_not_new() {
        let trial = Trial::default().file("/p/a.rs", "x").seen("/p/a.rs");
        let provider = Arc::new(Scripted::default());
        let source = Diagnostics::<true>::new(Some(Arc::clone(&provider) as Arc<dyn DiagnosticsProvider>));
        provider.says([1, 2, 3]);
        assert_eq!(told(&observe(&source, &trial.facts, &trial).await).len(), 3);
        // Four lines were added above the last two.
        provider.says([1, 6, 7]);
        assert_eq!(told(&observe(&source, &trial.facts, &trial).await), Vec::<u64>::new());
        provider.says([1, 8, 9, 11]);
        assert_eq!(
            told(&observe(&source, &trial.facts, &trial).await),
            [11],
            "one more, although others moved"
        );
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
