//! Words that name commits, whatever is put in for them.

use crate::shell::Word;

/// Whether a word is what `git` says when asked for commits, perhaps with more of the kind behind it: no option, and one
/// word for each.
pub(super) fn is_told(word: &Word) -> bool {
    asked(&word.text).is_some_and(|(asked, behind)| {
        // Nothing at all may be printed, so that the word begins with what stands behind.
        let is_suffix = behind.is_empty() || behind.starts_with(['.', '^', '~', '@']);
        let is_behind = is_suffix && is_plain(behind) || path_behind(behind).is_some();
        is_text_that_prints_commits(asked) && is_behind
    })
}

/// Whether such a word leads up where no commit is told.
pub(super) fn may_lead_up(word: &Word) -> bool {
    asked(&word.text).is_some_and(|(_, behind)| behind == "..")
}

/// The path that a word names in a commit that `git` tells.
pub(super) fn told_path(word: &Word) -> Option<Word> {
    let (_, behind) = asked(&word.text).filter(|_| is_told(word))?;
    path_behind(behind).map(Word::literal)
}

/// The path that follows the name of a commit.
fn path_behind(behind: &str) -> Option<&str> {
    let path = behind.strip_prefix(':')?;
    (!path.is_empty() && path.split('/').all(|part| is_plain(part) && leads_down(part))).then_some(path)
}

/// The same for the text of a command whose words are plain.
fn is_text_that_prints_commits(command: &str) -> bool {
    let is_text = |c: char| c.is_ascii_alphanumeric() || "_-.@^~/=%: '\"".contains(c);
    let words = command.split_whitespace().map(|word| {
        // A format may stand in quotes.
        let word = ['\'', '"'].iter().fold(word, |word, quote| {
            word.strip_prefix(*quote).and_then(|word| word.strip_suffix(*quote)).unwrap_or(word)
        });
        let plain = ["--format=", "--pretty=format:"]
            .iter()
            .find_map(|option| Some((option, word.strip_prefix(option)?)));
        match plain {
            Some((option, format)) => Word::literal(&format!("{option}{}", format.trim_matches(['\'', '"']))),
            None => Word::literal(word),
        }
    });
    let words: Vec<Word> = words.collect();
    command.chars().all(is_text)
        && words.iter().all(|word| !word.text.contains(['\'', '"']))
        && prints_commits(&words)
}

/// The command whose output a word begins with, and what stands behind that.
fn asked(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("$(")?.rsplit_once(')')
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.@^~".contains(c))
}

fn leads_down(part: &str) -> bool {
    !part.is_empty() && part != ".."
}

/// Whether a command prints names of commits, which lead nowhere and are no options. `rev-parse` prints what it does not
/// know as well, but that leads nowhere without a slash.
pub(crate) fn prints_commits(words: &[Word]) -> bool {
    // Whatever paths there are, only hashes are printed; but `rev-parse` prints all of it.
    let shows_all = words.get(1).and_then(Word::known) == Some("rev-parse");
    let words = words.iter().take_while(|word| shows_all || word.known() != Some("--"));
    let Some(texts) = words.map(Word::known).collect::<Option<Vec<_>>>() else { return false };
    let is_name = |word: &&str| word.split('/').all(is_plain);
    let is_here = |word: &str| is_plain(word) && leads_down(word) && !word.starts_with('-');
    match texts[..] {
        ["git", "merge-base", ref rest @ ..] => rest.iter().all(is_name),
        ["git", "rev-parse", ref rest @ ..] => {
            rest.iter().all(|word| matches!(*word, "--short" | "--verify" | "-q") || is_here(word))
        }
        ["git", "rev-list", ref rest @ ..] => selects(rest),
        ["git", "log", ref rest @ ..] => {
            let (formats, others): (Vec<&str>, Vec<&str>) =
                rest.iter().partition(|word| asks_for_hashes(word));
            !formats.is_empty() && selects(&others)
        }
        _ => false,
    }
}

/// Whether a command prints lines that begin with the name of a commit and a blank.
pub(crate) fn prints_commit_lines(words: &[Word]) -> bool {
    let words = words.iter().take_while(|word| word.known() != Some("--"));
    let Some(texts) = words.map(Word::known).collect::<Option<Vec<_>>>() else { return false };
    let ["git", "log", rest @ ..] = texts.as_slice() else { return false };
    let (formats, others): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| begins_with_hash(word));
    !formats.is_empty() && selects(&others)
}

/// Whether a format begins with a hash, and shows nothing else that may have several lines.
fn begins_with_hash(word: &str) -> bool {
    const ON_A_LINE: &[&str] = &["h", "H", "s", "an", "ae", "ad", "ar", "as", "cn", "cd", "cr", "cs"];
    let format = word.strip_prefix("--format=").or_else(|| word.strip_prefix("--pretty=format:"));
    word == "--oneline"
        || format.filter(|format| !format.contains(char::is_control)).is_some_and(|format| {
            let is_on_a_line = |piece: &str| ON_A_LINE.iter().any(|shown| piece.starts_with(shown));
            (format.starts_with("%h ") || format.starts_with("%H "))
                && format.split('%').skip(1).all(is_on_a_line)
        })
}

fn asks_for_hashes(word: &str) -> bool {
    let format = word.strip_prefix("--format=").or_else(|| word.strip_prefix("--pretty=format:"));
    matches!(format, Some("%h" | "%H"))
}

/// Options that say which commits are meant, and in which order.
const SELECTING: &[&str] = &[
    "--all",
    "--branches",
    "--date-order",
    "--first-parent",
    "--merges",
    "--no-merges",
    "--reverse",
    "--tags",
    "--topo-order",
];

/// The same with a value.
const SELECTING_BY: &[&str] = &[
    "--after=",
    "--author=",
    "--before=",
    "--committer=",
    "--grep=",
    "--max-count=",
    "--max-parents=",
    "--min-parents=",
    "--since=",
    "--skip=",
    "--until=",
];

/// Whether words only say which commits are meant.
fn selects(words: &[&str]) -> bool {
    let is_number = |word: &str| word.parse::<u32>().is_ok();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let selects = match word.strip_prefix('-') {
            None => true,
            Some("n") => words.next().is_some_and(|word| is_number(word)),
            Some(letters) => {
                is_number(letters.strip_prefix('n').unwrap_or(letters))
                    || SELECTING.contains(word)
                    || SELECTING_BY.iter().any(|option| word.starts_with(option))
            }
        };
        if !selects {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Form;

    #[test]
    fn only_commits_are_told() {
        let says = |text: &str| is_told(&Word::put_in(text, Form::Dynamic, true));
        for text in [
            "$(git merge-base origin/main HEAD)",
            "$(git merge-base origin/main HEAD)..HEAD",
            "$(git rev-parse --short HEAD~3)",
            "$(git rev-parse HEAD^)",
            "$(git log -1 --format=%h)",
            "$(git log -3 '--pretty=format:%H' main)",
        ] {
            assert!(says(text), "{text}");
        }
        for text in [
            "$(git rev-parse ../out)",
            "$(git rev-parse --show-toplevel)",
            "$(git rev-parse ..)",
            "$(git merge-base a b)--output",
            "$(git merge-base a b)-x",
            "$(git rev-parse -q --verify a)x",
            "$(git rev-parse HEAD)/../../out",
            "$(git merge-base $x)",
            "$(git merge-base a; echo /etc)",
            "$(git log -1 --format=../%h)",
            "$(git log -1)",
            "$(git describe --dirty=/../../out)",
            "$(git describe --tags)",
            "$(git log --format=%h --output=x)",
            "$(git merge-base a b)$(echo /etc)",
            "$(git)",
            "$(echo x)",
            "git rev-parse HEAD",
        ] {
            assert!(!says(text), "{text}");
        }
    }
}
