//! A project with language servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tiller_language::{Hold, Languages, Patience, Problem, Surroundings, Waits, Wish, languages};
use tiller_protocol::entry::Notice;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Nothing a test waits for takes longer than this, even on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// Time for what should not come.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

pub(crate) struct World {
    pub(crate) languages: Languages,
    dir: TempDir,
    notices: mpsc::UnboundedReceiver<Notice>,
}

/// What a world is made of.
pub(crate) struct Plan {
    pub(crate) wish: Wish,
    pub(crate) vars: Vec<(String, String)>,
    pub(crate) hold: Hold,
    pub(crate) patience: Patience,
}

impl Plan {
    /// A server for files that end in `.txt`, not confined.
    pub(crate) fn new(command: Vec<String>) -> Self {
        let wish =
            Wish { command, extensions: vec![".txt".to_owned()], confined: Some(false), ..Wish::default() };
        let hold: Hold = Arc::new(|_| panic!("it is not confined"));
        let patience = Patience { greeting: DEADLINE, ..Patience::default() };
        Self { wish, vars: Vec::new(), hold, patience }
    }

    pub(crate) fn begin(self) -> World {
        let dir = TempDir::new().unwrap();
        let (told, notices) = mpsc::unbounded_channel();
        let own = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let surroundings = Surroundings {
            folders: vec![dir.path().canonicalize().unwrap()],
            vars: Arc::new(own.chain(self.vars).collect::<BTreeMap<_, _>>()),
            hold: self.hold,
            tell: Arc::new(move |notice| told.send(notice).unwrap()),
            patience: self.patience,
        };
        let languages = Languages::new(languages([("text".to_owned(), self.wish)].into()), surroundings);
        World { languages, dir, notices }
    }
}

impl World {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Somebody else writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs_err::write(self.path(name), text).unwrap();
    }

    /// A tool writes a file.
    pub(crate) fn edit(&self, name: &str, text: &str) {
        self.write(name, text);
        self.languages.touched(&self.path(name));
    }

    /// Waits for reports as long as it takes.
    pub(crate) async fn settled(&self) {
        timeout(DEADLINE, self.languages.settle(equally(2 * DEADLINE))).await.unwrap();
    }

    pub(crate) fn problems(&self, name: &str) -> Vec<Problem> {
        let mut found = self.languages.problems(&[self.path(name)]);
        assert!(found.len() <= 1);
        found.pop().map(|file| file.problems).unwrap_or_default()
    }

    pub(crate) fn messages(&self, name: &str) -> Vec<String> {
        self.problems(name).into_iter().map(|problem| problem.message).collect()
    }

    /// What the user is told next.
    pub(crate) async fn notice(&mut self) -> String {
        timeout(DEADLINE, self.notices.recv()).await.unwrap().unwrap().content
    }

    pub(crate) fn is_quiet(&mut self) -> bool {
        self.notices.try_recv().is_err()
    }
}

/// As long after the start of a server as after a change.
pub(crate) fn equally(at_most: Duration) -> Waits {
    Waits { report: at_most, start: at_most }
}

pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}
