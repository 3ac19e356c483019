//! The prompt cache: which prefixes were written, and what a request therefore reads.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{
    digest::Digest,
    prompt::{Prompt, Ttl},
};

/// From a breakpoint the service looks back over this many blocks, itself included.
const WINDOW: usize = 20;

/// The prefixes written so far.
#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    written: HashSet<Digest>,
}

/// The input side of `usage`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InputUsage {
    pub(crate) uncached: u64,
    pub(crate) read: u64,
    pub(crate) written_5m: u64,
    pub(crate) written_1h: u64,
}

impl InputUsage {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "input_tokens": self.uncached,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        })
    }
}

impl PromptCache {
    pub(crate) fn clear(&mut self) {
        self.written.clear();
    }

    /// Accounts for one request and remembers what it writes.
    pub(crate) fn account(&mut self, prompt: &Prompt<'_>, minimum: u64) -> InputUsage {
        let keys = prompt.cache_keys();
        let ends = cumulative_tokens(prompt);
        let total = ends.last().copied().unwrap_or_default();
        let breakpoints: Vec<(usize, Ttl)> = prompt
            .pieces
            .iter()
            .enumerate()
            .filter_map(|(index, piece)| Some((index, piece.breakpoint?)))
            .filter(|(index, _)| ends[*index] >= minimum)
            .collect();
        let hit = breakpoints.iter().rev().find_map(|(index, _)| self.look_back(&keys, *index));
        let mut usage = InputUsage { read: hit.map_or(0, |index| ends[index]), ..InputUsage::default() };
        let mut covered = usage.read;
        for (index, ttl) in breakpoints {
            let fresh = ends[index].saturating_sub(covered);
            match ttl {
                Ttl::FiveMinutes => usage.written_5m += fresh,
                Ttl::OneHour => usage.written_1h += fresh,
            }
            covered = covered.max(ends[index]);
            self.written.insert(keys[index]);
        }
        usage.uncached = total - covered;
        usage
    }

    fn look_back(&self, keys: &[Digest], breakpoint: usize) -> Option<usize> {
        let oldest = (breakpoint + 1).saturating_sub(WINDOW);
        (oldest..=breakpoint).rev().find(|index| self.written.contains(&keys[*index]))
    }
}

fn cumulative_tokens(prompt: &Prompt<'_>) -> Vec<u64> {
    let mut bytes = 0;
    prompt
        .pieces
        .iter()
        .map(|piece| {
            bytes += piece.print.bytes;
            bytes / 4
        })
        .collect()
}
