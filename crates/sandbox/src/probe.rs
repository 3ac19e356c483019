//! What this machine offers for confinement.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::io::Errno;
use tiller_policy::Script;

use crate::Stdin;
use crate::confine::grants::NEEDED_ALONE;
use crate::confine::places::Places;
use crate::confine::plan::{Plan, plan};
use crate::confinement::{Confinement, Level, Profile};
use crate::error::SandboxError;
use crate::launch::{Order, Waiting};
use crate::program::Program;

/// What can be promised here, and why not more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// The strongest means there are.
    pub level: Level,
    /// The version of Landlock; none if the kernel has none.
    pub landlock: Option<u32>,
    /// Why there are no stronger means, for people.
    pub reasons: Vec<String>,
}

impl Support {
    /// What a profile is kept by under this support, and at most at this level.
    pub(crate) fn choose(&self, confinement: &Confinement) -> Result<Level, SandboxError> {
        if confinement.profile == Profile::Full {
            return Ok(Level::None);
        }
        let level = match self.level.min(confinement.at_most) {
            Level::Landlock if self.landlock.unwrap_or(0) < NEEDED_ALONE => Level::None,
            level => level,
        };
        if level == Level::None {
            return Err(SandboxError::NoConfinement { reasons: self.reasons.join("; ") });
        }
        Ok(level)
    }
}

/// Finds out what can be promised, once: by confining a shell that does nothing.
pub fn probe() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(|| {
        let abi = landlock_version();
        let mut reasons = Vec::new();
        let mut level = Level::None;
        match abi {
            None => reasons.push("the kernel has no Landlock, or it is switched off".to_owned()),
            Some(abi) if abi < NEEDED_ALONE => {
                reasons
                    .push(format!("Landlock is of version {abi}; alone it is of use from {NEEDED_ALONE} on"));
            }
            Some(_) => level = Level::Landlock,
        }
        match try_namespaces(abi.unwrap_or(0)) {
            Ok(()) => level = Level::Namespaces,
            Err(SandboxError::Unconfined { step, source }) => {
                reasons.push(format!("namespaces cannot be used: {step} failed: {source}"));
            }
            Err(error) => reasons.push(format!("namespaces cannot be used: {error}")),
        }
        Support { level, landlock: abi, reasons }
    })
}

#[expect(unsafe_code, reason = "a system call without wrapper")]
fn landlock_version() -> Option<u32> {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: the call takes no structure when asked for its version.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ASK_VERSION)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

fn try_namespaces(abi: u32) -> Result<(), SandboxError> {
    let confinement = Confinement::new(Profile::ReadOnly, vec![PathBuf::from("/etc")]);
    let script = Script { command: ":".to_owned(), cwd: PathBuf::from("/") };
    let vars = BTreeMap::new();
    let places = Places { must_layer: true, ..Places::new(&confinement, &script, &vars) };
    let Plan { steps, held: _held, layered, mounts } =
        plan(&confinement, Level::Namespaces, abi, places, None)?;
    let program = Program::shell(&script.cwd, &vars, &confinement)?;
    let order = Order { program, steps, layered, mounts };
    let text = order.program.script(&script.command, &[])?;
    for _ in 0..2 {
        if Waiting::order(&order, "probe", None, Stdin::Closed)?.try_out(&text, &order.steps)?.is_some() {
            return Ok(());
        }
    }
    Err(Errno::SRCH.into())
}
