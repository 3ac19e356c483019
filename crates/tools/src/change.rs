//! What a change of text looks like: for the model a numbered excerpt, for displays a patch.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines of an excerpt.
const EXCERPT_LINES: usize = 40;
/// Text that is diffed and texts that are put into details: above this size they are left out.
pub(crate) const DETAIL_BYTES: usize = 50 * 1024;

/// A stretch of changed lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hunk {
    old_start: usize,
    old_lines: usize,
    new_start: usize,
    new_lines: usize,
    lines: Vec<String>,
}

/// Two texts with their common beginning and end set aside.
struct Middle<'a> {
    /// Lines before.
    skipped: usize,
    old: &'a str,
    new: &'a str,
}

/// What changed from one text to another, in the form that patches have.
#[must_use]
pub fn unified_diff(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(old_name, new_name)
        .to_string()
}

/// The patch from one text to another; nothing when it is too large to be of use.
pub(crate) fn patch(old: &str, new: &str) -> Option<Vec<Hunk>> {
    patch_without(&['\r', '\n'], old, new)
}

/// The same for somebody who decides about it: nothing at the end of a line is left out.
pub(crate) fn whole_patch(old: &str, new: &str) -> Option<Vec<Hunk>> {
    patch_without(&['\n'], old, new)
}

fn patch_without(line_end: &[char], old: &str, new: &str) -> Option<Vec<Hunk>> {
    let middle = Middle::of(old, new);
    if middle.old.len().max(middle.new.len()) > DETAIL_BYTES {
        return None;
    }
    let diff = TextDiff::from_lines(middle.old, middle.new);
    let groups = diff.grouped_ops(CONTEXT);
    let hunks = groups.iter().filter_map(|ops| {
        let (first, last) = (ops.first()?, ops.last()?);
        let (old, new) =
            (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        let lines = ops.iter().flat_map(|op| diff.iter_changes(op)).map(|change| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            format!("{sign}{}", change.value().trim_end_matches(line_end))
        });
        Some(Hunk {
            old_start: middle.skipped + old.start + 1,
            old_lines: old.len(),
            new_start: middle.skipped + new.start + 1,
            new_lines: new.len(),
            lines: lines.collect(),
        })
    });
    Some(hunks.collect())
}

/// The changed part of the new text with line numbers.
pub(crate) fn excerpt(old: &str, new: &str) -> String {
    let middle = Middle::of(old, new);
    let lines: Vec<&str> = middle.new.lines().collect();
    let first = middle.skipped + 1;
    if lines.len() <= EXCERPT_LINES {
        return numbered(&lines, first);
    }
    let half = EXCERPT_LINES / 2;
    let tail = lines.len() - half;
    format!("{}\n[…]\n{}", numbered(&lines[..half], first), numbered(&lines[tail..], first + tail))
}

/// Lines with their numbers, as the model knows them from reading.
pub(crate) fn numbered<T: AsRef<str>>(lines: &[T], first: usize) -> String {
    let numbered = lines.iter().enumerate().map(|(at, line)| format!("{:>6}→{}", first + at, line.as_ref()));
    numbered.collect::<Vec<_>>().join("\n")
}

impl<'a> Middle<'a> {
    /// Leaves out equal lines at both ends, but for some context.
    fn of(old: &'a str, new: &'a str) -> Self {
        let before: Vec<&str> = equal_lines(old.split_inclusive('\n'), new.split_inclusive('\n'));
        let skipped = before.len().saturating_sub(CONTEXT);
        let start: usize = before[..skipped].iter().map(|line| line.len()).sum();
        let (old, new) = (&old[start..], &new[start..]);
        let kept: usize = before[skipped..].iter().map(|line| line.len()).sum();
        let after =
            equal_lines(old[kept..].split_inclusive('\n').rev(), new[kept..].split_inclusive('\n').rev());
        let dropped: usize = after.iter().skip(CONTEXT).map(|line| line.len()).sum();
        Self { skipped, old: &old[..old.len() - dropped], new: &new[..new.len() - dropped] }
    }
}

fn equal_lines<'a>(a: impl Iterator<Item = &'a str>, b: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    a.zip(b).take_while(|(a, b)| a == b).map(|(line, _)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_the_numbers_of_its_lines() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("10\n", "ten\n10.5\n");
        let hunks = patch(&old, &new).unwrap();
        let [hunk] = hunks.as_slice() else { panic!("{hunks:?}") };
        assert_eq!((hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines), (7, 7, 7, 8));
        assert_eq!(hunk.lines, [" 7", " 8", " 9", "-10", "+ten", "+10.5", " 11", " 12", " 13"]);
        assert!(excerpt(&old, &new).starts_with("     7→7\n"));
        assert!(excerpt(&old, &new).ends_with("    14→13"));
    }

    #[test]
    fn large_changes_are_left_out_of_patches_and_shortened_in_excerpts() {
        let new = "line\n".repeat(20_000);
        assert_eq!(patch("", &new), None);
        assert_eq!(excerpt("", &new).lines().count(), EXCERPT_LINES + 1);
    }
}
