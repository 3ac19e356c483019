//! Numbers for people. Text and page show the same ones.

use jiff::Timestamp;

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Milliseconds in the unit that suits them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole seconds of a session")]
pub(super) fn duration(ms: f64) -> String {
    let seconds = (ms / 1_000.0).round() as u64;
    match ms {
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 59_950.0 => format!("{:.1} s", ms / 1_000.0),
        _ if seconds < 3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Time since the session began.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole minutes of a session")]
pub(super) fn offset(since: f64) -> String {
    let seconds = since.max(0.0) / 1_000.0;
    let minutes = (seconds / 60.0) as u64;
    let rest = seconds % 60.0;
    match minutes {
        0 => format!("+{rest:.1} s"),
        minutes if minutes < 60 => format!("+{minutes}:{:02}", rest as u64),
        minutes => format!("+{}:{:02}:{:02}", minutes / 60, minutes % 60, rest as u64),
    }
}

/// Dollars.
pub(super) fn money(usd: f64) -> String {
    if usd >= 100.0 { format!("${usd:.2}") } else { format!("${usd:.4}") }
}

/// A price that may not be known, in full or in part.
pub(super) fn price(usd: Option<f64>, unpriced: u64) -> String {
    match (usd, unpriced) {
        (None, 0) => money(0.0),
        (None, _) => "unknown".to_owned(),
        (Some(usd), 0) => money(usd),
        (Some(usd), _) => format!("{} + unknown", money(usd)),
    }
}

/// A part of a whole.
pub(super) fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// Bytes.
#[expect(clippy::cast_precision_loss, reason = "sizes of texts")]
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{} B", grouped(bytes)),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1_000.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_000_000.0),
    }
}

/// A moment, to the second.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The time between two moments in milliseconds, to a tenth.
#[expect(clippy::cast_precision_loss, reason = "a session lasts less than 2^52 microseconds")]
pub(super) fn between(from: Timestamp, to: Timestamp) -> f64 {
    let micros = to.duration_since(from).as_micros();
    (micros as f64 / 100.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let texts: Vec<_> = [0, 999, 1_000, 1_234_567].map(grouped).to_vec();
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "turn", "turns"), "1 turn");
        assert_eq!(counted(2_000, "turn", "turns"), "2,000 turns");
    }

    #[test]
    fn durations_have_the_unit_that_suits_them() {
        let texts: Vec<_> = [0.0, 9.94, 9.96, 999.4, 999.6, 59_900.0, 59_960.0, 3_599_000.0, 3_600_000.0]
            .map(duration)
            .to_vec();
        let expected = [
            "0.0 ms",
            "9.9 ms",
            "10 ms",
            "999 ms",
            "1.0 s",
            "59.9 s",
            "1 min 00 s",
            "59 min 59 s",
            "1 h 00 min",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        assert_eq!(price(None, 3), "unknown");
        assert_eq!(price(Some(0.5), 1), "$0.5000 + unknown");
        assert_eq!(price(Some(0.5), 0), "$0.5000");
        assert_eq!(price(None, 0), "$0.0000");
    }

    #[test]
    fn offsets_and_sizes() {
        assert_eq!(offset(1_240.0), "+1.2 s");
        assert_eq!(offset(61_000.0), "+1:01");
        assert_eq!(offset(3_661_000.0), "+1:01:01");
        assert_eq!([9_999, 10_000, 12_000_000].map(size), ["9,999 B", "10.0 kB", "12.0 MB"]);
    }

    #[test]
    fn time_between_moments_is_told_to_a_tenth() {
        let from = Timestamp::UNIX_EPOCH;
        assert!((between(from, from + jiff::SignedDuration::from_micros(1_260)) - 1.3).abs() < 1e-9);
    }
}
