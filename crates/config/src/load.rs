//! Reads all layers.

use std::io::ErrorKind;
use std::path::Path;

use tiller_protocol::env::{Env, is_yes};

use crate::decode::{Dialect, decode};
use crate::definition::Settings;
use crate::dirs::Places;
use crate::document::{Content, Node, steps};
use crate::error::{Problem, SettingsError};
use crate::key::{Key, keys};
use crate::origin::{Layer, Origin};
use crate::request::{CommandLine, ProjectTrust};

/// What one layer says, and who.
pub(crate) struct Said {
    pub(crate) origin: Origin,
    pub(crate) settings: Settings,
}

/// All layers, lowest first.
#[derive(Default)]
pub(crate) struct Layers {
    pub(crate) said: Vec<Said>,
    pub(crate) warnings: Vec<Problem>,
    /// Keys that the managed file keeps to itself.
    pub(crate) locked: Vec<&'static Key>,
}

/// Deny and ask rules only ever take away: nobody may lock them.
const NEVER_LOCKED: [&str; 2] = ["permissions.deny", "permissions.ask"];

impl Layers {
    /// Reads files, environment and command line.
    pub(crate) fn read(
        places: &Places,
        request: &CommandLine,
        env: &Env,
        trust: ProjectTrust,
    ) -> Result<Self, SettingsError> {
        let mut layers = Self::default();
        let managed = Origin::file(Layer::Managed, places.managed.clone());
        let policy = match read_file(&places.managed, &managed)? {
            Some(node) => Some(decode(node, &managed, Dialect::Own, &mut layers.warnings)?),
            None => None,
        };
        let locked = layers.locked_keys(policy.as_ref(), &managed)?;
        for (layer, dialect, file) in places.files(request.sources) {
            let origin = Origin::file(layer, file.clone());
            let Some(mut node) = read_file(&file, &origin)? else { continue };
            if origin.is_of_project() && trust == ProjectTrust::Restricted {
                leave_out_untrusted(&mut node, &layers.of_user());
            }
            layers.add(node, origin, dialect, &locked)?;
        }
        layers.add_known(environment(env), Layer::Environment, &locked)?;
        if let Some(text) = &request.settings {
            let (node, origin) = given(text, env)?;
            layers.add(node, origin, Dialect::Own, &locked)?;
        }
        layers.add_known(request.flags.clone(), Layer::CommandLine, &locked)?;
        layers.said.extend(policy.map(|settings| Said { origin: managed, settings }));
        layers.locked = locked;
        Ok(layers)
    }

    /// What the user says for all projects, lowest first.
    pub(crate) fn of_user(&self) -> Vec<Settings> {
        let of_user = self.said.iter().filter(|said| said.origin.layer == Layer::User);
        of_user.map(|said| said.settings.clone()).collect()
    }

    /// Adds what is known to be well-formed: without a lock there is nothing to check, and a start without settings
    /// files needs no schema.
    fn add_known(&mut self, settings: Settings, layer: Layer, locked: &[&Key]) -> Result<(), SettingsError> {
        let origin = Origin::layer(layer);
        if locked.is_empty() {
            self.said.push(Said { origin, settings });
            return Ok(());
        }
        let value = serde_json::to_value(&settings).map_err(std::io::Error::from)?;
        self.add(value.into(), origin, Dialect::Own, locked)
    }

    fn add(
        &mut self,
        mut node: Node,
        origin: Origin,
        dialect: Dialect,
        locked: &[&Key],
    ) -> Result<(), SettingsError> {
        let managed_only = steps("locked");
        if let Some(out) = node.remove(&managed_only).filter(|_| dialect == Dialect::Own) {
            let text = "works only in the managed file; it is ignored".to_owned();
            self.warnings.push(Problem {
                origin: origin.clone(),
                place: out.place,
                key: "locked".into(),
                text,
            });
        }
        for key in locked {
            let Some(out) = node.remove(&steps(&key.name)) else { continue };
            self.warnings.push(Problem {
                origin: origin.clone(),
                place: out.place,
                key: key.name.clone(),
                text: "the managed settings lock this; it is ignored".to_owned(),
            });
        }
        let settings = decode(node, &origin, dialect, &mut self.warnings)?;
        self.said.push(Said { origin, settings });
        Ok(())
    }

    /// The keys that a policy keeps to itself. `permissions` means all below it.
    fn locked_keys(
        &self,
        policy: Option<&Settings>,
        origin: &Origin,
    ) -> Result<Vec<&'static Key>, SettingsError> {
        let mut locked = Vec::new();
        for name in policy.into_iter().flat_map(|policy| &policy.locked) {
            let below = format!("{name}.");
            let mut meant =
                keys().iter().filter(|key| key.name == *name || key.name.starts_with(&below)).peekable();
            if meant.peek().is_none() {
                return Err(SettingsError::Restriction(Problem {
                    origin: origin.clone(),
                    place: None,
                    key: "locked".to_owned(),
                    text: format!("there is no key {name}"),
                }));
            }
            locked.extend(meant.filter(|key| !NEVER_LOCKED.contains(&key.name.as_str())));
        }
        Ok(locked)
    }
}

/// What environment variables say.
fn environment(env: &Env) -> Settings {
    Settings {
        streaming_tool_execution: env.var("TILLER_STREAMING_TOOL_EXECUTION").map(is_yes),
        auto_compact_enabled: env
            .var_or_alias("TILLER_DISABLE_AUTOCOMPACT", "DISABLE_AUTO_COMPACT")
            .filter(|said| is_yes(said))
            .map(|_| false),
        auto_compact_threshold_pct: env
            .var("TILLER_AUTOCOMPACT_PCT")
            .and_then(|said| said.trim().parse().ok()),
        diagnostics: env.var("TILLER_DIAGNOSTICS").map(is_yes),
        ..Settings::default()
    }
}

/// The object or file that `--settings` gives.
fn given(text: &str, env: &Env) -> Result<(Node, Origin), SettingsError> {
    if text.trim_start().starts_with('{') {
        let origin = Origin::layer(Layer::CommandLine);
        let parsed = Node::parse(text, &origin).map_err(|error| error.in_option("--settings"))?;
        return Ok((parsed, origin));
    }
    let file = env.cwd.join(text);
    let origin = Origin::file(Layer::CommandLine, file.clone());
    match read_file(&file, &origin)? {
        Some(node) => Ok((node, origin)),
        None => Err(SettingsError::NoSuchFile(file)),
    }
}

fn read_file(path: &Path, origin: &Origin) -> Result<Option<Node>, SettingsError> {
    match fs_err::read_to_string(path) {
        Ok(text) => Node::parse(text.trim_start_matches('\u{feff}'), origin).map(Some),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn leave_out_untrusted(node: &mut Node, of_user: &[Settings]) {
    for key in keys() {
        let path = steps(&key.name);
        let said = node
            .get(&path)
            .filter(|node| !matches!(&node.content, Content::Scalar(value) if value.is_null()));
        if said.is_some_and(|said| key.needs_trust_for(&said.to_value(), of_user)) {
            node.remove(&path);
        }
    }
}
