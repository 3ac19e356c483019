//! How the commands of a session are held: what settings, working directories, rules and mode come to.

mod caches;
mod denied;
mod layers;
mod memory;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tiller_config::{Network, Places};
use tiller_policy::{Context, Holding, Kernel, Permit, Profile, Release};
use tiller_protocol::entry::{self, Notice};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;
use tiller_sandbox::{Confinement, Level, Temporary, outwait_layers, probe, sweep, tidy_up};

use denied::Deed;
use layers::Layers;
use memory::Memory;

/// Files that run when the user logs in or starts a program, below the home directory. They matter if a working directory
/// holds the home directory.
const RUN_AT_START: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".gitconfig",
];
/// Directories of which the same is true.
const RUN_FROM: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".config/fish",
    ".config/git",
    ".config/autostart",
    ".config/systemd",
    ".local/bin",
    ".cargo/bin",
];

/// What the settings say about the confinement of commands.
#[derive(Clone, Debug)]
pub struct SandboxChoice {
    /// Whether commands are confined to the working directories.
    pub enabled: bool,
    /// Whether they may use the network.
    pub network: Network,
    /// Where else they may write.
    pub writable: Vec<PathBuf>,
    /// Variables they get although their names look like credentials.
    pub kept_variables: Vec<String>,
    /// Commands that run outside of the confinement once they are allowed.
    pub excluded_commands: Vec<String>,
    /// No means beyond this are used.
    pub at_most: Level,
    /// Which temporary directories they have. With their own, they write nowhere else outside of the working
    /// directories either.
    pub temporary: Temporary,
}

impl Default for SandboxChoice {
    fn default() -> Self {
        Self {
            enabled: true,
            network: Network::default(),
            writable: Vec::new(),
            kept_variables: Vec::new(),
            excluded_commands: Vec::new(),
            at_most: Level::Namespaces,
            temporary: Temporary::default(),
        }
    }
}

impl SandboxChoice {
    /// The same for policy. What the kernel can do is found out when a command is first judged.
    #[must_use]
    pub fn holding(&self) -> Holding {
        let at_most = self.at_most;
        Holding {
            workspace: self.enabled,
            outside: self.excluded_commands.clone(),
            kernel: Kernel::new(move || probe().level.min(at_most) != Level::None),
        }
    }

    /// How a command with this permit is held here, apart from what belongs to a session. What rules forbid holds under
    /// every profile. May take a moment.
    ///
    /// # Errors
    /// A text for the model, if the command must not run.
    pub fn hold(
        &self,
        profile: Profile,
        permit: &Permit,
        policy: &Context,
        env: &Env,
    ) -> Result<Confinement, String> {
        let mut held = self.held(profile, permit, policy, &Memory::new(Arc::clone(&env.clock)), env)?;
        if profile != Profile::Full {
            held.caches = caches::of(env);
        }
        Ok(held)
    }

    fn held(
        &self,
        profile: Profile,
        permit: &Permit,
        policy: &Context,
        memory: &Memory,
        env: &Env,
    ) -> Result<Confinement, String> {
        let read = denied::find(permit, Deed::Read, &policy.roots, memory);
        let changed = denied::find(permit, Deed::Change, &policy.roots, memory);
        let confines = policy.holding.kernel.confines();
        if (read.incomplete || changed.incomplete) && confines {
            // Whoever can make files could otherwise bury among them what rules protect.
            return Err(denied::INCOMPLETE.to_owned());
        }
        // Let out for another reason, it gets no network that the settings keep from it.
        let is_cut_off = permit.released() == Some(Release::Machine) && self.network != Network::Allow;
        let ruled = policy.offline || is_cut_off || !read.is_empty() || !changed.is_empty();
        let mut confinement = match profile {
            Profile::Full if !(ruled && confines) => return Ok(Confinement::full()),
            Profile::Full => self.everything(env),
            _ => self.confinement(profile, policy.roots.clone(), env),
        };
        if profile == Profile::Workspace {
            confinement.looking = permit.lets_only_look();
            confinement.writable.extend(permit.outside().iter().filter_map(|path| room_for(path)));
        }
        if permit.released() == Some(Release::Network) && self.network != Network::Deny {
            confinement.network = tiller_sandbox::Network::Allow;
        }
        if policy.offline || is_cut_off {
            confinement.network = tiller_sandbox::Network::Deny;
        }
        confinement.protected.extend(changed.paths);
        confinement.closed.extend(changed.trees);
        confinement.denied_reads = read.all();
        confinement.records = Some(placeholder_records(env));
        Ok(confinement)
    }

    fn confinement(&self, profile: Profile, roots: Vec<PathBuf>, env: &Env) -> Confinement {
        let mut confinement = Confinement::new(profile, roots);
        confinement.writable.extend(self.writable.iter().cloned());
        confinement.protected = RUN_AT_START.iter().map(|name| env.home.join(name)).collect();
        confinement.closed = closed(env);
        confinement.network = match self.network {
            Network::Allow => tiller_sandbox::Network::Allow,
            Network::Ask | Network::Deny => tiller_sandbox::Network::Deny,
        };
        confinement.kept_vars.clone_from(&self.kept_variables);
        confinement.at_most = self.at_most;
        confinement
    }

    /// Everything the user may, apart from what rules forbid: these hold in every mode.
    fn everything(&self, env: &Env) -> Confinement {
        let mut confinement = Confinement::new(Profile::Workspace, vec![PathBuf::from("/")]);
        confinement.writable = Vec::new();
        confinement.kept_vars = env.vars.keys().cloned().collect();
        confinement.at_most = self.at_most;
        confinement
    }
}

/// Where it is on record what was made in working directories only to be mounted on. All sessions share it: after one
/// that was killed, the next one removes it.
pub(crate) fn placeholder_records(env: &Env) -> PathBuf {
    Places::of(env).config_dir.join("placeholders")
}

/// The directory that has to be writable for a file in it to be made, replaced or removed. The whole file system is none.
fn room_for(path: &Path) -> Option<PathBuf> {
    let around = path.ancestors().skip(1).find(|dir| dir.is_dir())?;
    let around = if around.parent().is_some() { around } else { path };
    around.is_dir().then(|| around.to_owned())
}

/// Settings and state of Tiller, and what runs by itself: no command changes it.
fn closed(env: &Env) -> Vec<PathBuf> {
    let places = Places::of(env);
    let managed = places.managed.parent().map(Path::to_path_buf);
    let own = [places.config_dir, places.foreign_dir].into_iter().chain(managed);
    own.chain(RUN_FROM.iter().map(|name| env.home.join(name))).collect()
}

/// What the user is told of a server that cannot be confined.
const UNHELD_SERVER: &str = "was not started: it runs code of the project, and commands are not confined here. With \
     \"confined\": false in languageServers it runs all the same";

/// Holds the commands of one session.
pub(crate) struct Confiner {
    choice: SandboxChoice,
    env: Env,
    /// The session's own files.
    own: Vec<PathBuf>,
    layers: Layers,
    memory: Memory,
    told: Mutex<BTreeSet<&'static str>>,
    /// Whether a command was held before: then what the kernel can do is known.
    has_held: AtomicBool,
}

/// A confinement, and what the user should know about it.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) confinement: Confinement,
    pub(crate) notices: Vec<Notice>,
}

impl Confiner {
    /// For a session whose files are these; layers over caches are kept below `layers`. What sessions that were killed
    /// have left in working directories is removed.
    pub(crate) fn new(choice: SandboxChoice, env: Env, own: Vec<PathBuf>, layers: PathBuf) -> Self {
        sweep(&placeholder_records(&env));
        let memory = Memory::new(Arc::clone(&env.clock));
        let (layers, told, has_held) = (Layers::new(layers), Mutex::default(), AtomicBool::new(false));
        Self { choice, env, own, layers, memory, told, has_held }
    }

    /// Whether [`Self::hold`] has nothing to look for that could take a moment.
    pub(crate) fn is_quick(&self, permit: &Permit) -> bool {
        let has_rules = permit.hiding_rules().next().is_some() || permit.keeping_rules().next().is_some();
        // The first layers are made when what others have left is removed.
        let needs_new_layers = !permit.only_looks() && !self.layers.are_there();
        !has_rules && !needs_new_layers && self.has_held.load(Ordering::Relaxed)
    }

    /// How a permitted command is held if it starts now, by what decides now: a mode that became stricter since the
    /// permit was given counts. May take a moment.
    ///
    /// # Errors
    /// A text for the model, if the command must not run any more.
    pub(crate) fn hold(&self, permit: &Permit, policy: &Context) -> Result<Held, String> {
        let kernel = &policy.holding.kernel;
        let profile = match policy.mode {
            Mode::Plan if kernel.confines() => Profile::ReadOnly,
            Mode::Plan if !permit.only_looks() => {
                return Err("Plan mode was turned on before this command ran, and the command could change something.".to_owned());
            }
            _ => permit.profile(),
        };
        let mut confinement = self.choice.held(profile, permit, policy, &self.memory, &self.env)?;
        self.has_held.store(true, Ordering::Relaxed);
        if confinement.profile == Profile::Full {
            if self.choice.temporary == Temporary::Private {
                return Err("The command was not run: nothing can confine it here.".to_owned());
            }
            let is_meant = policy.mode == Mode::BypassPermissions || !policy.holding.workspace;
            let unheld = (policy.offline || !is_meant) && !kernel.confines();
            let notices = unheld.then(|| self.once("sandbox_unavailable", &unavailable())).flatten();
            return Ok(Held { confinement, notices: notices.into_iter().collect() });
        }
        if profile != Profile::Full {
            confinement.protected.extend(self.own.iter().cloned());
        }
        if policy.fence.is_some() {
            // What the agent was given a copy of may itself lie in a temporary directory.
            confinement.writable = Confinement::new(profile, Vec::new()).writable;
            confinement.protected.extend(policy.readable.iter().cloned());
        }
        if self.choice.temporary == Temporary::Private {
            return Ok(Held { confinement: confinement.within_roots(), notices: Vec::new() });
        }
        if profile == Profile::Workspace && (self.layers.are_there() || !permit.only_looks()) {
            // Who only looks needs no layer to write to, and is not slowed down by one that nobody has written to.
            confinement.layers = self.layers.dir();
            confinement.caches = caches::of(&self.env);
        }
        Ok(Held { confinement, notices: Vec::new() })
    }

    /// How a language server is held, which nobody is asked about although it runs code of the project: like commands in a
    /// workspace, and without the network. May take a moment.
    ///
    /// # Errors
    /// Why it must not run.
    pub(crate) fn hold_server(
        &self,
        permit: Permit,
        policy: &Context,
    ) -> Result<(Permit, Confinement), String> {
        if !policy.holding.workspace || !policy.holding.kernel.confines() {
            return Err(UNHELD_SERVER.to_owned());
        }
        let permit = permit.minding_rules(policy);
        let mut confinement =
            self.choice.held(Profile::Workspace, &permit, policy, &self.memory, &self.env)?;
        confinement.protected.extend(self.own.iter().cloned());
        confinement.network = tiller_sandbox::Network::Deny;
        confinement.caches = caches::of(&self.env);
        // It lives as long as the session and must not keep the layers of commands from them.
        confinement.layers = self.layers.dir().map(|dir| dir.join("servers"));
        Ok((permit, confinement))
    }

    /// Whether a command that is refused the network may ask for it.
    pub(crate) fn network_may_be_asked_for(&self) -> bool {
        self.choice.network != Network::Deny
    }

    /// Removes what was there for commands only.
    pub(crate) fn end(&self) {
        tidy_up();
        if self.layers.are_there() {
            outwait_layers();
            self.layers.remove();
        }
    }

    fn once(&self, subtype: &'static str, content: &str) -> Option<Notice> {
        let is_new = self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(subtype);
        is_new.then(|| Notice {
            subtype: subtype.to_owned(),
            level: entry::Level::Warning,
            content: content.to_owned(),
        })
    }
}

fn unavailable() -> String {
    let reasons = match probe().reasons.join("; ") {
        reasons if reasons.is_empty() => String::new(),
        reasons => format!(" ({reasons})"),
    };
    format!(
        "Commands are not confined: the kernel cannot do it here{reasons}. What is allowed can do whatever you can."
    )
}
