//! Plugins: folders that bring any of commands, agents, skills, output styles, hooks and MCP servers along.

mod install;
mod manifest;
mod part;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::definition::{HookEvent, HookGroup};
use crate::dirs::Places;
use crate::error::Problem;
use crate::extension::field::wrong_name;
use crate::extension::folder::{Folder, PluginRoot, entries, whole};
use crate::extension::named::{Named, add_over};
use crate::origin::{Layer, Origin, Sourced};
use crate::request::{ProjectTrust, Sources};
use manifest::Manifest;

pub use install::{Occupied, add_plugin, remove_plugin};

/// A plugin that can be used.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugin {
    /// Its name; what it brings is called `name:...`.
    pub name: String,
    /// Which version it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is good for.
    pub description: String,
    /// Where it is.
    pub dir: PathBuf,
    /// The hooks it brings.
    pub hooks: BTreeMap<HookEvent, Vec<Sourced<HookGroup>>>,
    /// The MCP servers it brings, by name, each as it would stand in `.mcp.json`.
    pub mcp_servers: BTreeMap<String, Value>,
    /// Who brings it, and its manifest or folder.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Named for Plugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// All plugins there are, and what is wrong with those that cannot be used.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    /// The plugins, each name once.
    pub all: Vec<Plugin>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

/// A plugin and where its definitions are.
pub(crate) struct Unpacked {
    pub(crate) plugin: Plugin,
    pub(crate) commands: Vec<Folder>,
    pub(crate) agents: Vec<Folder>,
    pub(crate) skills: Vec<Folder>,
    pub(crate) styles: Vec<Folder>,
}

impl Named for Unpacked {
    fn name(&self) -> &str {
        &self.plugin.name
    }

    fn origin(&self) -> &Origin {
        &self.plugin.origin
    }
}

/// Where plugins of the user are kept.
pub(crate) fn installed_dir(config_dir: &Path) -> PathBuf {
    config_dir.join("plugins")
}

/// Reads the plugins of all places: those that are given for a run win over those of the project, and these over those of
/// the user. Those of a project need trust.
pub(crate) fn unpack(
    places: &Places,
    sources: Sources,
    trust: ProjectTrust,
    given: &[PathBuf],
    problems: &mut Vec<Problem>,
) -> Vec<Unpacked> {
    let (user, project) = (installed_dir(&places.config_dir), places.project.join(".tiller/plugins"));
    let of_project = sources.project && trust == ProjectTrust::Full && user != project;
    let mut dirs: Vec<(Layer, PathBuf)> = Vec::new();
    for (_, layer, dir) in [(sources.user, Layer::User, user), (of_project, Layer::Project, project)]
        .iter()
        .filter(|place| place.0)
    {
        match folders_in(dir) {
            Ok(found) => dirs.extend(found.into_iter().map(|dir| (*layer, dir))),
            Err(error) => problems.push(whole(Origin::file(*layer, dir.clone()), &error.to_string())),
        }
    }
    dirs.extend(given.iter().map(|dir| (Layer::CommandLine, dir.clone())));
    let mut unpacked = Vec::new();
    for (layer, dir) in dirs {
        if layer == Layer::Project && leads_out(&places.project, &dir) {
            let text = "it leads out of the project; the plugin is left out";
            problems.push(whole(Origin::file(layer, dir), text));
        } else if let Some(plugin) = read(&dir, layer, problems) {
            add_over(&mut unpacked, plugin);
        }
    }
    unpacked
}

/// Whether a folder lies elsewhere, by a link in it or on the way to it. What a plugin brings may be read, and a project
/// must not say that of anything but itself.
fn leads_out(project: &Path, dir: &Path) -> bool {
    match (fs_err::canonicalize(project), fs_err::canonicalize(dir)) {
        (Ok(project), Ok(dir)) => !dir.starts_with(project),
        _ => true,
    }
}

/// The folders in a folder, sorted. What begins with a dot is none of a user's.
fn folders_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let shown = |entry: &fs_err::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let mut dirs: Vec<PathBuf> = entries(dir)?
        .into_iter()
        .filter(shown)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    dirs.sort();
    Ok(dirs)
}

/// Reads one plugin. One of which something is not understood that may be a guard is left out as a whole.
pub(crate) fn read(dir: &Path, layer: Layer, problems: &mut Vec<Problem>) -> Option<Unpacked> {
    match try_read(dir, layer, problems) {
        Ok(unpacked) => Some(unpacked),
        Err(mut problem) => {
            problem.text.push_str("; the plugin is left out");
            problems.push(problem);
            None
        }
    }
}

fn try_read(dir: &Path, layer: Layer, problems: &mut Vec<Problem>) -> Result<Unpacked, Problem> {
    let here = || Origin::file(layer, dir.to_owned());
    let dir = fs_err::canonicalize(dir).map_err(|error| whole(here(), &error.to_string()))?;
    let manifest = Manifest::read(&dir, layer, problems)?;
    let name = match &manifest.name {
        Some(name) => name.clone(),
        None => dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    if let Some(wrong) = wrong_plugin_name(&name) {
        return Err(Problem { key: "name".to_owned(), ..whole(manifest.origin, &wrong) });
    }
    let root = PluginRoot { name: name.clone(), dir: dir.clone() };
    let folders = |kind: &str, further: &[String], problems: &mut Vec<Problem>| {
        part::folders(&root, layer, kind, further, &manifest.origin, problems)
    };
    let commands = folders("commands", &manifest.commands, problems);
    let agents = folders("agents", &manifest.agents, problems);
    let skills = folders("skills", &manifest.skills, problems);
    let styles = folders("output-styles", &manifest.output_styles, problems);
    let hooks = part::hooks(&root, layer, &manifest, problems)?;
    let mcp_servers = part::mcp_servers(&root, layer, &manifest)?;
    let is_empty = [&commands, &agents, &skills, &styles].iter().all(|folders| folders.is_empty());
    if is_empty && hooks.is_empty() && mcp_servers.is_empty() {
        let text = "there is nothing in it: a plugin has commands, agents, skills, output-styles, hooks/hooks.json or .mcp.json";
        return Err(whole(here(), text));
    }
    let Manifest { version, description, origin, .. } = manifest;
    let plugin = Plugin { name, version, description, dir, hooks, mcp_servers, origin };
    Ok(Unpacked { plugin, commands, agents, skills, styles })
}

/// The name is a folder, and what stands before the first `:` of other names.
fn wrong_plugin_name(name: &str) -> Option<String> {
    let odd = (name.contains(':') || name.starts_with('.'))
        .then(|| "has a `:` in it or begins with a `.`".to_owned());
    wrong_name(name).or(odd)
}
