//! What a plugin says of itself.

use std::io::ErrorKind;
use std::path::Path;

use crate::document::{Content, Node};
use crate::error::{Problem, SettingsError};
use crate::extension::field::plain;
use crate::extension::folder::{read, whole};
use crate::origin::{Layer, Origin};

/// Our own manifest wins over the one that other agents read.
const FILES: [&str; 2] = [".tiller-plugin/plugin.json", ".claude-plugin/plugin.json"];

/// What a manifest says. A plugin without one goes by the name of its folder.
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) description: String,
    /// Folders besides the usual ones.
    pub(super) commands: Vec<String>,
    pub(super) agents: Vec<String>,
    pub(super) skills: Vec<String>,
    pub(super) output_styles: Vec<String>,
    /// Files, or what would stand in them.
    pub(super) hooks: Vec<Node>,
    pub(super) mcp_servers: Vec<Node>,
    pub(super) origin: Origin,
}

impl Manifest {
    pub(super) fn read(dir: &Path, layer: Layer, problems: &mut Vec<Problem>) -> Result<Self, Problem> {
        let mut manifest = Self {
            name: None,
            version: None,
            description: String::new(),
            commands: Vec::new(),
            agents: Vec::new(),
            skills: Vec::new(),
            output_styles: Vec::new(),
            hooks: Vec::new(),
            mcp_servers: Vec::new(),
            origin: Origin::file(layer, dir.to_owned()),
        };
        for file in FILES.map(|file| dir.join(file)) {
            let origin = Origin::file(layer, file.clone());
            if let Some(node) = json(&file, dir, &origin)? {
                manifest.origin = origin;
                manifest.take(node, problems)?;
                break;
            }
        }
        Ok(manifest)
    }

    fn take(&mut self, node: Node, problems: &mut Vec<Problem>) -> Result<(), Problem> {
        let Content::Object(fields) = node.content else { return Ok(()) };
        for (name, value) in fields {
            let place = value.place;
            let wrong = |text: &str| Problem { place, key: name.clone(), ..whole(self.origin.clone(), text) };
            let texts = || texts(&value).ok_or_else(|| wrong("is neither a text nor a list of texts"));
            match plain(&name).as_str() {
                "name" => self.name = Some(texts()?.join(" ")),
                "version" => self.version = Some(texts()?.join(" ")),
                "description" => self.description = texts()?.join(" "),
                "commands" => self.commands = texts()?,
                "agents" => self.agents = texts()?,
                "skills" => self.skills = texts()?,
                "outputstyles" => self.output_styles = texts()?,
                "hooks" => self.hooks = one_or_many(value),
                "mcpservers" => self.mcp_servers = one_or_many(value),
                "author" | "homepage" | "repository" | "license" | "keywords" | "$schema" | "category"
                | "tags" => {}
                _ => problems.push(wrong("is not known here and is left out")),
            }
        }
        Ok(())
    }
}

/// A JSON file of a plugin; nothing if there is none.
pub(super) fn json(file: &Path, dir: &Path, origin: &Origin) -> Result<Option<Node>, Problem> {
    let text = match read(file, Some(&(dir.to_owned(), "plugin"))) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(whole(origin.clone(), &error.to_string())),
    };
    Node::parse(text.trim_start_matches('\u{feff}'), origin).map(Some).map_err(|error| problem(error, origin))
}

/// What is wrong, without advice that is meant for settings.
pub(super) fn problem(error: SettingsError, origin: &Origin) -> Problem {
    match error {
        SettingsError::Syntax(problem) | SettingsError::Restriction(problem) => problem,
        other => whole(origin.clone(), &other.to_string()),
    }
}

fn texts(node: &Node) -> Option<Vec<String>> {
    let text = |node: &Node| match &node.content {
        Content::Scalar(value) => value.as_str().map(str::to_owned),
        _ => None,
    };
    match &node.content {
        Content::List(items) => items.iter().map(text).collect(),
        _ => text(node).map(|text| vec![text]),
    }
}

fn one_or_many(node: Node) -> Vec<Node> {
    match node.content {
        Content::List(items) => items,
        _ => vec![node],
    }
}
