//! The end of a turn, and amounts as people read them.

use std::time::Duration;

use ratatui::text::Line;
use tiller_protocol::entry::{Level, Outcome};

use super::{Paper, told};

/// What a turn took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Took {
    pub(crate) time: Duration,
    pub(crate) tokens: u64,
    /// Absent if a price is not known.
    pub(crate) usd: Option<f64>,
}

/// How a turn ended.
pub(crate) fn turn_end(outcome: &Outcome, took: Took, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let (level, text) = match outcome {
        Outcome::Success => (Level::Info, summary(took)),
        Outcome::PlanHandedOver { path, .. } => (Level::Info, format!("The plan is in {}", path.display())),
        Outcome::MaxTokens => (Level::Warning, "The limit on tokens was reached.".to_owned()),
        Outcome::MaxTime => (Level::Warning, "The limit on time was reached.".to_owned()),
        Outcome::MaxTurns => {
            (Level::Warning, "The limit on model requests was reached. Say \"go on\" to continue.".to_owned())
        }
        Outcome::MaxBudget => (Level::Warning, "The spending limit was reached.".to_owned()),
        Outcome::Error { message, .. } | Outcome::Unstructured { message } => (Level::Error, message.clone()),
        Outcome::Interrupted => {
            (Level::Warning, "Stopped. Finished work is kept; say how to continue.".to_owned())
        }
        Outcome::ToolRejected => (Level::Warning, "You refused; say what to do instead.".to_owned()),
        Outcome::HookStopped { message } => (Level::Warning, format!("A hook ended the turn: {message}")),
        Outcome::Refused { message } => {
            (Level::Warning, format!("The provider declined to answer: {message}"))
        }
    };
    let mut rows = vec![Line::default()];
    rows.extend(told(level, &text, paper));
    rows
}

fn summary(took: Took) -> String {
    let mut parts = vec![elapsed(took.time)];
    if took.tokens > 0 {
        parts.push(format!("{} tokens", amount(took.tokens)));
    }
    if let Some(usd) = took.usd.filter(|usd| *usd > 0.0) {
        parts.push(dollars(usd));
    }
    parts.join(" · ")
}

/// A time as people read it: `4s`, `1m 05s`, `2h 03m`.
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// A number of tokens: `950`, `1.2k`, `34k`, `1.2M`.
pub(crate) fn amount(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Money: cents matter below a dollar.
pub(crate) fn dollars(usd: f64) -> String {
    if usd < 1.0 { format!("${usd:.3}") } else { format!("${usd:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let amounts: Vec<String> = [950, 1_234, 34_567, 1_250_000].into_iter().map(amount).collect();
        assert_eq!(amounts, ["950", "1.2k", "34k", "1.2M"]);
        let times: Vec<String> =
            [4, 65, 7_380].into_iter().map(|s| elapsed(Duration::from_secs(s))).collect();
        assert_eq!(times, ["4s", "1m 05s", "2h 03m"]);
        assert_eq!((dollars(0.0123), dollars(12.3)), ("$0.012".to_owned(), "$12.30".to_owned()));
    }
}
