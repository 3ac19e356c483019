//! Every text is Tiller's own: none speaks of another agent as if it were that one.

use std::io;
use std::path::{Path, PathBuf};

/// Other agents. A text that names one was written for it, or about it.
const OTHERS: [&str; 10] = [
    "claude code",
    "codex",
    "copilot",
    "gemini",
    "aider",
    "opencode",
    "windsurf",
    "devin",
    "cline",
    "official cli",
];

fn texts_below(dir: &Path, texts: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs_err::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            texts_below(&path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            texts.push(path);
        }
    }
    Ok(())
}

fn texts() -> io::Result<Vec<PathBuf>> {
    let mut texts = Vec::new();
    for package in fs_err::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))? {
        let source = package?.path().join("src");
        if source.is_dir() {
            texts_below(&source, &mut texts)?;
        }
    }
    Ok(texts)
}

fn named(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let is_word = |at: usize, name: &str| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        ![before, after].iter().flatten().any(|c| c.is_alphanumeric())
    };
    OTHERS.into_iter().find(|name| text.match_indices(name).any(|(at, _)| is_word(at, name)))
}

// PROMPT-22
#[test]
fn no_text_is_somebody_elses() {
    let texts = texts().unwrap();
    assert!(texts.len() > 40, "the texts were not found: {texts:?}");
    for path in texts {
        let text = fs_err::read_to_string(&path).unwrap();
        assert_eq!(named(&text), None, "{}", path.display());
    }
}

// PROMPT-22
#[test]
fn names_are_found_as_words() {
    assert_eq!(named("You are Claude Code."), Some("claude code"));
    assert_eq!(named("inclined, decline, .claude/agents"), None);
}
