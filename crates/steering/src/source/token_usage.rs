//! `token_usage`: how full the context is.

use super::{Cx, Group, Observation, Source, SourceError, Tokens};
use crate::attachment::{TokenUsage, attach};

pub(super) struct TokenUsages;

impl Source for TokenUsages {
    const LABEL: &'static str = "token_usage";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["token_usage"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let told = |Tokens { used, window }| {
            attach(&TokenUsage::new(used, window), Self::LABEL, "TILLER_TOKEN_USAGE_ATTACHMENT is on")
        };
        Ok(cx.facts.tokens.map(told).into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::trial::observed;
    use super::*;

    // STEER-43
    #[tokio::test]
    async fn used_total_and_left_are_told() {
        let facts = Facts { tokens: Some(Tokens { used: 250, window: 200 }), ..Facts::default() };
        let observation = observed(&TokenUsages, &facts).await;
        let expected = serde_json::json!({"type": "token_usage", "used": 250, "total": 200, "remaining": 0});
        assert_eq!(observation.attachments[0].attachment, expected);
        assert_eq!(observed(&TokenUsages, &Facts::default()).await, Observation::nothing());
    }
}
