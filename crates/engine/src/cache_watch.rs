//! Notices when the provider did not find a prefix in its cache that should have been there, and says why.

use jiff::{SignedDuration, Timestamp};
use tiller_protocol::usage::Usage;

/// How long the provider keeps an entry that nobody reads.
const TIME_TO_LIVE: SignedDuration = SignedDuration::from_mins(5);

/// What the last request left in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct CacheWatch {
    last: Option<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    head: Head,
    at: Timestamp,
    cached: u64,
}

/// What a cache entry depends on, besides the conversation itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The model asked.
    pub(crate) model: String,
    /// The epoch's key.
    pub(crate) epoch: String,
    /// Whether reasoning was left out that was sent before.
    pub(crate) thinking_dropped: bool,
    /// Where the conversation was last folded.
    pub(crate) folded: Option<u64>,
    /// Where results were last cleared.
    pub(crate) cleared: Option<u64>,
}

impl CacheWatch {
    /// Takes in a response; gives the cause if the cache was missed.
    pub(crate) fn observe(&mut self, head: Head, usage: &Usage, now: Timestamp) -> Option<&'static str> {
        let cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        let missed = |before: &Entry| before.cached > 0 && usage.cache_read_input_tokens < before.cached;
        let cause = self.last.as_ref().filter(|before| missed(before)).map(|before| before.cause(&head, now));
        self.last = Some(Entry { head, at: now, cached });
        cause
    }
}

impl Entry {
    /// Why a request with this head, made now, does not find the entry.
    fn cause(&self, head: &Head, now: Timestamp) -> &'static str {
        if self.head.model != head.model {
            "the model was switched"
        } else if self.head.folded != head.folded {
            "the conversation was compacted"
        } else if self.head.cleared != head.cleared {
            "old results were cleared"
        } else if self.head.epoch != head.epoch {
            "the system prompt or the list of tools changed"
        } else if self.head.thinking_dropped != head.thinking_dropped {
            "earlier reasoning was left out"
        } else if now.duration_since(self.at) > TIME_TO_LIVE {
            "more than five minutes had passed"
        } else {
            "the provider dropped it early"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(model: &str) -> Head {
        Head {
            model: model.to_owned(),
            epoch: "e".to_owned(),
            thinking_dropped: false,
            folded: None,
            cleared: None,
        }
    }

    fn usage(read: u64, written: u64) -> Usage {
        Usage { cache_read_input_tokens: read, cache_creation_input_tokens: written, ..Usage::default() }
    }

    fn minute(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    // CACHE-03
    #[test]
    fn a_miss_is_explained_and_a_hit_is_not_mentioned() {
        let mut watch = CacheWatch::default();
        assert_eq!(watch.observe(head("a"), &usage(0, 100), minute(0)), None);
        assert_eq!(watch.observe(head("a"), &usage(100, 20), minute(1)), None);
        assert_eq!(
            watch.observe(head("a"), &usage(0, 130), minute(2)),
            Some("the provider dropped it early")
        );
        assert_eq!(
            watch.observe(head("a"), &usage(0, 140), minute(9)),
            Some("more than five minutes had passed")
        );
        assert_eq!(watch.observe(head("b"), &usage(0, 150), minute(10)), Some("the model was switched"));
        let changed = Head { epoch: "f".to_owned(), ..head("b") };
        let cause = watch.observe(changed.clone(), &usage(10, 150), minute(10));
        assert_eq!(cause, Some("the system prompt or the list of tools changed"));
        let dropped = Head { thinking_dropped: true, ..changed };
        assert_eq!(
            watch.observe(dropped, &usage(0, 150), minute(11)),
            Some("earlier reasoning was left out")
        );
        let mut watch = CacheWatch::default();
        watch.observe(head("a"), &usage(0, 100), minute(0));
        let cleared = Head { cleared: Some(7), ..head("a") };
        let cause = watch.observe(cleared.clone(), &usage(50, 40), minute(1));
        assert_eq!(cause, Some("old results were cleared"));
        let folded = Head { folded: Some(9), epoch: "g".to_owned(), ..cleared };
        let cause = watch.observe(folded, &usage(0, 60), minute(1));
        assert_eq!(cause, Some("the conversation was compacted"));
    }

    #[test]
    fn a_prompt_too_short_to_be_cached_is_no_miss() {
        let mut watch = CacheWatch::default();
        watch.observe(head("a"), &usage(0, 0), minute(0));
        assert_eq!(watch.observe(head("a"), &usage(0, 0), minute(1)), None);
    }
}
