//! What a plugin brings besides what it says of itself.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::manifest::{Manifest, json, problem};
use crate::decode::{Dialect, decode};
use crate::definition::{Hook, HookEvent, HookGroup};
use crate::document::{Content, Node, steps};
use crate::error::Problem;
use crate::extension::folder::{Folder, PluginRoot, whole};
use crate::origin::{Layer, Origin, Sourced};

/// Characters that mean something to a shell, wherever they stand in a command.
const MEANINGFUL: [char; 6] = ['"', '\'', '`', '$', '\\', '\n'];

/// The folders of one kind: the usual one, and those the manifest names.
pub(super) fn folders(
    root: &PluginRoot,
    layer: Layer,
    kind: &str,
    further: &[String],
    manifest: &Origin,
    problems: &mut Vec<Problem>,
) -> Vec<Folder> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    let mut add = |dir: PathBuf| {
        if dir.is_dir() && !dirs.contains(&dir) {
            dirs.push(dir);
        }
    };
    add(root.dir.join(kind));
    for path in further {
        match inside(root, path).filter(|dir| dir.is_dir()) {
            Some(dir) => add(dir),
            None => {
                let text = format!("{path} is no folder of the plugin; it is left out");
                problems.push(Problem { key: kind.to_owned(), ..whole(manifest.clone(), &text) });
            }
        }
    }
    let folder =
        |dir| Folder { layer, dir, within: Some((root.dir.clone(), "plugin")), plugin: Some(root.clone()) };
    dirs.into_iter().map(folder).collect()
}

/// A path in the plugin, as its manifest writes it.
fn inside(root: &PluginRoot, path: &str) -> Option<PathBuf> {
    let path = root.expand(path);
    let below = Path::new(&path).strip_prefix(&root.dir).unwrap_or(Path::new(&path));
    let stays = below.components().all(|step| matches!(step, Component::Normal(_) | Component::CurDir));
    stays.then(|| {
        below.components().fold(root.dir.clone(), |dir, step| match step {
            Component::Normal(name) => dir.join(name),
            _ => dir,
        })
    })
}

/// The objects that a part of the manifest and the usual file consist of, with where they come from.
fn objects(
    root: &PluginRoot,
    layer: Layer,
    usual: &str,
    said: &[Node],
    manifest: &Origin,
) -> Result<Vec<(Node, Origin)>, Problem> {
    let mut objects = Vec::new();
    let mut files = vec![root.dir.join(usual)];
    for node in said {
        let path = match &node.content {
            Content::Scalar(Value::String(path)) => path,
            Content::Object(_) => {
                objects.push((node.clone(), manifest.clone()));
                continue;
            }
            _ => {
                return Err(Problem {
                    place: node.place,
                    ..whole(manifest.clone(), "is neither a file nor an object")
                });
            }
        };
        let file = inside(root, path).filter(|file| file.is_file());
        let file =
            file.ok_or_else(|| whole(manifest.clone(), &format!("{path} is no file of the plugin")))?;
        if !files.contains(&file) {
            files.push(file);
        }
    }
    for file in files {
        let origin = Origin::file(layer, file.clone());
        objects.extend(json(&file, &root.dir, &origin)?.map(|node| (node, origin)));
    }
    Ok(objects)
}

/// The hooks by event. A hook may be a guard, so what is wrong with one is wrong with the plugin.
pub(super) fn hooks(
    root: &PluginRoot,
    layer: Layer,
    manifest: &Manifest,
    problems: &mut Vec<Problem>,
) -> Result<BTreeMap<HookEvent, Vec<Sourced<HookGroup>>>, Problem> {
    let mut hooks: BTreeMap<HookEvent, Vec<Sourced<HookGroup>>> = BTreeMap::new();
    for (mut node, origin) in objects(root, layer, "hooks/hooks.json", &manifest.hooks, &manifest.origin)? {
        let events = node.remove(&steps("hooks")).unwrap_or(node);
        let only_hooks = Node { place: None, content: Content::Object(vec![("hooks".to_owned(), events)]) };
        let settings = decode(only_hooks, &origin, Dialect::Foreign, problems)
            .map_err(|error| problem(error, &origin))?;
        for (event, groups) in settings.hooks {
            for mut group in groups {
                place_in(root, &mut group).map_err(|text| whole(origin.clone(), &text))?;
                hooks.entry(event).or_default().push(Sourced { value: group, origin: origin.clone() });
            }
        }
    }
    Ok(hooks)
}

/// Writes the plugin's place into its commands.
fn place_in(root: &PluginRoot, group: &mut HookGroup) -> Result<(), String> {
    for hook in &mut group.hooks {
        let Hook::Command { command, .. } = hook else { continue };
        let placed = root.expand(command);
        if placed != *command && root.dir.to_string_lossy().contains(MEANINGFUL) {
            return Err("the path of the plugin has quotes, `$` or `\\` in it, which a shell would not take as they are; move \
                        the plugin"
                .to_owned());
        }
        *command = placed;
    }
    Ok(())
}

/// The MCP servers by name.
pub(super) fn mcp_servers(
    root: &PluginRoot,
    layer: Layer,
    manifest: &Manifest,
) -> Result<BTreeMap<String, Value>, Problem> {
    let mut servers = BTreeMap::new();
    for (node, _) in objects(root, layer, ".mcp.json", &manifest.mcp_servers, &manifest.origin)? {
        let mut value = node.to_value();
        let named = match value.get_mut("mcpServers") {
            Some(named) => named.take(),
            None => value,
        };
        let Value::Object(named) = named else { continue };
        servers.extend(named.into_iter().map(|(name, server)| (name, placed(root, server))));
    }
    Ok(servers)
}

fn placed(root: &PluginRoot, value: Value) -> Value {
    match value {
        Value::String(text) => root.expand(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| placed(root, item)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, placed(root, value))).collect()
        }
        other => other,
    }
}
