//! What `test` and `[` can be asked: some of their operators look into subscripts, and subscripts can hold commands.

use crate::shell::{Form, Word};

/// Operators with one operand that is a text, a file or a number.
const UNARY: &str = "bcdefghknprstuwxzGLNOS";
/// Operators between two operands. Unlike `[[`, `test` takes numbers by their digits and computes nothing.
const BINARY: &[&str] =
    &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Whether a condition only looks. `words`: those after `test`, or between the brackets.
pub(crate) fn looks(words: &[Word]) -> bool {
    words.is_empty()
        || words.iter().all(is_one_operand)
            && words.split(|word| matches!(word.known(), Some("-a" | "-o"))).all(is_plain_question)
}

/// Whether a word stays one, or becomes several of which none can be an operator.
fn is_one_operand(word: &Word) -> bool {
    let may_multiply = matches!(word.form, Form::Pattern | Form::Found);
    !word.splits && (!may_multiply || word.lead && !word.text.starts_with(['-', '!', '(']))
}

/// Whether the shapes of one question leave no doubt what its operator is.
fn is_plain_question(words: &[Word]) -> bool {
    let known = |at: usize| words.get(at).and_then(Word::known);
    match words {
        [_] => true,
        [_, _, _] if known(1).is_some_and(|operator| BINARY.contains(&operator)) => true,
        [_, rest @ ..] if known(0) == Some("!") => rest.len() < 4 && is_plain_question(rest),
        [_, operand] => known(0).is_some_and(|operator| is_unary(operator, operand)),
        _ => false,
    }
}

/// Whether a word stays one wherever it is put in, and is no operator.
pub(crate) fn is_plain_name(word: &Word) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let begins = word.text.starts_with(|c: char| c.is_ascii_alphanumeric() || "_./".contains(c));
    word.is_literal() && begins && word.text.chars().all(is_plain)
}

/// Whether an operator before one operand only looks.
pub(crate) fn is_unary(operator: &str, operand: &Word) -> bool {
    let letter = operator.strip_prefix('-').filter(|letter| letter.len() == 1);
    match letter {
        Some("v" | "R") => operand.known().is_some_and(is_name),
        Some(letter) => UNARY.contains(letter),
        None => false,
    }
}

/// Whether a text is the name of a variable, without a subscript.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
