//! What the user mentions with an `@` in a prompt.

use std::collections::BTreeSet;

use tiller_protocol::effect::LineRange;

use super::{Author, Prompt};

/// Mentions looked at in one prompt.
const MOST: usize = 50;

/// One mention, as written behind the `@`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mention {
    /// The words, without quotes.
    pub(super) text: String,
    /// Whether they stood in quotes, and so are surely a path.
    pub(super) quoted: bool,
}

impl Mention {
    /// The readings of the mention, most literal first: punctuation at its end may belong to the sentence.
    pub(super) fn readings(&self) -> Vec<&str> {
        let whole = self.text.as_str();
        let trimmed =
            whole.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '`', '*']);
        if self.quoted || trimmed == whole || trimmed.is_empty() { vec![whole] } else { vec![whole, trimmed] }
    }
}

impl Mention {
    /// Whether nothing but a path can be meant. Languages and servers have words with an `@` as well.
    pub(super) fn is_surely_a_path(&self) -> bool {
        let Some(named) = self.readings().pop().map(|reading| with_lines(reading).0) else { return false };
        let ending = named.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending);
        let is_ending = |ending: &str| {
            (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
        };
        self.quoted || (!named.contains(':') && (named.contains('/') || ending.is_some_and(is_ending)))
    }
}

impl Prompt {
    /// Whether the user has written it, and not a file that they called for.
    pub(super) fn is_typed(&self) -> bool {
        !matches!(self.author, Author::File { .. })
    }

    /// Whether the user has named what a mention may mean. Whatever else is mentioned comes from a file of somebody else,
    /// and is looked at only if that needs no question.
    pub(super) fn is_named_by_user(&self, reading: &str) -> bool {
        let Author::File { given } = &self.author else { return true };
        let named = [reading, with_lines(reading).0];
        let is_it = |word: &str| named.contains(&word) || named.contains(&with_lines(word).0);
        given.iter().any(|given| {
            is_it(given) || mentions(given).iter().any(|mention| mention.readings().into_iter().any(is_it))
        })
    }
}

/// The mentions in a text, each once, in their order.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    for (at, _) in text.match_indices('@') {
        let begins = text[..at].chars().next_back().is_none_or(may_precede);
        let Some(mention) = begins.then(|| mention(&text[at + 1..])).flatten() else { continue };
        if found.len() < MOST && known.insert(mention.clone()) {
            found.push(mention);
        }
    }
    found
}

/// Whether a mention can begin behind this; an address of mail has a letter there.
fn may_precede(letter: char) -> bool {
    letter.is_whitespace() || "([{<,;:'\"`*>".contains(letter)
}

fn mention(rest: &str) -> Option<Mention> {
    if let Some(inside) = rest.strip_prefix('"') {
        let end = inside.find(['"', '\n']).filter(|&end| inside[end..].starts_with('"'))?;
        let range = inside[end + 1..].split(char::is_whitespace).next().filter(|tail| tail.starts_with("#L"));
        let text = format!("{}{}", &inside[..end], range.unwrap_or_default());
        return (end > 0).then_some(Mention { text, quoted: true });
    }
    let mut text = String::new();
    let mut letters = rest.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&' ') => text.extend(letters.next()),
            letter if letter.is_whitespace() => break,
            letter => text.push(letter),
        }
    }
    (!text.is_empty()).then_some(Mention { text, quoted: false })
}

/// A path with the lines that are wanted of it: `path#L10`, `path#L10-20`, `path#L10-L20`.
pub(super) fn with_lines(text: &str) -> (&str, Option<LineRange>) {
    let parsed = text.rsplit_once("#L").and_then(|(path, range)| {
        let number = |text: &str| text.trim_start_matches('L').parse::<u64>().ok().filter(|&line| line > 0);
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, number(range)?),
        };
        (!path.is_empty() && first <= last).then_some((path, LineRange { first, last }))
    });
    match parsed {
        Some((path, lines)) => (path, Some(lines)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        mentions(text).into_iter().map(|mention| mention.text).collect()
    }

    // STEER-22
    #[test]
    fn mentions_begin_words() {
        assert_eq!(found("look at @src/main.rs and @docs, please"), ["src/main.rs", "docs,"]);
        assert_eq!(found("@a\n(@b) mail ada@example.org `@c`"), ["a", "b)", "c`"]);
        assert_eq!(found("@a @a @ @"), ["a"]);
        assert_eq!(found(r"@my\ file.txt @~/x"), ["my file.txt", "~/x"]);
    }

    // STEER-22
    #[test]
    fn quotes_hold_a_path_together() {
        assert_eq!(found(r#"@"my file.txt" and @"other file"#), ["my file.txt"]);
        assert_eq!(found("@\"a b.rs\"#L3-4 x"), ["a b.rs#L3-4"]);
        assert_eq!(found("@\"\""), Vec::<String>::new());
    }

    #[test]
    fn punctuation_behind_a_mention_may_belong_to_the_sentence() {
        let readings = |text: &str| -> Vec<String> {
            mentions(text)[0].readings().into_iter().map(str::to_owned).collect()
        };
        assert_eq!(readings("@a.rs."), ["a.rs.", "a.rs"]);
        assert_eq!(readings("@a.rs"), ["a.rs"]);
        assert_eq!(readings("@\"a.rs.\""), ["a.rs."]);
    }

    #[test]
    fn lines_are_told_by_their_numbers() {
        let lines = |first, last| Some(LineRange { first, last });
        assert_eq!(with_lines("a.rs#L10-20"), ("a.rs", lines(10, 20)));
        assert_eq!(with_lines("a.rs#L10-L20"), ("a.rs", lines(10, 20)));
        assert_eq!(with_lines("a.rs#L7"), ("a.rs", lines(7, 7)));
        for not_lines in ["a.rs", "a.rs#L", "a.rs#L0", "a.rs#L9-3", "a.rs#Lx", "#L3", "C#"] {
            assert_eq!(with_lines(not_lines), (not_lines, None));
        }
    }
}
