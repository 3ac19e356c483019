//! What a server has reported, file by file.
//!
//! Invariant: whatever a server reports, what is kept is bounded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// Problems that are kept of one report.
const MOST_OF_A_FILE: usize = 100;
/// Problems that are kept of files that are not open.
const MOST_ELSEWHERE: usize = 5_000;

/// How a report came. A server may use both ways for the same file, for different problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// The server sent it.
    Pushed,
    /// It was asked for.
    Pulled,
}

/// Whether a file is open in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    Elsewhere,
}

/// The last reports.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    files: HashMap<(PathBuf, Way), Vec<Problem>>,
    kept: usize,
}

impl Reports {
    /// Puts a report in the place of the last one of its kind.
    pub(crate) fn put(&mut self, path: PathBuf, way: Way, mut problems: Vec<Problem>, standing: Standing) {
        problems.sort();
        problems.dedup();
        problems.truncate(MOST_OF_A_FILE);
        let key = (path, way);
        if let Some(before) = self.files.remove(&key) {
            self.kept -= before.len();
        }
        let fits = standing == Standing::Open || self.kept + problems.len() <= MOST_ELSEWHERE;
        if !problems.is_empty() && fits {
            self.kept += problems.len();
            self.files.insert(key, problems);
        }
    }

    /// Forgets a file.
    pub(crate) fn forget(&mut self, path: &Path) {
        for way in [Way::Pushed, Way::Pulled] {
            self.put(path.to_owned(), way, Vec::new(), Standing::Open);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// All problems of a file, worst first.
    pub(crate) fn of(&self, path: &Path) -> Vec<Problem> {
        let report = |way| self.files.get(&(path.to_owned(), way)).into_iter().flatten().cloned();
        let mut all: Vec<Problem> = report(Way::Pushed).chain(report(Way::Pulled)).collect();
        all.sort();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity;

    fn problem(severity: Severity, line: u64) -> Problem {
        Problem { severity, line, column: 1, message: "odd".to_owned(), source: None }
    }

    #[test]
    fn a_report_replaces_the_last_one_of_its_way_only() {
        let mut reports = Reports::default();
        let path = Path::new("/p/a.rs");
        let (bad, odd) = (problem(Severity::Error, 9), problem(Severity::Warning, 1));
        reports.put(path.to_owned(), Way::Pushed, vec![odd.clone(), bad.clone()], Standing::Open);
        reports.put(path.to_owned(), Way::Pulled, vec![bad.clone()], Standing::Open);
        assert_eq!(reports.of(path), [bad.clone(), odd], "the worst first, each once");
        reports.put(path.to_owned(), Way::Pushed, Vec::new(), Standing::Open);
        assert_eq!(reports.of(path), [bad]);
        reports.forget(path);
        assert_eq!((reports.of(path), reports.kept), (Vec::new(), 0));
    }

    #[test]
    fn a_flood_is_bounded_and_open_files_are_not_drowned_in_it() {
        let mut reports = Reports::default();
        let many = |severity| (0..1_000).map(|line| problem(severity, line)).collect::<Vec<_>>();
        for number in 0..1_000 {
            let path = PathBuf::from(format!("/p/{number}.rs"));
            reports.put(path, Way::Pushed, many(Severity::Info), Standing::Elsewhere);
        }
        assert_eq!(reports.kept, MOST_ELSEWHERE);
        reports.put("/p/open.rs".into(), Way::Pushed, many(Severity::Error), Standing::Open);
        assert_eq!(reports.of(Path::new("/p/open.rs")).len(), MOST_OF_A_FILE);
    }
}
