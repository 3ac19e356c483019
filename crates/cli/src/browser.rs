//! The user's browser.

use std::process::{Command, Stdio};

use tiller_protocol::env::Env;

/// Names another program that opens pages; it gets the address.
const BROWSER: &str = "BROWSER";

/// Shows a page. Whoever has no browser here opens the address elsewhere. Nothing but pages is opened, whatever a service
/// names.
pub(crate) fn open(env: &Env, url: &str) {
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return;
    }
    for program in env.var(BROWSER).into_iter().chain(["xdg-open"]) {
        let started = Command::new(program)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if started.is_ok() {
            return;
        }
    }
}
