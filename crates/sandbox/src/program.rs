//! A command in the form `execve` wants.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use tiller_protocol::id::CallId;

use crate::confine::step::Steps;
use crate::confinement::Confinement;
use crate::error::SandboxError;
use crate::{image, scrub};

/// The descriptor on which the shell leaves its last directory. Out of the way of the numbers that scripts like to
/// use (3 to 9, 200) and of those that bash takes for itself (10 and up, 63 downwards, 255).
pub(crate) const DIR_FD: i32 = 199;
/// Where the shell waits until it may read its script.
pub(crate) const GATE_FD: i32 = 198;
/// Where its script is then.
pub(crate) const SCRIPT_FD: i32 = 197;

/// What the shell's second argument is when it has left its note.
const NOTED: &str = ":noted:";

/// The variable that marks all processes of a call.
pub(crate) const MARK_VAR: &str = "TILLER_CALL";

/// Variables that name what a shell runs before anything else.
const STARTUP: &[&[u8]] = &[b"BASH_ENV", b"ENV", b"LD_PRELOAD"];

/// The longest single argument or variable that Linux accepts, its terminator included.
const MAX_STRING: usize = 128 * 1024;

/// A shell that waits for a script: everything `execve` needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    kind: Kind,
    path: CString,
    cwd: CString,
    argv: Vec<CString>,
    /// Without the mark, which each process has of its own.
    envp: Vec<CString>,
}

/// What is known of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bash,
    /// Any other one.
    Posix,
}

impl Program {
    /// A shell that starts in a directory with these variables.
    pub(crate) fn shell(
        cwd: &Path,
        vars: &BTreeMap<String, String>,
        confinement: &Confinement,
    ) -> Result<Self, SandboxError> {
        Self::of(&find_shell(vars)?, cwd, vars, confinement)
    }

    fn of(
        shell: &Path,
        cwd: &Path,
        vars: &BTreeMap<String, String>,
        confinement: &Confinement,
    ) -> Result<Self, SandboxError> {
        let name = shell.file_name().unwrap_or(OsStr::new("sh")).to_owned();
        let kind = if name == "bash" { Kind::Bash } else { Kind::Posix };
        Ok(Self {
            kind,
            path: c_string(shell.as_os_str().as_bytes())?,
            cwd: c_string(cwd.as_os_str().as_bytes())?,
            argv: vec![c_string(name.as_bytes())?, c_string(b"-c")?, c_string(kind.waiting().as_bytes())?],
            envp: environment(vars, cwd, confinement)?,
        })
    }

    /// Whether starting it early makes no difference to the script: some variables name files that are run first.
    pub(crate) fn may_wait(&self) -> bool {
        let is_run_first = |var: &CString| {
            STARTUP.iter().any(|name| var.as_bytes().starts_with(name) && var.as_bytes()[name.len()] == b'=')
        };
        self.kind == Kind::Bash && !self.envp.iter().any(is_run_first)
    }

    /// A command as the shell reads it, with variables that only this one gets.
    pub(crate) fn script(&self, command: &str, extra: &[(String, String)]) -> Result<Vec<u8>, SandboxError> {
        let exports = extra.iter().map(|(name, value)| format!("export {name}={};", quoted(value)));
        let exports: String = exports.collect();
        c_string(command.as_bytes())?;
        let exports = c_string(exports.as_bytes())?;
        Ok(match self.kind {
            Kind::Bash => [exports.as_bytes_with_nul(), command.as_bytes(), b"\0"].concat(),
            Kind::Posix => [exports.as_bytes(), command.as_bytes()].concat(),
        })
    }

    /// The program in the form that [`crate::image::Image`] reads; its processes carry the mark. A command that is known
    /// by then is shown in lists of processes.
    pub(crate) fn image(
        &self,
        mark: &str,
        shown: Option<&str>,
        steps: &Steps,
    ) -> Result<Vec<u8>, SandboxError> {
        let mark = c_string(format!("{MARK_VAR}={mark}").as_bytes())?;
        let shown = shown.map(|command| c_string(command.as_bytes())).transpose()?;
        let shown: Vec<&CString> = shown.iter().flat_map(|command| [&self.argv[0], command]).collect();
        let (argc, envc) = (self.argv.len() + shown.len(), self.envp.len() + 1);
        let mut bytes = vec![0; image::table_end(argc, envc)];
        let argv = self.argv.iter().chain(shown);
        let strings = [&self.path, &self.cwd].into_iter().chain(argv).chain(&self.envp).chain([&mark]);
        for string in strings {
            bytes.extend_from_slice(string.as_bytes_with_nul());
        }
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        let [outside, before, sealing, closing] = steps.counts();
        let namespaces = usize::try_from(steps.namespaces).unwrap_or(0);
        let header = [argc, envc, namespaces, bytes.len(), outside, before, sealing, closing];
        for (at, word) in bytes.chunks_exact_mut(size_of::<usize>()).zip(header) {
            at.copy_from_slice(&word.to_ne_bytes());
        }
        steps.append_to(&mut bytes);
        Ok(bytes)
    }
}

impl Kind {
    /// Waits for the gate to open, reads the script, runs it and leaves a note of the directory it ended in. The trap
    /// covers `exit` and `set -e`, the last part covers commands that set an exit trap of their own; `exec` leaves no
    /// note, and the directory stays what it was. `eval` keeps a syntax error in the command from swallowing the rest,
    /// and all is one line, because bash loses its way in the line after such an error. Switching tracing off keeps
    /// these additions out of `set -x` output. The clock starts when the script does, which has no arguments.
    ///
    /// Whoever waits has time: what can be done before the gate is done there, and what comes behind it is rehearsed, so
    /// that the memory it needs is there.
    fn waiting(self) -> String {
        let print = r#"command printf "%s\0" "$PWD""#;
        let note = format!("{print} >/dev/fd/{DIR_FD}; }} 2>/dev/null");
        let at_exit = format!("{{ set +x; [ \"${{2-}}\" = {NOTED} ] || {note}");
        let rehearsal = format!("{{ set +x; eval \"$REPLY\"; {print} >/dev/null; }} 2>/dev/null");
        let (read, script) = match self {
            Self::Bash => (
                format!(
                    "read -r -d '' -u {GATE_FD} && read -r -d '' -u {SCRIPT_FD} && eval \"$REPLY\" && \
                     read -r -d '' -u {SCRIPT_FD} || exit 126; exec {GATE_FD}<&- {SCRIPT_FD}<&-; SECONDS=0"
                ),
                "\"$REPLY\"".to_owned(),
            ),
            Self::Posix => (
                format!("read -r _ </dev/fd/{GATE_FD} || exit 126"),
                format!("\"$(command -p cat /dev/fd/{SCRIPT_FD})\""),
            ),
        };
        format!(
            "set --; trap '{at_exit}' EXIT; {rehearsal}; {read}; eval {script}; \
             {{ set -- \"$?\" {NOTED}; set +x; {note}; exit \"$1\""
        )
    }
}

/// What opens the gate.
pub(crate) const OPEN: &[u8] = b"\0\n";

/// Bytes as a file in memory.
pub(crate) fn in_memory(name: &CStr, bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file.into())
}

/// A mark that no other call on this machine has.
pub(crate) fn mark(call: &CallId) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let call: String = call.as_str().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{}-{count}-{call}", std::process::id())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn environment(
    vars: &BTreeMap<String, String>,
    cwd: &Path,
    confinement: &Confinement,
) -> Result<Vec<CString>, SandboxError> {
    let others = vars.iter().filter(|(name, _)| ![MARK_VAR, "PWD"].contains(&name.as_str()));
    let kept = others.filter_map(|(name, value)| Some((name, scrub::passed(name, value, confinement)?)));
    let kept = kept.map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
    kept.chain([c_string(&[b"PWD=", cwd.as_os_str().as_bytes()].concat())]).collect()
}

fn find_shell(vars: &BTreeMap<String, String>) -> Result<PathBuf, SandboxError> {
    let path = vars.get("PATH").map_or("", String::as_str);
    let in_path = std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("bash"));
    let places = std::iter::once(PathBuf::from("/bin/bash")).chain(in_path).chain([PathBuf::from("/bin/sh")]);
    let runnable = |file: &PathBuf| access(file, Access::EXEC_OK).is_ok();
    places.into_iter().find(runnable).ok_or(SandboxError::NoShell)
}

fn c_string(bytes: &[u8]) -> Result<CString, SandboxError> {
    if bytes.len() >= MAX_STRING {
        return Err(SandboxError::TooLong);
    }
    CString::new(bytes).map_err(|_| SandboxError::NulByte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_left_out_and_the_mark_is_put_in() {
        let vars =
            [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t"), ("A", "b"), ("TILLER_CALL", "x")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let program = Program::shell(Path::new("/"), &vars, &Confinement::full()).unwrap();
        let envp: Vec<_> = program.envp.iter().map(|var| var.to_str().unwrap()).collect();
        assert_eq!(envp, ["A=b", "PWD=/"]);
        let image = program.image("mark", Some("echo x"), &Steps::default()).unwrap();
        assert!(image.windows(17).any(|part| part == b"TILLER_CALL=mark\0"));
        assert!(image.windows(7).any(|part| part == b"echo x\0"));
    }

    #[test]
    fn a_zero_byte_is_refused() {
        let program = Program::shell(Path::new("/"), &BTreeMap::new(), &Confinement::full()).unwrap();
        let refused = program.script("echo \0", &[]);
        assert!(matches!(refused, Err(SandboxError::NulByte)));
    }

    #[test]
    fn a_shell_that_runs_something_first_does_not_wait() {
        let with = |name: &str| {
            let vars = BTreeMap::from([(name.to_owned(), "/x".to_owned())]);
            Program::of(Path::new("/bin/bash"), Path::new("/"), &vars, &Confinement::full()).unwrap()
        };
        assert!(with("BASH_ENVY").may_wait() && with("A").may_wait());
        assert!(!with("BASH_ENV").may_wait() && !with("ENV").may_wait());
    }

    #[test]
    fn marks_differ() {
        let call = CallId::from("toolu/1 ");
        assert_ne!(mark(&call), mark(&call));
        assert!(mark(&call).ends_with("-toolu1"));
    }
}
