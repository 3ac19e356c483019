//! `at_mentioned_files`: files and directories that the user names with `@path`.

use std::path::Path;

use tiller_protocol::effect::{Effect, FileSeen, LineRange};
use tiller_protocol::entry::Attachment;
use tiller_protocol::state::Files;

use super::mention::{mentions, with_lines};
use super::{Cx, Group, Listing, Observation, Prompt, Shown, Source, SourceError, Unseen};
use crate::attachment::{CompactFileReference, Directory, File, FileContent, attach};

/// Entries of a directory that are listed.
const ENTRIES: usize = 1_000;
/// Characters that mentioned files may add to one prompt; whatever does not fit is referred to.
const ROOM: usize = 200_000;

pub(super) struct MentionedFiles;

impl Source for MentionedFiles {
    const LABEL: &'static str = "at_mentioned_files";
    const GROUP: Group = Group::Mention;
    const KINDS: &'static [&'static str] = &["file", "directory", "compact_file_reference"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let Some(prompt) = &cx.facts.prompt else { return Ok(Observation::nothing()) };
        let mut gathered =
            Gathered { room: ROOM, observation: Observation::nothing(), files: cx.files.clone() };
        for mention in mentions(&prompt.text) {
            if cx.budget.is_cancelled() {
                break;
            }
            let mut is_found = false;
            for reading in mention.readings() {
                is_found = gathered.look(cx, prompt, reading).await;
                if is_found {
                    break;
                }
            }
            if !is_found && prompt.is_typed() && mention.is_surely_a_path() {
                let named = mention.readings().pop().unwrap_or_default();
                gathered.observation.notices.push(format!("@{named} was not attached: no such file"));
            }
        }
        Ok(gathered.observation)
    }
}

/// What mentions have brought so far.
struct Gathered {
    room: usize,
    observation: Observation,
    /// What the model has seen, with what is about to be attached.
    files: Files,
}

impl Gathered {
    /// Looks at one reading of a mention. Says whether there was something.
    async fn look(&mut self, cx: &Cx<'_>, prompt: &Prompt, reading: &str) -> bool {
        let (path, lines) = with_lines(reading);
        let why = format!("the prompt mentions @{reading}");
        let looked = tokio::select! {
            biased;
            shown = show(cx, prompt, reading) => shown,
            () = cx.budget.cancelled() => Err(Unseen::Unreadable("it took too long".to_owned())),
        };
        match looked {
            Ok(shown) => self.file(shown, lines, why),
            Err(Unseen::Directory) => self.directory(cx, path, why).await,
            Err(Unseen::TooLarge(filename)) => self.refer(&CompactFileReference { filename }, why),
            Err(Unseen::Missing) => return false,
            Err(unseen) => self.observation.notices.push(format!("@{reading} was not attached: {unseen}")),
        }
        true
    }

    fn file(&mut self, shown: Shown, lines: Option<LineRange>, why: String) {
        if shown.seen.as_ref().is_some_and(|seen| is_known(&self.files, seen)) {
            return;
        }
        let size: usize = shown.text.as_ref().map_or(0, String::len);
        if size > self.room {
            return self.refer(&CompactFileReference { filename: shown.path }, why);
        }
        self.room -= size;
        let content = match shown.text {
            Some(text) => FileContent::Text { text, shown: shown.content },
            None => FileContent::Blocks { shown: shown.content },
        };
        let file = File {
            filename: shown.path,
            content,
            truncated: shown.truncated,
            offset: lines.map(|lines| lines.first),
            limit: lines.map(|lines| lines.last - lines.first + 1),
        };
        let effects: Vec<Effect> = shown.seen.map(Effect::FileSeen).into_iter().collect();
        self.files = self.files.after(&effects);
        self.push(Attachment { effects, ..attach(&file, MentionedFiles::LABEL, why) });
    }

    async fn directory(&mut self, cx: &Cx<'_>, path: &str, why: String) {
        match cx.sight.list(Path::new(path), ENTRIES).await {
            Ok(Listing { path, names, left_out }) => {
                let mut content = names.join("\n");
                if left_out > 0 {
                    content.push_str(&format!("\n[{left_out} more entries are not listed]"));
                }
                self.push(attach(&Directory { path, content }, MentionedFiles::LABEL, why));
            }
            Err(unseen) => self.observation.notices.push(format!("@{path} was not attached: {unseen}")),
        }
    }

    fn refer(&mut self, reference: &CompactFileReference, why: String) {
        self.push(attach(reference, MentionedFiles::LABEL, why));
    }

    fn push(&mut self, attachment: Attachment) {
        self.observation.attachments.push(attachment);
    }
}

/// Shows what is mentioned, as far as whoever mentions it may have it shown.
async fn show(cx: &Cx<'_>, prompt: &Prompt, reading: &str) -> Result<Shown, Unseen> {
    let (path, lines) = with_lines(reading);
    if !prompt.is_named_by_user(reading) {
        cx.sight.is_free(Path::new(path))?;
    }
    cx.sight.show(Path::new(path), lines).await
}

/// Whether the model has seen at least this of the same content.
fn is_known(files: &Files, shown: &FileSeen) -> bool {
    let Some(known) = files.in_sight(&shown.path).filter(|known| known.fingerprint == shown.fingerprint)
    else {
        return false;
    };
    match (&known.lines, &shown.lines) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(known), Some(shown)) => known.covers(shown),
    }
}

#[cfg(test)]
mod tests {
    use tiller_protocol::block::RawBlock;

    use super::super::trial::{Trial, observe};
    use super::*;

    async fn told(trial: &Trial, prompt: &str) -> Observation {
        observe(&MentionedFiles, &trial.prompted(prompt), trial).await
    }

    fn kinds(observation: &Observation) -> Vec<&str> {
        observation.attachments.iter().map(Attachment::kind).collect()
    }

    // STEER-22
    #[tokio::test]
    async fn files_come_as_if_they_had_been_read() {
        let trial = Trial::default().file("/p/a.rs", "one\ntwo").file("/p/my file.rs", "three");
        let observation = told(&trial, "compare @a.rs, and @\"my file.rs\" with user@a.rs").await;
        assert_eq!(kinds(&observation), ["file", "file"]);
        let first = &observation.attachments[0];
        assert_eq!(first.attachment["filename"], "/p/a.rs");
        assert_eq!(first.attachment["content"]["text"], "one\ntwo");
        assert_eq!(first.why, "the prompt mentions @a.rs");
        let shown: Vec<String> = first.rendered.iter().filter_map(RawBlock::as_text).collect();
        assert!(shown[0].contains(r#"{"file_path":"/p/a.rs"}"#) && shown[1].contains("1→one"), "{shown:?}");
        assert!(matches!(first.effects.as_slice(), [Effect::FileSeen(_)]));
    }

    // STEER-22
    #[tokio::test]
    async fn images_stay_images() {
        let trial = Trial::default().image("/p/a.png");
        let observation = told(&trial, "@a.png").await;
        let blocks: Vec<String> = observation.attachments[0].rendered.iter().map(RawBlock::kind).collect();
        assert_eq!(blocks, ["text", "image"]);
        assert!(observation.attachments[0].effects.is_empty(), "it does not count as read");
    }

    // STEER-22
    #[tokio::test]
    async fn lines_can_be_mentioned() {
        let trial = Trial::default().file("/p/a.rs", "1\n2\n3\n4");
        let observation = told(&trial, "@a.rs#L2-3").await;
        let attachment = &observation.attachments[0].attachment;
        assert_eq!((attachment["offset"].as_u64(), attachment["limit"].as_u64()), (Some(2), Some(2)));
        assert_eq!(attachment["content"]["text"], "2\n3");
    }

    #[tokio::test]
    async fn what_is_in_context_already_is_not_repeated() {
        let trial = Trial::default().file("/p/a.rs", "1\n2\n3\n4");
        let part = told(&trial, "@a.rs#L1-2 @a.rs#L2 @a.rs").await;
        assert_eq!(kinds(&part), ["file", "file"], "the second is part of the first");
        let seen = trial.clone().seen("/p/a.rs");
        assert_eq!(told(&seen, "@a.rs @a.rs#L3").await, Observation::nothing());
        let apart = trial.clone().seen_lines("/p/a.rs", 1, 1).seen_lines("/p/a.rs", 4, 4);
        assert_eq!(kinds(&told(&apart, "@a.rs#L2-3").await), ["file"], "what lies between was not shown");
        assert_eq!(told(&apart, "@a.rs#L4").await, Observation::nothing());
        let changed = seen.file("/p/a.rs", "other");
        assert_eq!(kinds(&told(&changed, "@a.rs").await), ["file"]);
    }

    // STEER-23
    #[tokio::test]
    async fn directories_come_as_if_they_had_been_listed() {
        let names: Vec<String> = (0..1_203).map(|n| format!("f{n:04}")).collect();
        let trial =
            names.iter().fold(Trial::default(), |trial, name| trial.file(&format!("/p/many/{name}"), ""));
        let observation = told(&trial, "@many/").await;
        assert_eq!(kinds(&observation), ["directory"]);
        let content = observation.attachments[0].attachment["content"].as_str().unwrap();
        assert_eq!(content.lines().count(), ENTRIES + 1);
        assert!(content.ends_with("[203 more entries are not listed]"), "{content}");
        let text = observation.attachments[0].rendered[1].as_text().unwrap();
        assert!(text.contains(r#""stderr":"","interrupted":false"#), "{text}");
    }

    // STEER-24
    #[tokio::test]
    async fn what_is_too_large_is_referred_to() {
        let trial = Trial::default()
            .too_large("/p/huge.log")
            .file("/p/a", &"x".repeat(ROOM / 2))
            .file("/p/b", &"y".repeat(ROOM / 2))
            .file("/p/c", "z");
        let observation = told(&trial, "@huge.log @a @b @c").await;
        assert_eq!(kinds(&observation), ["compact_file_reference", "file", "file", "compact_file_reference"]);
    }

    // RULE-06
    #[tokio::test]
    async fn what_may_not_be_read_is_not_attached_and_the_user_is_told() {
        let trial = Trial::default().denied("/p/secret");
        let observation = told(&trial, "@secret @nowhere @param").await;
        assert!(observation.attachments.is_empty());
        assert_eq!(
            observation.notices,
            ["@secret was not attached: reading it is not allowed: the rule Read(secret) forbids it"]
        );
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_told_unless_another_thing_may_be_meant() {
        let trial = Trial::default();
        let observation = told(&trial, "@nope.txt. @src/nope @\"no pe\" @param @docs:x/y @v1.").await;
        let missing =
            ["nope.txt", "src/nope", "no pe"].map(|name| format!("@{name} was not attached: no such file"));
        assert_eq!(observation.notices, missing);
    }

    // STEER-18
    #[tokio::test]
    async fn what_takes_too_long_is_left_out_and_the_rest_kept() {
        let trial = Trial::default().file("/p/a", "x").hanging("/p/b").file("/p/c", "y");
        let (facts, budget) = (trial.prompted("@a @b @c"), tokio_util::sync::CancellationToken::new());
        let cx = Cx { facts: &facts, files: &facts.files, sight: &trial, budget: &budget };
        let (observation, ()) = tokio::join!(MentionedFiles.observe(&cx), async { budget.cancel() });
        let observation = observation.unwrap();
        assert_eq!(kinds(&observation), ["file"]);
        assert_eq!(observation.notices, ["@b was not attached: it took too long"]);
    }

    #[tokio::test]
    async fn without_a_prompt_nothing_is_mentioned() {
        let trial = Trial::default().file("/p/a", "x");
        assert_eq!(observe(&MentionedFiles, &trial.facts, &trial).await, Observation::nothing());
    }
}
