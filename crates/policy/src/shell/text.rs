//! Looking for commands in text that is not understood.

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
