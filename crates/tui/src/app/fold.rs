//! Conversations that were folded: what is sent instead, what was kept, and what was dropped.

use ratatui::text::{Line, Span};
use tiller_protocol::command::Command;
use tiller_protocol::compaction::{Compacted, Trigger};
use tiller_protocol::entry::{Body, Entry};

use super::{App, Effect};
use crate::cell::amount;
use crate::text::{clean, paragraphs, wrap};

/// What takes the last fold back.
const UNDO: &str = "undo";

impl App {
    /// Folds the conversation as the user wants it, or takes that back.
    pub(super) fn compact(&mut self, rest: &str) -> Vec<Effect> {
        if rest == UNDO {
            return vec![Effect::Send(Command::UndoCompaction)];
        }
        self.live.compact =
            self.live.turn.is_some().then(|| format!("/compact {rest}").trim_end().to_owned());
        let instructions = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
        vec![Effect::Send(Command::Compact { instructions })]
    }

    /// Follows folds, and that one was taken back.
    pub(super) fn follow_fold(&mut self, entry: &Entry) {
        if let Body::Compacted(compacted) = &entry.body {
            self.fold = Some(Compacted::clone(compacted));
        }
        if self.state.folded.is_none() {
            self.fold = None;
        }
    }

    /// A fold in the transcript.
    pub(super) fn show_fold(&mut self, fold: &Compacted) {
        let theme = &self.look.theme;
        let head = Line::from(vec![
            Span::styled("⧉ ", theme.accent),
            Span::styled(format!("The conversation was folded{}", size(fold)), theme.strong),
        ]);
        let mut rows = vec![Line::default()];
        rows.extend(wrap(&head, self.look.size.width, 2));
        let undo = "/context shows the summary. /compact undo reverts it until your next message.";
        for text in [kept(fold), undo.to_owned()] {
            rows.extend(wrap(&Line::styled(format!("  {text}"), theme.dim), self.look.size.width, 2));
        }
        self.put(rows);
    }

    /// What was folded, for the page on the context; nothing if nothing was.
    pub(super) fn fold_rows(&self) -> Vec<Line<'static>> {
        let (theme, columns) = (&self.look.theme, self.look.size.width);
        let Some(fold) = &self.fold else { return Vec::new() };
        let who = match fold.trigger {
            Trigger::Manual => "by you",
            Trigger::Auto => "because the window was filling up",
        };
        let mut rows = vec![Line::default()];
        rows.extend(wrap(&Line::styled(format!("Folded {who}{}", size(fold)), theme.strong), columns, 2));
        rows.extend(wrap(&Line::raw(kept(fold)), columns, 2));
        if !fold.restored.is_empty() {
            let restored = clean(&fold.restored.join(", ")).into_owned();
            rows.extend(wrap(&Line::raw(format!("restored: {restored}")), columns, 2));
        }
        if let Some(wish) = &fold.instructions {
            rows.extend(wrap(&Line::raw(format!("wanted of the summary: {}", clean(wish))), columns, 2));
        }
        rows.push(Line::default());
        rows.push(Line::styled("The summary", theme.strong));
        rows.extend(paragraphs(&fold.summary, columns, theme.dim));
        rows
    }
}

fn size(fold: &Compacted) -> String {
    format!(": {} → {} tokens", amount(fold.pre_tokens), amount(fold.post_tokens))
}

/// What is no longer sent, and what still is.
fn kept(fold: &Compacted) -> String {
    let mut parts = vec![format!("{} became a summary", counted(fold.folded_messages, "message"))];
    let whole = fold.carried.saturating_sub(fold.shortened);
    if whole > 0 {
        parts.push(format!("{} of yours kept word for word", counted(whole, "message")));
    }
    if fold.shortened > 0 {
        parts.push(format!("{} of yours shortened", counted(fold.shortened, "message")));
    }
    if fold.left_out > 0 {
        parts.push(format!("{} of yours left out", counted(fold.left_out, "message")));
    }
    if let Some(end) = &fold.kept {
        parts.push(format!("the last {} sent as before", counted(end.messages, "message")));
    }
    parts.join(" · ")
}

fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
