//! The alternate screen: what fills the terminal and is then gone again, as if it had never been there.
//!
//! The live area is taken away first. So nothing on the main screen has to be found again when the page is closed, even if
//! the size has changed meanwhile: the terminal itself keeps the cursor where the live area began. A terminal without an
//! alternate screen shows the page in the live area.

use super::{BEGIN, END, ERASE, Screen, Size};

/// To the alternate screen. Keys that can be told apart are asked for again: each screen has its own setting.
const TURN_ASIDE: &str = "\x1b[?1049h\x1b[>1u";
/// And back.
pub(crate) const TURN_BACK: &str = "\x1b[<1u\x1b[?1049l";

impl Screen {
    /// Whether the alternate screen is shown.
    #[must_use]
    pub fn is_aside(&self) -> bool {
        self.is_aside
    }

    /// The bytes that go to the alternate screen. Nothing finished may be added there.
    pub fn turn_aside(&mut self) -> String {
        let out = self.leave() + TURN_ASIDE;
        self.top = None;
        self.is_aside = true;
        out
    }

    /// The bytes that go back to where the live area was.
    pub fn turn_back(&mut self) -> String {
        let out = self.leave() + TURN_BACK;
        self.top = None;
        self.is_aside = false;
        out
    }

    /// The bytes that clear the alternate screen after a change of size.
    pub(super) fn resize_aside(&mut self, size: Size) -> String {
        self.begin_anew(size, Some(0));
        format!("{BEGIN}\x1b[H{ERASE}{END}")
    }
}
