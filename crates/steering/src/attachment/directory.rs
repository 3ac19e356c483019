//! `directory`: a directory as if a command had listed it.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use tiller_protocol::block::RawBlock;

use super::{Kind, Rendered};

/// A directory that the user mentioned.
#[derive(Clone, Debug, Serialize)]
pub struct Directory {
    /// The absolute path.
    pub path: PathBuf,
    /// One name per line, directories with a slash behind.
    pub content: String,
}

impl Kind for Directory {
    const NAME: &'static str = "directory";

    fn render(&self) -> Rendered {
        let path = self.path.to_string_lossy();
        let input = json!({
            "command": format!("ls -1Ap -- {}", quoted(&path)),
            "description": format!("Lists {path}"),
        });
        let result = json!({"stdout": self.content, "stderr": "", "interrupted": false});
        Rendered::pair("Bash", &input, &[RawBlock::text(&result.to_string())])
    }
}

/// A word that the shell takes literally.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./+:@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // STEER-23
    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(quoted("/src/a-b_c.d"), "/src/a-b_c.d");
        assert_eq!(quoted("/my dir"), "'/my dir'");
        assert_eq!(quoted("/it's; rm -rf ~"), r"'/it'\''s; rm -rf ~'");
    }
}
