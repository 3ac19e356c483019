//! Going back to before a prompt: where to, what that would change, and what has come of it.

use std::sync::Arc;

use indexmap::IndexSet;
use ratatui::text::{Line, Span};
use tiller_protocol::branch::{Branch, Left, branches};
use tiller_protocol::command::Command;
use tiller_protocol::entry::{Body, CallResult, Entry, Level};
use tiller_protocol::id::EntryId;
use tiller_protocol::rewind::{
    FileDifference, RewindAct, RewindOrder, RewindPart, RewindReport, RewindTarget, Rewound, Stretch,
};

use super::overlay::{Content, Overlay, Subject};
use super::{App, Effect};
use crate::cell::{Call, Paper, content_text};
use crate::dialog::{Choice, ChoiceOption, Render, Tone};
use crate::diff;
use crate::input::{Past, Purpose};
use crate::panel::{Panel, PromptRow, Prompts};
use crate::text::{clean, fit, paragraphs, visible_line, wrap};
use crate::theme::Theme;

/// Rows of the change of one file.
const FILE_ROWS: usize = 400;
/// Files that are named when it is done.
const NAMED: usize = 10;
/// Columns of a prompt in a sentence.
const SHORT: usize = 60;
/// Tools whose calls change the file they name.
const WRITERS: [&str; 3] = ["Edit", "Write", "NotebookEdit"];

/// A prompt of the session, and what came of it.
struct Prompt {
    id: EntryId,
    seq: u64,
    text: String,
    files: IndexSet<String>,
    commands: usize,
}

/// Where one can go back to: a fold of the entries.
#[derive(Default)]
pub(super) struct Trail {
    prompts: Vec<Prompt>,
    abandoned: Vec<Stretch>,
    left: Vec<Left>,
    /// Whether there is a step back that can be undone.
    stepped: bool,
}

impl Trail {
    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(message) if !message.is_hidden() => self.prompts.push(Prompt {
                id: entry.id,
                seq: entry.seq,
                text: content_text(&message.content),
                files: IndexSet::new(),
                commands: 0,
            }),
            Body::Rewound(rewound) => {
                let went_anywhere = rewound.conversation.is_some() || rewound.files.is_some();
                self.stepped |= rewound.unfolded.is_none() && went_anywhere;
                if let Some(back) = &rewound.conversation {
                    let before = std::mem::replace(&mut self.abandoned, back.abandoned.clone());
                    // That a fold was taken back has left nothing behind.
                    let left = rewound.unfolded.is_none().then_some(Left { seq: entry.seq, before });
                    self.left.extend(left);
                }
            }
            _ => {}
        }
    }

    /// A call of the last prompt has ended.
    pub(super) fn called(&mut self, call: &Call, result: &CallResult) {
        let Some(prompt) = self.prompts.last_mut().filter(|_| !result.is_error) else { return };
        if WRITERS.contains(&call.tool.as_str()) {
            let path = call.input["file_path"].as_str().or_else(|| call.input["notebook_path"].as_str());
            prompt.files.extend(path.map(str::to_owned));
        } else if call.tool == "Bash" {
            prompt.commands += 1;
        }
    }

    fn text_of(&self, id: EntryId) -> Option<&str> {
        self.prompts.iter().find(|prompt| prompt.id == id).map(|prompt| prompt.text.as_str())
    }

    /// The last prompt of a conversation that was left behind, and how many it has.
    fn left_at(&self, step: u64) -> Option<(&Prompt, usize)> {
        let branch = self.branches().into_iter().find(|branch| branch.step == step)?;
        let last = branch.prompts.last()?;
        let prompt = self.prompts.iter().find(|prompt| prompt.seq == *last)?;
        Some((prompt, branch.prompts.len()))
    }

    fn branches(&self) -> Vec<Branch> {
        let prompts: Vec<u64> = self.prompts.iter().map(|prompt| prompt.seq).collect();
        branches(&prompts, &self.left, &self.abandoned)
    }

    fn branch_row(&self, branch: &Branch) -> Option<PromptRow> {
        let (last, count) = self.left_at(branch.step)?;
        let prompts = if count == 1 { "1 prompt".to_owned() } else { format!("{count} prompts") };
        Some(PromptRow {
            target: RewindTarget::Branch(branch.step),
            text: format!("Continue what was left behind: {}", short(&last.text)),
            detail: format!("{prompts}, to its end"),
        })
    }

    fn rows(&self, paper: &Paper<'_>) -> Vec<PromptRow> {
        let is_current = |prompt: &&Prompt| !self.abandoned.iter().any(|stretch| stretch.holds(prompt.seq));
        let row = |prompt: &Prompt| PromptRow {
            target: RewindTarget::Prompt(prompt.id),
            text: prompt.text.clone(),
            detail: outcome(prompt, paper),
        };
        let mut rows: Vec<PromptRow> = self.prompts.iter().filter(is_current).map(row).collect();
        rows.extend(self.branches().iter().filter_map(|branch| self.branch_row(branch)));
        if self.stepped {
            rows.push(PromptRow {
                target: RewindTarget::Undo,
                text: "Undo the last rewind".to_owned(),
                detail: "everything as it was before it".to_owned(),
            });
        }
        rows
    }
}

/// What came of a prompt, in a few words.
fn outcome(prompt: &Prompt, paper: &Paper<'_>) -> String {
    let mut parts = Vec::new();
    let mut files = prompt.files.iter().map(|path| paper.path(path));
    let named: Vec<String> = files.by_ref().take(3).collect();
    if !named.is_empty() {
        let more = files.count();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("changed {}{more}", named.join(", ")));
    }
    match prompt.commands {
        0 => {}
        1 => parts.push("ran 1 command".to_owned()),
        count => parts.push(format!("ran {count} commands")),
    }
    parts.join(" · ")
}

/// Stretches of a log that are no part of the conversation any more.
pub(super) fn left_behind(past: &[Arc<Entry>]) -> &[Stretch] {
    let back = past.iter().rev().find_map(|entry| match &entry.body {
        Body::Rewound(Rewound { conversation, .. }) => conversation.as_ref(),
        _ => None,
    });
    back.map(|back| back.abandoned.as_slice()).unwrap_or_default()
}

/// The parts that can go back, in the order of the choices.
pub(super) struct Offer {
    target: RewindTarget,
    parts: Vec<RewindPart>,
}

impl Offer {
    fn new(report: &RewindReport) -> Self {
        let parts = match (report.order.to, report.files.is_empty()) {
            (RewindTarget::Undo, _) => vec![RewindPart::Both],
            (_, true) => vec![RewindPart::Conversation],
            (_, false) => vec![RewindPart::Both, RewindPart::Conversation, RewindPart::Files],
        };
        Self { target: report.order.to, parts }
    }

    fn options(&self) -> Vec<ChoiceOption> {
        let option =
            |label: &str, detail: &str| ChoiceOption { label: label.to_owned(), detail: detail.to_owned() };
        let one = |part: &RewindPart| match (self.target, part) {
            (RewindTarget::Undo, _) => option("Undo the rewind", "what it changed is as it was before it"),
            (_, RewindPart::Both) => option("Conversation and files", ""),
            (_, RewindPart::Conversation) => option("The conversation", "files stay as they are"),
            (_, RewindPart::Files) => option("The files", "the conversation stays as it is"),
        };
        self.parts.iter().map(one).collect()
    }

    /// The order that a choice means.
    pub(super) fn order(&self, index: usize) -> Option<Command> {
        let part = *self.parts.get(index)?;
        Some(Command::Rewind(RewindOrder { to: self.target, part, act: RewindAct::Carry }))
    }
}

/// A preview that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Awaited {
    order: RewindOrder,
    /// Why files cannot go back.
    problem: Option<String>,
}

impl App {
    /// Lets the user choose where to go back to.
    pub(super) fn choose_prompt(&mut self) -> Vec<Effect> {
        if self.is_working() {
            let text = format!(
                "Stop the running turn first ({}), then go back.",
                self.keys.hint(crate::keys::Action::Interrupt)
            );
            self.tell(Level::Warning, &text);
            return Vec::new();
        }
        let rows = self.trail.rows(&self.look.paper());
        if rows.is_empty() {
            self.tell(Level::Info, "There is no prompt to go back to yet.");
            return Vec::new();
        }
        self.open(Panel::Prompts(Prompts::new(rows, Arc::clone(&self.keys))))
    }

    /// Asks what going back would change.
    pub(super) fn preview_rewind(&mut self, to: RewindTarget) -> Vec<Effect> {
        let page = Content::Text("Checking what would change …".to_owned());
        self.open_page("Go back", page);
        self.ask_preview(to, RewindPart::Both, None)
    }

    fn ask_preview(&mut self, to: RewindTarget, part: RewindPart, problem: Option<String>) -> Vec<Effect> {
        let order = RewindOrder { to, part, act: RewindAct::Preview };
        self.awaited = Some(Awaited { order, problem });
        vec![Effect::Send(Command::Rewind(order))]
    }

    /// The user wants to see no preview any more.
    pub(super) fn forget_rewind(&mut self) {
        self.awaited = None;
    }

    /// The session refused something. If that was a preview, the conversation can perhaps go back alone.
    pub(super) fn refused(&mut self, problem: &str) -> Vec<Effect> {
        match self.awaited.take() {
            Some(Awaited {
                order:
                    RewindOrder {
                        to: to @ (RewindTarget::Prompt(_) | RewindTarget::Branch(_)),
                        part: RewindPart::Both,
                        ..
                    },
                ..
            }) => self.ask_preview(to, RewindPart::Conversation, Some(problem.to_owned())),
            awaited => {
                if awaited.is_some() {
                    self.overlay = None;
                }
                self.tell(Level::Error, problem);
                Vec::new()
            }
        }
    }

    /// The session tells what would change, or what has changed.
    pub(super) fn rewound(&mut self, report: &RewindReport) {
        match report.order.act {
            RewindAct::Preview => {
                let awaited = self.awaited.take_if(|awaited| awaited.order == report.order);
                if let Some(Awaited { problem, .. }) = awaited {
                    self.offer(report, problem);
                }
            }
            RewindAct::Carry => self.carried(report),
        }
    }

    fn offer(&mut self, report: &RewindReport, problem: Option<String>) {
        let offer = Offer::new(report);
        let title = match (report.order.to, &report.prompt) {
            (RewindTarget::Undo, _) => "Undo the last rewind?".to_owned(),
            (RewindTarget::Branch(step), _) => format!("Continue from: {}", self.name_of(step)),
            (RewindTarget::Prompt(_), prompt) => {
                format!("Go back to before: {}", short(prompt.as_deref().unwrap_or_default()))
            }
        };
        let choice =
            Choice::new(title, self.changes(report, problem), offer.options(), Arc::clone(&self.keys));
        self.overlay = Some(Overlay::Choice(choice.in_tone(Tone::Warning), Subject::Rewind(offer)));
    }

    /// What a conversation that was left behind is called: its last prompt.
    fn name_of(&self, step: u64) -> String {
        self.trail
            .left_at(step)
            .map_or_else(|| "what was left behind".to_owned(), |(last, _)| short(&last.text))
    }

    /// What would change in files, to be looked at first.
    fn changes(&self, report: &RewindReport, problem: Option<String>) -> Render {
        let (files, aside, left) = (report.files.clone(), report.aside.clone(), report.left.clone());
        let missing = report.missing.clone();
        let cwd = self.info.cwd.clone();
        Arc::new(move |columns, theme| {
            let paper = Paper { columns, theme, cwd: &cwd, detail: crate::cell::Detail::Full };
            let mut lines = match (&problem, files.len()) {
                (Some(problem), _) => {
                    paragraphs(&format!("Files stay as they are: {problem}"), columns, theme.warning)
                }
                (None, 0) if missing.is_some() => {
                    vec![Line::styled("No file differs from what was kept first since then.", theme.dim)]
                }
                (None, 0) => vec![Line::styled("No file differs from what it was then.", theme.dim)],
                (None, 1) => vec![Line::styled("1 file changes:", theme.strong)],
                (None, count) => vec![Line::styled(format!("{count} files change:"), theme.strong)],
            };
            lines.extend(files.iter().flat_map(|file| file_rows(file, &paper)));
            let unkept = aside.iter().map(|one| ("gets another name", one));
            for (what, (path, why)) in unkept.chain(left.iter().map(|one| ("stays as it is", one))) {
                let path = visible_line(&paper.path(&path.to_string_lossy()));
                let text = format!("{what}: {path} ({why})");
                lines.extend(wrap(&Line::styled(text, theme.warning), columns, 2));
            }
            let missing = missing.iter().map(|missing| format!("Not everything goes back: {missing}."));
            lines.extend(missing.flat_map(|text| paragraphs(&text, columns, theme.warning)));
            lines
        })
    }

    /// Says what has changed, and gives the prompt back to be changed.
    fn carried(&mut self, report: &RewindReport) {
        let mut lines: Vec<String> = Vec::new();
        let paper = self.look.paper();
        let shown = |path: &std::path::Path| visible_line(&paper.path(&path.to_string_lossy()));
        lines.extend(
            report.files.iter().take(NAMED).map(|file| format!("{:<8}  {}", file.change, shown(&file.path))),
        );
        if let Some(more) = report.files.len().checked_sub(NAMED).filter(|more| *more > 0) {
            lines.push(format!("and {more} more files"));
        }
        lines.extend(report.aside.iter().map(|(path, why)| format!("aside     {}  ({why})", shown(path))));
        lines.extend(report.left.iter().map(|(path, why)| format!("left      {}  ({why})", shown(path))));
        lines.extend(report.missing.iter().map(|missing| format!("Not everything went back: {missing}.")));
        lines.push("Nothing is lost: /rewind can undo this.".to_owned());
        let level = if report.missing.is_some() { Level::Warning } else { Level::Info };
        self.tell(level, &lines.join("\n"));
        let goes_on = report.order.part != RewindPart::Files;
        if let Some(prompt) = report.prompt.clone().filter(|_| goes_on) {
            self.input.give_back(&Past { purpose: Purpose::Prompt, text: prompt });
        }
    }

    /// A step back in the transcript.
    pub(super) fn stepped_back(&mut self, rewound: &Rewound) {
        // That a fold was taken back, a notice says.
        if rewound.unfolded.is_some() {
            return;
        }
        let what = match (&rewound.conversation, &rewound.files) {
            (Some(_), Some(_)) => "conversation and files",
            (Some(_), None) => "the conversation",
            (None, Some(_)) => "the files",
            (None, None) => "nothing had changed",
        };
        let prompt = rewound.to.map(|id| self.trail.text_of(id).map(short));
        let text = match (prompt, rewound.branch) {
            (Some(Some(prompt)), _) => format!("Back to before \"{prompt}\": {what}"),
            (Some(None), _) => format!("Back to before an earlier prompt: {what}"),
            (None, Some(_)) => format!("Continued what was left behind: {what}"),
            (None, None) => format!("The last rewind is undone: {what}"),
        };
        let theme = &self.look.theme;
        let line = Line::from(vec![Span::styled("↶ ", theme.accent), Span::styled(text, theme.strong)]);
        let mut rows = vec![Line::default()];
        rows.extend(wrap(&line, self.look.size.width, 2));
        self.put(rows);
    }
}

fn short(text: &str) -> String {
    fit(clean(text).trim().lines().next().unwrap_or_default(), SHORT)
}

fn file_rows(file: &FileDifference, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let theme: &Theme = paper.theme;
    let style = match file.change {
        "added" => theme.added,
        "removed" => theme.removed,
        _ => theme.strong,
    };
    let path = visible_line(&paper.path(&file.path.to_string_lossy()));
    let head = Line::from(vec![Span::styled(format!("{:<8}  ", file.change), style), Span::raw(path)]);
    let mut rows = wrap(&head, paper.columns, 10);
    if let Some((now, then)) = &file.texts {
        rows.extend(diff::rows(&diff::between(now, then), paper.columns, FILE_ROWS, theme));
    }
    rows
}
