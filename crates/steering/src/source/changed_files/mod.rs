//! `changed_files`: files that are not any more what the model saw.

mod snippet;

use std::sync::{Mutex, PoisonError};

use tiller_protocol::effect::{Effect, FileSeen};
use tiller_protocol::entry::Attachment;

use super::{Cx, Group, Observation, Shown, Source, SourceError, Unseen};
use crate::attachment::{EditedTextFile, attach};
use crate::past::Texts;
use snippet::Excerpt;

/// Compares files with what the model saw, by content. Time stamps only tell where to look.
#[derive(Default)]
pub(super) struct ChangedFiles {
    /// Texts after changes that were told: what is told of them is too little to compare with.
    told: Mutex<Texts>,
}

impl Source for ChangedFiles {
    const LABEL: &'static str = "changed_files";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["edited_text_file"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let mut observation = Observation::nothing();
        // A file that was read in part is looked at when it is to be changed.
        for known in cx.files.own().filter(|known| known.lines.is_none()) {
            if cx.budget.is_cancelled() {
                break;
            }
            tokio::select! {
                biased;
                () = self.compare(cx, known, &mut observation) => {}
                () = cx.budget.cancelled() => break,
            }
        }
        Ok(observation)
    }
}

impl ChangedFiles {
    async fn compare(&self, cx: &Cx<'_>, known: &FileSeen, observation: &mut Observation) {
        match cx.sight.modified(&known.path).await {
            Ok(modified) if modified == known.mtime_ms => return,
            Ok(_) => {}
            Err(Unseen::Missing) => return observation.effects.push(forgotten(known)),
            Err(_) => return,
        }
        match cx.sight.show(&known.path, None).await {
            // The same content with another time stamp: noted, so that it is not read again and again.
            Ok(Shown { seen: Some(seen), .. }) if seen.fingerprint == known.fingerprint => {
                observation.effects.push(Effect::FileSeen(seen));
            }
            Ok(Shown { text: Some(text), seen: Some(seen), .. }) => {
                let Excerpt { text: snippet, complete } = self.snippet(cx, known, &text);
                self.remember(&seen, &text);
                // What was not shown must not be overwritten unseen.
                let effect = if complete { Effect::FileSeen(seen) } else { forgotten(known) };
                observation.attachments.push(report(known, snippet, vec![effect]));
            }
            Err(Unseen::TooLarge(_)) => {
                let snippet = "It is now too large to be shown here; read the part you need.".to_owned();
                observation.attachments.push(report(known, snippet, vec![forgotten(known)]));
            }
            // What is no text any more has to be read anew before it is changed.
            Ok(_) | Err(Unseen::Missing | Unseen::Directory) => observation.effects.push(forgotten(known)),
            Err(Unseen::Denied(_) | Unseen::Unasked(_) | Unseen::Unreadable(_)) => {}
        }
    }

    fn snippet(&self, cx: &Cx<'_>, known: &FileSeen, text: &str) -> Excerpt {
        let told =
            self.told.lock().unwrap_or_else(PoisonError::into_inner).get(&known.path, &known.fingerprint);
        match told.or_else(|| cx.facts.past.text(&known.path, &known.fingerprint)) {
            Some(before) => snippet::of_change(&before, text),
            None => snippet::of_beginning(text),
        }
    }

    fn remember(&self, seen: &FileSeen, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(&seen.path, &seen.fingerprint, text);
    }
}

fn report(known: &FileSeen, snippet: String, effects: Vec<Effect>) -> Attachment {
    let filename = known.path.clone();
    let why = format!("the content of {} is not what the model saw", filename.display());
    Attachment { effects, ..attach(&EditedTextFile { filename, snippet }, ChangedFiles::LABEL, why) }
}

fn forgotten(known: &FileSeen) -> Effect {
    Effect::FileForgotten { path: known.path.clone() }
}

#[cfg(test)]
mod tests;
