//! Credentials that were seen before, looked for by their value.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::format::continues_a_word;
use super::plausible::is_distinctive;

/// The values of credentials that may be masked wherever they turn up, ready to be looked for.
pub(super) struct Known(Option<AhoCorasick>);

impl Known {
    /// Those of the values that nothing else is like.
    pub(super) fn new<'a>(values: impl Iterator<Item = &'a Arc<str>>) -> Self {
        let values: Vec<&str> = values.map(|value| &**value).filter(|value| is_distinctive(value)).collect();
        if values.is_empty() {
            return Self(None);
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
        // The vault is bounded, and with it what has to fit.
        Self(
            built
                .inspect_err(|error| tracing::error!("known credentials cannot be looked for: {error}"))
                .ok(),
        )
    }

    /// Where the values stand as words.
    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let found = self.0.iter().flat_map(move |values| values.find_iter(text)).map(|found| found.range());
        found.filter(move |span| {
            let next = text.as_bytes().get(span.end);
            !continues_a_word(text.as_bytes(), span.start) && !next.is_some_and(u8::is_ascii_alphanumeric)
        })
    }
}
