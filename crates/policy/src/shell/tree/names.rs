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

impl Names {
    /// What a command prints at the start of a pipeline.
    pub(super) fn listed_by(words: &[Word]) -> Self {
        let text = |at: usize| words.get(at).map(|word| word.text.as_str()).unwrap_or_default();
        let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.text.as_str()));
        match text(0) {
            "find" if !has(&["-printf", "-ls", "-exec", "-execdir"]) => Self::Found,
            "ls" | "fd" => Self::Listed,
            "git" if text(1) == "ls-files" => Self::Listed,
            "rg" | "grep" if has(&["-l", "-rl", "-lr", "--files", "--files-with-matches"]) => Self::Listed,
            _ => Self::Any,
        }
    }

    /// What is left of them after a further command of the pipeline.
    pub(super) fn passed_by(self, words: &[Word]) -> Self {
        let program = words.first().map(|word| word.text.as_str()).unwrap_or_default();
        if matches!(program, "grep" | "head" | "sort" | "tail" | "uniq") { self } else { Self::Any }
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
