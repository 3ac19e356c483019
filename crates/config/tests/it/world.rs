//! A machine with a user, a project and a policy, all in one temporary directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tiller_config::{CommandLine, Places, ProjectTrust, Resolved, SettingsError};
use tiller_protocol::env::{Clock, Env, Ids};

struct Still;

impl Clock for Still {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

impl Ids for Still {
    fn next(&self) -> uuid::Uuid {
        uuid::Uuid::nil()
    }

    fn random(&self) -> f64 {
        0.0
    }
}

/// An environment with these variables.
pub(crate) fn env(vars: &[(&str, &str)]) -> Env {
    let vars: BTreeMap<_, _> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Env {
        clock: Arc::new(Still),
        ids: Arc::new(Still),
        vars: Arc::new(vars),
        home: "/home/u".into(),
        cwd: "/w".into(),
    }
}

pub(crate) struct World {
    dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs_err::canonicalize(self.dir.path()).unwrap().join(name)
    }

    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.write(name, content);
        self
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn env(&self) -> Env {
        Env { home: self.path("home"), cwd: self.path("project"), ..env(&[]) }
    }

    pub(crate) fn places(&self) -> Places {
        Places { managed: self.path("etc/managed-settings.json"), ..Places::of(&self.env()) }
    }

    pub(crate) fn load(&self) -> Resolved {
        self.load_with(&CommandLine::default()).unwrap()
    }

    pub(crate) fn load_with(&self, request: &CommandLine) -> Result<Resolved, SettingsError> {
        Resolved::load(&self.places(), request, &self.env(), ProjectTrust::Full)
    }

    pub(crate) fn load_restricted(&self) -> Resolved {
        let request = CommandLine::default();
        Resolved::load(&self.places(), &request, &self.env(), ProjectTrust::Restricted).unwrap()
    }

    /// A path without what differs from run to run.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(self.path("")).unwrap_or(path).display().to_string()
    }
}
