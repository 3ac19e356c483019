//! Settings and hooks in subdirectories. They decide nothing here, so no kernel keeps commands from writing them, but they
//! will decide for whoever starts Tiller or another agent there.

use std::path::{Path, PathBuf};

use tiller_protocol::entry::{Level, Notice};

use super::survey::OF_PROJECT;
use super::{CHANGED, listed};

/// Whether a file decides something in a directory below one of these, but not in them.
pub(crate) fn decides_below(roots: &[PathBuf], path: &Path) -> bool {
    let below = |root: &PathBuf| {
        let mut names = path.strip_prefix(root).ok()?.iter();
        names.position(|name| OF_PROJECT.iter().any(|known| name == *known))
    };
    let depths: Vec<usize> = roots.iter().filter_map(below).collect();
    !depths.is_empty() && depths.iter().all(|depth| *depth > 0)
}

/// What the user is told of such files that have changed during a turn; nothing if none have.
pub(crate) fn notice_below(changed: &[PathBuf]) -> Option<Notice> {
    (!changed.is_empty()).then(|| {
        let content = format!(
            "During this turn, settings or hooks in subdirectories changed: {}. They decide what is allowed and what runs \
             when Tiller or another agent is started there: look at what they say now.",
            listed(changed)
        );
        Notice { subtype: CHANGED.to_owned(), level: Level::Warning, content }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // PERM-21
    #[test]
    fn only_what_decides_elsewhere_counts() {
        let roots = [PathBuf::from("/w"), PathBuf::from("/w/inner")];
        for path in ["/w/sub/.tiller/settings.json", "/w/a/b/.mcp.json", "/w/inner/sub/.claude/agents/a.md"] {
            assert!(decides_below(&roots, Path::new(path)), "{path}");
        }
        for path in ["/w/.tiller/settings.json", "/w/inner/.mcp.json", "/w/src/main.rs", "/x/sub/.mcp.json"] {
            assert!(!decides_below(&roots, Path::new(path)), "{path}");
        }
    }
}
