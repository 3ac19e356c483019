//! The files a call may touch: resolving paths, opening what is permitted, replacing content atomically.
//!
//! Invariant: nothing here follows a symbolic link after a path was resolved. A link that turns up later was put there
//! since, and is refused.

mod error;
mod links;
mod open;
mod replace;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use tiller_policy::Place;

use crate::cx::View;

pub(crate) use error::FileError;
pub use links::{links_among, names_below, names_in, odd_names_below};
pub(crate) use open::{Loaded, Opened, load, open, open_permitted, searchable};
pub(crate) use replace::{Before, Replaced, replace};

/// Links followed at most before a path counts as a loop.
const LINKS_FOLLOWED: usize = 40;

/// The absolute path that the model means, with `..` and links resolved as far as the path exists (RULE-05).
pub(crate) fn resolve(view: &View, path: &str) -> PathBuf {
    resolve_links(&view.absolute(path, &view.home))
}

/// The place that the model means: rules against it hold for the name it is called by and for where that leads (RULE-05).
pub(crate) fn place(view: &View, path: &str) -> Place {
    let written = view.absolute(path, &view.home);
    let real = resolve_links(&written);
    Place::new(&written, real)
}

/// Where an absolute path really leads; what does not exist yet lies below its nearest existing ancestor.
#[must_use]
pub fn resolve_links(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::from("/");
    let mut pending = steps(path);
    let mut followed = 0;
    while let Some(step) = pending.pop() {
        if step == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(step);
        match fs_err::read_link(&next) {
            Ok(target) if followed < LINKS_FOLLOWED => {
                followed += 1;
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                pending.extend(steps(&target));
            }
            _ => resolved = next,
        }
    }
    resolved
}

/// The components of a path, last first.
fn steps(path: &Path) -> Vec<OsString> {
    let steps = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    steps.collect()
}

/// A path as results show it: relative to the working directory when it lies below.
pub(crate) fn shown<'a>(view: &View, path: &'a Path) -> std::borrow::Cow<'a, str> {
    match path.strip_prefix(&view.cwd) {
        Ok(relative) if !relative.as_os_str().is_empty() => relative.to_string_lossy(),
        _ => path.to_string_lossy(),
    }
}

#[cfg(test)]
mod tests;
