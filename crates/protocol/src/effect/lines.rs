//! Lines of a file that the model has seen: several looks rarely show one piece.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stretches remembered of one file; the shortest is forgotten first, which costs a further look at most.
const STRETCHES: usize = 64;

/// Lines `first..=last`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// First line shown.
    pub first: u64,
    /// Last line shown.
    pub last: u64,
}

impl LineRange {
    fn len(self) -> u64 {
        self.last.saturating_sub(self.first)
    }

    fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// Lines that were shown, in order; stretches that overlap or touch are one. A single stretch is written as it always was,
/// so that logs of other versions stay readable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Lines(Vec<LineRange>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One(LineRange),
    Several(Vec<LineRange>),
}

impl From<Written> for Lines {
    fn from(written: Written) -> Self {
        match written {
            Written::One(range) => range.into(),
            Written::Several(ranges) => ranges.into_iter().collect(),
        }
    }
}

impl From<Lines> for Written {
    fn from(Lines(ranges): Lines) -> Self {
        match ranges[..] {
            [range] => Self::One(range),
            _ => Self::Several(ranges),
        }
    }
}

impl From<LineRange> for Lines {
    fn from(range: LineRange) -> Self {
        Self(vec![range])
    }
}

impl FromIterator<LineRange> for Lines {
    fn from_iter<I: IntoIterator<Item = LineRange>>(ranges: I) -> Self {
        let mut ranges: Vec<LineRange> = ranges.into_iter().collect();
        ranges.sort_unstable_by_key(|range| range.first);
        let mut joined: Vec<LineRange> = Vec::new();
        for range in ranges {
            match joined.last_mut().filter(|before| range.first <= before.last.saturating_add(1)) {
                Some(before) => before.last = before.last.max(range.last),
                None => joined.push(range),
            }
        }
        while joined.len() > STRETCHES {
            let shortest = (0..joined.len()).min_by_key(|&at| joined[at].len()).unwrap_or_default();
            joined.remove(shortest);
        }
        Self(joined)
    }
}

impl Lines {
    /// The stretches.
    #[must_use]
    pub fn ranges(&self) -> &[LineRange] {
        &self.0
    }

    /// What both show together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        self.0.iter().chain(&other.0).copied().collect()
    }

    /// Whether a line is one of them.
    #[must_use]
    pub fn contains(&self, line: u64) -> bool {
        self.0.iter().any(|range| (range.first..=range.last).contains(&line))
    }

    /// Whether all of the other lines are among these.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|wanted| self.0.iter().any(|range| range.covers(*wanted)))
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, LineRange { first, last }) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{first} to {last}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ranges: &[(u64, u64)]) -> Lines {
        ranges.iter().map(|&(first, last)| LineRange { first, last }).collect()
    }

    // STEER-22 EXEC-28: what lies between two looks was not seen.
    #[test]
    fn only_what_overlaps_or_touches_is_one() {
        assert_eq!(lines(&[(5, 20), (1, 10)]), lines(&[(1, 20)]));
        assert_eq!(lines(&[(1, 10), (11, 12)]), lines(&[(1, 12)]));
        let apart = lines(&[(50, 60), (1, 10)]);
        assert_eq!(apart.to_string(), "1 to 10, 50 to 60");
        assert!(apart.contains(10) && !apart.contains(11) && apart.contains(50));
        assert!(apart.covers(&lines(&[(2, 3), (55, 60)])));
        for unseen in [(20, 30), (9, 12), (1, 60)] {
            assert!(!apart.covers(&lines(&[unseen])), "{unseen:?}");
        }
        assert_eq!(apart.with(&lines(&[(11, 49)])), lines(&[(1, 60)]));
    }

    #[test]
    fn one_stretch_is_written_as_it_always_was() {
        let written = |lines: &Lines| serde_json::to_string(lines).unwrap();
        let read = |text: &str| serde_json::from_str::<Lines>(text).unwrap();
        assert_eq!(written(&lines(&[(3, 4)])), r#"{"first":3,"last":4}"#);
        for each in [lines(&[(3, 4)]), lines(&[(3, 4), (8, 9)])] {
            assert_eq!(read(&written(&each)), each);
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let many: Vec<(u64, u64)> = (0..1000).map(|n| (n * 10 + 1, n * 10 + 1 + n % 7)).collect();
        assert_eq!(lines(&many).ranges().len(), STRETCHES);
    }
}
