//! Which projects the user trusts: what their settings would run or loosen was shown and confirmed.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use tiller_protocol::env::Env;

use crate::agent::AgentDefinition;
use crate::definition::{HookGroup, Settings};
use crate::dirs::Places;
use crate::error::SettingsError;
use crate::extension::Extensions;
use crate::key::{Key, keys};
use crate::mcp::rows_of_project;
use crate::origin::{Layer, Origin, Sourced};
use crate::plugin::Plugin;
use crate::recipe::Recipe;
use crate::request::{CommandLine, ProjectTrust, Sources};
use crate::resolve::Resolved;
use crate::row::Row;
use crate::style::OutputStyle;
use crate::write::{self, update};

pub(crate) const FILE: &str = "trust.json";

/// What the user has to be asked before all of a project's settings count. Until then [`ProjectTrust::Restricted`] does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrustQuestion {
    /// The directory in question.
    pub project: PathBuf,
    /// What its files would run or loosen.
    pub concerns: Vec<Concern>,
}

/// One thing that a project's file would run or loosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Concern {
    /// The setting, its value, and the file it stands in.
    #[serde(flatten)]
    pub row: Row,
    /// What it would do.
    pub danger: Danger,
    /// What the setting means.
    pub meaning: String,
}

/// What a setting that needs trust would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Danger {
    /// Something is run, or decides what is run.
    Runs,
    /// Less is asked, refused or held back.
    Loosens,
}

impl TrustQuestion {
    /// The question for the directory that Tiller is started in; none if its files need no trust or have it.
    ///
    /// # Errors
    /// When the settings, or the file of trusted directories, cannot be read.
    pub fn of(places: &Places, request: &CommandLine, env: &Env) -> Result<Option<Self>, SettingsError> {
        let rows = all_untrusted(places, request, env)?;
        if is_trusted(&places.config_dir, &places.project, &rows)? {
            return Ok(None);
        }
        let concerns = rows.into_iter().map(Concern::new).collect();
        Ok(Some(Self { project: places.project.clone(), concerns }))
    }

    /// Remembers that the user said yes to exactly this.
    ///
    /// # Errors
    /// When the file of trusted directories cannot be written.
    pub fn confirm(&self, config_dir: &Path) -> Result<(), SettingsError> {
        let rows: Vec<Row> = self.concerns.iter().map(|concern| concern.row.clone()).collect();
        trust(config_dir, &self.project, &rows)
    }
}

impl Concern {
    fn new(row: Row) -> Self {
        let key = keys().iter().find(|key| is_about(&row, key));
        let danger = match row.key.split('.').next() {
            // Keys answer questions.
            _ if row.key.starts_with("terminal.keys.") => Danger::Loosens,
            Some(
                "agents" | "commands" | "skills" | "outputStyles" | "plugins" | "hooks" | "env"
                | "diagnostics" | "languageServers" | "mcpServers" | "terminal",
            ) => Danger::Runs,
            _ => Danger::Loosens,
        };
        Self { danger, meaning: key.map(|key| key.meaning.clone()).unwrap_or_default(), row }
    }
}

/// All that files of the project would run or loosen.
fn all_untrusted(places: &Places, request: &CommandLine, env: &Env) -> Result<Vec<Row>, SettingsError> {
    let mut rows = untrusted(&Resolved::load(places, request, env, ProjectTrust::Full)?);
    rows.extend(extensions_of_project(places, request.sources));
    if request.sources.project {
        rows.extend(rows_of_project(places));
    }
    Ok(rows)
}

/// Makes a change of the user's to a file of the project. If the project was trusted, it is so with this change, unless
/// something else has changed with it.
pub(crate) fn keeping_trust(
    places: &Places,
    env: &Env,
    is_meant: impl Fn(&Row) -> bool,
    change: impl FnOnce() -> Result<(), SettingsError>,
) -> Result<(), SettingsError> {
    let project = fs_err::canonicalize(&places.project).unwrap_or_else(|_| places.project.clone());
    let env = Env { cwd: project.clone(), ..env.clone() };
    let places = Places { project, ..places.clone() };
    // What cannot be read is not trusted, and no reason not to make the change.
    let rows = || all_untrusted(&places, &CommandLine::default(), &env).ok();
    let before = rows();
    let trusted = |rows: &Vec<Row>| is_trusted(&places.config_dir, &places.project, rows).unwrap_or(false);
    let before = before.filter(trusted);
    change()?;
    let (Some(before), Some(after)) = (before, rows()) else { return Ok(()) };
    let is_known = |row: &Row| before.contains(row) || is_meant(row);
    if before != after && !after.is_empty() && after.iter().all(is_known) {
        trust(&places.config_dir, &places.project, &after)?;
    }
    Ok(())
}

/// What the project's files would run or loosen, in the order of the settings.
#[must_use]
pub fn untrusted(resolved: &Resolved) -> Vec<Row> {
    let of_project = resolved.rows().into_iter().filter(|row| row.origin.is_of_project());
    of_project.filter(|row| needs_trust(row, &resolved.of_user)).collect()
}

/// What of the project would extend Tiller.
fn extensions_of_project(places: &Places, sources: Sources) -> Vec<Row> {
    let found = Extensions::load(places, sources, ProjectTrust::Full, &[]);
    let agents = found.agents.definitions.into_iter().filter(|agent| agent.origin.is_of_project());
    let recipes = found.recipes.all.into_iter().filter(|recipe| recipe.origin.is_of_project());
    let styles = found.styles.all.into_iter().filter(|style| style.origin.is_of_project());
    let plugins = found.plugins.all.into_iter().filter(|plugin| plugin.origin.is_of_project());
    agents
        .map(agent_row)
        .chain(recipes.map(recipe_row))
        .chain(styles.map(style_row))
        .chain(plugins.flat_map(|plugin| plugin_rows(&plugin)))
        .collect()
}

/// Characters of the text of an agent or a style that are shown.
const PROMPT_SHOWN: usize = 300;

/// An agent is shown with the beginning of its prompt as well.
fn agent_row(agent: AgentDefinition) -> Row {
    let (key, origin) = (format!("agents.{}", agent.name), agent.origin.clone());
    // The same wherever the project lies.
    let agent = AgentDefinition { origin: Origin::layer(Layer::Project), ..agent };
    let mut row = described(key, &agent.when_to_use, &agent, origin);
    row.value["prompt"] = beginning(&agent.prompt, PROMPT_SHOWN).into();
    if !agent.hooks.is_empty() {
        row.value["hooks"] = json!(agent.hooks);
    }
    row
}

fn beginning(text: &str, characters: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

fn recipe_row(recipe: Recipe) -> Row {
    let (key, origin) = (format!("{}s.{}", recipe.kind(), recipe.name), recipe.origin.clone());
    let recipe = Recipe { origin: Origin::layer(Layer::Project), folder: None, ..recipe };
    described(key, &recipe.description, &recipe, origin)
}

/// A style is nothing but what it asks for.
fn style_row(style: OutputStyle) -> Row {
    let (key, origin) = (format!("outputStyles.{}", style.name), style.origin.clone());
    let style = OutputStyle { origin: Origin::layer(Layer::Project), ..style };
    described(key, &beginning(&style.guidelines, PROMPT_SHOWN), &style, origin)
}

/// What is shown by name and description. The digest stands for the rest: trust ends when any of it changes.
fn described(key: String, description: &str, definition: &impl Serialize, origin: Origin) -> Row {
    // Only maps with odd keys could fail, and there are none.
    let definition = serde_json::to_value(definition).unwrap_or_default().to_string();
    let digest = blake3::hash(definition.as_bytes()).to_hex();
    Row { key, value: json!({"description": description, "digest": digest.as_str()}), origin }
}

/// Hooks and servers of a plugin are shown as they are.
fn plugin_rows(plugin: &Plugin) -> Vec<Row> {
    let mut rows = Vec::new();
    for (event, groups) in &plugin.hooks {
        let key = format!("plugins.{}.hooks.{}", plugin.name, event.name());
        let row = |group: &Sourced<HookGroup>| Row {
            key: key.clone(),
            value: serde_json::to_value(&group.value).unwrap_or_default(),
            origin: group.origin.clone(),
        };
        rows.extend(groups.iter().map(row));
    }
    let servers = plugin.mcp_servers.iter().map(|(name, server)| Row {
        key: format!("plugins.{}.mcpServers.{name}", plugin.name),
        value: server.clone(),
        origin: plugin.origin.clone(),
    });
    rows.extend(servers);
    rows
}

fn needs_trust(row: &Row, of_user: &[Settings]) -> bool {
    keys().iter().any(|key| is_about(row, key) && key.needs_trust_for(&row.value, of_user))
}

fn is_about(row: &Row, key: &Key) -> bool {
    row.key == key.name || row.key.strip_prefix(&key.name).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether the user has confirmed exactly this for the directory. Nothing needs no trust.
///
/// # Errors
/// When the file of trusted directories cannot be read.
pub fn is_trusted(config_dir: &Path, project: &Path, concerns: &[Row]) -> Result<bool, SettingsError> {
    if concerns.is_empty() {
        return Ok(true);
    }
    let known = write::read(&config_dir.join(FILE))?;
    let directory = directory(project);
    Ok(known["directories"].get(&directory).and_then(Value::as_str) == Some(&fingerprint(concerns)))
}

/// Remembers that the user has confirmed this for the directory.
///
/// # Errors
/// When the file of trusted directories cannot be written.
pub fn trust(config_dir: &Path, project: &Path, concerns: &[Row]) -> Result<(), SettingsError> {
    let (directory, fingerprint) = (directory(project), fingerprint(concerns));
    update(&config_dir.join(FILE), |file| {
        file.set(&["directories", &directory], &fingerprint.as_str().into())
    })
}

/// Forgets that the user trusts a directory. Says whether it was known.
///
/// # Errors
/// When the file of trusted directories cannot be read or written.
pub fn distrust(config_dir: &Path, project: &Path) -> Result<bool, SettingsError> {
    let known = trusted_directories(config_dir)?;
    // A directory that is gone is still known by the name it had.
    let names = [directory(project), project.to_string_lossy().into_owned()];
    let Some(name) = names.into_iter().find(|name| known.iter().any(|known| known == Path::new(name))) else {
        return Ok(false);
    };
    update(&config_dir.join(FILE), |file| file.remove(&["directories", &name]))?;
    Ok(true)
}

/// The directories of which something was confirmed.
///
/// # Errors
/// When the file of trusted directories cannot be read.
pub fn trusted_directories(config_dir: &Path) -> Result<Vec<PathBuf>, SettingsError> {
    let known = write::read(&config_dir.join(FILE))?;
    let directories = known["directories"].as_object().into_iter().flatten();
    Ok(directories.map(|(directory, _)| PathBuf::from(directory)).collect())
}

fn directory(project: &Path) -> String {
    let resolved = fs_err::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    resolved.to_string_lossy().into_owned()
}

/// The same for the same settings in the same files, wherever the project lies.
fn fingerprint(concerns: &[Row]) -> String {
    let mut hasher = blake3::Hasher::new();
    for row in concerns {
        let file = row.origin.file.as_deref().and_then(Path::file_name).unwrap_or_default();
        let text = json!([row.key, row.value, row.origin.layer, file.to_string_lossy()]);
        hasher.update(text.to_string().as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex().to_string()
}
