//! No text that Tiller sends asks the model to keep something from the user.

use std::io;
use std::path::{Path, PathBuf};

const SECRECY: [&str; 22] = [
    "do not mention",
    "don't mention",
    "never mention",
    "not to mention",
    "do not tell",
    "don't tell",
    "never tell",
    "do not reveal",
    "don't reveal",
    "never reveal",
    "do not disclose",
    "never disclose",
    "without telling",
    "without mentioning",
    "without informing",
    "hide this",
    "hide it from",
    "hide from the user",
    "keep this secret",
    "keep it secret",
    "keep secret",
    "conceal",
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

fn asks_for_secrecy(text: &str) -> Option<&'static str> {
    let words = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    SECRECY.into_iter().find(|phrase| words.contains(phrase))
}

// LEDG-04
#[test]
fn no_text_asks_the_model_to_hide_anything() {
    let mut texts = Vec::new();
    for package in fs_err::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        let source = package.unwrap().path().join("src");
        if source.is_dir() {
            texts_below(&source, &mut texts).unwrap();
        }
    }
    assert!(
        texts.iter().any(|path| path.ends_with("prompt/tool_policy.md")),
        "the texts were not found: {texts:?}"
    );
    for path in texts {
        let phrase = asks_for_secrecy(&fs_err::read_to_string(&path).unwrap());
        assert_eq!(phrase, None, "{}", path.display());
    }
}

// LEDG-04
#[test]
fn a_request_for_secrecy_is_noticed_across_lines() {
    assert_eq!(asks_for_secrecy("Do NOT\n  mention this to the user."), Some("do not mention"));
    assert_eq!(asks_for_secrecy("Tell the user what failed."), None);
}
