//! The files that servers stand in.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tiller_protocol::env::Env;

use super::decode::is_name;
use super::{McpScope, PROJECT_FILE, USER_FILE};
use crate::dirs::Places;
use crate::document::Node;
use crate::error::{Problem, SettingsError};
use crate::origin::{Layer, Origin};
use crate::write::{self, update};

/// What a file holds; nothing if there is none.
pub(super) fn read(path: &Path, origin: &Origin) -> Result<Option<Value>, Problem> {
    let wrong = |text: String| Problem { origin: origin.clone(), place: None, key: String::new(), text };
    let text = match fs_err::read_to_string(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(wrong(error.to_string())),
    };
    match Node::parse(text.trim_start_matches('\u{feff}'), origin) {
        Ok(node) => Ok(Some(node.to_value())),
        Err(SettingsError::Syntax(problem)) => Err(problem),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// The object or file that `--mcp-config` gives. An object that names no `mcpServers` is one of servers.
pub(super) fn given(text: &str, env: &Env) -> Result<(Value, Origin), SettingsError> {
    let (value, origin) = if text.trim_start().starts_with('{') {
        let origin = Origin::layer(Layer::CommandLine);
        let parsed = Node::parse(text, &origin).map_err(|error| error.in_option("--mcp-config"))?;
        (parsed.to_value(), origin)
    } else {
        let path = env.cwd.join(text);
        let origin = Origin::file(Layer::CommandLine, path.clone());
        match read(&path, &origin) {
            Ok(Some(value)) => (value, origin),
            Ok(None) => return Err(SettingsError::NoSuchMcpFile(path)),
            Err(problem) => return Err(SettingsError::Syntax(problem)),
        }
    };
    let value =
        if value.get("mcpServers").is_some() { value } else { serde_json::json!({"mcpServers": value}) };
    Ok((value, origin))
}

/// Where a server of this scope stands: the file, and the way to it inside.
fn place(places: &Places, scope: McpScope) -> (PathBuf, Vec<String>) {
    let servers = "mcpServers".to_owned();
    match scope {
        McpScope::Project => (places.project.join(PROJECT_FILE), vec![servers]),
        McpScope::Local => {
            let project = places.project.to_string_lossy().into_owned();
            (places.config_dir.join(USER_FILE), vec!["projects".to_owned(), project, servers])
        }
        McpScope::User | McpScope::Plugin | McpScope::CommandLine => {
            (places.config_dir.join(USER_FILE), vec![servers])
        }
    }
}

/// Writes a server down, in place of one of the same name. Gives the file.
///
/// # Errors
/// When the name does not fit, or the file cannot be written.
pub fn add_mcp_server(
    places: &Places,
    scope: McpScope,
    name: &str,
    server: &Value,
) -> Result<PathBuf, SettingsError> {
    if !is_name(name) {
        let problem = "the name of a server may have letters, digits, - and _ only".to_owned();
        return Err(SettingsError::UnfitValue { key: name.to_owned(), problem });
    }
    let (file, mut path) = place(places, scope);
    path.push(name.to_owned());
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    update(&file, |editor| editor.set(&path, server))?;
    Ok(file)
}

/// Takes a server out. Gives the file, or nothing if there was no such server.
///
/// # Errors
/// When the file cannot be read or written.
pub fn remove_mcp_server(
    places: &Places,
    scope: McpScope,
    name: &str,
) -> Result<Option<PathBuf>, SettingsError> {
    let (file, mut path) = place(places, scope);
    let mut value = &write::read(&file)?;
    for step in &path {
        value = &value[step.as_str()];
    }
    if value.get(name).is_none() {
        return Ok(None);
    }
    path.push(name.to_owned());
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    update(&file, |editor| editor.remove(&path))?;
    Ok(Some(file))
}
