//! `ultra_agents_md`: a file whose text the user wants repeated.

use super::{Cx, Group, Observation, Source, SourceError, Unseen};
use crate::attachment::{Ultramemory, attach};

/// Turns between two repetitions.
const DISTANCE: u32 = 5;

pub(super) struct UltraAgentsMd;

impl Source for UltraAgentsMd {
    const LABEL: &'static str = "ultra_agents_md";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["ultramemory"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let Some(path) = &cx.facts.ultra_memory else { return Ok(Observation::nothing()) };
        if cx.facts.past.turns_since("ultramemory").is_some_and(|turns| turns < DISTANCE) {
            return Ok(Observation::nothing());
        }
        let shown = tokio::select! {
            biased;
            shown = cx.sight.show(path, None) => shown,
            () = cx.budget.cancelled() => return Ok(Observation::nothing()),
        };
        let failed = |why: &Unseen| SourceError(format!("ultraMemoryFile {}: {why}", path.display()));
        let content = match shown {
            Ok(shown) => shown.text.unwrap_or_default(),
            Err(unseen) => return Err(failed(&unseen)),
        };
        let why = format!("ultraMemoryFile is {}, and it was not told lately", path.display());
        let attachment = attach(&Ultramemory { content }, Self::LABEL, why);
        Ok((!attachment.rendered.is_empty()).then_some(attachment).into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::trial::{Trial, observe};
    use super::*;
    use crate::past::Story;

    fn trial(story: Story) -> Trial {
        let mut trial = Trial::default().file("/p/ultra.md", "Mind {path} the gap.\n\nReally.");
        trial.facts.ultra_memory = Some("/p/ultra.md".into());
        trial.facts.past = Arc::new(story.past);
        trial
    }

    // STEER-34
    #[tokio::test]
    async fn the_text_comes_word_for_word_every_five_turns() {
        let told = || Story::default().prompt().attach(json!({"type": "ultramemory"}));
        for (story, due) in [
            (Story::default(), true),
            (told().says(4), false),
            (told().says(5), true),
            (told().prompt(), false),
        ] {
            let trial = trial(story);
            let observation = observe(&UltraAgentsMd, &trial.facts, &trial).await;
            assert_eq!(observation.attachments.len(), usize::from(due));
            for attachment in observation.attachments {
                let text = attachment.rendered[0].as_text().unwrap();
                assert_eq!(text, crate::reminder::wrap("Mind {path} the gap.\n\nReally."));
            }
        }
    }

    #[tokio::test]
    async fn a_missing_file_is_an_error_that_names_it() {
        let trial = trial(Story::default()).without("/p/ultra.md");
        let (facts, budget) = (&trial.facts, tokio_util::sync::CancellationToken::new());
        let cx = Cx { facts, files: &facts.files, sight: &trial, budget: &budget };
        let error = UltraAgentsMd.observe(&cx).await.unwrap_err();
        assert_eq!(error.to_string(), "ultraMemoryFile /p/ultra.md: it does not exist");
    }
}
