//! The browser of the test environment.

use std::path::PathBuf;

/// Names under which Chromium and its relatives are installed.
const NAMES: [&str; 6] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// A browser that speaks the Chrome DevTools protocol: `TILLER_TEST_BROWSER`, or one of the usual names on the path.
pub fn find_browser() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("TILLER_TEST_BROWSER") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut places = NAMES.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name)));
    places.find(|place| place.is_file())
}

/// The browser.
///
/// # Panics
///
/// When there is none, saying how to get it.
pub fn browser() -> PathBuf {
    find_browser().expect("no browser was found: run \"cargo xtask setup\", or set TILLER_TEST_BROWSER")
}
