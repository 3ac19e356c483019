//! What making room depends on, folded from a log.

use tiller_protocol::entry::Entry;

use super::{Gauge, Light};

/// How full the context is, and what could be cleared.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// How full it is.
    pub gauge: Gauge,
    /// Results that could go.
    pub light: Light,
}

impl Room {
    /// Folds one more entry in.
    pub fn push(&mut self, entry: &Entry) {
        self.gauge.push(entry);
        self.light.push(entry);
    }
}
