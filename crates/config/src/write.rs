//! Changes settings files: what is not changed stays as it is, comments included, and nobody's change is lost.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use crate::document::{LIBERTIES, Node};
use crate::error::{Problem, SettingsError};
use crate::origin::{Layer, Origin, Place};

/// A settings file that is being changed.
pub struct Editor {
    file: PathBuf,
    root: CstRootNode,
}

/// Changes a file. Other processes that do the same wait; whoever reads sees the old file or the new one.
///
/// # Errors
/// When the file cannot be read, understood or written, or the change fails. Nothing is written then.
pub fn update(
    path: &Path,
    edit: impl FnOnce(&mut Editor) -> Result<(), SettingsError>,
) -> Result<(), SettingsError> {
    // Dotfile managers keep settings elsewhere and link to them: the link stays.
    let path = fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let dir = path.parent().unwrap_or(Path::new("/"));
    make_private(dir)?;
    let _lock = lock(dir)?;
    let before = text_of(&path)?;
    let mut editor = Editor::open(&path, before.as_deref().unwrap_or_default())?;
    edit(&mut editor)?;
    let after = editor.text();
    if before.as_deref() != Some(&after) {
        replace(&path, dir, &after)?;
    }
    Ok(())
}

/// Locks the directory above: a lock file would stay behind in the user's repository, and the directory itself may be
/// one that only stands there, locked, as long as a command runs.
fn lock(dir: &Path) -> std::io::Result<fs_err::File> {
    let above = dir.parent().unwrap_or(dir);
    let lock = fs_err::File::open(above).or_else(|_| fs_err::File::open(dir))?;
    lock.lock()?;
    Ok(lock)
}

pub(crate) fn make_private(dir: &Path) -> std::io::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", dir.display())))
}

/// What a file holds; an empty object if there is none.
pub(crate) fn read(path: &Path) -> Result<Value, SettingsError> {
    let text = text_of(path)?.unwrap_or_default();
    Ok(Node::parse(&text, &Origin::file(Layer::User, path.to_owned()))?.to_value())
}

fn text_of(path: &Path) -> Result<Option<String>, SettingsError> {
    match fs_err::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn replace(path: &Path, dir: &Path, text: &str) -> Result<(), SettingsError> {
    // Temporary files are private to the user; a file that was there keeps the rights it had.
    let mut file = match tempfile::NamedTempFile::new_in(dir) {
        // A directory that only stood there is gone when its command has ended.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_private(dir)?;
            tempfile::NamedTempFile::new_in(dir)?
        }
        file => file?,
    };
    file.write_all(text.as_bytes())?;
    let rights = fs_err::metadata(path).map_or(0o600, |known| known.permissions().mode());
    file.as_file().set_permissions(std::fs::Permissions::from_mode(rights))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs_err::File::open(dir)?.sync_all()?;
    Ok(())
}

impl Editor {
    fn open(path: &Path, text: &str) -> Result<Self, SettingsError> {
        let origin = Origin::file(Layer::User, path.to_owned());
        // Finds what the editor would be confused by, such as a key that is there twice.
        Node::parse(text, &origin)?;
        let root = CstRootNode::parse(text, &LIBERTIES).map_err(|error| {
            let place = Some(Place { line: error.line_display(), column: error.column_display() });
            SettingsError::Syntax(Problem {
                origin,
                place,
                key: String::new(),
                text: error.kind().to_string(),
            })
        })?;
        Ok(Self { file: path.to_owned(), root })
    }

    fn text(&self) -> String {
        let text = self.root.to_string();
        if text.ends_with('\n') { text } else { text + "\n" }
    }

    /// Sets a value.
    ///
    /// # Errors
    /// When a group on the way is something else in the file.
    pub fn set(&mut self, path: &[&str], value: &Value) -> Result<(), SettingsError> {
        let Some((last, group)) = path.split_last() else { return Ok(()) };
        let object = self.group(group)?;
        match object.get(last) {
            Some(property) => property.set_value(input(value)),
            None => {
                object.append(last, input(value));
            }
        }
        Ok(())
    }

    /// Takes a value away, if it is there.
    ///
    /// # Errors
    /// When a group on the way is something else in the file.
    pub fn remove(&mut self, path: &[&str]) -> Result<(), SettingsError> {
        let Some((last, group)) = path.split_last() else { return Ok(()) };
        if let Some(property) = self.group(group)?.get(last) {
            property.remove();
        }
        Ok(())
    }

    /// Adds to the end of a list what is not in it.
    ///
    /// # Errors
    /// When there is something else than a list in the file.
    pub fn add(&mut self, path: &[&str], value: &Value) -> Result<(), SettingsError> {
        let list = self.list(path)?;
        if !list.elements().iter().any(|element| holds(element, value)) {
            list.append(input(value));
        }
        Ok(())
    }

    /// Takes a value out of a list.
    ///
    /// # Errors
    /// When there is something else than a list in the file.
    pub fn take_out(&mut self, path: &[&str], value: &Value) -> Result<(), SettingsError> {
        for element in self.list(path)?.elements().into_iter().filter(|element| holds(element, value)) {
            element.remove();
        }
        Ok(())
    }

    fn group(&self, path: &[&str]) -> Result<CstObject, SettingsError> {
        let root = self.root.object_value_or_set();
        path.iter().enumerate().try_fold(root, |object, (depth, name)| {
            object.object_value_or_create(name).ok_or_else(|| self.occupied(&path[..=depth]))
        })
    }

    fn list(&self, path: &[&str]) -> Result<CstArray, SettingsError> {
        let (last, group) = path.split_last().ok_or_else(|| self.occupied(path))?;
        self.group(group)?.array_value_or_create(last).ok_or_else(|| self.occupied(path))
    }

    fn occupied(&self, path: &[&str]) -> SettingsError {
        SettingsError::Occupied { file: self.file.clone(), key: path.join(".") }
    }
}

fn holds(element: &CstNode, value: &Value) -> bool {
    let text = element.to_string();
    Node::parse(&format!("{{\"it\": {text}\n}}"), &Origin::layer(Layer::Default))
        .is_ok_and(|node| node.to_value()["it"] == *value)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(boolean) => CstInputValue::Bool(*boolean),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
