//! Patterns for names, as shells and `find` compare them: `?` stands for one character, whatever the number of its bytes.

use std::ops::RangeInclusive;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// A pattern, ready to be compared.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    /// Compares bytes.
    bytes: GlobMatcher,
    /// The pattern with one byte for each character, and what can be told apart in it.
    characters: Option<(GlobMatcher, Vec<char>)>,
}

/// What stands for characters that need more than one byte: nobody writes these.
const STAND_INS: RangeInclusive<char> = '\u{e}'..='\u{1f}';
/// What stands for all that a pattern does not name.
const OTHER: char = '\u{b}';

impl Glob {
    /// A pattern whose `*` crosses no `/` if that separates.
    pub(crate) fn new(pattern: &str, separated: bool) -> Result<Self, globset::Error> {
        let build = |pattern: &str| {
            GlobBuilder::new(pattern).literal_separator(separated).build().map(|glob| glob.compile_matcher())
        };
        let bytes = build(pattern)?;
        let mut named: Vec<char> = pattern.chars().filter(|c| !c.is_ascii()).collect();
        named.sort_unstable();
        named.dedup();
        // With more of them than there are stand-ins, some could not be told apart.
        let counts = pattern.contains(['?', '[']) && named.len() <= STAND_INS.count();
        let characters = if counts { Some((build(&stood_in_for(pattern, &named))?, named)) } else { None };
        Ok(Self { bytes, characters })
    }

    pub(crate) fn is_match(&self, name: impl AsRef<Path>) -> bool {
        let name = name.as_ref();
        let by_character = |(glob, named): &(GlobMatcher, Vec<char>)| {
            let text = name.to_string_lossy();
            !text.is_ascii() && glob.is_match(stood_in_for(&text, named))
        };
        self.bytes.is_match(name) || self.characters.as_ref().is_some_and(by_character)
    }
}

/// A text with one byte for each character. Those that are named stay apart.
fn stood_in_for(text: &str, named: &[char]) -> String {
    let stand_in = |c: char| {
        let at = named.iter().position(|named| *named == c);
        at.map_or(OTHER, |at| STAND_INS.clone().nth(at).unwrap_or(OTHER))
    };
    text.chars().map(|c| if c.is_ascii() { c } else { stand_in(c) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-05
    #[test]
    fn a_character_is_one_whatever_its_bytes() {
        for (pattern, name, fits) in [
            ("?.txt", "é.txt", true),
            ("?.txt", "éé.txt", false),
            ("??.txt", "éé.txt", true),
            ("a?", "a🦀", true),
            ("[!x].c", "ü.c", true),
            ("[äü].c", "ü.c", true),
            ("[äü].c", "ö.c", false),
            ("ä?", "äö", true),
            ("ä?", "öö", false),
            ("*.é", "x.é", true),
            ("?", "a", true),
            ("?", "ab", false),
            ("a/?", "a/é", true),
            ("?", "é/b", false),
        ] {
            assert_eq!(Glob::new(pattern, true).unwrap().is_match(name), fits, "{pattern} {name}");
        }
        assert!(Glob::new("[", true).is_err());
        let many: String = ('а'..='я').collect();
        let glob = Glob::new(&format!("{many}?"), true).unwrap();
        assert!(glob.is_match(format!("{many}x")) && !glob.is_match(format!("{}öx", &many[..62])));
    }
}
