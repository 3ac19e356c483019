//! Git, the configuration directory, the disk and the terminal.

use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Access, access, statvfs};
use rustix::termios::tcgetwinsize;
use tiller_config::config_dir;
use tiller_protocol::env::Env;

use super::finding::Finding;

/// With less room than this, logs may soon not be written.
const SCARCE: u64 = 200 << 20;

pub(super) fn examine(env: &Env) -> Vec<Finding> {
    let dir = config_dir(env);
    let mut findings = vec![git(env), directory(&dir)];
    findings.extend(room(&dir));
    findings.push(terminal(env));
    findings
}

fn git(env: &Env) -> Finding {
    let output = Command::new("git").arg("--version").current_dir(&env.cwd).output();
    match output {
        Ok(output) if output.status.success() => {
            Finding::ok("git", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => Finding::warn(
            "git",
            "git was not found",
            "install it, so that the model knows the repository's state",
        ),
    }
}

fn directory(dir: &Path) -> Finding {
    const TOPIC: &str = "files";
    let shown = dir.display();
    let nearest = nearest_existing(dir);
    if access(nearest, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let text = format!("{shown} cannot be written: sessions cannot be saved");
        return Finding::fail(TOPIC, text, "make it writable, or set TILLER_CONFIG_DIR to another directory");
    }
    if nearest != dir {
        return Finding::ok(TOPIC, format!("{shown} will be created when needed"));
    }
    match fs_err::metadata(dir).map(|meta| (meta.is_dir(), meta.permissions().mode() & 0o777)) {
        Ok((false, _)) => Finding::fail(
            TOPIC,
            format!("{shown} is not a directory"),
            "move it away, or set TILLER_CONFIG_DIR",
        ),
        Ok((true, mode)) if mode & 0o077 != 0 => Finding::warn(
            TOPIC,
            format!("other users on this machine can read {shown} (mode {mode:03o})"),
            format!("chmod 700 {shown}"),
        ),
        Ok(_) => Finding::ok(TOPIC, format!("{shown} is private and can be written")),
        Err(error) => Finding::fail(TOPIC, error.to_string(), "set TILLER_CONFIG_DIR to another directory"),
    }
}

fn room(dir: &Path) -> Option<Finding> {
    let system = statvfs(nearest_existing(dir)).ok()?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let text = format!("{} MB are free for session logs", free >> 20);
    Some(match free < SCARCE {
        true => Finding::warn("disk", text, "free some space, or set TILLER_CONFIG_DIR to another disk"),
        false => Finding::ok("disk", text),
    })
}

fn nearest_existing(dir: &Path) -> &Path {
    dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"))
}

fn terminal(env: &Env) -> Finding {
    // Where a front end reads the output, the input is still the user's terminal.
    let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
    let size = match (stdout.is_terminal(), stdin.is_terminal()) {
        (true, _) => tcgetwinsize(&stdout),
        (false, true) => tcgetwinsize(&stdin),
        (false, false) => return Finding::ok("terminal", "neither input nor output is a terminal"),
    };
    let size = size.map(|size| format!("{} columns, {} lines", size.ws_col, size.ws_row));
    let name = env.var("TERM").unwrap_or("TERM is not set");
    let text = format!("{name}, {}", size.unwrap_or_else(|_| "of unknown size".to_owned()));
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env.var(name)).unwrap_or_default();
    match locale.to_lowercase().replace('-', "").contains("utf8") {
        true => Finding::ok("terminal", format!("{text}, {locale}")),
        false => Finding::warn(
            "terminal",
            format!("{text}; the locale is not UTF-8"),
            "set LANG to something like C.UTF-8, so that programs print readable text",
        ),
    }
}
