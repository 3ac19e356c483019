//! Reading and replacing a plan file from outside of the tools that change files.

use std::io::{self, Write};
use std::path::Path;

use crate::workspace::{self, FileError};

/// What a plan file holds. A file that is missing, is no regular file or cannot be read counts as no plan; what is wrong
/// with it is logged.
#[must_use]
pub fn read(path: &Path) -> Option<String> {
    let bytes = match workspace::open(path).and_then(workspace::load) {
        Ok(loaded) => loaded.bytes,
        Err(FileError::Missing) => return None,
        Err(error) => {
            tracing::warn!("the plan {} cannot be read: {error:?}", path.display());
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(_) => {
            tracing::warn!("the plan {} is not UTF-8", path.display());
            None
        }
    }
}

/// Replaces a plan with what the user made of it, in one step and readable by the user alone.
///
/// # Errors
/// When it cannot be written.
pub fn save(path: &Path, plan: &str) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(plan.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What the model is told that hands a plan over and has not written one.
#[must_use]
pub fn missing(path: &Path) -> String {
    format!("There is no plan in {} yet. Write the plan to that file first, then call again.", path.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    // PLAN-12
    #[test]
    fn what_cannot_be_read_is_no_plan() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| fs_err::canonicalize(dir.path()).unwrap().join(name);
        assert_eq!(read(&at("missing")), None);
        assert_eq!(read(&at("")), None);
        fs_err::write(at("latin"), b"caf\xe9").unwrap();
        assert_eq!(read(&at("latin")), None);
        fs_err::write(at("secret"), "elsewhere").unwrap();
        symlink(at("secret"), at("link")).unwrap();
        assert_eq!(read(&at("link")), None, "a link is no plan");
        fs_err::write(at("empty"), "").unwrap();
        assert_eq!(read(&at("empty")).as_deref(), Some(""), "an empty file exists");
    }

    // SECR-02
    #[test]
    fn a_plan_is_replaced_and_stays_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = fs_err::canonicalize(dir.path()).unwrap().join("a.md");
        for plan in ["# One", "# Two"] {
            save(&path, plan).unwrap();
            assert_eq!(read(&path).as_deref(), Some(plan));
            assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
