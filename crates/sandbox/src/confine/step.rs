//! The steps of a confinement, and their form in the image that is handed to the supervisor.

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::SandboxError;

/// One step. Paths are as the command will see them unless noted otherwise.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Maps user and group ids. Done from outside; `all` needs privileges, `own` does not.
    Ids { file: Ids, all: CString, own: CString },
    /// Opens a path under a number, before mounts hide it.
    Open { path: CString, fd: i32 },
    /// `mount(2)`.
    Mount { source: CString, target: CString, kind: CString, flags: u64, data: CString },
    /// An overlay, `otherwise` with other options; where the file system cannot be the lower layer, what is there
    /// stays read-only unless the layer is needed.
    Overlay { target: CString, data: CString, otherwise: CString, needed: bool },
    /// Puts something empty in the place of a path, if that is still there.
    Mask { empty: CString, path: CString },
    /// Sets and clears attributes of a mount. Failure to clear only is none: the mount stays closer than it need be.
    Attributes { path: CString, set: u64, clear: u64, reach: Reach },
    /// Makes a directory unless it exists.
    Dir { path: CString, mode: u32 },
    /// Gives a file or directory to another owner, where privileges allow it.
    Owner { path: CString, user: u32, group: u32 },
    /// Makes an empty file unless it exists.
    File { path: CString, mode: u32 },
    /// Makes a symbolic link.
    Link { to: CString, path: CString },
    /// Switches the loopback device on.
    Loopback,
    /// Closes what `Open` opened.
    Close,
    /// Begins a Landlock ruleset.
    Ruleset { files: u64, net: u64, scope: u64 },
    /// Adds a rule to it. A path that is gone needs no rule.
    Rule { path: CString, rights: u64 },
    /// Drops all capabilities but these, for good.
    Capabilities { keep: u64 },
    /// Enforces the ruleset.
    Restrict,
    /// Installs a filter of system calls.
    Filter(Vec<libc::sock_filter>),
}

/// A kind of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    Users,
    Groups,
}

/// How far a change of attributes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Mount,
    Tree,
}

/// What is to be done where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// Flags for `clone`; none without namespaces.
    pub(crate) namespaces: u64,
    /// By the supervisor, from outside of the namespaces.
    pub(crate) outside: Vec<Step>,
    /// By the parent of the shell.
    pub(crate) before: Vec<Step>,
    /// By the process that becomes the shell.
    pub(crate) sealing: Vec<Step>,
    /// By the parent of the shell, at the last moment: only then it is known whether the script is one that only looks.
    pub(crate) closing: Vec<Step>,
}

/// A step as the supervisor reads it: what, numbers, and where its strings begin in the image.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawStep {
    pub(crate) code: u64,
    pub(crate) numbers: [u64; 3],
    pub(crate) strings: [u64; 4],
}

impl Steps {
    pub(crate) fn counts(&self) -> [usize; 4] {
        [self.outside.len(), self.before.len(), self.sealing.len(), self.closing.len()]
    }

    fn all(&self) -> impl Iterator<Item = &Step> {
        self.outside.iter().chain(&self.before).chain(&self.sealing).chain(&self.closing)
    }

    /// How many paths they make special.
    pub(crate) fn places(&self) -> usize {
        let is_place = |step: &&Step| {
            matches!(step, Step::Mount { .. } | Step::Mask { .. } | Step::Overlay { .. } | Step::Rule { .. })
        };
        self.before.iter().filter(is_place).count()
    }

    /// The step with this number, for people.
    pub(crate) fn describe(&self, index: i32) -> String {
        let step = usize::try_from(index).ok().and_then(|index| self.all().nth(index));
        step.map_or_else(|| "making namespaces".to_owned(), Step::to_string)
    }

    /// Appends all steps to an image, whose length must be a multiple of eight.
    pub(crate) fn append_to(&self, image: &mut Vec<u8>) {
        let table = image.len();
        let count = self.all().count();
        image.resize(table + count * size_of::<RawStep>(), 0);
        for (index, step) in self.all().enumerate() {
            let raw = step.append_to(image);
            let words = [&[raw.code], raw.numbers.as_slice(), &raw.strings].concat();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let at = table + index * size_of::<RawStep>();
            image[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
}

impl Step {
    fn append_to(&self, image: &mut Vec<u8>) -> RawStep {
        let (code, numbers, texts) = self.parts();
        let mut raw = RawStep { code, numbers, strings: [0; 4] };
        for (at, text) in raw.strings.iter_mut().zip(texts) {
            *at = image.len() as u64;
            image.extend_from_slice(text.to_bytes_with_nul());
        }
        if let Self::Filter(program) = self {
            image.resize(image.len().next_multiple_of(8), 0);
            raw.strings[0] = image.len() as u64;
            raw.numbers[0] = program.len() as u64;
            for op in program {
                image.extend_from_slice(&op.code.to_ne_bytes());
                image.extend_from_slice(&[op.jt, op.jf]);
                image.extend_from_slice(&op.k.to_ne_bytes());
            }
        }
        raw
    }

    #[expect(clippy::cast_sign_loss, reason = "descriptors are not negative")]
    fn parts(&self) -> (u64, [u64; 3], [&CStr; 4]) {
        let none = c"";
        match self {
            Self::Ids { file, all, own } => (IDS, [*file as u64, 0, 0], [all, own, none, none]),
            Self::Open { path, fd } => (OPEN, [*fd as u64, 0, 0], [path, none, none, none]),
            Self::Mount { source, target, kind, flags, data } => {
                (MOUNT, [*flags, 0, 0], [source, target, kind, data])
            }
            Self::Overlay { target, data, otherwise, needed } => {
                (OVERLAY, [u64::from(*needed), 0, 0], [target, data, otherwise, none])
            }
            Self::Mask { empty, path } => (MASK, [0; 3], [empty, path, none, none]),
            Self::Attributes { path, set, clear, reach } => {
                (ATTRIBUTES, [*set, *clear, u64::from(*reach == Reach::Tree)], [path, none, none, none])
            }
            Self::Dir { path, mode } => (DIR, [u64::from(*mode), 0, 0], [path, none, none, none]),
            Self::Owner { path, user, group } => {
                (OWNER, [u64::from(*user), u64::from(*group), 0], [path, none, none, none])
            }
            Self::File { path, mode } => (FILE, [u64::from(*mode), 0, 0], [path, none, none, none]),
            Self::Link { to, path } => (LINK, [0; 3], [to, path, none, none]),
            Self::Loopback => (LOOPBACK, [0; 3], [none; 4]),
            Self::Close => (CLOSE, [0; 3], [none; 4]),
            Self::Ruleset { files, net, scope } => (RULESET, [*files, *net, *scope], [none; 4]),
            Self::Rule { path, rights } => (RULE, [*rights, 0, 0], [path, none, none, none]),
            Self::Capabilities { keep } => (CAPABILITIES, [*keep, 0, 0], [none; 4]),
            Self::Restrict => (RESTRICT, [0; 3], [none; 4]),
            Self::Filter(_) => (FILTER, [0; 3], [none; 4]),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |text: &CStr| text.to_string_lossy().into_owned();
        match self {
            Self::Ids { .. } => f.write_str("mapping user ids"),
            Self::Open { path, .. } => write!(f, "opening {}", show(path)),
            Self::Mount { target, kind, .. } if kind.is_empty() => write!(f, "mounting at {}", show(target)),
            Self::Mount { target, kind, .. } => write!(f, "mounting {} at {}", show(kind), show(target)),
            Self::Overlay { target, .. } => write!(f, "laying a throw-away layer over {}", show(target)),
            Self::Mask { path, .. } => write!(f, "hiding {}", show(path)),
            Self::Attributes { path, .. } => write!(f, "changing the mount {}", show(path)),
            Self::Owner { path, .. } => write!(f, "giving {} to its owner", show(path)),
            Self::Dir { path, .. } | Self::File { path, .. } | Self::Link { path, .. } => {
                write!(f, "making {}", show(path))
            }
            Self::Loopback => f.write_str("switching the private loopback on"),
            Self::Close => f.write_str("closing descriptors"),
            Self::Ruleset { .. } => f.write_str("making a Landlock ruleset"),
            Self::Rule { path, .. } => write!(f, "adding a Landlock rule for {}", show(path)),
            Self::Capabilities { .. } => f.write_str("dropping capabilities"),
            Self::Restrict => f.write_str("enforcing the Landlock ruleset"),
            Self::Filter(_) => f.write_str("installing the filter of system calls"),
        }
    }
}

pub(crate) const IDS: u64 = 1;
pub(crate) const OPEN: u64 = 2;
pub(crate) const MOUNT: u64 = 3;
pub(crate) const OVERLAY: u64 = 4;
pub(crate) const ATTRIBUTES: u64 = 5;
pub(crate) const DIR: u64 = 6;
pub(crate) const FILE: u64 = 7;
pub(crate) const LINK: u64 = 8;
pub(crate) const LOOPBACK: u64 = 9;
pub(crate) const CLOSE: u64 = 10;
pub(crate) const RULESET: u64 = 11;
pub(crate) const RULE: u64 = 12;
pub(crate) const CAPABILITIES: u64 = 13;
pub(crate) const RESTRICT: u64 = 14;
pub(crate) const FILTER: u64 = 15;
pub(crate) const OWNER: u64 = 16;
pub(crate) const MASK: u64 = 17;

/// A path for the system.
pub(crate) fn c_path(path: impl AsRef<Path>) -> Result<CString, SandboxError> {
    CString::new(path.as_ref().as_os_str().as_bytes()).map_err(|_| SandboxError::NulByte)
}
