//! Names of plan files: an adjective, a verb in -ing and a noun.

use std::fmt;

use tiller_protocol::env::Ids;

const ADJECTIVES: &str = include_str!("adjectives.txt");
const VERBS: &str = include_str!("verbs.txt");
const NOUNS: &str = include_str!("nouns.txt");

/// Draws before a name is taken that is in use already.
const ATTEMPTS: usize = 10;

/// The name of a session's plan files, e.g. `amber-weaving-harbor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slug(String);

impl Slug {
    /// Draws a name that is not taken. After ten draws the last one will do.
    pub fn draw(ids: &dyn Ids, is_taken: impl Fn(&Self) -> bool) -> Self {
        let mut slug = Self::any(ids);
        for _ in 1..ATTEMPTS {
            if !is_taken(&slug) {
                break;
            }
            slug = Self::any(ids);
        }
        slug
    }

    fn any(ids: &dyn Ids) -> Self {
        let words: Vec<&str> = [ADJECTIVES, VERBS, NOUNS].map(|list| pick(list, ids.random())).into();
        Self(words.join("-"))
    }

    /// The name that a log tells, unless it is something else: it becomes part of a path.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase());
        text.split('-').all(is_word).then(|| Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The word at a fraction of the list.
fn pick(list: &'static str, fraction: f64) -> &'static str {
    let words: Vec<&str> = list.lines().collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a few hundred words, and a fraction between 0 and 1"
    )]
    let at = (fraction * words.len() as f64) as usize;
    words.get(at.min(words.len().saturating_sub(1))).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Goes through the lists in small steps.
    #[derive(Default)]
    struct Steps(AtomicU32);

    impl Ids for Steps {
        fn next(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }

        fn random(&self) -> f64 {
            f64::from(self.0.fetch_add(1, Ordering::Relaxed) % 997) / 997.0
        }
    }

    // PLAN-09
    #[test]
    fn the_lists_are_long_and_hold_each_word_once() {
        for (list, ending) in [(ADJECTIVES, ""), (VERBS, "ing"), (NOUNS, "")] {
            let words: Vec<&str> = list.lines().collect();
            assert!(words.len() >= 200);
            assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
            for word in words {
                assert!(word.len() > 2 && word.chars().all(|letter| letter.is_ascii_lowercase()), "{word:?}");
                assert!(word.ends_with(ending), "{word}");
            }
        }
        assert_eq!((pick(NOUNS, 0.0), pick(NOUNS, 0.999_999)), ("acorn", "zephyr"));
    }

    // PLAN-09
    #[test]
    fn a_name_has_its_three_parts() {
        let slug = Slug::draw(&Steps::default(), |_| false);
        let parts: Vec<&str> = slug.as_str().split('-').collect();
        let [adjective, verb, noun] = parts.as_slice() else { panic!("{slug}") };
        for (word, list) in [(adjective, ADJECTIVES), (verb, VERBS), (noun, NOUNS)] {
            assert!(list.lines().any(|known| known == *word), "{word}");
        }
        assert_eq!(Slug::parse(slug.as_str()), Some(slug));
    }

    // PLAN-10
    #[test]
    fn ten_draws_are_made_for_a_name_that_is_free() {
        for (taken, draws) in [(0, 1), (3, 4), (9, 10), (50, 10)] {
            let (steps, asked) = (Steps::default(), Cell::new(0));
            let slug = Slug::draw(&steps, |_| {
                asked.set(asked.get() + 1);
                asked.get() <= taken
            });
            assert_eq!(steps.0.load(Ordering::Relaxed), draws * 3, "{taken}");
            let last = Steps(AtomicU32::new((draws - 1) * 3));
            assert_eq!(slug, Slug::any(&last));
        }
    }

    // PLAN-13: a name out of a log becomes part of a path.
    #[test]
    fn only_words_are_a_name() {
        for text in ["", "a--b", "../../etc/passwd", "a/b", "a.md", "a-b\0", "-a", "Amber-b", "a b", "ä-b"] {
            assert_eq!(Slug::parse(text), None, "{text:?}");
        }
        assert!(Slug::parse("amber-weaving-harbor").is_some());
    }
}
