//! A window on a long list around the entry that is marked.

use ratatui::text::Line;

/// As many entries as fit, the marked one among them. Entries may have several rows.
pub(crate) fn window(entries: &[Vec<Line<'static>>], marked: usize, height: usize) -> Vec<Line<'static>> {
    let Some(chosen) = entries.get(marked) else { return Vec::new() };
    let mut rows = chosen.len();
    let mut first = marked;
    // Half of the room is for what stands before.
    while first > 0 && rows + entries[first - 1].len() <= height.div_ceil(2).max(chosen.len()) {
        first -= 1;
        rows += entries[first].len();
    }
    let mut last = marked + 1;
    while last < entries.len() && rows < height {
        rows += entries[last].len();
        last += 1;
    }
    while first > 0 && rows + entries[first - 1].len() <= height {
        first -= 1;
        rows += entries[first].len();
    }
    entries[first..last].iter().flatten().take(height).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(counts: &[usize], marked: usize, height: usize) -> Vec<String> {
        let entries: Vec<Vec<Line<'static>>> = counts
            .iter()
            .enumerate()
            .map(|(entry, rows)| (0..*rows).map(|row| Line::raw(format!("{entry}.{row}"))).collect())
            .collect();
        window(&entries, marked, height).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_marked_entry_is_in_the_window() {
        assert_eq!(shown(&[1; 9], 0, 3), ["0.0", "1.0", "2.0"]);
        assert_eq!(shown(&[1; 9], 4, 3), ["3.0", "4.0", "5.0"]);
        assert_eq!(shown(&[1; 9], 8, 3), ["6.0", "7.0", "8.0"]);
        assert_eq!(shown(&[1, 5, 1], 1, 3), ["1.0", "1.1", "1.2"]);
        assert_eq!(shown(&[2, 2, 2], 1, 4), ["1.0", "1.1", "2.0", "2.1"]);
        assert_eq!(shown(&[], 0, 4), Vec::<String>::new());
    }
}
