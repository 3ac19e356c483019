//! The messages of a request, in bytes that are ready to be sent.
//!
//! A long conversation has thousands of them, and each request goes through all: those that stand together in memory are
//! one run, which is cloned, copied and dropped as one.

use std::sync::Arc;

use bytes::Bytes;

/// Messages, each a JSON object. Clones share the bytes.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    runs: Vec<Run>,
    count: usize,
    bytes: usize,
}

/// Messages that stand together, with a comma between each two.
#[derive(Clone, Debug)]
struct Run {
    json: Bytes,
    /// Where each of them ends; nothing for a single one.
    ends: Option<Arc<[usize]>>,
}

impl Messages {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes all of them have, without what stands between them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds one.
    pub fn push(&mut self, message: Bytes) {
        self.count += 1;
        self.bytes += message.len();
        self.runs.push(Run { json: message, ends: None });
    }

    /// Removes all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.runs.iter().flat_map(Run::messages)
    }

    /// All of them, in as few pieces as they stand in: between two pieces belongs a comma.
    pub fn runs(&self) -> impl Iterator<Item = &Bytes> {
        self.runs.iter().map(|run| &run.json)
    }

    /// Puts another message in the place of one.
    pub fn replace(&mut self, at: usize, message: Bytes) {
        let mut first = 0;
        let found = self.runs.iter().position(|run| {
            let is_here = at < first + run.count();
            first += if is_here { 0 } else { run.count() };
            is_here
        });
        let Some(place) = found else { return };
        let mut apart: Vec<Bytes> = self.runs[place].messages().collect();
        let before = std::mem::replace(&mut apart[at - first], message);
        self.bytes = self.bytes - before.len() + apart[at - first].len();
        self.runs.splice(place..=place, apart.into_iter().map(|json| Run { json, ends: None }));
    }

    /// Puts the last so many together in memory, if each of them stands by itself, and gives them as they are then.
    pub fn join_last(&mut self, count: usize) -> Vec<Bytes> {
        let Some(from) = self.runs.len().checked_sub(count) else { return Vec::new() };
        let last = &self.runs[from..];
        if last.iter().any(|run| run.ends.is_some()) {
            return Vec::new();
        }
        let mut json = Vec::with_capacity(last.iter().map(|run| run.json.len() + 1).sum());
        let mut ends = Vec::with_capacity(count);
        for run in last {
            if !json.is_empty() {
                json.push(b',');
            }
            json.extend_from_slice(&run.json);
            ends.push(json.len());
        }
        let run = Run { json: json.into(), ends: Some(ends.into()) };
        let joined = run.messages().collect();
        self.runs.truncate(from);
        self.runs.push(run);
        joined
    }
}

impl Run {
    fn count(&self) -> usize {
        self.ends.as_ref().map_or(1, |ends| ends.len())
    }

    fn messages(&self) -> impl Iterator<Item = Bytes> + '_ {
        let ends: &[usize] = self.ends.as_deref().unwrap_or_default();
        let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
        let joined = starts.zip(ends).map(|(start, end)| self.json.slice(start..*end));
        let single = self.ends.is_none().then(|| self.json.clone());
        single.into_iter().chain(joined)
    }
}

impl Extend<Bytes> for Messages {
    fn extend<T: IntoIterator<Item = Bytes>>(&mut self, messages: T) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl FromIterator<Bytes> for Messages {
    fn from_iter<T: IntoIterator<Item = Bytes>>(messages: T) -> Self {
        let mut all = Self::default();
        all.extend(messages);
        all
    }
}

impl From<Vec<Bytes>> for Messages {
    fn from(messages: Vec<Bytes>) -> Self {
        messages.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(messages: &Messages) -> Vec<u8> {
        messages.runs().cloned().collect::<Vec<Bytes>>().join(&b','.to_owned())
    }

    proptest! {
        // CACHE-04: however they stand in memory, the same is sent.
        #[test]
        fn how_they_stand_makes_no_difference(
            texts in prop::collection::vec("[a-z]{1,6}", 1..40),
            joins in prop::collection::vec((1_usize..40, 1_usize..8), 0..4),
            replaced in any::<prop::sample::Index>(),
        ) {
            let mut plain: Vec<Bytes> = Vec::new();
            let mut messages = Messages::default();
            for (at, text) in texts.iter().enumerate() {
                plain.push(text.clone().into());
                messages.push(text.clone().into());
                for (_, count) in joins.iter().filter(|(when, _)| *when == at) {
                    let joined = messages.join_last(*count);
                    prop_assert!(joined.is_empty() || joined == plain[plain.len() - joined.len()..]);
                }
            }
            let at = replaced.index(plain.len());
            plain[at] = "another".into();
            messages.replace(at, "another".into());
            prop_assert_eq!(messages.len(), plain.len());
            prop_assert_eq!(messages.bytes(), plain.iter().map(Bytes::len).sum::<usize>());
            prop_assert_eq!(messages.iter().collect::<Vec<_>>(), plain.clone());
            prop_assert_eq!(whole(&messages), plain.join(&b','));
        }
    }

    #[test]
    fn what_is_not_there_is_neither_joined_nor_replaced() {
        let mut messages = Messages::from(vec![Bytes::from_static(b"a")]);
        assert!(messages.join_last(2).is_empty());
        messages.replace(1, Bytes::from_static(b"b"));
        assert_eq!(whole(&messages), b"a");
        messages.clear();
        assert!(messages.is_empty() && messages.bytes() == 0);
    }
}
