//! What changed in a file, as lines with their numbers.

use std::time::Duration;

use similar::{DiffOp, TextDiff};

/// Characters of a snippet.
const LIMIT: usize = 8_000;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// A comparison that takes longer becomes coarser.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is told of a change of which no line shows anything: of such a file, this is all that there is to know.
const INVISIBLE: &str = "No line that reading it shows is different. What has changed are line endings, the newline at \
    its end, or what is never shown, such as the end of a very long line.";

/// What is told of a change.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// Whether the model knows the whole file once it has read this.
    pub(super) complete: bool,
}

/// The changed regions of the new text.
pub(super) fn of_change(old: &str, new: &str) -> Excerpt {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(&old_lines, &new_lines);
    let groups = diff.grouped_ops(CONTEXT);
    if groups.is_empty() {
        return Excerpt { text: INVISIBLE.to_owned(), complete: true };
    }
    let mut snippet = Snippet::new("What has changed, as it is now, with line numbers:");
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            snippet.push("[…]");
        }
        for op in group {
            snippet.region(op, &new_lines);
        }
    }
    snippet.finish()
}

/// The beginning of a text of which it is not known how it was before.
pub(super) fn of_beginning(new: &str) -> Excerpt {
    let new_lines = lines(new);
    let mut snippet =
        Snippet::new("How it was before is not at hand any more. It now begins, with line numbers:");
    snippet.numbered(&new_lines, 0..new_lines.len());
    snippet.finish()
}

fn lines(text: &str) -> Vec<&str> {
    text.split('\n').map(|line| line.trim_end_matches('\r')).collect()
}

/// Text that stops growing at the limit.
struct Snippet {
    text: String,
    room: usize,
    cut: bool,
}

impl Snippet {
    fn new(heading: &str) -> Self {
        Self { text: heading.to_owned(), room: LIMIT, cut: false }
    }

    fn region(&mut self, op: &DiffOp, new: &[&str]) {
        if let DiffOp::Delete { old_len, .. } | DiffOp::Replace { old_len, new_len: 0, .. } = op {
            let lines = if *old_len == 1 { "line was" } else { "lines were" };
            self.push(&format!("[{old_len} {lines} removed here]"));
        }
        self.numbered(new, op.new_range());
    }

    fn numbered(&mut self, lines: &[&str], range: std::ops::Range<usize>) {
        for at in range {
            self.push(&format!("{:>6}→{}", at + 1, lines[at]));
        }
    }

    fn push(&mut self, line: &str) {
        let size = line.chars().count() + 1;
        self.cut |= size > self.room;
        if !self.cut {
            self.text.push('\n');
            self.text.push_str(line);
            self.room -= size;
        }
    }

    fn finish(mut self) -> Excerpt {
        if self.cut {
            self.text.push_str("\n[The rest is not shown; read the file for it.]");
        }
        Excerpt { text: self.text, complete: !self.cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_numbers_and_context() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let new = old.replace("10\n", "ten\n10.5\n").replace("30\n31\n", "");
        insta::assert_snapshot!(of_change(&old, &new).text);
    }

    #[test]
    fn line_endings_and_a_final_newline_make_no_difference_of_their_own() {
        let changed = of_change("a\r\nb", "a\nB");
        assert!(changed.complete && changed.text.ends_with("     1→a\n     2→B"), "{changed:?}");
    }

    // STEER-25
    #[test]
    fn a_change_that_no_line_shows_is_called_one() {
        let told = of_change("a\r\nb", "a\nb");
        assert!(told.complete && told.text.contains("line endings"), "{told:?}");
        assert!(!told.text.contains('→'), "{told:?}");
    }

    // STEER-25
    #[test]
    fn a_snippet_is_bounded() {
        let new: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
        for snippet in [of_change("", &new), of_beginning(&new), of_change("x", &"é".repeat(20_000))] {
            let Excerpt { text, complete } = snippet;
            assert!(!complete && text.chars().count() < LIMIT + 200, "{}", text.chars().count());
            assert!(text.ends_with("read the file for it.]"), "{text}");
        }
    }
}
