//! What `printf` can be asked without changing anything: formats that set no variable.

use crate::shell::Word;

/// What may stand between `%` and the letter that says what is to be done, for all kinds of shells.
const BETWEEN: &str = " #'+-.*$0123456789Lhjlqtz";

/// Whether a call of `printf` only prints. `rest`: the words after `printf`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let Some((format, values)) = format(rest) else { return false };
    match format.known() {
        Some(text) => !sets(text),
        // What the shell puts in could set a variable, if only one was named.
        None => values.is_empty() && format.lead && format.is_single(),
    }
}

/// Whether a word may name an element of an array, the subscript of which is computed: that can run commands.
pub(crate) fn may_run(rest: &[Word]) -> bool {
    !looks(rest) && rest.iter().any(|word| word.text.contains('['))
}

/// The format and the words behind it, if no option says where the text goes.
fn format(rest: &[Word]) -> Option<(&Word, &[Word])> {
    let (first, values) = rest.split_first()?;
    match first.known() {
        Some("--") => values.split_first(),
        // Other words that begin like options are refused by the shell.
        Some(text) if text.starts_with("-v") => None,
        _ => Some((first, values)),
    }
}

/// Whether a format has a place that takes the name of a variable.
fn sets(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        let kind = behind.trim_start_matches(|c| BETWEEN.contains(c));
        if kind.starts_with('n') {
            return true;
        }
        // Right behind the first, a second `%` is printed.
        rest = behind.strip_prefix('%').unwrap_or(kind);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn a_format_that_sets_a_variable_is_found() {
        for format in ["%s\n", "100%%n", "%5.2f%%\n", "a\\n%d\\n", "%", "%-10s\n", "%b\n"] {
            assert!(!sets(format), "{format}");
        }
        for format in
            ["%n", "a%n", "%5n", "%-.3n", "%*n", "%*.*n", "%lln", "%hhn", "%1$n", "%%%n", "%s%'n", "%-%n"]
        {
            assert!(sets(format), "{format}");
        }
    }
}
