//! `output_style`: how the user wants answers to be. Told with a prompt: in full when it is new, then by name; and once
//! more after the conversation was folded.

mod find;

use super::{Cx, Group, Observation, Source, SourceError, Style};
use crate::attachment::{OutputStyle, attach};

pub use find::{StyleError, all, described, find};

pub(super) struct OutputStyles;

impl Source for OutputStyles {
    const LABEL: &'static str = "output_style";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["output_style"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let told = cx.facts.past.last("output_style")["style"].as_str();
        let style = match &cx.facts.style {
            _ if cx.facts.prompt.is_none() && !cx.facts.past.has_lost(Self::LABEL) => {
                return Ok(Observation::nothing());
            }
            Some(style) => style.clone(),
            // Whoever was told a style has to be told that it holds no more.
            None if told.is_some_and(|told| told != find::DEFAULT) => usual(),
            None => return Ok(Observation::nothing()),
        };
        let guidelines = (told != Some(style.name.as_str())).then_some(style.guidelines);
        let style = OutputStyle { style: style.name, guidelines };
        Ok(attach(&style, Self::LABEL, "outputStyle is set").into())
    }
}

/// The usual way to answer, for whom another one was told before.
fn usual() -> Style {
    Style { name: find::DEFAULT.to_owned(), guidelines: include_str!("usual.md").trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::Facts;
    use super::super::trial::{Trial, observed};
    use super::*;
    use crate::past::Story;

    // STEER-46
    #[tokio::test]
    async fn a_style_is_told_with_each_prompt_its_guidelines_once() {
        let style = Some(Style { name: "concise".to_owned(), guidelines: "Be brief.".to_owned() });
        let facts = Facts { style, ..Trial::default().prompted("go") };
        let text = |observation: Observation| observation.attachments[0].rendered[0].as_text().unwrap();
        assert!(text(observed(&OutputStyles, &facts).await).contains("Be brief."));
        let told = |style: &str| Story::default().attach(json!({"type": "output_style", "style": style}));
        let again = Facts { past: Arc::new(told("concise").past), ..facts.clone() };
        let short = text(observed(&OutputStyles, &again).await);
        assert!(!short.contains("Be brief.") && short.contains("\"concise\""), "{short}");
        let other = Facts { past: Arc::new(told("other").past), ..facts.clone() };
        assert!(text(observed(&OutputStyles, &other).await).contains("Be brief."));
        let back = Facts { style: None, past: Arc::new(told("concise").past), ..facts.clone() };
        assert!(text(observed(&OutputStyles, &back).await).contains("usual way"));
        let folded = Facts { prompt: None, past: Arc::new(told("concise").fold().past), ..facts.clone() };
        assert!(text(observed(&OutputStyles, &folded).await).contains("Be brief."));
        let since = Facts { style: None, past: Arc::new(told("default").past), ..facts.clone() };
        assert_eq!(observed(&OutputStyles, &since).await, Observation::nothing());
        for quiet in [Facts { prompt: None, ..facts.clone() }, Facts { style: None, ..facts }] {
            assert_eq!(observed(&OutputStyles, &quiet).await, Observation::nothing());
        }
    }
}
