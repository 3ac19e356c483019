//! Numbers of open files. Where one that was opened to be read gets the number of an output, `/dev/stderr` or `/dev/stdout`
//! opens it once more, to be written.

use super::Walker;
use crate::shell::Word;

/// What the redirects of a script do with files whose numbers are not those that everybody has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Descriptors {
    /// One is read.
    reads: bool,
    /// Output goes where one leads.
    prints: bool,
}

impl Walker<'_> {
    /// Follows the number that a redirect gives to a file, or to what has another number.
    pub(super) fn numbered(&mut self, own: Option<&str>, sign: &str, target: &Word) {
        let own = own.unwrap_or(if sign.starts_with('<') { "0" } else { "1" });
        let is_output = matches!(own, "1" | "2");
        let copied = match (sign, target.known()) {
            ("<&" | ">&", Some(text)) => Some(text.trim_end_matches('-')),
            ("<&" | ">&", None) => return self.opaque("a redirect to an unknown number is not understood"),
            _ => None,
        };
        match copied {
            None if sign == "<" && is_output => self.reopened(),
            None => self.out.descriptors.reads |= sign == "<" && own != "0",
            Some("0") if is_output => self.reopened(),
            Some("0") => self.out.descriptors.reads |= own != "0",
            Some("" | "1" | "2") => {}
            Some(_) => self.out.descriptors.prints |= is_output,
        }
        if self.out.descriptors.reads && self.out.descriptors.prints {
            self.reopened();
        }
    }

    fn reopened(&mut self) {
        self.opaque("a file that is read may become one that is written");
    }
}
