//! What braces make of a word.

/// How many words are looked at before nobody can tell.
const MOST: usize = 64;

/// Every word that a word with braces stands for; a range is any text. `None` if they are too many.
pub(crate) fn alternatives(text: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut todo = vec![text.to_owned()];
    while let Some(text) = todo.pop() {
        match split(&text) {
            Some((before, inner, after)) => {
                todo.extend(inner.iter().rev().map(|inner| format!("{before}{inner}{after}")));
            }
            None => done.push(text),
        }
        if done.len() + todo.len() > MOST {
            return None;
        }
    }
    Some(done)
}

/// The first pair of braces that multiplies a word: what is before it, what it holds and what is after it.
fn split(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    text.match_indices('{').find_map(|(open, _)| {
        let mut depth = 0_usize;
        let mut from = open + 1;
        let mut inner = Vec::new();
        let mut counts = false;
        for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
            match c {
                '{' => depth += 1,
                ',' if depth == 1 => {
                    inner.push(&text[from..at]);
                    from = at + 1;
                }
                '.' if depth == 1 && text[at..].starts_with("..") => counts |= !text[at..].starts_with("..}"),
                // Where nothing is to be chosen from, it ends nothing.
                '}' if depth == 1 && inner.is_empty() && !counts => {}
                '}' if depth == 1 => {
                    let last = &text[from..at];
                    let (before, after) = (&text[..open], &text[at + 1..]);
                    return Some(match inner.is_empty() {
                        false => (before, inner.into_iter().chain([last]).collect(), after),
                        true => (before, vec!["*"], after),
                    });
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn braces_multiply_as_in_the_shell() {
        for (text, expected) in [
            ("a", vec!["a"]),
            ("{a}", vec!["{a}"]),
            ("x{a,b}y", vec!["xay", "xby"]),
            ("{a,b}{c,d}", vec!["ac", "ad", "bc", "bd"]),
            ("{a,{b,c}d}", vec!["a", "bd", "cd"]),
            ("{.,x}./y", vec!["../y", "x./y"]),
            (".{.,x}", vec!["..", ".x"]),
            ("{a,b", vec!["{a,b"]),
            ("{x}{a,b}", vec!["{x}a", "{x}b"]),
            ("f{1..9}", vec!["f*"]),
            ("{a},b}", vec!["a}", "b"]),
            ("{a..},b}", vec!["a..}", "b"]),
            ("x{a}{b,c}", vec!["x{a}b", "x{a}c"]),
        ] {
            assert_eq!(alternatives(text), Some(expected.into_iter().map(str::to_owned).collect()), "{text}");
        }
        assert_eq!(alternatives(&"{a,b}".repeat(9)), None);
    }
}
