//! Adding plugins for the user, and removing them.

use std::path::{Path, PathBuf};

use super::{Plugin, installed_dir, read, wrong_plugin_name};
use crate::error::SettingsError;
use crate::origin::Layer;
use crate::write::make_private;

/// Files that a plugin may have.
const MOST_FILES: usize = 10_000;
/// Bytes that they may have together.
const MOST_BYTES: u64 = 100 * 1024 * 1024;

/// What becomes of a plugin of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupied {
    /// It stays, and the new one is not added.
    Refuse,
    /// The new one takes its place.
    Replace,
}

/// Copies a plugin to where the user's are kept: what counts is what the user has seen, whatever becomes of its source.
///
/// # Errors
/// When it is no plugin, there is one of its name, or it cannot be copied.
pub fn add_plugin(config_dir: &Path, source: &Path, occupied: Occupied) -> Result<Plugin, SettingsError> {
    let mut problems = Vec::new();
    let Some(found) = read(source, Layer::User, &mut problems) else {
        let why = problems.pop().map(|problem| problem.to_string()).unwrap_or_default();
        return Err(SettingsError::NoPlugin(why));
    };
    let (name, source) = (found.plugin.name, found.plugin.dir);
    let plugins = installed_dir(config_dir);
    let target = plugins.join(&name);
    if source.starts_with(&plugins) {
        return Err(SettingsError::NoPlugin(format!("{} already exists", source.display())));
    }
    if target.exists() && occupied == Occupied::Refuse {
        return Err(SettingsError::PluginExists(name));
    }
    make_private(&plugins)?;
    let draft = plugins.join(format!(".{name}"));
    remove(&draft)?;
    let mut copy = Copy { root: source.clone(), files: 0, bytes: 0 };
    if let Err(error) = copy.dir(&source, &draft) {
        remove(&draft)?;
        return Err(error);
    }
    remove(&target)?;
    fs_err::rename(&draft, &target)?;
    let copied = read(&target, Layer::User, &mut problems).map(|unpacked| unpacked.plugin);
    copied.ok_or_else(|| SettingsError::NoPlugin(target.display().to_string()))
}

/// Removes a plugin of the user's. Says whether there was one.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_plugin(config_dir: &Path, name: &str) -> Result<bool, SettingsError> {
    let dir = installed_dir(config_dir).join(name);
    if wrong_plugin_name(name).is_some() || !dir.is_dir() {
        return Ok(false);
    }
    remove(&dir)?;
    Ok(true)
}

fn remove(dir: &Path) -> std::io::Result<()> {
    if dir.is_symlink() {
        fs_err::remove_file(dir)
    } else if dir.exists() {
        fs_err::remove_dir_all(dir)
    } else {
        Ok(())
    }
}

/// A copy that is bounded and stays inside of its source.
struct Copy {
    root: PathBuf,
    files: usize,
    bytes: u64,
}

impl Copy {
    fn dir(&mut self, from: &Path, to: &Path) -> Result<(), SettingsError> {
        fs_err::create_dir_all(to)?;
        for entry in fs_err::read_dir(from)? {
            let entry = entry?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type()?;
            if entry.file_name() == ".git" {
                continue;
            }
            if kind.is_dir() {
                self.dir(&path, &target)?;
            } else if kind.is_symlink() {
                let real = fs_err::canonicalize(&path)?;
                if !real.starts_with(&self.root) || !real.is_file() {
                    return Err(SettingsError::PluginLeadsOut(path));
                }
                self.file(&real, &target)?;
            } else if kind.is_file() {
                self.file(&path, &target)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), SettingsError> {
        self.files += 1;
        self.bytes += fs_err::metadata(from)?.len();
        if self.files > MOST_FILES || self.bytes > MOST_BYTES {
            return Err(SettingsError::PluginTooLarge(self.root.clone()));
        }
        fs_err::copy(from, to)?;
        Ok(())
    }
}
