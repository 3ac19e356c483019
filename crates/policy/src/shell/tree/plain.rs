//! Text as the parser bears it. It looks characters up in tables that have an entry for the first 256 only; to a shell the
//! others are parts of words.

use std::borrow::Cow;

use tree_sitter::Node;

/// The characters that the parser has entries for.
const KNOWN: char = '\u{ff}';

/// The same text with something else in the place of each character that the parser does not know. What it finds is at the
/// same bytes.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(|character| character <= KNOWN) {
        return Cow::Borrowed(text);
    }
    let stand_in = |character: char| match character.len_utf8() {
        2 => "§",
        3 => "§x",
        _ => "§§",
    };
    let replaced = text.chars().fold(String::with_capacity(text.len()), |mut replaced, character| {
        if character <= KNOWN {
            replaced.push(character);
        } else {
            replaced.push_str(stand_in(character));
        }
        replaced
    });
    Cow::Owned(replaced)
}

/// Why a tree of such a text cannot be relied on for the text itself.
pub(super) fn objection(text: &str, root: Node<'_>) -> Option<&'static str> {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if !(text.is_char_boundary(node.start_byte()) && text.is_char_boundary(node.end_byte())) {
            return Some("a character stands where none can");
        }
        // Two words that look alike to the parser may differ.
        if node.kind() == "heredoc_start" && text.get(node.byte_range()).is_none_or(|word| !word.is_ascii()) {
            return Some("a here-document ends with a word that is not plain");
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Dirs, tree::analyse};

    fn commands(text: &str) -> Option<Vec<String>> {
        let analysis = analyse(text, Dirs::default());
        analysis.opaque.is_none().then(|| analysis.commands.into_iter().map(|command| command.text).collect())
    }

    #[test]
    fn nothing_moves() {
        for text in ["", "ls -l", "echo é – ā 😀 x", "\u{10ffff}\u{3000}\u{7ff}"] {
            let plain = plain(text);
            assert_eq!(plain.len(), text.len(), "{text}");
            assert!(plain.chars().all(|character| character <= KNOWN));
            assert!(text.char_indices().all(|(at, _)| plain.is_char_boundary(at)));
        }
    }

    // RULE-01: the parser reads beyond its table where such a character stands, which can end the program.
    #[test]
    fn characters_beyond_the_parsers_table_do_no_harm() {
        for character in ['\u{100}', '–', '😀', '\u{10ffff}'] {
            for around in [
                "echo X",
                "X",
                "${X}",
                "{X..2}",
                "{1..X}",
                "$((X))",
                "a[X]=1",
                "<<X\nX\n",
                "1X>f",
                "[[ X =~ X ]]",
            ] {
                commands(&around.replace('X', &character.to_string()));
            }
        }
    }

    #[test]
    fn they_are_parts_of_words() {
        assert!(
            commands("echo a–b '😀'")
                .is_some_and(|found| found[0].contains("a–b") && found[0].contains("😀"))
        );
        // A wide blank is none to a shell, and a name that is none makes no assignment.
        assert_eq!(commands("echo\u{3000}x").map(|found| found.len()), Some(1));
        assert!(commands("ā=1").is_some_and(|found| found.len() == 1));
        assert_eq!(commands("cat <<–\nx\n—\nrm x\n–\n"), None);
        assert!(commands("cat <<EOF\n– 😀\nEOF\n").is_some());
    }
}
