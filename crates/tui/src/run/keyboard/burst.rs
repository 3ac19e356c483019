//! Text that comes faster than anybody types, from terminals that do not mark what is pasted.
//!
//! Enter in the middle of such a text is a line break; at its end it is Enter.

/// A text with a line break that may go on.
#[derive(Debug, Default)]
pub(super) struct Burst {
    held: Vec<u8>,
}

/// What a burst was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Something that was typed.
    Typed(Vec<u8>),
    /// Lines that were pasted.
    Pasted(String),
}

impl Burst {
    /// Takes bytes that came at once; gives what is settled by them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Came> {
        let is_text =
            bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n' | b'\t') || !byte.is_ascii_control());
        let may_go_on = !self.held.is_empty() || (bytes.len() > 1 && bytes.iter().any(is_break));
        if is_text && may_go_on {
            self.held.extend_from_slice(bytes);
            return Vec::new();
        }
        let mut came: Vec<Came> = self.settle().into_iter().collect();
        came.push(Came::Typed(bytes.to_vec()));
        came
    }

    /// Whether something is held back.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Nothing more came.
    pub(super) fn settle(&mut self) -> Option<Came> {
        let held = std::mem::take(&mut self.held);
        let end = held.iter().rposition(|byte| !is_break(byte)).map_or(0, |at| at + 1);
        if held.is_empty() {
            return None;
        }
        if !held[..end].iter().any(is_break) {
            return Some(Came::Typed(held));
        }
        let text = String::from_utf8_lossy(&held[..end]);
        Some(Came::Pasted(text.replace("\r\n", "\n").replace('\r', "\n")))
    }
}

fn is_break(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
