//! What somebody probably meant who mistyped a name.

/// Typing errors that are forgiven.
const MOST_ERRORS: usize = 2;

/// The name that is nearest to a word, if one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let measured = names.map(|name| (errors(word, name), name));
    let (count, name) = measured.min_by_key(|(count, _)| *count)?;
    (count <= MOST_ERRORS && count * 2 < word.chars().count()).then_some(name)
}

/// How many letters were left out, added, confused or swapped with their neighbour.
fn errors(word: &str, name: &str) -> usize {
    let (word, name): (Vec<char>, Vec<char>) = (word.chars().collect(), name.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=name.len()).collect()];
    for at in 1..=word.len() {
        let mut row = vec![at];
        for to in 1..=name.len() {
            let confused = rows[at - 1][to - 1] + usize::from(word[at - 1] != name[to - 1]);
            let mut best = confused.min(rows[at - 1][to] + 1).min(row[to - 1] + 1);
            let is_swapped = at > 1 && to > 1 && word[at - 1] == name[to - 2] && word[at - 2] == name[to - 1];
            if is_swapped {
                best = best.min(rows[at - 2][to - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_forgiven_and_other_words_are_not() {
        let names = ["help", "model", "mode", "exit", "compact"];
        let found = |word| nearest(word, names.into_iter());
        assert_eq!(found("hlep"), Some("help"));
        assert_eq!(found("hepl"), Some("help"));
        assert_eq!(found("modle"), Some("model"));
        assert_eq!(found("compat"), Some("compact"));
        assert_eq!(found("deploy"), None);
        assert_eq!(found("x"), None);
    }
}
