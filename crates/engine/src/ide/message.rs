//! The lines of an editor.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tiller_steering::attachment::{Diagnostic, SelectedLinesInIde, Severity};
use tiller_steering::source::Editor;
use tiller_tools::resolve_links;

/// Characters of a selection that are kept: more than the model is told, so that it is told of the cut.
const MAX_SELECTION: usize = 4_000;
/// Bytes of a path.
const MAX_PATH: usize = 4_096;
/// Characters of an editor's name, and of the name of whoever found a problem.
const MAX_NAME: usize = 64;
/// Problems of one file.
const MAX_PROBLEMS: usize = 200;
/// Characters of a problem.
const MAX_MESSAGE: usize = 1_000;

/// What an editor has said.
#[derive(Debug)]
pub(super) enum Said {
    /// The user looks at this.
    Looks(Editor),
    /// The user looks at nothing any more.
    LooksAway,
    /// All problems of a file.
    Problems(PathBuf, Vec<Diagnostic>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Line {
    Selection { file: PathBuf, start_line: u64, end_line: u64, text: String, editor: Option<String> },
    OpenedFile { file: PathBuf },
    ClosedFile,
    Diagnostics { file: PathBuf, problems: Vec<Problem> },
}

#[derive(Deserialize)]
struct Problem {
    severity: Word,
    line: u64,
    #[serde(default = "first")]
    column: u64,
    message: String,
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Error,
    Warning,
    Info,
    Hint,
}

fn first() -> u64 {
    1
}

/// Understands a line. Looks where the path of a file leads, so it may take a moment.
///
/// # Errors
/// A text for whoever wrote it.
pub(super) fn understand(line: &[u8]) -> Result<Said, String> {
    match serde_json::from_slice(line).map_err(|error| format!("this is not understood: {error}"))? {
        Line::Selection { file, text, .. } if text.is_empty() => {
            Ok(Said::Looks(Editor::Opened(named_file(&file)?)))
        }
        Line::Selection { file, start_line, end_line, text, editor } => {
            if start_line == 0 || end_line < start_line {
                return Err("lines are counted from 1, and endLine is not before startLine".to_owned());
            }
            Ok(Said::Looks(Editor::Selection(SelectedLinesInIde {
                filename: named_file(&file)?,
                line_start: start_line,
                line_end: end_line,
                content: beginning(&text, MAX_SELECTION),
                ide_name: editor.map(|name| named(&name)).filter(|name| !name.is_empty()),
            })))
        }
        Line::OpenedFile { file } => Ok(Said::Looks(Editor::Opened(named_file(&file)?))),
        Line::ClosedFile => Ok(Said::LooksAway),
        Line::Diagnostics { file, problems } => {
            Ok(Said::Problems(place(&file)?, problems.into_iter().take(MAX_PROBLEMS).map(problem).collect()))
        }
    }
}

/// The file by the name that the editor knows it by: rules speak of that, too.
fn named_file(file: &Path) -> Result<PathBuf, String> {
    let bytes = file.as_os_str().as_encoded_bytes();
    if !file.is_absolute() || bytes.len() > MAX_PATH || bytes.iter().any(u8::is_ascii_control) {
        return Err("file has to be an absolute path".to_owned());
    }
    Ok(file.to_owned())
}

/// The file by where it really is: problems are looked up by that.
fn place(file: &Path) -> Result<PathBuf, String> {
    named_file(file).map(|file| resolve_links(&file))
}

fn problem(problem: Problem) -> Diagnostic {
    Diagnostic {
        severity: match problem.severity {
            Word::Error => Severity::Error,
            Word::Warning => Severity::Warning,
            Word::Info => Severity::Info,
            Word::Hint => Severity::Hint,
        },
        line: problem.line,
        column: problem.column,
        message: beginning(&problem.message, MAX_MESSAGE),
        source: problem.source.map(|source| named(&source)),
    }
}

fn named(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn understood(line: &Value) -> Said {
        understand(line.to_string().as_bytes()).unwrap()
    }

    // STEER-26
    #[test]
    fn selections_and_files_are_understood() {
        let selection = json!({
            "type": "selection", "file": "/p/a.rs", "startLine": 3, "endLine": 9, "text": "é".repeat(5_000),
            "editor": "helix\u{1b}[31m", "column": 7,
        });
        let Said::Looks(Editor::Selection(selected)) = understood(&selection) else { panic!() };
        assert_eq!((selected.line_start, selected.line_end), (3, 9));
        assert_eq!(selected.content.chars().count(), MAX_SELECTION);
        assert_eq!(selected.ide_name.as_deref(), Some("helix[31m"));
        let empty = json!({"type": "selection", "file": "/p/a.rs", "startLine": 3, "endLine": 3, "text": ""});
        assert!(matches!(understood(&empty), Said::Looks(Editor::Opened(_))));
        assert!(matches!(understood(&json!({"type": "closed_file"})), Said::LooksAway));
    }

    // STEER-45
    #[test]
    fn problems_are_understood() {
        let problems: Vec<Value> = (0..300)
            .map(|line| json!({"severity": "warning", "line": line, "message": "x".repeat(2_000)}))
            .collect();
        let line = json!({"type": "diagnostics", "file": "/p/a.rs", "problems": problems});
        let Said::Problems(file, problems) = understood(&line) else { panic!() };
        assert_eq!((file, problems.len()), (PathBuf::from("/p/a.rs"), MAX_PROBLEMS));
        assert_eq!((problems[7].line, problems[7].column, problems[7].message.len()), (7, 1, MAX_MESSAGE));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        let selection = |file: &str, first: u64, last: u64| -> Value {
            let mut line = json!({"type": "selection", "startLine": first, "endLine": last, "text": "x"});
            line["file"] = file.into();
            line
        };
        for line in [
            selection("a.rs", 1, 2),
            selection("/p/a.rs", 0, 2),
            selection("/p/a.rs", 3, 2),
            selection("/p/a\n.rs", 1, 2),
            selection(&format!("/{}", "x".repeat(5_000)), 1, 2),
            json!({"type": "selection", "file": "/p/a.rs"}),
            json!({"type": "launch_missiles"}),
            json!([]),
        ] {
            assert!(!understand(line.to_string().as_bytes()).unwrap_err().is_empty(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = understand(&bytes);
        }
    }
}
