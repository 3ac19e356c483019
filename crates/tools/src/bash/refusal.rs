//! Whether a command failed because its confinement refused something. The kernel does not tell, so this goes by what
//! the command printed, and by whether the same would have been possible without confinement.

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
/// What it looks like when a socket of the user's cannot be reached.
const NO_SOCKET: Signs = Signs {
    words: &[
        "cannot connect to the docker daemon",
        "docker.sock",
        "podman.sock",
        "open a connection to your authentication agent",
        "permission denied (publickey",
        "failed to connect to bus",
    ],
    codes: &[],
};
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
pub(crate) fn refusal(output: &str, confinement: &Confinement, level: Level, cwd: &Path) -> Option<Refusal> {
    if confinement.profile == Profile::Full {
        return None;
    }
    let witness = Witness { confinement, level, cwd };
    let found: Vec<Refusal> = output.lines().rev().filter_map(|line| witness.judge(line)).collect();
    // What a rule forbids stays forbidden; something else may still be worth a question.
    let other = found.iter().position(|refusal| refusal.kind != Refused::Reading);
    let chosen = other.unwrap_or(0);
    found.into_iter().nth(chosen)
}

struct Witness<'a> {
    confinement: &'a Confinement,
    level: Level,
    cwd: &'a Path,
}

impl Witness<'_> {
    fn judge(&self, line: &str) -> Option<Refusal> {
        let lower = line.to_lowercase();
        let says = |signs: &Signs| {
            signs.words.iter().any(|word| lower.contains(word))
                || signs.codes.iter().any(|code| line.contains(code))
        };
        let kind = if says(&NO_SOCKET) {
            Refused::Socket
        } else if says(&READ_ONLY) {
            self.of_files(line, true)?
        } else if says(&DENIED) && says(&NO_CALL) {
            Refused::Call
        } else if says(&DENIED) {
            self.of_files(line, false)?
        } else if self.has_no_network() && says(&NO_NETWORK) {
            Refused::Network
        } else {
            return None;
        };
        Some(Refusal { kind, line: line.trim().chars().take(QUOTED).collect() })
    }

    fn has_no_network(&self) -> bool {
        self.confinement.profile == Profile::ReadOnly || self.confinement.network == Network::Deny
    }

    /// Whether a line that complains about files is about what the confinement keeps. `surely` is for complaints that
    /// have hardly another cause where Tiller itself could write.
    fn of_files(&self, line: &str, surely: bool) -> Option<Refused> {
        let paths = self.paths(line);
        if paths.iter().any(|path| self.is_denied(path)) {
            return Some(Refused::Reading);
        }
        // Landlock alone lets nothing new be made where something beside it is protected.
        let is_new = |path: &Path| self.level < Level::Namespaces && !path.exists();
        let is_kept = |path: &PathBuf| (surely || !self.is_free(path) || is_new(path)) && could_write(path);
        let kept = paths.iter().any(is_kept);
        (kept || (surely && paths.is_empty())).then_some(Refused::Writing)
    }

    fn is_denied(&self, path: &Path) -> bool {
        self.confinement.denied_reads.iter().any(|denied| path.starts_with(denied))
    }

    /// Whether the confinement lets everything below be written.
    fn is_free(&self, path: &Path) -> bool {
        let Confinement { roots, writable, .. } = self.confinement;
        let inside = roots.iter().chain(writable).filter_map(|dir| path.strip_prefix(dir).ok());
        self.confinement.profile == Profile::Workspace
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
        refusal(output, confinement, Level::Namespaces, cwd).map(|refusal| refusal.kind)
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
            ("error: Read-only file system (os error 30)".to_owned(), Some(Refused::Writing)),
            (
                "error: could not write config file .git/config: Device or resource busy".to_owned(),
                Some(Refused::Writing),
            ),
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
        confinement.network = Network::Deny;
        let line = "curl: (6) Could not resolve host: example.org";
        assert_eq!(kind("FileNotFoundError: nothing there", &confinement, &root), None);
        let expected = Refusal { kind: Refused::Network, line: line.to_owned() };
        assert_eq!(refusal(line, &confinement, Level::Namespaces, &root), Some(expected));
        let line = "touch: cannot touch 'new': Permission denied";
        assert_eq!(kind(line, &confinement, &root), None);
        let alone = refusal(line, &confinement, Level::Landlock, &root);
        assert_eq!(alone.map(|refusal| refusal.kind), Some(Refused::Writing));
        assert_eq!(kind(line, &Confinement::full(), &root), None);
    }
}
