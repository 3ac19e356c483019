//! From what the caller states to the steps that bring it about.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::filter;
use super::grants::{self, Grant, grant, right};
use super::kept::Kept;
use super::layer::Lease;
use super::mounts;
use super::placeholder::Placeholders;
use super::places::Places;
use super::step::{Ids, Step, Steps, c_path};
use super::view;
use crate::confinement::{Confinement, Level, Profile, TEMPORARY, Temporary};
use crate::error::SandboxError;
use crate::launch::Order;
use crate::program::Program;

/// What root keeps: power over the user's files and processes, none over the machine.
/// `CHOWN`, `DAC_OVERRIDE`, `FOWNER`, `FSETID`, `KILL`, `SETGID`, `SETUID`, `SETPCAP`, `NET_BIND_SERVICE`, `SETFCAP`.
const KEPT_CAPABILITIES: u64 = 0b101_1111_1011 | (1 << 31);

/// Devices that hold nothing.
const HARMLESS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What has to be done, and what is held while the command runs.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Steps,
    pub(crate) held: Held,
    /// Directories over which layers of the set that is held are laid.
    pub(crate) layered: Vec<PathBuf>,
    /// The mounts that the steps reckon with.
    pub(crate) mounts: Vec<u8>,
}

impl Plan {
    /// The order for such a shell.
    pub(crate) fn order(&mut self, program: Program) -> Order {
        let (steps, layered) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.layered));
        Order { program, steps, layered, mounts: std::mem::take(&mut self.mounts) }
    }
}

/// What is held while a command runs, and settled when it has ended.
#[derive(Debug, Default)]
pub(crate) struct Held {
    names: Kept,
    /// They do what they do when they are dropped.
    _placeholders: Placeholders,
    pub(crate) layers: Option<Lease>,
}

impl Held {
    fn for_workspace(confinement: &Confinement, places: &mut Places, lease: Option<Lease>) -> Self {
        let placeholders = Placeholders::make(&places.mount_points, confinement.records.as_deref());
        let names = Kept::of(&places.protected);
        places.look_again(confinement);
        // Without a place to keep them there are still layers in memory.
        let layers = places.layers.as_ref().and_then(|dir| match lease {
            Some(lease) if lease.is_below(dir) => Some(lease),
            _ => Lease::take(dir).ok(),
        });
        Self { names, _placeholders: placeholders, layers }
    }

    /// Settles it. Says what the command has made that it must not make, and where that is now.
    pub(crate) fn settle(mut self) -> Vec<(PathBuf, PathBuf)> {
        self.names.settle()
    }
}

/// The plan for a confinement by the means of a level, with this version of Landlock, and with a set of layers that is
/// taken already if it fits.
pub(crate) fn plan(
    confinement: &Confinement,
    level: Level,
    abi: u32,
    mut places: Places,
    lease: Option<Lease>,
) -> Result<Plan, SandboxError> {
    if level == Level::None || confinement.profile == Profile::Full {
        return Ok(Plan::default());
    }
    let mut plan = Plan::default();
    if level == Level::Namespaces {
        if confinement.profile == Profile::Workspace {
            plan.held = Held::for_workspace(confinement, &mut places, lease);
        }
        plan.steps.namespaces = namespaces(confinement);
        plan.steps.outside = vec![ids(Ids::Users)?, ids(Ids::Groups)?];
        plan.mounts = mounts::table()?;
        let mounts = mounts::in_table(&plan.mounts);
        (plan.steps.before, plan.layered) =
            view::steps(confinement.profile, &places, plan.held.layers.as_ref(), mounts)?;
        if confinement.profile == Profile::Workspace {
            plan.steps.closing = view::closing(&places)?;
        }
        if confinement.denies_network() {
            plan.steps.before.push(Step::Loopback);
        }
    }
    plan.steps.sealing.push(Step::Capabilities { keep: KEPT_CAPABILITIES });
    // The first version of Landlock forbids every move between directories; mounts do without it.
    if abi > u32::from(level == Level::Namespaces) {
        plan.steps.before.extend(ruleset(confinement, level, abi, &places)?);
        plan.steps.sealing.push(Step::Restrict);
    }
    plan.steps.sealing.push(Step::Filter(filter::program(confinement, level)));
    Ok(plan)
}

fn namespaces(confinement: &Confinement) -> u64 {
    let always = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    let network = if confinement.denies_network() { libc::CLONE_NEWNET } else { 0 };
    u64::from((always | network).cast_unsigned())
}

/// Every id means the same inside and outside, so that the user stays the owner of the user's files.
fn ids(kind: Ids) -> Result<Step, SandboxError> {
    static USERS: OnceLock<String> = OnceLock::new();
    static GROUPS: OnceLock<String> = OnceLock::new();
    let (file, known, own) = match kind {
        Ids::Users => ("/proc/self/uid_map", &USERS, rustix::process::geteuid().as_raw()),
        Ids::Groups => ("/proc/self/gid_map", &GROUPS, rustix::process::getegid().as_raw()),
    };
    // They are given to a process once.
    let ours = match known.get() {
        Some(ours) => ours,
        None => known.get_or_init({
            let ours = fs_err::read_to_string(file)?;
            || ours
        }),
    };
    let all: String = ours
        .lines()
        .filter_map(|line| {
            let mut numbers = line.split_whitespace();
            let (inside, count) = (numbers.next()?, numbers.nth(1)?);
            Some(format!("{inside} {inside} {count}\n"))
        })
        .collect();
    Ok(Step::Ids { file: kind, all: c_path(all)?, own: c_path(format!("{own} {own} 1\n"))? })
}

fn ruleset(
    confinement: &Confinement,
    level: Level,
    abi: u32,
    places: &Places,
) -> Result<Vec<Step>, SandboxError> {
    let files = grants::files(abi);
    // A private network needs no rules, and its loopback none that forbid.
    let net = if confinement.denies_network() && level < Level::Namespaces { grants::net(abi) } else { 0 };
    let mut steps = vec![Step::Ruleset { files, net, scope: grants::scopes(abi) }];
    let given = match level {
        Level::Namespaces => inside_namespaces(confinement, places),
        _ => alone(confinement, places),
    };
    for (path, rights) in given {
        steps.push(Step::Rule { path: c_path(path)?, rights: rights & files });
    }
    steps.retain(|step| !matches!(step, Step::Rule { rights: 0, .. }));
    Ok(steps)
}

const ALL: u64 = !(right::MAKE_CHAR | right::MAKE_BLOCK);

/// The mounts say what may be written; Landlock says it once more where it can.
fn inside_namespaces(confinement: &Confinement, places: &Places) -> Vec<Grant> {
    if confinement.profile == Profile::ReadOnly {
        return vec![(PathBuf::from("/"), ALL)];
    }
    let mut given = vec![
        (PathBuf::from("/"), right::READING),
        (PathBuf::from("/dev"), ALL),
        (PathBuf::from("/proc"), right::READING | right::WRITE_FILE),
    ];
    given.extend(places.writable.iter().chain(&places.caches).map(|dir| (dir.clone(), ALL)));
    if confinement.temporary == Temporary::Private {
        given.extend(TEMPORARY.iter().map(|dir| (PathBuf::from(dir), ALL)));
    }
    given
}

fn alone(confinement: &Confinement, places: &Places) -> Vec<Grant> {
    let mut given = Vec::new();
    let hidden = [places.denied.clone(), vec![PathBuf::from("/dev")]].concat();
    grant(Path::new("/"), right::READING, &hidden, &mut given);
    given.extend(HARMLESS.iter().map(|device| {
        let use_it = right::READ_FILE | right::WRITE_FILE | right::TRUNCATE | right::IOCTL_DEV;
        (PathBuf::from(device), use_it)
    }));
    let shared_memory = PathBuf::from("/dev/shm");
    let writable: Vec<&PathBuf> = match confinement.profile {
        Profile::ReadOnly => places.scratch.iter().collect(),
        Profile::Workspace | Profile::Full if confinement.looking => {
            places.open_to_looking().chain([&shared_memory]).collect()
        }
        Profile::Workspace | Profile::Full => places.writable.iter().chain([&shared_memory]).collect(),
    };
    let kept = [places.denied.clone(), places.protected.clone()].concat();
    let before = given.len();
    for dir in writable {
        grant(dir, ALL, &kept, &mut given);
    }
    // What is protected from writing may still be read, which the first grant covers.
    given
        .split_off(before)
        .into_iter()
        .filter(|(_, rights)| *rights != right::READ_DIR)
        .for_each(|one| given.push(one));
    given
}
