//! From layers to one answer for every question.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;

use crate::definition::{
    DEFAULT_AUTO_COMPACT, DEFAULT_AUTO_COMPACT_PCT, DEFAULT_DIAGNOSTICS, DEFAULT_MASK, DEFAULT_MEMORY,
    DEFAULT_MODEL, DEFAULT_SANDBOX, DEFAULT_START_WAIT_MS, DEFAULT_STREAMING, DEFAULT_STYLE,
    DEFAULT_SUGGESTIONS, DEFAULT_VIM, DEFAULT_WAIT_MS, HookEvent, HookGroup, LanguageServer, ModelProvider,
    Network, RuleTest, Settings, TerminalTheme,
};
use crate::dirs::Places;
use crate::error::{Problem, SettingsError};
use crate::load::{Layers, Said};
use crate::origin::{Layer, Origin, Sourced};
use crate::plugin::Plugin;
use crate::request::{CommandLine, ProjectTrust};

/// The settings of a run. Lists hold what all layers say, lowest layer first; other values are those of the highest
/// layer that has one.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// The model, as a short name or an id.
    pub model: Sourced<String>,
    /// The model to switch to, if any.
    pub fallback_model: Sourced<Option<String>>,
    /// Where the models are hosted.
    pub provider: Sourced<ModelProvider>,
    /// What is to be known of models, by id.
    pub models: BTreeMap<String, Sourced<Map<String, Value>>>,
    /// Whether calls start while the model is still writing.
    pub streaming_tool_execution: Sourced<bool>,
    /// Whether the conversation is folded by itself.
    pub auto_compact_enabled: Sourced<bool>,
    /// How full the context is then, in percent.
    pub auto_compact_threshold_pct: Sourced<u64>,
    /// Variables for commands.
    pub env: BTreeMap<String, Sourced<String>>,
    /// Rules, mode and directories.
    pub permissions: ResolvedPermissions,
    /// Hooks by event.
    pub hooks: BTreeMap<HookEvent, Vec<Sourced<HookGroup>>>,
    /// How commands are confined.
    pub sandbox: ResolvedSandbox,
    /// What happens to credentials.
    pub secrets: ResolvedSecrets,
    /// What the web tools may reach.
    pub web: ResolvedWeb,
    /// How answers should be.
    pub output_style: Sourced<String>,
    /// The file whose text is repeated, absolute.
    pub ultra_memory_file: Sourced<Option<PathBuf>>,
    /// Whether earlier sessions are told.
    pub session_memory: Sourced<bool>,
    /// Whether the next message is proposed.
    pub prompt_suggestions: Sourced<bool>,
    /// What the model is told beside the prompt.
    pub steering: ResolvedSteering,
    /// Whether the model is told of problems that language servers find.
    pub diagnostics: Sourced<bool>,
    /// How long a request waits for them after an edit, in milliseconds.
    pub diagnostics_wait_ms: Sourced<u64>,
    /// How long after the start of a server, in milliseconds.
    pub diagnostics_start_wait_ms: Sourced<u64>,
    /// Language servers by language.
    pub language_servers: BTreeMap<String, Sourced<LanguageServer>>,
    /// Servers of the project's `.mcp.json` that are not started.
    pub disabled_mcpjson_servers: Vec<Sourced<String>>,
    /// Tiller at a terminal.
    pub terminal: ResolvedTerminal,
    /// What had to be left out.
    #[serde(skip)]
    pub warnings: Vec<Problem>,
    /// What the user says for all projects, lowest first: projects that are not trusted may not loosen it.
    #[serde(skip)]
    pub(crate) of_user: Vec<Settings>,
    /// Whether the managed file keeps hooks to itself.
    #[serde(skip)]
    pub hooks_are_locked: bool,
}

/// Rules, mode and directories.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedPermissions {
    /// What needs no question.
    pub allow: Vec<Sourced<String>>,
    /// What is always asked.
    pub ask: Vec<Sourced<String>>,
    /// What is refused.
    pub deny: Vec<Sourced<String>>,
    /// The mode of a new session.
    pub default_mode: Sourced<Mode>,
    /// Further working directories, absolute.
    pub additional_directories: Vec<Sourced<PathBuf>>,
    /// Whether the mode that asks nothing is refused.
    pub disable_bypass_permissions_mode: Sourced<bool>,
    /// Examples of what the rules are meant to do.
    pub tests: Vec<Sourced<RuleTest>>,
}

/// How commands are confined.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedSandbox {
    /// Whether they are.
    pub enabled: Sourced<bool>,
    /// Whether they may use the network.
    pub network: Sourced<Network>,
    /// Where else they may write, absolute.
    pub writable_caches: Vec<Sourced<PathBuf>>,
    /// Variables they get although their names look like credentials.
    pub keep_variables: Vec<Sourced<String>>,
    /// Commands that run unconfined once they are allowed.
    pub excluded_commands: Vec<Sourced<String>>,
}

/// What happens to credentials.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedSecrets {
    /// Whether they are masked before the model sees them.
    pub mask: Sourced<bool>,
}

/// What the model is told beside the prompt.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedSteering {
    /// Kinds of attachments to leave out.
    pub mute: Vec<Sourced<String>>,
}

/// Tiller at a terminal.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedTerminal {
    /// The colours, if any were chosen.
    pub theme: Sourced<Option<TerminalTheme>>,
    /// Whether the input has Vim keys.
    pub vim: Sourced<bool>,
    /// What keys do, by key.
    pub keys: BTreeMap<String, Sourced<String>>,
    /// The command that prints the status line, if there is one.
    pub status_line: Sourced<Option<String>>,
}

/// What the web tools may reach.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedWeb {
    /// Hosts that need no question.
    pub allowed_domains: Vec<Sourced<String>>,
}

impl Resolved {
    /// Reads all layers and decides.
    ///
    /// # Errors
    /// When a file cannot be read or is not JSON, when the managed file is not understood, and when something that
    /// restricts is not understood.
    pub fn load(
        places: &Places,
        request: &CommandLine,
        env: &Env,
        trust: ProjectTrust,
    ) -> Result<Self, SettingsError> {
        let layers = Layers::read(places, request, env, trust)?;
        let of_user = layers.of_user();
        let Layers { said, warnings, locked } = layers;
        let stack = Stack(&said);
        let absolute = |path: &String| absolute(path, &env.home, &env.cwd);
        Ok(Self {
            model: stack.highest(|s| s.model.clone(), DEFAULT_MODEL.to_owned()),
            fallback_model: stack.highest(|s| s.fallback_model.clone().map(Some), None),
            provider: stack.highest(|s| s.provider, ModelProvider::default()),
            models: stack.named(|s| &s.models),
            streaming_tool_execution: stack.highest(|s| s.streaming_tool_execution, DEFAULT_STREAMING),
            auto_compact_enabled: stack.highest(|s| s.auto_compact_enabled, DEFAULT_AUTO_COMPACT),
            auto_compact_threshold_pct: stack
                .highest(|s| s.auto_compact_threshold_pct, DEFAULT_AUTO_COMPACT_PCT),
            env: stack.named(|s| &s.env),
            permissions: ResolvedPermissions {
                allow: stack.all(|s| &s.permissions.allow),
                ask: stack.all(|s| &s.permissions.ask),
                deny: stack.all(|s| &s.permissions.deny),
                default_mode: stack.highest(|s| s.permissions.default_mode, Mode::Default),
                additional_directories: stack.map(|s| &s.permissions.additional_directories, absolute),
                disable_bypass_permissions_mode: stack
                    .highest(|s| s.permissions.disable_bypass_permissions_mode, false),
                tests: stack.all(|s| &s.permissions.tests),
            },
            hooks: stack.hooks(),
            sandbox: ResolvedSandbox {
                enabled: stack.highest(|s| s.sandbox.enabled, DEFAULT_SANDBOX),
                network: stack.highest(|s| s.sandbox.network, Network::default()),
                writable_caches: stack.map(|s| &s.sandbox.writable_caches, absolute),
                keep_variables: stack.all(|s| &s.sandbox.keep_variables),
                excluded_commands: stack.all(|s| &s.sandbox.excluded_commands),
            },
            secrets: ResolvedSecrets { mask: stack.highest(|s| s.secrets.mask, DEFAULT_MASK) },
            web: ResolvedWeb { allowed_domains: stack.all(|s| &s.web.allowed_domains) },
            output_style: stack.highest(|s| s.output_style.clone(), DEFAULT_STYLE.to_owned()),
            ultra_memory_file: stack
                .highest(|s| s.ultra_memory_file.as_ref().map(|file| Some(absolute(file))), None),
            session_memory: stack.highest(|s| s.session_memory, DEFAULT_MEMORY),
            prompt_suggestions: stack.highest(|s| s.prompt_suggestions, DEFAULT_SUGGESTIONS),
            steering: ResolvedSteering { mute: stack.all(|s| &s.steering.mute) },
            diagnostics: stack.highest(|s| s.diagnostics, DEFAULT_DIAGNOSTICS),
            diagnostics_wait_ms: stack.highest(|s| s.diagnostics_wait_ms, DEFAULT_WAIT_MS),
            diagnostics_start_wait_ms: stack.highest(|s| s.diagnostics_start_wait_ms, DEFAULT_START_WAIT_MS),
            language_servers: stack.named(|s| &s.language_servers),
            disabled_mcpjson_servers: stack.all(|s| &s.disabled_mcpjson_servers),
            terminal: ResolvedTerminal {
                theme: stack.highest(|s| s.terminal.theme.map(Some), None),
                vim: stack.highest(|s| s.terminal.vim, DEFAULT_VIM),
                keys: stack.named(|s| &s.terminal.keys),
                status_line: stack.highest(|s| s.terminal.status_line.clone().map(Some), None),
            },
            warnings,
            of_user,
            hooks_are_locked: locked.iter().any(|key| key.name == "hooks"),
        })
    }

    /// Adds the hooks of plugins behind all others, unless a policy keeps hooks to itself.
    pub fn add_hooks_of(&mut self, plugins: &[Plugin]) {
        for plugin in plugins.iter().filter(|plugin| !plugin.hooks.is_empty()) {
            if self.hooks_are_locked {
                let text = "the managed settings lock hooks; those of the plugin do not run".to_owned();
                let (origin, key) = (plugin.origin.clone(), "hooks".to_owned());
                self.warnings.push(Problem { origin, place: None, key, text });
                continue;
            }
            for (event, groups) in &plugin.hooks {
                self.hooks.entry(*event).or_default().extend(groups.iter().cloned());
            }
        }
    }
}

/// Layers, lowest first.
struct Stack<'a>(&'a [Said]);

impl Stack<'_> {
    fn highest<T>(&self, get: impl Fn(&Settings) -> Option<T>, default: T) -> Sourced<T> {
        let said = self.0.iter().rev();
        let mut values =
            said.filter_map(|said| get(&said.settings).map(|value| (value, said.origin.clone())));
        let (value, origin) = values.next().unwrap_or_else(|| (default, Origin::layer(Layer::Default)));
        Sourced { value, origin }
    }

    fn all<T: Clone>(&self, get: impl Fn(&Settings) -> &Vec<T>) -> Vec<Sourced<T>> {
        self.map(get, T::clone)
    }

    fn map<T, U>(&self, get: impl Fn(&Settings) -> &Vec<T>, map: impl Fn(&T) -> U) -> Vec<Sourced<U>> {
        let mut all = Vec::new();
        for said in self.0 {
            let values = get(&said.settings).iter();
            all.extend(values.map(|value| Sourced { value: map(value), origin: said.origin.clone() }));
        }
        all
    }

    /// By name, what the highest layer says of each.
    fn named<T: Clone>(
        &self,
        get: impl Fn(&Settings) -> &BTreeMap<String, T>,
    ) -> BTreeMap<String, Sourced<T>> {
        let mut named = BTreeMap::new();
        for said in self.0 {
            for (name, value) in get(&said.settings) {
                named.insert(name.clone(), Sourced { value: value.clone(), origin: said.origin.clone() });
            }
        }
        named
    }

    fn hooks(&self) -> BTreeMap<HookEvent, Vec<Sourced<HookGroup>>> {
        let mut hooks: BTreeMap<HookEvent, Vec<Sourced<HookGroup>>> = BTreeMap::new();
        for said in self.0 {
            for (event, groups) in &said.settings.hooks {
                let groups =
                    groups.iter().map(|group| Sourced { value: group.clone(), origin: said.origin.clone() });
                hooks.entry(*event).or_default().extend(groups);
            }
        }
        hooks
    }
}

fn absolute(path: &str, home: &Path, cwd: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(below) => home.join(below),
        None if path == "~" => home.to_owned(),
        None => cwd.join(path),
    }
}
