//! Every session that a test has recorded is run again, and no request may differ.

use std::path::Path;
use std::process::{Command, Stdio};

/// Replays all sessions below a configuration directory.
pub(crate) fn replay_all(config_dir: &Path) {
    let Ok(projects) = fs_err::read_dir(config_dir.join("projects")) else { return };
    for project in projects.filter_map(Result::ok) {
        let Ok(logs) = fs_err::read_dir(project.path()) else { continue };
        let logs = logs.filter_map(Result::ok).map(|entry| entry.path());
        for log in logs.filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")) {
            replay(&log);
        }
    }
}

fn replay(log: &Path) {
    let Ok(text) = fs_err::read(log) else { return };
    let text = String::from_utf8_lossy(&text);
    // A session in which no model was ever asked has nothing to replay.
    if !text.contains("\"type\":\"response\"") {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_tiller"))
        .arg("replay")
        .arg(log)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nowhere")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the replay of {} differs:\n{said}{complained}", log.display());
}
