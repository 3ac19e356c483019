//! A command in the form `execve` wants.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use tiller_policy::Script;
use tiller_protocol::id::CallId;

use crate::confine::step::Steps;
use crate::confinement::Confinement;
use crate::error::SandboxError;
use crate::{image, scrub};

/// The descriptor on which the shell leaves its last directory. Out of the way of the numbers that scripts like to
/// use (3 to 9, 200) and of those that bash takes for itself (10 and up, 63 downwards, 255).
pub(crate) const DIR_FD: i32 = 199;

/// The variable that marks all processes of a call.
pub(crate) const MARK_VAR: &str = "TILLER_CALL";

/// The longest single argument or variable that Linux accepts, its terminator included.
const MAX_STRING: usize = 128 * 1024;

/// Everything `execve` needs.
pub(crate) struct Program {
    path: CString,
    cwd: CString,
    argv: Vec<CString>,
    envp: Vec<CString>,
}

impl Program {
    /// A shell that runs the script and leaves its last directory behind.
    pub(crate) fn shell(
        script: &Script,
        vars: &BTreeMap<String, String>,
        mark: &str,
        confinement: &Confinement,
    ) -> Result<Self, SandboxError> {
        let shell = find_shell(vars)?;
        let name = shell.file_name().unwrap_or(OsStr::new("sh")).to_owned();
        Ok(Self {
            path: c_string(shell.as_os_str().as_bytes())?,
            cwd: c_string(script.cwd.as_os_str().as_bytes())?,
            argv: vec![
                c_string(name.as_bytes())?,
                c_string(b"-c")?,
                c_string(wrapped(&script.command).as_bytes())?,
            ],
            envp: environment(vars, mark, &script.cwd, confinement)?,
        })
    }

    /// The program as a file, in the form that [`crate::image::Image`] reads.
    pub(crate) fn to_file(&self, steps: &Steps) -> Result<OwnedFd, SandboxError> {
        let (argc, envc) = (self.argv.len(), self.envp.len());
        let mut bytes = vec![0; image::table_end(argc, envc)];
        for string in [&self.path, &self.cwd].into_iter().chain(&self.argv).chain(&self.envp) {
            bytes.extend_from_slice(string.as_bytes_with_nul());
        }
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        let [outside, before, sealing] = steps.counts();
        let namespaces = usize::try_from(steps.namespaces).unwrap_or(0);
        let header = [argc, envc, namespaces, bytes.len(), outside, before, sealing];
        for (at, word) in bytes.chunks_exact_mut(size_of::<usize>()).zip(header) {
            at.copy_from_slice(&word.to_ne_bytes());
        }
        steps.append_to(&mut bytes);
        let mut file = std::fs::File::from(memfd_create(c"tiller-image", MemfdFlags::CLOEXEC)?);
        file.write_all(&bytes)?;
        Ok(file.into())
    }
}

/// A mark that no other call on this machine has.
pub(crate) fn mark(call: &CallId) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let call: String = call.as_str().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{}-{count}-{call}", std::process::id())
}

/// The command, followed by a note of the directory it ended in. The trap covers `exit` and `set -e`, the last part
/// covers commands that set an exit trap of their own; `exec` leaves no note, and the directory stays what it was.
/// `eval` keeps a syntax error in the command from swallowing the rest, and all is one line, because bash loses its
/// way in the line after such an error. Switching tracing off keeps these additions out of `set -x` output.
fn wrapped(command: &str) -> String {
    let note = format!(r#"set +x; command printf "%s\0" "$PWD" >/dev/fd/{DIR_FD}; }} 2>/dev/null"#);
    let command = command.replace('\'', r"'\''");
    format!("trap '{{ {note}' EXIT; eval '{command}'; {{ set -- \"$?\"; {note}; exit \"$1\"")
}

fn environment(
    vars: &BTreeMap<String, String>,
    mark: &str,
    cwd: &Path,
    confinement: &Confinement,
) -> Result<Vec<CString>, SandboxError> {
    let own = [(MARK_VAR, mark.as_bytes()), ("PWD", cwd.as_os_str().as_bytes())];
    let kept = vars
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .filter(|(name, _)| scrub::passes(name, confinement) && own.iter().all(|(taken, _)| taken != name));
    kept.chain(own).map(|(name, value)| c_string(&[name.as_bytes(), b"=", value].concat())).collect()
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

    fn script(command: &str) -> Script {
        Script { command: command.to_owned(), cwd: PathBuf::from("/") }
    }

    #[test]
    fn credentials_are_left_out_and_the_mark_is_put_in() {
        let vars =
            [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t"), ("A", "b"), ("TILLER_CALL", "x")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let program = Program::shell(&script("true"), &vars, "mark", &Confinement::full()).unwrap();
        let envp: Vec<_> = program.envp.iter().map(|var| var.to_str().unwrap()).collect();
        assert_eq!(envp, ["A=b", "TILLER_CALL=mark", "PWD=/"]);
    }

    #[test]
    fn a_zero_byte_is_refused() {
        let refused = Program::shell(&script("echo \0"), &BTreeMap::new(), "m", &Confinement::full());
        assert!(matches!(refused, Err(SandboxError::NulByte)));
    }

    #[test]
    fn marks_differ() {
        let call = CallId::from("toolu/1 ");
        assert_ne!(mark(&call), mark(&call));
        assert!(mark(&call).ends_with("-toolu1"));
    }
}
