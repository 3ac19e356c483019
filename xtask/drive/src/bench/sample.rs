//! Figures out of repeated measurements.

use std::time::Duration;

/// The middle value; of an even number, the higher of the two in the middle.
pub(super) fn median<T: Ord + Copy + Default>(values: impl IntoIterator<Item = T>) -> T {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_outliers() {
        assert_eq!(median([9, 1, 1000]), 9);
        assert_eq!(median([4, 1, 3, 2]), 3);
        assert_eq!(median(Vec::<u32>::new()), 0);
    }
}
