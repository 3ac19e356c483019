//! `ide_selection`, `ide_opened_file`: what the user looks at in an editor. Only with a prompt.

use super::{Cx, Editor, Group, Observation, Source, SourceError};
use crate::attachment::{OpenedFileInIde, attach};

pub(super) struct IdeSelection;

impl Source for IdeSelection {
    const LABEL: &'static str = "ide_selection";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["selected_lines_in_ide"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let editor = cx.facts.prompt.as_ref().and_then(|prompt| prompt.editor.as_ref());
        let Some(Editor::Selection(selection)) = editor else { return Ok(Observation::nothing()) };
        Ok(attach(selection, Self::LABEL, "lines were selected in the editor").into())
    }
}

pub(super) struct IdeOpenedFile;

impl Source for IdeOpenedFile {
    const LABEL: &'static str = "ide_opened_file";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["opened_file_in_ide"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let editor = cx.facts.prompt.as_ref().and_then(|prompt| prompt.editor.as_ref());
        let Some(Editor::Opened(filename)) = editor else { return Ok(Observation::nothing()) };
        let told = cx.facts.past.last("opened_file_in_ide")["filename"].as_str();
        if told == filename.to_str() {
            return Ok(Observation::nothing());
        }
        let opened = OpenedFileInIde { filename: filename.clone() };
        Ok(attach(&opened, Self::LABEL, "another file is open in the editor").into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::trial::observed;
    use super::super::{Facts, Prompt};
    use super::*;
    use crate::attachment::SelectedLinesInIde;
    use crate::past::Story;

    fn facts(editor: Editor, story: Story) -> Facts {
        let prompt = Prompt { text: "go".to_owned(), editor: Some(editor), ..Prompt::default() };
        Facts { prompt: Some(prompt), past: Arc::new(story.past), ..Facts::default() }
    }

    // STEER-26
    #[tokio::test]
    async fn a_selection_goes_with_the_prompt_cut_to_size() {
        let selection = SelectedLinesInIde {
            filename: "/p/a.rs".into(),
            line_start: 3,
            line_end: 9,
            content: "é".repeat(3_000),
            ide_name: None,
        };
        let facts = facts(Editor::Selection(selection), Story::default());
        let observation = observed(&IdeSelection, &facts).await;
        let text = observation.attachments[0].rendered[0].as_text().unwrap();
        assert_eq!(text.matches('é').count(), 2_000);
        assert_eq!(observed(&IdeOpenedFile, &facts).await, Observation::nothing());
        assert_eq!(observed(&IdeSelection, &Facts { prompt: None, ..facts }).await, Observation::nothing());
    }

    // STEER-26
    #[tokio::test]
    async fn an_open_file_is_told_when_it_is_another_one() {
        let told = || Story::default().attach(json!({"type": "opened_file_in_ide", "filename": "/p/a.rs"}));
        let open = |path: &str, story| facts(Editor::Opened(path.into()), story);
        assert_eq!(observed(&IdeOpenedFile, &open("/p/a.rs", Story::default())).await.attachments.len(), 1);
        assert_eq!(observed(&IdeOpenedFile, &open("/p/a.rs", told())).await, Observation::nothing());
        assert_eq!(observed(&IdeOpenedFile, &open("/p/b.rs", told())).await.attachments.len(), 1);
    }
}
