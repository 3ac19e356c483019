//! `environment`: what the beginning of the conversation says of the environment, and is no longer so. The beginning stays
//! as it is, so the change is told at the end.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{EnvironmentChange, attach};

pub(super) struct Environments;

impl Source for Environments {
    const LABEL: &'static str = "environment";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["environment_change"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let (Some(now), Some(prompt)) = (&cx.facts.surroundings, &cx.facts.surroundings_in_prompt) else {
            return Ok(Observation::nothing());
        };
        let told = cx.facts.past.last("environment_change");
        let before = |field: &str, in_prompt: &str| told[field].as_str().unwrap_or(in_prompt).to_owned();
        let (date, model) = (now.date.to_string(), now.model.clone());
        let date_before = Some(before("date", &prompt.date.to_string())).filter(|told| *told != date);
        let model_before = Some(before("model", &prompt.model)).filter(|told| *told != model);
        let why = match (&date_before, &model_before) {
            (None, None) => return Ok(Observation::nothing()),
            (Some(_), None) => "another day has begun",
            (None, Some(_)) => "another model has taken over",
            (Some(_), Some(_)) => "another day has begun, and another model has taken over",
        };
        let change = EnvironmentChange { date, model, date_before, model_before };
        Ok(attach(&change, Self::LABEL, why).into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::civil::date;
    use tiller_protocol::entry::Body;

    use super::super::trial::{observed, remember};
    use super::super::{Facts, Surroundings};
    use super::*;
    use crate::past::Past;

    fn surroundings(day: i8, model: &str) -> Option<Surroundings> {
        Some(Surroundings { date: date(2030, 1, day), model: model.to_owned() })
    }

    // CACHE-05
    #[tokio::test]
    async fn a_change_is_told_once_against_what_was_told_last() {
        let mut past = Past::default();
        let mut told = Vec::new();
        for (day, model) in [(1, "a"), (1, "b"), (1, "b"), (2, "b"), (3, "a"), (3, "a")] {
            let facts = Facts {
                surroundings: surroundings(day, model),
                surroundings_in_prompt: surroundings(1, "a"),
                past: Arc::new(past.clone()),
                ..Facts::default()
            };
            let mut observation = observed(&Environments, &facts).await;
            told.push(observation.attachments.first().map(|one| one.why.clone()));
            if let Some(attachment) = observation.attachments.pop() {
                remember(&mut past, Body::Attachment(attachment));
            }
        }
        let words: Vec<&str> = told.iter().map(|why| why.as_deref().unwrap_or_default()).collect();
        assert_eq!(
            words,
            [
                "",
                "another model has taken over",
                "",
                "another day has begun",
                "another day has begun, and another model has taken over",
                ""
            ]
        );
    }

    #[tokio::test]
    async fn what_the_prompt_does_not_say_cannot_change() {
        let facts = Facts { surroundings: surroundings(2, "b"), ..Facts::default() };
        assert_eq!(observed(&Environments, &facts).await, Observation::nothing());
    }
}
