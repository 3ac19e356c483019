//! The todo list on disk, where it survives compaction and is found by the next session.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tiller_protocol::effect::Todo;
use tiller_protocol::id::SessionId;

/// The main agent's file.
#[must_use]
pub fn path(config_dir: &Path, session: SessionId) -> PathBuf {
    path_of(config_dir, session, &session.to_string())
}

/// The file of the agent with this key: its agent id, or for the main agent the session id.
#[must_use]
pub fn path_of(config_dir: &Path, session: SessionId, key: &str) -> PathBuf {
    config_dir.join("todos").join(format!("{session}-agent-{key}.json"))
}

/// Replaces the file in one step.
///
/// # Errors
/// When it cannot be written. The list in memory is what counts, so this is worth a log line, not more.
pub fn save(path: &Path, todos: &[Todo]) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer_pretty(&mut file, todos)?;
    file.write_all(b"\n")?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads a list. Whatever cannot be read is an empty list and a log line.
#[must_use]
pub fn load(path: &Path) -> Vec<Todo> {
    let text = match fs_err::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            tracing::warn!("the todo list cannot be read: {error}");
            return Vec::new();
        }
    };
    match serde_json::from_str::<Vec<Todo>>(&text) {
        Ok(todos) if todos.iter().all(is_complete) => todos,
        Ok(_) => {
            tracing::warn!("{} has items without text; it counts as empty", path.display());
            Vec::new()
        }
        Err(error) => {
            tracing::warn!("{} is not a todo list: {error}", path.display());
            Vec::new()
        }
    }
}

/// Gives a new session the main agent's list of an old one, whose file stays. True if there was something to give.
pub fn migrate(config_dir: &Path, old: SessionId, new: SessionId) -> bool {
    let todos = load(&path(config_dir, old));
    if todos.is_empty() {
        return false;
    }
    match save(&path(config_dir, new), &todos) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!("the todo list cannot be handed on: {error}");
            false
        }
    }
}

/// Whether an item has the texts it needs.
pub(crate) fn is_complete(todo: &Todo) -> bool {
    !todo.content.is_empty() && !todo.active_form.is_empty()
}

#[cfg(test)]
mod tests {
    use tiller_protocol::effect::TodoStatus;

    use super::*;

    const OLD: &str = "01890000-0000-7000-8000-000000000001";
    const NEW: &str = "01890000-0000-7000-8000-000000000002";

    fn session(id: &str) -> SessionId {
        id.parse().unwrap()
    }

    fn list() -> Vec<Todo> {
        vec![Todo {
            content: "Run tests".into(),
            status: TodoStatus::Pending,
            active_form: "Running tests".into(),
        }]
    }

    // TODO-07
    #[test]
    fn the_file_is_named_after_session_and_agent_and_readable() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), session(OLD));
        assert_eq!(path, dir.path().join(format!("todos/{OLD}-agent-{OLD}.json")));
        save(&path, &list()).unwrap();
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.starts_with("[\n  {\n    \"content\": \"Run tests\""), "{text}");
        save(&path, &[]).unwrap();
        assert_eq!(load(&path), []);
        assert_eq!(fs_err::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    }

    // TODO-05
    #[test]
    fn agents_have_separate_files() {
        let dir = tempfile::tempdir().unwrap();
        let agent = path_of(dir.path(), session(OLD), "agent7");
        assert_eq!(agent, dir.path().join(format!("todos/{OLD}-agent-agent7.json")));
        save(&agent, &list()).unwrap();
        assert_eq!(load(&path(dir.path(), session(OLD))), []);
        assert_eq!(load(&agent), list());
    }

    // TODO-08
    #[test]
    fn what_is_no_list_is_an_empty_list() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("list.json");
        assert_eq!(load(&file), []);
        assert_eq!(load(dir.path()), []);
        for text in [
            "",
            "[",
            "{}",
            r#"[{"content":"a"}]"#,
            r#"[{"content":"a","status":"done","activeForm":"b"}]"#,
            r#"[{"content":"","status":"pending","activeForm":"b"}]"#,
        ] {
            fs_err::write(&file, text).unwrap();
            assert_eq!(load(&file), [], "{text}");
        }
    }

    // TODO-09
    #[test]
    fn a_list_moves_on_to_the_next_session() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (session(OLD), session(NEW));
        assert!(!migrate(dir.path(), old, new), "nothing to give");
        assert!(!path(dir.path(), new).exists());
        save(&path(dir.path(), old), &list()).unwrap();
        assert!(migrate(dir.path(), old, new));
        assert_eq!(load(&path(dir.path(), new)), list());
        assert_eq!(load(&path(dir.path(), old)), list());
    }

    // TODO-09
    #[test]
    fn a_list_that_cannot_be_handed_on_is_no_success() {
        let dir = tempfile::tempdir().unwrap();
        save(&path(dir.path(), session(OLD)), &list()).unwrap();
        fs_err::create_dir(path(dir.path(), session(NEW))).unwrap();
        assert!(!migrate(dir.path(), session(OLD), session(NEW)));
    }
}
