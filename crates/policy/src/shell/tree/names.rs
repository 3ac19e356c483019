//! What kind of names come through a pipeline.

use crate::shell::{Form, Word};

/// The names that `xargs` will put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Names {
    /// Anything at all.
    #[default]
    Any,
    /// Files below what a lister was given.
    Listed,
    /// The same, never taken for options.
    Found,
}

/// Long options of listers that leave names as they are.
const PLAIN: &[&str] = &[
    "--cached",
    "--deleted",
    "--exclude",
    "--exclude-dir",
    "--exclude-standard",
    "--extension",
    "--files",
    "--files-with-matches",
    "--glob",
    "--hidden",
    "--iglob",
    "--include",
    "--modified",
    "--no-ignore",
    "--others",
    "--type",
];

impl Names {
    /// What a command prints at the start of a pipeline.
    pub(super) fn listed_by(words: &[Word]) -> Self {
        let Some((program, rest)) = words.split_first() else { return Self::Any };
        let has = |options: &[&str]| rest.iter().any(|word| options.contains(&word.text.as_str()));
        let shows = ["-printf", "-ls", "-exec", "-execdir", "-ok", "-okdir"];
        let lists = match program.text.as_str() {
            "find" => return if has(&shows) { Self::Any } else { Self::Found },
            // Links are shown with where they lead, `..` is a name as well, and what lies deeper is named without its
            // directory.
            "ls" => has_only(rest, "1SUdhrtX") && names_here(rest),
            "fd" => has_only(rest, "0EFHIadegijpstu"),
            "git" => match rest.first().map(|word| word.text.as_str()) {
                Some("ls-files") => names_below(&rest[1..]),
                Some("diff") => has(&["--name-only"]) && names_changed(&rest[1..]),
                _ => false,
            },
            "rg" => has(&["-l", "--files", "--files-with-matches"]) && has_only(rest, "0EFHSeghijlstuwx"),
            "grep" => has(&["-l", "-rl", "-lr", "--files-with-matches"]) && has_only(rest, "EFGPZehilrsvwx"),
            _ => false,
        };
        if lists { Self::Listed } else { Self::Any }
    }

    /// What is left of them after a further command of the pipeline.
    pub(super) fn passed_by(self, words: &[Word]) -> Self {
        let Some((program, rest)) = words.split_first() else { return Self::Any };
        let (letters, operands) = match program.text.as_str() {
            // The pattern.
            "grep" => ("EFGPivwx", usize::from(!gives_pattern(rest))),
            "head" | "tail" => ("n", 0),
            "sort" => ("Vbdfghnru", 0),
            "uniq" => ("diu", 0),
            _ => return Self::Any,
        };
        let valued = match program.text.as_str() {
            "grep" => "-e",
            "head" | "tail" => "-n",
            _ => "",
        };
        let rest = others_than(rest, valued);
        let others = rest.iter().filter(|word| !word.text.starts_with('-'));
        let passes =
            has_only(&rest, letters) && others.count() <= operands && rest.iter().all(|word| word.lead);
        if passes { self } else { Self::Any }
    }

    /// The word that stands for such a name.
    pub(super) fn as_word(self) -> Word {
        match self {
            Self::Any => Word::put_in("{}", Form::Dynamic, true),
            Self::Listed => Word::put_in("{}", Form::Found, true),
            Self::Found => Word::put_in("{}", Form::Found, false),
        }
    }
}

/// Whether all options are of these letters, with digits at most behind them, or long and plain.
fn has_only(rest: &[Word], letters: &str) -> bool {
    rest.iter().filter(|word| word.text.starts_with('-')).all(|word| match word.text.strip_prefix("--") {
        Some("") => true,
        Some(_) => PLAIN.contains(&word.text.split('=').next().unwrap_or_default()),
        None => word.text[1..].chars().all(|c| letters.contains(c) || c.is_ascii_digit()),
    })
}

/// Whether `ls` prints names as they are to be read from here: of what a directory holds, it leaves out which one that is.
fn names_here(rest: &[Word]) -> bool {
    let is_operand = |word: &Word| !(word.text.len() > 1 && word.text.starts_with('-'));
    let itself =
        |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('d');
    !rest.iter().any(is_operand) || rest.iter().any(itself)
}

/// Whether an option of `grep` holds its pattern.
fn gives_pattern(rest: &[Word]) -> bool {
    rest.iter().any(|word| word.text == "-e")
}

/// The words without an option that takes the next one.
fn others_than(rest: &[Word], option: &str) -> Vec<Word> {
    let mut others = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if word.text == option {
            words.next();
        } else {
            others.push(word.clone());
        }
    }
    others
}

/// Whether `git diff` is asked for nothing but names, and of nothing outside of the directory it runs in. What a revision
/// holds is not on disk, where names that come apart would be seen.
fn names_changed(rest: &[Word]) -> bool {
    const OPTIONS: &[&str] = &["--", "--cached", "--diff-filter", "--name-only", "--staged", "-z"];
    let is_inside = |word: &Word| {
        !word.text.starts_with(['/', ':', '~']) && !word.text.split('/').any(|part| part == "..")
    };
    let is_plain = rest.iter().all(|word| {
        word.known().is_some()
            && match word.text.starts_with('-') {
                true => OPTIONS.contains(&word.text.split('=').next().unwrap_or_default()),
                false => is_inside(word),
            }
    });
    is_plain && (are_on_disk(rest) || rest.iter().any(|word| word.text == "-z"))
}

/// Whether all that `git diff` names is on disk, or stands in the index.
pub(in crate::shell) fn are_on_disk(rest: &[Word]) -> bool {
    let has = |option: &str| rest.iter().any(|word| word.text == option);
    let mut revisions =
        rest.iter().take_while(|word| word.text != "--").filter(|word| !word.text.starts_with('-'));
    match (revisions.next(), revisions.next()) {
        (None, _) => true,
        (Some(one), None) => {
            !one.text.contains("..") && !has("--cached") && !has("--staged") && leaves_out_deleted(rest)
        }
        _ => false,
    }
}

/// Whether what was deleted is not among the names.
fn leaves_out_deleted(rest: &[Word]) -> bool {
    let mut filters = rest.iter().filter_map(|word| word.text.strip_prefix("--diff-filter="));
    let is_without = |filter: &str| match filter.chars().any(char::is_uppercase) {
        true => !filter.contains(['D', '*']),
        false => filter.contains('d') && !filter.contains('*'),
    };
    filters.next().is_some_and(is_without) && filters.next().is_none()
}

/// Whether `git ls-files` is asked for nothing but files below the directory it runs in.
fn names_below(rest: &[Word]) -> bool {
    let is_below = |word: &Word| !word.text.starts_with(['/', ':', '~']) && !word.text.contains("..");
    has_only(rest, "cdmoz") && rest.iter().all(|word| word.form <= Form::Pattern && is_below(word))
}
