//! Looking for commands in text that is not understood, and for names in text of other languages.

use super::Word;

/// Where a word ends, whatever the text means.
const BREAKS: &[char] = &[
    ';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '[', ']', '#', '!', '"', '\'', '=', ',', '/', ':',
];

/// Every place where a command could begin, with the words from there to the end of its line.
pub(crate) fn possible_commands(text: &str) -> Vec<Vec<&str>> {
    let starts = text.char_indices().filter_map(|(at, c)| {
        (c.is_whitespace() || BREAKS.contains(&c) || c == '\\').then_some(at + c.len_utf8())
    });
    let ends = [';', '&', '|', '\n', ')', '`', '"', '\''];
    let commands = std::iter::once(0).chain(starts).map(|at| {
        let rest = text[at..].trim_start_matches([' ', '\t']);
        let end = rest.find(ends).unwrap_or(rest.len());
        rest[..end].split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect::<Vec<_>>()
    });
    commands.filter(|words| !words.is_empty()).collect()
}

impl Word {
    /// A name that stands in a word which is text of another language. Where the shell puts nothing into the name itself, it is
    /// known, whatever the rest of the text is.
    pub(super) fn piece(&self, name: &str) -> Word {
        let word = Word { text: name.to_owned(), lead: true, tilde: false, ..self.clone() };
        if name.contains(['$', '`', '*', '?', '[', '{']) { word } else { Word::literal(name) }
    }
}
