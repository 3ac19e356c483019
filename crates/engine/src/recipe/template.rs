//! A recipe's text with what the user has given put in its places.

use tiller_config::Recipe;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Words.
    Text(String),
    /// A command whose output belongs here.
    Command(String),
}

/// What stands for everything that was given.
const ALL: &str = "$ARGUMENTS";

/// The text in pieces. Commands are found before anything is put in: what the user gives can be a part of a command that
/// is there, and never makes one.
pub(crate) fn expand(recipe: &Recipe, arguments: &str) -> Vec<Piece> {
    let given = Given {
        all: arguments,
        each: words(arguments),
        // `$1` in a skill is more often part of an example than a place for something.
        numbers: !recipe.is_skill() || !arguments.is_empty(),
    };
    let body = match &recipe.folder {
        Some(folder) => recipe.body.replace("${CLAUDE_SKILL_DIR}", &folder.to_string_lossy()),
        None => recipe.body.clone(),
    };
    let mut has_place = false;
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in split(&body) {
        let (Piece::Text(text) | Piece::Command(text)) = &piece;
        let (filled, found) = given.put_into(text);
        has_place |= found;
        pieces.push(match piece {
            Piece::Text(_) => Piece::Text(filled),
            Piece::Command(_) => Piece::Command(filled),
        });
    }
    if !has_place && !arguments.is_empty() {
        pieces.push(Piece::Text(format!("\n\nARGUMENTS: {arguments}")));
    }
    pieces
}

/// Tells words and commands apart: `` !`command` `` at the beginning of a line or behind a blank.
fn split(body: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut rest, mut searched) = (body, 0);
    while let Some(at) = rest[searched..].find("!`").map(|at| at + searched) {
        let begins =
            rest[..at].chars().next_back().is_none_or(char::is_whitespace) && (at > 0 || pieces.is_empty());
        let inner = &rest[at + 2..];
        match inner.find(['`', '\n']).filter(|end| begins && inner[*end..].starts_with('`')) {
            Some(end) if !inner[..end].trim().is_empty() => {
                pieces.push(Piece::Text(rest[..at].to_owned()));
                pieces.push(Piece::Command(inner[..end].trim().to_owned()));
                (rest, searched) = (&inner[end + 1..], 0);
            }
            _ => searched = at + 2,
        }
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    pieces
}

/// What the user has given.
struct Given<'a> {
    all: &'a str,
    each: Vec<String>,
    /// Whether `$1` stands for something.
    numbers: bool,
}

impl Given<'_> {
    /// A text with everything in its place, and whether there was a place.
    fn put_into(&self, text: &str) -> (String, bool) {
        let (mut filled, mut found, mut rest) = (String::new(), false, text);
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            match self.place(rest) {
                Some((put, length)) => {
                    filled.push_str(put);
                    found = true;
                    rest = &rest[length..];
                }
                None => {
                    filled.push('$');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        (filled, found)
    }

    /// What belongs in the place that a text begins with, and the length of the place.
    fn place(&self, text: &str) -> Option<(&str, usize)> {
        let at = |index: usize| self.each.get(index).map_or("", String::as_str);
        if let Some(behind) = text.strip_prefix(ALL) {
            let index =
                behind.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(index, _)| index);
            return Some(match index.and_then(|text| Some((text.parse().ok()?, text.len()))) {
                Some((index, digits)) => (at(index), ALL.len() + digits + 2),
                None if behind.starts_with(|next: char| next.is_alphanumeric() || next == '_') => {
                    return None;
                }
                None => (self.all, ALL.len()),
            });
        }
        let mut digits = text[1..].chars();
        let number = digits.next()?.to_digit(10).filter(|number| *number > 0 && self.numbers)?;
        let is_whole = !digits.next().is_some_and(|next| next.is_alphanumeric() || next == '_');
        is_whole.then(|| (at(number as usize - 1), 2))
    }
}

/// What was given, as a whole and word by word.
pub(crate) fn given(arguments: &str) -> Vec<String> {
    let mut given = words(arguments);
    given.push(arguments.to_owned());
    given
}

/// What was given word by word; quotes hold words together.
fn words(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in arguments.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiller_config::{Layer, Origin};

    use super::*;

    fn recipe(body: &str, folder: Option<&str>) -> Recipe {
        Recipe {
            name: "x".to_owned(),
            description: String::new(),
            argument_hint: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            model: None,
            folder: folder.map(Into::into),
            for_model: true,
            for_user: true,
            body: body.to_owned(),
            plugin: None,
            origin: Origin { layer: Layer::User, file: None },
        }
    }

    fn shown(body: &str, arguments: &str) -> String {
        let show = |piece| match piece {
            Piece::Text(text) => text,
            Piece::Command(command) => format!("<{command}>"),
        };
        expand(&recipe(body, None), arguments).into_iter().map(show).collect()
    }

    #[test]
    fn arguments_are_put_in_their_places() {
        for (body, arguments, expected) in [
            ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
            ("Fix $1 at $2.", "12 \"very high\" x", "Fix 12 at very high."),
            ("[$ARGUMENTS[1]] [$ARGUMENTS[7]]", "a b", "[b] []"),
            ("$3|$0|$10|$x|$ARGUMENTS_X|$", "a b", "|$0|$10|$x|$ARGUMENTS_X|$"),
            ("No place.", "a b", "No place.\n\nARGUMENTS: a b"),
            ("No place.", "", "No place."),
            ("Fix $1.", "", "Fix ."),
            ("Say $1.", "$2 $ARGUMENTS", "Say $2."),
            ("Say $1.", "'it is'", "Say it is."),
        ] {
            assert_eq!(shown(body, arguments), expected, "{body} {arguments}");
        }
    }

    #[test]
    fn commands_are_told_apart_from_words() {
        for (body, arguments, expected) in [
            ("!`git status`", "", "<git status>"),
            ("- Diff: !`git diff $1`\nEnd", "HEAD", "- Diff: <git diff HEAD>\nEnd"),
            (
                "not!`this` nor ! `this` nor !`` nor !`that\n`",
                "",
                "not!`this` nor ! `this` nor !`` nor !`that\n`",
            ),
            ("!`a`!`b` !`c`", "", "<a>!`b` <c>"),
        ] {
            assert_eq!(shown(body, arguments), expected, "{body}");
        }
    }

    #[test]
    fn examples_in_a_skill_stay_as_they_are() {
        let skill = recipe("awk '{print $1}' ${CLAUDE_SKILL_DIR}/x", Some("/s"));
        assert_eq!(expand(&skill, ""), [Piece::Text("awk '{print $1}' /s/x".to_owned())]);
        assert_eq!(expand(&recipe("See $1.", Some("/s")), "y"), [Piece::Text("See y.".to_owned())]);
    }

    proptest! {
        // What somebody else wrote into an argument cannot become a command.
        #[test]
        fn arguments_never_make_a_command(arguments in "[!`$ a-zA-Z0-9\n'\"]{0,40}", body in "[ a-z$1\n!]{0,30}") {
            let commands = |arguments: &str| {
                let pieces = expand(&recipe(&body, None), arguments);
                pieces.iter().filter(|piece| matches!(piece, Piece::Command(_))).count()
            };
            prop_assert_eq!(commands(&arguments), commands(""));
        }
    }
}
