//! Processes of this machine, and programs that tests write.

use std::path::Path;
use std::process::Command;

/// Processes, other than this one, with the text on their command line. Those that only wait to be collected have no
/// command line any more.
///
/// # Panics
/// When there is no `/proc`.
pub fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("tests need /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id() && has_on_command_line(*pid, text)).collect()
}

fn has_on_command_line(pid: u32, text: &str) -> bool {
    let line = fs_err::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(text)
}

/// Writes a program. Another process does it: as long as a child of another test has inherited a file that is open for
/// writing, it cannot be run.
///
/// # Panics
/// When it cannot be written.
pub fn write_program(path: &Path, content: &str) {
    let script = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("sh").args(["-c", script]).arg(path).arg(content).status();
    assert!(written.is_ok_and(|status| status.success()), "{} cannot be written", path.display());
}
