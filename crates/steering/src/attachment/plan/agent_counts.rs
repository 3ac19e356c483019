//! How many agents may explore and design while planning.

use tiller_protocol::env::Env;

const MOST: u32 = 5;

/// Upper bounds that the model is told; nothing enforces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentCounts {
    /// Agents that design.
    pub plan: u32,
    /// Agents that explore.
    pub explore: u32,
}

impl Default for AgentCounts {
    fn default() -> Self {
        Self { plan: 1, explore: 3 }
    }
}

impl AgentCounts {
    /// As the environment says.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        let usual = Self::default();
        let count = |name: &str, alias: &str, usual| {
            env.var_or_alias(name, alias).map_or(usual, |text| bounded(text, usual))
        };
        Self {
            plan: count("TILLER_PLAN_V2_AGENT_COUNT", "CLAUDE_CODE_PLAN_V2_AGENT_COUNT", usual.plan),
            explore: count(
                "TILLER_PLAN_V2_EXPLORE_AGENT_COUNT",
                "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT",
                usual.explore,
            ),
        }
    }
}

/// The whole number a text begins with, kept within bounds; the usual one if there is none.
fn bounded(text: &str, usual: u32) -> u32 {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    match &digits[..end] {
        "" => usual,
        _ if negative => 1,
        number => number.parse().unwrap_or(MOST).clamp(1, MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // PLAN-44
    #[test]
    fn counts_are_leading_whole_numbers_within_bounds() {
        let cases = [
            ("2", 2),
            ("5", 5),
            ("6", 5),
            ("99999999999999999999", 5),
            ("0", 1),
            ("-3", 1),
            ("+4", 4),
            (" 3 agents", 3),
            ("2.9", 2),
            ("many", 7),
            ("", 7),
            ("-", 7),
        ];
        for (text, expected) in cases {
            assert_eq!(bounded(text, 7), expected, "{text:?}");
        }
        assert_eq!(AgentCounts::default(), AgentCounts { plan: 1, explore: 3 });
    }
}
