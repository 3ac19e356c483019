//! `async_hook_responses`: what hooks in the background have answered.

use super::{Cx, Group, Observation, Source, SourceError};

pub(super) struct AsyncHookResponses;

impl Source for AsyncHookResponses {
    const LABEL: &'static str = "async_hook_responses";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["async_hook_response"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        Ok(cx.facts.hook_responses.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tiller_protocol::entry::Attachment;

    use super::super::Facts;
    use super::super::trial::observed;
    use super::*;

    // STEER-40
    #[tokio::test]
    async fn answers_are_handed_on() {
        let answer = Attachment::new(
            json!({"type": "async_hook_response"}),
            "hook",
            "it is done".to_owned(),
            Vec::new(),
        );
        let facts = Facts { hook_responses: vec![answer.clone()], ..Facts::default() };
        assert_eq!(observed(&AsyncHookResponses, &facts).await, Observation::from(answer));
    }
}
