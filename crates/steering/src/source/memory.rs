//! `memory`: what earlier sessions of the project were about.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{Memories, attach};

/// Sessions that are told.
const MOST: usize = 3;

pub(super) struct SessionMemory;

impl Source for SessionMemory {
    const LABEL: &'static str = "memory";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["memory"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        if !cx.facts.session_memory || cx.facts.past.times("memory") > 0 {
            return Ok(Observation::nothing());
        }
        let entries = tokio::select! {
            biased;
            memories = cx.sight.memories(MOST) => memories,
            () = cx.budget.cancelled() => Vec::new(),
        };
        if entries.is_empty() {
            return Ok(Observation::nothing());
        }
        Ok(attach(&Memories { entries }, Self::LABEL, "there were earlier sessions in this project").into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::Facts;
    use super::super::trial::{Trial, observe};
    use super::*;
    use crate::attachment::Memory;
    use crate::past::Story;

    // STEER-32
    #[tokio::test]
    async fn three_sessions_are_told_once() {
        let memory = |n: u32| Memory { date: format!("2026-03-0{n}"), text: "pump".to_owned() };
        let trial = Trial { memories: (1..=4).rev().map(memory).collect(), ..Trial::default() };
        let facts = Facts { session_memory: true, ..Facts::default() };
        let observation = observe(&SessionMemory, &facts, &trial).await;
        let entries = observation.attachments[0].attachment["entries"].as_array().unwrap();
        assert_eq!(entries.len(), MOST);
        assert_eq!(entries[0]["date"], "2026-03-04");
        let story = Story::default().attach(json!({"type": "memory"})).prompt().says(30);
        let told = Facts { past: Arc::new(story.past), ..facts.clone() };
        assert_eq!(observe(&SessionMemory, &told, &trial).await, Observation::nothing());
        assert_eq!(observe(&SessionMemory, &Facts::default(), &trial).await, Observation::nothing());
        assert_eq!(observe(&SessionMemory, &facts, &Trial::default()).await, Observation::nothing());
    }
}
