//! Text of a session, bounded and harmless to show.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::figures::counted;

/// Bytes that are kept of a text.
const LONGEST: usize = 4_000;
/// Characters of a title, or of the part of an input that says most.
const SHORT: usize = 120;
/// Fields that say what a call is about, the best first.
const TELLING: [&str; 10] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "shell_id",
    "bash_id",
    "path",
    "prompt",
];

/// The beginning of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// Of the whole text.
    pub(super) bytes: u64,
    pub(super) cut: bool,
}

impl Excerpt {
    pub(super) fn of(text: &str) -> Self {
        let kept = &text[..text.floor_char_boundary(LONGEST)];
        Self { text: kept.to_owned(), bytes: text.len() as u64, cut: kept.len() < text.len() }
    }

    /// The text with more behind it, in a paragraph of its own.
    pub(super) fn followed_by(&self, more: &str) -> Self {
        let bytes = self.bytes + 2 + more.len() as u64;
        let Self { text, .. } = Self::of(&format!("{}\n\n{more}", self.text));
        Self { cut: (text.len() as u64) < bytes, text, bytes }
    }
}

/// A text on one line, cut.
pub(crate) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// What a call is about, in few words.
pub(super) fn about(input: &Value) -> String {
    if let Some(text) = TELLING.iter().find_map(|field| input.get(field)?.as_str()) {
        return short(text);
    }
    let fields = input.as_object();
    let list =
        fields.and_then(|fields| fields.iter().find_map(|(name, value)| Some((name, value.as_array()?))));
    match (list, fields) {
        (Some((name, items)), _) => format!("{name}: {}", counted(items.len() as u64, "item", "items")),
        (None, Some(fields)) if fields.is_empty() => String::new(),
        (None, None) if input.is_null() => String::new(),
        _ => short(&input.to_string()),
    }
}

/// Text whose control characters are spelled out: it can neither steer a terminal nor reverse its direction.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_treacherous) {
        return Cow::Borrowed(text);
    }
    let spelled = |c: char| if is_treacherous(c) { c.escape_unicode().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(spelled).collect())
}

fn is_treacherous(c: char) -> bool {
    let overrides_direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || overrides_direction
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters_and_keep_their_length() {
        let text = "ä".repeat(3_000);
        let excerpt = Excerpt::of(&text);
        assert_eq!((excerpt.bytes, excerpt.cut, excerpt.text.len()), (6_000, true, 4_000));
        let odd = Excerpt::of(&format!("x{text}"));
        assert_eq!(odd.text.len(), 3_999);
        assert_eq!(Excerpt::of("short"), Excerpt { text: "short".to_owned(), bytes: 5, cut: false });
    }

    #[test]
    fn paragraphs_add_up() {
        let both = Excerpt::of("a").followed_by("b");
        assert_eq!(both, Excerpt { text: "a\n\nb".to_owned(), bytes: 4, cut: false });
        let long = Excerpt::of(&"a".repeat(5_000)).followed_by("b");
        assert_eq!((long.bytes, long.cut, long.text.len()), (5_003, true, 4_000));
    }

    #[test]
    fn a_call_is_named_by_its_most_telling_field() {
        assert_eq!(about(&json!({"description": "x", "command": "cargo\n test"})), "cargo test");
        assert_eq!(about(&json!({"todos": [1, 2]})), "todos: 2 items");
        assert_eq!(about(&json!({"n": 1})), r#"{"n":1}"#);
        assert_eq!(about(&json!({})), "");
        assert_eq!(about(&json!({"command": "y".repeat(200)})).chars().count(), SHORT + 1);
    }

    #[test]
    fn what_would_steer_a_terminal_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\td\n"), "a\\u{1b}[31mb\\u{202e}c\td\n");
        assert!(matches!(visible("plain ä"), Cow::Borrowed(_)));
    }
}
