//! Where Tiller keeps its files, and where settings are.

use std::path::PathBuf;

use tiller_protocol::env::Env;

use crate::decode::Dialect;
use crate::extension::folder::Folder;
use crate::origin::Layer;
use crate::plugin::installed_dir;
use crate::request::{ProjectTrust, Sources};
use crate::{mcp, trust};

/// Folders of definitions that a user may have.
const DEFINITIONS: [&str; 5] = ["agents", "commands", "hooks", "output-styles", "skills"];

/// The configuration directory: `TILLER_CONFIG_DIR`, else `CLAUDE_CONFIG_DIR`, else `~/.tiller`.
#[must_use]
pub fn config_dir(env: &Env) -> PathBuf {
    match env.var_or_alias("TILLER_CONFIG_DIR", "CLAUDE_CONFIG_DIR") {
        Some(dir) => env.cwd.join(dir),
        None => env.home.join(".tiller"),
    }
}

/// Where settings are. A policy's place is fixed, so that no variable can move it.
#[derive(Clone, Debug)]
pub struct Places {
    /// The file of whoever runs the machine.
    pub managed: PathBuf,
    /// The configuration directory.
    pub config_dir: PathBuf,
    /// The configuration directory of the agent whose files are understood as well.
    pub foreign_dir: PathBuf,
    /// The directory Tiller was started in.
    pub project: PathBuf,
}

/// A file that settings can be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The user's, for all projects.
    User,
    /// The project's, for everybody who works on it.
    Project,
    /// The user's, for this project.
    Local,
}

impl Places {
    /// The places on this machine.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        let foreign_dir =
            env.var("CLAUDE_CONFIG_DIR").map_or_else(|| env.home.join(".claude"), |dir| env.cwd.join(dir));
        Self {
            managed: "/etc/tiller/managed-settings.json".into(),
            config_dir: config_dir(env),
            foreign_dir,
            project: env.cwd.clone(),
        }
    }

    /// The file to write to.
    #[must_use]
    pub fn target(&self, target: Target) -> PathBuf {
        match target {
            Target::User => self.config_dir.join("settings.json"),
            Target::Project => self.project.join(".tiller/settings.json"),
            Target::Local => self.project.join(".tiller/settings.local.json"),
        }
    }

    /// Every file that may hold settings, whether it is there or not, lowest first.
    #[must_use]
    pub fn all_files(&self) -> Vec<(Layer, PathBuf)> {
        let files = self.files(Sources::default()).into_iter().map(|(layer, _, path)| (layer, path));
        files.chain([(Layer::Managed, self.managed.clone())]).collect()
    }

    /// The files and folders that decide what is allowed or run: settings of every layer, and of what is not the
    /// project's also whom the user trusts, servers, and definitions of all kinds. What else is kept beside them changes as Tiller works.
    #[must_use]
    pub fn deciding(&self) -> Vec<PathBuf> {
        let settings = self.all_files().into_iter().map(|(_, path)| path);
        let definitions = [&self.config_dir, &self.foreign_dir]
            .into_iter()
            .flat_map(|dir| DEFINITIONS.map(|name| dir.join(name)));
        let own = [trust::FILE, mcp::USER_FILE].map(|name| self.config_dir.join(name));
        settings.chain(definitions).chain(own).chain([installed_dir(&self.config_dir)]).collect()
    }

    /// The file of another agent in which its users' servers stand, beside much else: beside its usual directory, or in a
    /// chosen one.
    #[must_use]
    pub fn foreign_servers(&self) -> PathBuf {
        match self.foreign_dir.ends_with(".claude") {
            true => self.foreign_dir.with_file_name(".claude.json"),
            false => self.foreign_dir.join(".claude.json"),
        }
    }

    /// The files of user and project that are to be read, lowest first.
    pub(crate) fn files(&self, sources: Sources) -> Vec<(Layer, Dialect, PathBuf)> {
        let claude = self.project.join(".claude");
        let levels = [
            (sources.user, Layer::User, self.foreign_dir.join("settings.json"), Target::User),
            (sources.project, Layer::Project, claude.join("settings.json"), Target::Project),
            (sources.local, Layer::Local, claude.join("settings.local.json"), Target::Local),
        ];
        let mut files: Vec<(Layer, Dialect, PathBuf)> = Vec::new();
        for (_, layer, foreign, own) in levels.into_iter().filter(|(wanted, ..)| *wanted) {
            let own = self.target(own);
            // Whoever starts Tiller in the home directory has one file in two roles: the first one counts.
            let mut add = |dialect, path: PathBuf| {
                if files.iter().all(|(_, _, known)| *known != path) {
                    files.push((layer, dialect, path));
                }
            };
            if foreign != own {
                add(Dialect::Foreign, foreign);
            }
            add(Dialect::Own, own);
        }
        files
    }

    /// The folders of a kind of definitions, such as `agents`, lowest first. Those of a project need trust.
    pub(crate) fn folders(&self, kind: &str, sources: Sources, trust: ProjectTrust) -> Vec<Folder> {
        let of_project = sources.project && trust == ProjectTrust::Full;
        let levels = [
            (sources.user, Layer::User, self.foreign_dir.clone()),
            (sources.user, Layer::User, self.config_dir.clone()),
            (of_project, Layer::Project, self.project.join(".claude")),
            (of_project, Layer::Project, self.project.join(".tiller")),
        ];
        let mut folders: Vec<Folder> = Vec::new();
        for (_, layer, dir) in levels.into_iter().filter(|(wanted, ..)| *wanted) {
            let dir = dir.join(kind);
            // As with settings, a folder in two roles has the first one.
            if folders.iter().all(|known| known.dir != dir) {
                let within = (layer == Layer::Project).then(|| (self.project.clone(), "project"));
                folders.push(Folder { layer, dir, within, plugin: None });
            }
        }
        folders
    }
}
