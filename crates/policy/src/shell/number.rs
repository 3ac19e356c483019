//! Numbers that a script works out.

use super::program::condition::is_name;
use super::{Form, Word};

/// Longer numbers could add up to more than the shell counts to.
const MOST_DIGITS: usize = 6;

/// Whether a text is certainly a number.
pub(crate) fn is_number(text: &str) -> bool {
    is_count(text.strip_prefix('-').unwrap_or(text))
}

/// Whether it is one that is not negative.
fn is_count(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is a number, or braces that count. Nothing counts as zero.
pub(crate) fn counts(word: &Word) -> bool {
    match word.form {
        Form::Literal => word.text.is_empty() || is_number(&word.text),
        Form::Pattern => ends(word).is_some_and(|(first, last)| is_number(first) && is_number(last)),
        _ => false,
    }
}

/// The same for numbers that are not negative.
pub(crate) fn counts_up(word: &Word) -> bool {
    let ends = ends(word).filter(|_| word.form == Form::Pattern);
    counts(word)
        && !word.text.starts_with('-')
        && ends.is_none_or(|(first, last)| is_count(first) && is_count(last))
}

/// What braces count from and to.
pub(crate) fn ends(word: &Word) -> Option<(&str, &str)> {
    word.text.strip_prefix('{')?.strip_suffix('}')?.split_once("..")
}

/// Whether a text is nothing but arithmetic.
pub(crate) fn is_computed(text: &str) -> bool {
    inner(text).is_some()
}

fn inner(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("$((")?.strip_suffix("))")?;
    (!inner.contains("$((") && !inner.contains("))")).then_some(inner)
}

/// The variables of a sum that is not negative if they are not.
pub(crate) fn summed(text: &str) -> Option<Vec<&str>> {
    let terms: Vec<&str> = inner(text)?.split(['+', '/', '%']).map(str::trim).collect();
    let name = |term: &&str| is_name(term.strip_prefix('$').unwrap_or(term));
    let is_small = |term: &&str| is_count(term) && term.len() <= MOST_DIGITS;
    let names: Vec<&str> = terms.iter().copied().filter(name).collect();
    // A variable that is added to another could double each time.
    let is_sum = names.len() < 2 && terms.iter().all(|term| name(term) || is_small(term));
    is_sum.then(|| names.into_iter().map(|name| name.trim_start_matches('$')).collect())
}

/// The variable that a statement of arithmetic makes larger by a little.
pub(crate) fn grown(text: &str) -> Option<&str> {
    let text = text.trim().trim_start_matches('$').strip_prefix("((")?.strip_suffix("))")?.trim();
    let by_one = text.strip_suffix("++").or_else(|| text.strip_prefix("++"));
    let by_more = || {
        let (name, more) = text.split_once("+=")?;
        let more = more.trim();
        (is_count(more) && more.len() <= MOST_DIGITS).then_some(name)
    };
    by_one.or_else(by_more).map(str::trim).filter(|name| is_name(name))
}

/// What `$(seq FIRST LAST)` prints, as braces that count the same way.
pub(crate) fn sequence(text: &str) -> Option<Word> {
    let words: Vec<&str> = text.strip_prefix("$(")?.strip_suffix(')')?.split_whitespace().collect();
    let (first, last) = match words[..] {
        ["seq", last] => ("1", last),
        ["seq", first, last] => (first, last),
        _ => return None,
    };
    (is_count(first) && is_count(last))
        .then(|| Word { form: Form::Pattern, ..Word::literal(&format!("{{{first}..{last}}}")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn sums_that_are_never_negative_are_told_from_others() {
        assert_eq!(summed("$((n + 5))"), Some(vec!["n"]));
        assert_eq!(summed("$(($n/2+1))"), Some(vec!["n"]));
        assert_eq!(summed("$((1+2))"), Some(Vec::new()));
        for other in [
            "$((n-5))",
            "$((n+m))",
            "$((n*n))",
            "$((9223372036854775807+1))",
            "$((-1))",
            "$((n+=1))",
            "$((~n))",
            "n+1",
        ] {
            assert_eq!(summed(other), None, "{other}");
        }
        assert_eq!(grown("((i++))"), Some("i"));
        assert_eq!(grown("(( n += 10 ))"), Some("n"));
        for other in ["((i--))", "((n-=1))", "((n+=n))", "((i=j++))"] {
            assert_eq!(grown(other), None, "{other}");
        }
    }

    #[test]
    fn a_sequence_counts_as_braces_do() {
        assert_eq!(sequence("$(seq 3)").map(|word| word.text), Some("{1..3}".to_owned()));
        assert_eq!(sequence("$(seq 2 4)").map(|word| word.text), Some("{2..4}".to_owned()));
        for other in ["$(seq 1 2 9)", "$(seq -s / 3)", "$(seq $n)", "seq 3"] {
            assert_eq!(sequence(other), None, "{other}");
        }
    }
}
