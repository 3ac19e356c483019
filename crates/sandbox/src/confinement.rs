//! What a command may do to the rest of the machine, as the caller states it.

use std::path::PathBuf;

pub use tiller_policy::Profile;

use crate::confine::grants::scopes;

/// Whether a command may talk to other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// As the user may.
    #[default]
    Allow,
    /// Not at all; where namespaces work it has a loopback of its own.
    Deny,
}

/// Which temporary directories a command in a workspace has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporary {
    /// Those of the machine.
    #[default]
    Shared,
    /// Empty ones that last as long as the command. Without namespaces there are none.
    Private,
}

/// By which means a profile is kept, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing holds the command.
    None,
    /// Landlock and a filter of system calls.
    Landlock,
    /// Namespaces with throw-away layers, and whatever Landlock offers on top.
    Namespaces,
}

/// The confinement of one command.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// How much it may change.
    pub profile: Profile,
    /// The working directories.
    pub roots: Vec<PathBuf>,
    /// Whether the command is there to look only: of all that may be written in a workspace, temporary directories and
    /// caches remain.
    pub looking: bool,
    /// Temporary directories, and what else may be written: for good in a workspace, throw-away when read-only.
    pub writable: Vec<PathBuf>,
    /// Which temporary directories it has. With its own, nothing of others' repositories or temporary files can be
    /// written, whatever variables and links say.
    pub temporary: Temporary,
    /// Caches that belong to the user: what a command in a workspace writes there goes to a layer. Without namespaces
    /// they are read-only.
    pub caches: Vec<PathBuf>,
    /// A directory in which the layers over caches are kept for the next command. Without one they last as long as the
    /// command.
    pub layers: Option<PathBuf>,
    /// A directory in which is kept on record what was made only to be mounted on, for [`sweep`](crate::sweep).
    pub records: Option<PathBuf>,
    /// Files and directories that stay as they are although they lie in a writable place, besides those that are
    /// protected in every root.
    pub protected: Vec<PathBuf>,
    /// Directories that stay as they are, and that commands cannot make where they do not exist.
    pub closed: Vec<PathBuf>,
    /// Files and directories whose contents the command must not see.
    pub denied_reads: Vec<PathBuf>,
    /// Whether it may talk to other machines. A read-only command never may.
    pub network: Network,
    /// A directory that stays writable and keeps its contents whatever the profile, for build caches.
    pub scratch: Option<PathBuf>,
    /// Variables that are passed on although their names look like credentials; sockets that they name can be reached.
    pub kept_vars: Vec<String>,
    /// No means beyond this are used. For tests, and for users whose namespaces misbehave.
    pub at_most: Level,
}

impl Confinement {
    /// Of this profile for these working directories, with the usual temporary directories.
    #[must_use]
    pub fn new(profile: Profile, roots: Vec<PathBuf>) -> Self {
        Self {
            profile,
            roots,
            looking: false,
            writable: TEMPORARY.iter().map(PathBuf::from).collect(),
            temporary: Temporary::Shared,
            caches: Vec::new(),
            layers: None,
            records: None,
            protected: Vec::new(),
            closed: Vec::new(),
            denied_reads: Vec::new(),
            network: Network::Allow,
            scratch: None,
            kept_vars: Vec::new(),
            at_most: Level::Namespaces,
        }
    }

    /// None at all.
    #[must_use]
    pub fn full() -> Self {
        Self::new(Profile::Full, Vec::new())
    }

    /// With nothing to write to but the working directories.
    #[must_use]
    pub fn within_roots(self) -> Self {
        let (writable, caches) = (Vec::new(), Vec::new());
        Self { writable, caches, layers: None, scratch: None, temporary: Temporary::Private, ..self }
    }

    /// Whether a command that is held like this can do nothing that one held like the other could not.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let is_free = other.profile == Profile::Full;
        let keeps_writes = self.profile <= other.profile
            && (self.looking || !other.looking || self.profile == Profile::ReadOnly)
            && self.at_most >= other.at_most
            && (self.temporary == Temporary::Private || other.temporary == Temporary::Shared)
            && (is_free || self.writes_within(other) && self.protects_all_of(other));
        keeps_writes
            && (self.denies_network() || !other.denies_network())
            && self.kept_vars.iter().all(|name| other.kept_vars.contains(name))
            && all_below(&other.denied_reads, &self.denied_reads)
    }

    fn writes_within(&self, other: &Self) -> bool {
        let mine = [&self.roots, &self.writable, &self.caches].into_iter().flatten().chain(&self.scratch);
        let others: Vec<&PathBuf> = [&other.roots, &other.writable, &other.caches]
            .into_iter()
            .flatten()
            .chain(&other.scratch)
            .collect();
        mine.into_iter().all(|path| others.iter().any(|allowed| path.starts_with(allowed)))
    }

    fn protects_all_of(&self, other: &Self) -> bool {
        let kept: Vec<PathBuf> = self.protected.iter().chain(&self.closed).cloned().collect();
        all_below(&other.protected, &kept) && all_below(&other.closed, &self.closed)
    }

    pub(crate) fn denies_network(&self) -> bool {
        self.profile == Profile::ReadOnly || self.network == Network::Deny
    }
}

/// Whether each of the paths is one of the places or lies below one.
fn all_below(paths: &[PathBuf], places: &[PathBuf]) -> bool {
    paths.iter().all(|path| places.iter().any(|place| path.starts_with(place)))
}

/// What a profile does not promise at this level with this version of Landlock, for people.
#[must_use]
pub fn gaps(profile: Profile, level: Level, landlock: Option<u32>) -> Vec<&'static str> {
    let always = match (profile, level) {
        (Profile::Full, _) => &[],
        (_, Level::None) => &["nothing is promised"][..],
        (Profile::ReadOnly, Level::Namespaces) => &[UNSEEN_SOCKETS_ELSEWHERE],
        (Profile::ReadOnly, Level::Landlock) => READ_ONLY_GAPS,
        (Profile::Workspace, Level::Landlock) => WORKSPACE_GAPS,
        (Profile::Workspace, Level::Namespaces) => &[UNSEEN_SOCKETS],
    };
    let lacks_scopes = level == Level::Landlock && scopes(landlock.unwrap_or(0)) == 0;
    let signals = (lacks_scopes && profile != Profile::Full).then_some(SIGNALS);
    always.iter().copied().chain(signals).collect()
}

/// Sockets are covered one by one, as far as they are known when the command starts.
const UNSEEN_SOCKETS: &str = "unix sockets opened after the command's start, or by services of other users in a network \
                              of their own outside of /run";
const UNSEEN_SOCKETS_ELSEWHERE: &str = "outside of home, working directories, /tmp and /run: unix sockets opened after \
                                        the command's start, or by services of other users in a network of their own";

/// Directories for temporary files.
pub(crate) const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

const READ_ONLY_GAPS: &[&str] =
    &["commands that need to write fail", "names in directories that must not be read can be listed"];

const WORKSPACE_GAPS: &[&str] = &[
    "new entries directly in a working directory or in .git cannot be made if something in it is protected",
    "modes, owners and times of files outside of the working directories",
    "unix sockets that have a path can be reached",
    "names in directories that must not be read can be listed",
];

/// What Landlock keeps from version 6 on.
const SIGNALS: &str = "other processes of the user can be signalled";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_landlock_has_fewer_gaps() {
        for profile in [Profile::ReadOnly, Profile::Workspace] {
            let of = |version| gaps(profile, Level::Landlock, version);
            assert!(of(Some(5)).contains(&SIGNALS) && !of(Some(6)).contains(&SIGNALS));
            assert!(!gaps(profile, Level::Namespaces, Some(1)).contains(&SIGNALS));
        }
    }

    // CUST-03, KERN-06
    #[test]
    fn a_command_is_held_within_another_if_it_can_do_nothing_more() {
        let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        let now = Confinement {
            protected: paths(&["/p/.git/config"]),
            closed: paths(&["/p/.tiller"]),
            denied_reads: paths(&["/p/.env"]),
            network: Network::Deny,
            ..Confinement::new(Profile::Workspace, paths(&["/p"]))
        };
        assert!(now.is_within(&now));
        let stricter = Confinement {
            profile: Profile::ReadOnly,
            roots: paths(&["/p/sub"]),
            protected: paths(&["/p/.git"]),
            denied_reads: paths(&["/p/.env", "/p/keys"]),
            ..now.clone()
        };
        assert!(stricter.is_within(&now) && !now.is_within(&stricter));
        let looking = Confinement { looking: true, ..now.clone() };
        assert!(looking.is_within(&now) && stricter.is_within(&looking) && !now.is_within(&looking));
        let private = now.clone().within_roots();
        let shared = Confinement { temporary: Temporary::Shared, ..private.clone() };
        assert!(private.is_within(&shared) && !shared.is_within(&private));
        let freer = [
            Confinement { profile: Profile::Full, ..now.clone() },
            Confinement { roots: paths(&["/p", "/q"]), ..now.clone() },
            Confinement { writable: paths(&["/etc"]), ..now.clone() },
            Confinement { caches: paths(&["/home/me/.cargo"]), ..now.clone() },
            Confinement { scratch: Some("/elsewhere".into()), ..now.clone() },
            Confinement { protected: Vec::new(), ..now.clone() },
            Confinement { closed: Vec::new(), ..now.clone() },
            Confinement { denied_reads: paths(&["/p/.envrc"]), ..now.clone() },
            Confinement { network: Network::Allow, ..now.clone() },
            Confinement { kept_vars: vec!["TOKEN".to_owned()], ..now.clone() },
            Confinement { at_most: Level::Landlock, ..now.clone() },
        ];
        for (at, freer) in freer.iter().enumerate() {
            assert!(!freer.is_within(&now), "{at}");
        }
    }
}
