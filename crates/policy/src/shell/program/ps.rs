//! What `ps` can be asked without showing the environments of processes, which hold secrets.

use crate::shell::Word;

/// Letters without a dash that take a value: the rest of the word or the next one.
const BARE_VALUED: &str = "oOkpqtUN";
/// Letters without a dash that take none.
const BARE_PLAIN: &str = "aAcCefghHjlLmMnrsSTuvVwxXyZ";
/// Letters after a dash that take no value, so that the word means what it says.
const DASHED_PLAIN: &str = "AacdefFHjlLmMPTVwyZ";

/// Whether a call of `ps` shows no environments. `rest`: the words after `ps`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let selects_all = rest.iter().any(|word| dashed(&word.text).is_some_and(|letters| letters.contains('e')));
    rest.iter().enumerate().all(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| rest.get(before)).map(|before| before.text.as_str());
        if !word.is_literal() {
            return before == Some("-p") && word.is_single() && !selects_all;
        }
        if word.text.contains("env") {
            return false;
        }
        match dashed(&word.text) {
            Some(letters) => is_harmless(letters, selects_all),
            None if word.text.starts_with("--") => true,
            None => before.is_some_and(|before| asks_for_columns(before, at == 1)) || !is_bare_e(&word.text),
        }
    })
}

fn dashed(text: &str) -> Option<&str> {
    text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))
}

/// Whether letters after a dash show no environment. What makes no sense with its dash is read again as if it had none,
/// and then `e` means the environment: beside it only stands what always makes sense.
fn is_harmless(letters: &str, selects_all: bool) -> bool {
    let options = letters.split(['o', 'O']).next().unwrap_or_default();
    !options.contains('E') && (!selects_all || options.chars().all(|letter| DASHED_PLAIN.contains(letter)))
}

/// Whether the word after this one names columns.
fn asks_for_columns(text: &str, is_first: bool) -> bool {
    let Some(options) = text.strip_suffix(['o', 'O']) else { return false };
    match dashed(text) {
        Some(_) => options.chars().skip(1).all(|letter| DASHED_PLAIN.contains(letter)),
        None => is_first && options.chars().all(|letter| BARE_PLAIN.contains(letter)),
    }
}

/// Whether a word is a cluster of letters without a dash, `e` among them.
fn is_bare_e(text: &str) -> bool {
    let end = text.find(|letter| BARE_VALUED.contains(letter)).unwrap_or(text.len());
    let options = &text[..end];
    options.contains('e') && options.chars().all(|letter| BARE_PLAIN.contains(letter))
}
