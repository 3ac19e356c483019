//! What programs take names of files for besides names of files: nothing stands in front of those right in a directory.

use crate::shell::{Form, Word};

/// Words that `find` takes for parts of an expression, wherever they come from.
pub(super) const OPERATORS: &[&str] = &["!", "(", ")", ","];

/// Programs that take a name after `@` for that of a file with further words.
const WITH_WORD_LISTS: &[&str] = &["nm", "objdump", "readelf", "size", "strings"];

/// Whether a program takes some names for something else, beside those that begin as options do.
pub(crate) fn gives_meaning(program: &str) -> bool {
    WITH_WORD_LISTS.contains(&program) || matches!(program, "find" | "gfind" | "git")
}

/// Whether a program takes a name for something else.
pub(crate) fn has_meaning(program: &str, name: &str) -> bool {
    match program {
        // What is found there has names that others take for word lists.
        "find" | "gfind" => OPERATORS.contains(&name) || name.starts_with('@'),
        // Something in a commit, or another way to say where to look.
        "git" => name.contains(':'),
        _ => WITH_WORD_LISTS.contains(&program) && name.starts_with('@'),
    }
}

/// Whether a word is, or may be, an option or an operator.
fn has_own_meaning(program: &str, word: &Word) -> bool {
    word.text.len() > 1 && word.text.starts_with('-')
        || matches!(program, "find" | "gfind") && OPERATORS.contains(&word.text.as_str())
}

/// Whether values that were put into the words of a program are names and texts, and none of its options: those are the ones
/// that are written there. `filled`: the words with the values.
pub(crate) fn keeps_options(program: &str, words: &[Word], filled: &[Word]) -> bool {
    let is_option = |word: &Word| is_written(word) && has_own_meaning(program, word);
    let options = words.len() - words.iter().position(is_option).unwrap_or(words.len());
    let Some((names, rest)) = filled.len().checked_sub(options).map(|at| filled.split_at(at)) else {
        return false;
    };
    let written = &words[words.len() - options..];
    names.iter().all(|word| !has_own_meaning(program, word))
        && written.iter().zip(rest).all(|(written, word)| match is_written(written) {
            true if written.form == Form::Dynamic => word.text.starts_with(written.certain()),
            true => word.text == written.text,
            false => !has_own_meaning(program, word),
        })
}

/// Whether a word says by itself which option it is, if it is one; its value may be put in.
fn is_written(word: &Word) -> bool {
    word.form != Form::Dynamic || word.certain().starts_with("--") && word.certain().contains('=')
}
