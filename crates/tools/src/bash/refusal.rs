//! Whether a command failed because its confinement refused something. The kernel tells only of the network, so this goes
//! by what the command printed, and by whether that is so: a line that names nothing which is closed to the command, and
//! open to the user, proves nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tiller_sandbox::{Confinement, Level, Network, Profile};

use super::refused::Refused;
use crate::workspace::resolve_links;

/// Characters of a line that are quoted.
const QUOTED: usize = 300;

/// How something shows in output: by words in any case, and by the names of errors.
struct Signs {
    words: &'static [&'static str],
    codes: &'static [&'static str],
}

/// What writing to a file system that is read-only, or to something that is mounted there, comes out as.
const READ_ONLY: Signs = Signs {
    words: &["read-only file system", "device or resource busy", "(os error 30)", "[errno 30]"],
    codes: &["EROFS", "EBUSY"],
};
/// What may have many causes.
const DENIED: Signs = Signs {
    words: &["permission denied", "operation not permitted", "(os error 13)", "[errno 13]", "[errno 1]"],
    codes: &["EACCES", "EPERM"],
};
/// What it looks like when there is no network.
const NO_NETWORK: Signs = Signs {
    words: &[
        "could not resolve",
        "couldn't resolve",
        "temporary failure in name resolution",
        "name or service not known",
        "network is unreachable",
        "no such host",
        "failed to lookup address",
        "dns error",
        "connection refused",
    ],
    codes: &["ENETUNREACH", "EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED"],
};
/// A service of the user's that commands do not reach.
struct Service {
    /// What it looks like when it cannot be reached.
    signs: Signs,
    /// Variables that lead to it.
    vars: &'static [&'static str],
    /// Where it is otherwise.
    paths: &'static [&'static str],
}

const SERVICES: &[Service] = &[
    Service {
        signs: Signs {
            words: &["cannot connect to the docker daemon", "docker.sock", "podman.sock"],
            codes: &[],
        },
        vars: &["DOCKER_HOST", "CONTAINER_HOST"],
        paths: &["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"],
    },
    Service {
        signs: Signs {
            words: &["open a connection to your authentication agent", "permission denied (publickey"],
            codes: &[],
        },
        vars: &["SSH_AUTH_SOCK"],
        paths: &[],
    },
    Service {
        signs: Signs { words: &["failed to connect to bus"], codes: &[] },
        vars: &["DBUS_SESSION_BUS_ADDRESS"],
        paths: &["/run/dbus/system_bus_socket"],
    },
];
/// What only the filter of system calls refuses.
const NO_CALL: Signs = Signs { words: &["namespace", "ptrace", "mount", "seccomp", "io_uring"], codes: &[] };

/// Directories that stay as they are in a working directory.
const PROTECTED: &[&str] = &[".tiller", ".claude", ".git"];

/// Something that the confinement refused, as far as one can tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: Refused,
    /// The line that says so.
    pub(crate) line: String,
}

impl Refusal {
    /// What the model is told, with a reason or a remedy.
    pub(crate) fn remark(&self, more: &str) -> String {
        format!(
            "[the sandbox seems to have refused {}: {more}. Do not work around it: go on without, or tell the user.]",
            self.kind.what()
        )
    }
}

/// What a failed command was refused, judging by its output.
pub(crate) fn refusal(output: &str, witness: &Witness<'_>) -> Option<Refusal> {
    if witness.confinement.profile == Profile::Full {
        return None;
    }
    let found: Vec<Refusal> = output.lines().rev().filter_map(|line| witness.judge(line)).collect();
    // What a rule forbids stays forbidden; something else may still be worth a question.
    let other = found.iter().position(|refusal| refusal.kind != Refused::Reading);
    let chosen = other.unwrap_or(0);
    found.into_iter().nth(chosen)
}

/// What is known besides what a command says.
pub(crate) struct Witness<'a> {
    pub(crate) confinement: &'a Confinement,
    /// By which means it was held.
    pub(crate) level: Level,
    /// Whether the kernel has counted an attempt to reach what is out of reach.
    pub(crate) unreached: bool,
    /// Tiller's own variables.
    pub(crate) vars: &'a BTreeMap<String, String>,
    pub(crate) cwd: &'a Path,
}

impl Witness<'_> {
    fn judge(&self, line: &str) -> Option<Refusal> {
        let lower = line.to_lowercase();
        let says = |signs: &Signs| {
            signs.words.iter().any(|word| lower.contains(word))
                || signs.codes.iter().any(|code| line.contains(code))
        };
        let kind = if SERVICES.iter().any(|service| says(&service.signs) && self.has(service)) {
            Refused::Socket
        } else if says(&READ_ONLY) {
            self.of_files(line)?
        } else if says(&DENIED) && says(&NO_CALL) {
            Refused::Call
        } else if says(&DENIED) {
            self.of_files(line)?
        } else if self.was_cut_off() && says(&NO_NETWORK) {
            Refused::Network
        } else {
            return None;
        };
        Some(Refusal { kind, line: line.trim().chars().take(QUOTED).collect() })
    }

    /// Whether it was the confinement that kept the network away, and the command really wanted it.
    fn was_cut_off(&self) -> bool {
        let has_none =
            self.confinement.profile == Profile::ReadOnly || self.confinement.network == Network::Deny;
        has_none && (self.unreached || self.level < Level::Namespaces)
    }

    /// Whether a service is there for the user.
    fn has(&self, service: &Service) -> bool {
        let is_kept = |name: &&&str| self.confinement.kept_vars.iter().any(|kept| kept == **name);
        service.vars.iter().filter(|name| !is_kept(name)).any(|name| self.vars.contains_key(*name))
            || service.paths.iter().any(|path| could_write(Path::new(path)) && Path::new(path).exists())
    }

    /// What the confinement keeps of the files that a line complains about.
    fn of_files(&self, line: &str) -> Option<Refused> {
        let paths = self.paths(line);
        if paths.iter().any(|path| self.is_denied(path)) {
            return Some(Refused::Reading);
        }
        // Landlock alone lets nothing new be made where something beside it is protected.
        let is_new = |path: &Path| self.level < Level::Namespaces && !path.exists();
        let is_kept = |path: &&PathBuf| (!self.is_free(path) || is_new(path)) && could_write(path);
        let kept = paths.iter().find(is_kept)?;
        Some(match kept {
            path if self.confinement.looking && self.is_inside(path) => Refused::Change,
            path if self.is_steering(path) => Refused::Steering,
            _ => Refused::Writing,
        })
    }

    /// Whether a path lies in a place that could be written if it did not steer something.
    fn is_steering(&self, path: &Path) -> bool {
        let Confinement { protected, closed, .. } = self.confinement;
        let is_named = PROTECTED.iter().any(|name| path.components().any(|part| part.as_os_str() == *name));
        let is_kept = is_named || protected.iter().chain(closed).any(|kept| path.starts_with(kept));
        is_kept && self.is_inside(path)
    }

    fn is_inside(&self, path: &Path) -> bool {
        let Confinement { roots, writable, .. } = self.confinement;
        roots.iter().chain(writable).any(|dir| path.starts_with(dir))
    }

    fn is_denied(&self, path: &Path) -> bool {
        self.confinement.denied_reads.iter().any(|denied| path.starts_with(denied))
    }

    /// Whether the confinement lets everything below be written.
    fn is_free(&self, path: &Path) -> bool {
        let Confinement { roots, writable, .. } = self.confinement;
        let inside = roots.iter().chain(writable).filter_map(|dir| path.strip_prefix(dir).ok());
        self.confinement.profile == Profile::Workspace
            && !self.confinement.looking
            && !self
                .confinement
                .protected
                .iter()
                .chain(&self.confinement.closed)
                .any(|kept| path.starts_with(kept))
            && inside.into_iter().any(|below| {
                !below.components().any(|part| PROTECTED.iter().any(|name| part.as_os_str() == *name))
            })
    }

    /// What in a line may be a path: quoted text, what stands between colons, and words with a slash.
    fn paths(&self, line: &str) -> Vec<PathBuf> {
        let quoted = line.split(['\'', '"', '`', '‘', '’']).skip(1).step_by(2).map(|text| (text, true));
        let between = line.split(": ").map(|text| (text, false));
        let words = line.split([' ', '\'', '"', '(', ')', ',']).filter(|word| word.contains('/'));
        let candidates = quoted.chain(between).chain(words.map(|word| (word, false)));
        let paths = candidates.filter_map(|(text, is_quoted)| {
            let text = text.trim().trim_end_matches([':', '.', ',']);
            let path = self.cwd.join(text);
            let is_named = is_quoted || text.contains('/');
            let is_path =
                (is_named && path.parent().is_some_and(Path::is_dir)) || path.symlink_metadata().is_ok();
            (is_path && !text.is_empty()).then(|| resolve_links(&path))
        });
        paths.collect()
    }
}

/// Whether Tiller itself could write there.
fn could_write(path: &Path) -> bool {
    let existing = path.ancestors().find(|path| path.exists());
    existing.is_some_and(|path| access(path, Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(output: &str, confinement: &Confinement, cwd: &Path) -> Option<Refused> {
        at_level(Level::Namespaces, output, confinement, cwd, true).map(|refusal| refusal.kind)
    }

    fn at_level(
        level: Level,
        output: &str,
        confinement: &Confinement,
        cwd: &Path,
        unreached: bool,
    ) -> Option<Refusal> {
        let vars = [("SSH_AUTH_SOCK", "/x"), ("DOCKER_HOST", "unix:///y")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        refusal(output, &Witness { confinement, level, unreached, vars: &vars, cwd })
    }

    #[test]
    fn what_commands_print_tells_what_was_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs_err::create_dir_all(root.join(".git")).unwrap();
        fs_err::create_dir_all(root.join("sub")).unwrap();
        fs_err::write(root.join("a.txt"), "").unwrap();
        fs_err::write(root.join(".env"), "").unwrap();
        fs_err::write(root.join("../outside.txt"), "").unwrap();
        let mut confinement = Confinement::new(Profile::Workspace, vec![root.clone()]);
        confinement.denied_reads = vec![root.join(".env")];
        confinement.writable = Vec::new();
        let outside = root.parent().unwrap().display().to_string();
        let cases = [
            (format!("touch: cannot touch '{outside}/new': Read-only file system"), Some(Refused::Writing)),
            (format!("bash: line 1: {outside}/outside.txt: Permission denied"), Some(Refused::Writing)),
            ("bash: line 1: ../outside.txt: Read-only file system".to_owned(), Some(Refused::Writing)),
            ("OSError: [Errno 30] Read-only file system: '../x'".to_owned(), Some(Refused::Writing)),
            ("error: Read-only file system (os error 30)".to_owned(), None),
            ("a.txt: Read-only file system".to_owned(), None),
            (
                "error: could not write config file .git/config: Device or resource busy".to_owned(),
                Some(Refused::Steering),
            ),
            ("Failed to connect to bus: No such file or directory".to_owned(), None),
            ("Error: EROFS: read-only file system, mkdir '../x'".to_owned(), Some(Refused::Writing)),
            ("cat: .env: Permission denied".to_owned(), Some(Refused::Reading)),
            ("tar: ./.env: Cannot open: Permission denied".to_owned(), Some(Refused::Reading)),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.".to_owned(),
                Some(Refused::Socket),
            ),
            ("git@github.com: Permission denied (publickey).".to_owned(), Some(Refused::Socket)),
            (
                "unshare: unshare failed: creating a namespace: Operation not permitted".to_owned(),
                Some(Refused::Call),
            ),
            ("bash: ./a.txt: Permission denied".to_owned(), None),
            ("bash: line 1: a.txt: Permission denied".to_owned(), None),
            ("mkdir: cannot create directory '/proc/x': No such file or directory".to_owned(), None),
            ("permission denied by the server".to_owned(), None),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'x'".to_owned(), None),
            ("curl: (6) Could not resolve host: example.org".to_owned(), None),
            ("all is well".to_owned(), None),
        ];
        for (line, expected) in &cases {
            assert_eq!(kind(line, &confinement, &root), *expected, "{line}");
        }
        let both = format!(
            "cat: .env: Permission denied\ntouch: cannot touch '{outside}/n': Read-only file system\nend"
        );
        assert_eq!(kind(&both, &confinement, &root), Some(Refused::Writing));
        let looking = Confinement { looking: true, ..confinement.clone() };
        for (line, expected) in [
            ("touch: cannot touch 'sub/new': Read-only file system", Some(Refused::Change)),
            ("fatal: Unable to create '.git/index.lock': Read-only file system", Some(Refused::Change)),
            ("touch: cannot touch '../new': Read-only file system", Some(Refused::Writing)),
            ("cat: .env: Permission denied", Some(Refused::Reading)),
        ] {
            assert_eq!(kind(line, &looking, &root), expected, "{line}");
        }
        confinement.network = Network::Deny;
        let line = "curl: (6) Could not resolve host: example.org";
        assert_eq!(kind("FileNotFoundError: nothing there", &confinement, &root), None);
        let expected = Refusal { kind: Refused::Network, line: line.to_owned() };
        let said = |unreached| at_level(Level::Namespaces, line, &confinement, &root, unreached);
        assert_eq!((said(true), said(false)), (Some(expected), None));
        let line = "touch: cannot touch 'new': Permission denied";
        assert_eq!(kind(line, &confinement, &root), None);
        let alone = at_level(Level::Landlock, line, &confinement, &root, false);
        assert_eq!(alone.map(|refusal| refusal.kind), Some(Refused::Writing));
        assert_eq!(kind(line, &Confinement::full(), &root), None);
    }
}
