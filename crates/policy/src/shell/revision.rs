//! Words that name commits, whatever is put in for them.

use super::Word;

/// Whether a word is what `git` says when asked for commits, perhaps with more of the kind behind it: no option, and one
/// word for each.
pub(super) fn is_told(word: &Word) -> bool {
    asked(&word.text).is_some_and(|(asked, behind)| {
        // Nothing at all may be printed, so that the word begins with what stands behind.
        let is_suffix = behind.is_empty() || behind.starts_with(['.', '^', '~', '@']);
        prints_commits(asked) && is_suffix && is_plain(behind)
    })
}

/// Whether such a word leads up where no commit is told.
pub(super) fn may_lead_up(word: &Word) -> bool {
    asked(&word.text).is_some_and(|(_, behind)| behind == "..")
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
fn prints_commits(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let is_name = |word: &str| word.split('/').all(is_plain);
    let is_here = |word: &str| is_plain(word) && leads_down(word) && !word.starts_with('-');
    let asks_for_hashes = |word: &str| {
        let word = word.trim_matches(['\'', '"']);
        let format = word.strip_prefix("--format=").or_else(|| word.strip_prefix("--pretty=format:"));
        matches!(format.map(|format| format.trim_matches(['\'', '"'])), Some("%h" | "%H"))
    };
    match (words.next(), words.next()) {
        (Some("git"), Some("merge-base")) => words.all(is_name),
        (Some("git"), Some("rev-parse")) => {
            words.all(|word| matches!(word, "--short" | "--verify" | "-q") || is_here(word))
        }
        (Some("git"), Some("log")) => {
            let (formats, others): (Vec<&str>, Vec<&str>) = words.partition(|word| asks_for_hashes(word));
            let is_count = |word: &str| word.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok());
            !formats.is_empty() && others.into_iter().all(|word| is_count(word) || is_here(word))
        }
        _ => false,
    }
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
