//! Plan files: where they are and what they are called. They are written by the ordinary tools; they stay when a session
//! is cleared or over, for they are work of the user's.

mod slug;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tiller_protocol::env::Ids;
use tiller_tools::{plan_file, resolve_links};

pub use slug::Slug;

/// The directory of all plan files of the user.
#[derive(Clone, Debug)]
pub struct Plans {
    dir: PathBuf,
}

impl Plans {
    /// Below the configuration directory, links resolved: what may be written is compared by real paths.
    #[must_use]
    pub fn in_dir(config_dir: &Path) -> Self {
        Self { dir: resolve_links(&config_dir.join("plans")) }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The plan file of a session's main agent.
    #[must_use]
    pub fn file(&self, slug: &Slug) -> PathBuf {
        self.dir.join(format!("{slug}.md"))
    }

    /// A name for a session that plans for the first time.
    pub fn fresh(&self, ids: &dyn Ids) -> Slug {
        // A link that leads nowhere is in the way as well.
        Slug::draw(ids, |slug| fs_err::symlink_metadata(self.file(slug)).is_ok())
    }

    /// Makes sure that the directory is there, for the user alone. Without it, writing the plan will say what is wrong.
    pub(crate) fn prepare(&self) {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        if let Err(error) = made {
            tracing::warn!("the directory for plans, {}, could not be made: {error}", self.dir.display());
        }
    }

    /// A plan of the same content for another session, which must not write to the file of the first.
    pub(crate) fn copy(&self, from: &Slug, to: &Slug) {
        let Some(plan) = plan_file::read(&self.file(from)) else { return };
        self.prepare();
        if let Err(error) = plan_file::save(&self.file(to), &plan) {
            tracing::warn!("the plan was not copied for the forked session: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::still::Still;

    fn mode(path: &Path) -> u32 {
        fs_err::metadata(path).unwrap().permissions().mode() & 0o777
    }

    // PLAN-07, SECR-02
    #[test]
    fn the_directory_is_made_when_it_is_needed_and_trouble_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let plans = Plans::in_dir(&dir.path().join("config"));
        assert!(!plans.dir().exists());
        plans.prepare();
        assert_eq!(mode(plans.dir()), 0o700);
        fs_err::write(dir.path().join("file"), "").unwrap();
        Plans::in_dir(&dir.path().join("file")).prepare();
    }

    // PLAN-10: a file that exists is not written over, as long as another name can be found.
    #[test]
    fn a_name_whose_file_is_there_counts_as_taken() {
        let dir = tempfile::tempdir().unwrap();
        let plans = Plans::in_dir(dir.path());
        plans.prepare();
        let slug = plans.fresh(&Still::default());
        std::os::unix::fs::symlink("/nowhere", plans.file(&slug)).unwrap();
        // This source of randomness has no other name to offer.
        assert_eq!(plans.fresh(&Still::default()), slug);
    }

    #[test]
    fn a_copy_is_private_and_nothing_is_copied_from_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let plans = Plans::in_dir(dir.path());
        let [from, to] = ["a-b-c", "d-e-f"].map(|name| Slug::parse(name).unwrap());
        plans.copy(&from, &to);
        assert!(!plans.file(&to).exists());
        plans.prepare();
        fs_err::write(plans.file(&from), "# Plan").unwrap();
        plans.copy(&from, &to);
        assert_eq!(fs_err::read_to_string(plans.file(&to)).unwrap(), "# Plan");
        assert_eq!(mode(&plans.file(&to)), 0o600);
    }
}
