//! What the host answers. Much of it comes after the user has gone on: then it must not take the keys.

use std::path::Path;

use ratatui::text::Line;
use tiller_protocol::entry::Level;

use super::overlay::Content;
use super::{App, Effect, command};
use crate::cell;
use crate::host::Reply;
use crate::text::clean_output;

impl App {
    /// The host answers.
    pub fn on_reply(&mut self, reply: Reply) -> Vec<Effect> {
        match reply {
            Reply::Files(files) => self.input.set_files(files.into()),
            Reply::Sessions(sessions) => return self.choose_session(sessions),
            Reply::Styles(styles) => self.choose_style(&styles),
            Reply::Style(style) => return self.set_style(style),
            Reply::Memory(files) => self.choose_instructions(&files),
            Reply::Ran { command, output, code } => self.ran(&command, &output, code),
            Reply::Image { number, block } => return self.image_came(number, block),
            Reply::Clipboard(path) => {
                let image = self.input.attach(&path);
                return self.read_images(vec![image]);
            }
            Reply::Report { title, text } => self.show_report(title, text),
            Reply::Noted { file, text } => {
                self.tell(
                    Level::Info,
                    &format!("Added to {file}; the agent is told with your next message."),
                );
                let path = self.info.cwd.join(&file);
                let note = format!("I have added this to {file}; follow it from now on:\n{text}");
                self.tell_with_next_prompt(&path, &note);
            }
            Reply::Told(level, text) => self.tell(level, &text),
            Reply::StatusLine(text) => self.status_text = Some(text).filter(|text| !text.trim().is_empty()),
        }
        Vec::new()
    }

    /// Whether something that was asked for may open: not if the user has gone on meanwhile. Then it says how to see it.
    pub(super) fn may_open(&mut self, command: &str) -> bool {
        let is_free = !self.is_asking() && self.input.is_empty();
        if !is_free {
            self.tell(
                Level::Info,
                &format!("The result of {command} is ready; run {command} again to see it."),
            );
        }
        is_free
    }

    /// What the user ran is shown, and told to the model with the next prompt.
    fn ran(&mut self, command: &str, output: &str, code: Option<i32>) {
        if let Some(at) = self.shells.iter().position(|running| running == command) {
            self.shells.remove(at);
        }
        let failed = code != Some(0);
        let level = if failed { Level::Warning } else { Level::Info };
        let ended = match code {
            Some(0) => String::new(),
            Some(code) => format!("\n(exit code {code})"),
            None => "\n(it was ended by a signal)".to_owned(),
        };
        let printed = clean_output(output.trim_end());
        let rows = cell::ran(level, &format!("{command}\n{}{ended}", excerpt(&printed)), &self.look.paper());
        self.put(rows);
        self.shell_notes.push(cell::shell_note(command, &format!("{}{ended}", output.trim_end())));
    }

    /// Lets the model know with the next prompt what it would only read in another session. Before the first one, it
    /// reads the files themselves; that a file has changed which it knows, the session tells.
    pub(in crate::app) fn tell_with_next_prompt(&mut self, path: &Path, text: &str) {
        let is_known =
            self.instructions.iter().any(|file| file == path) || self.state.files.get(path).is_some();
        if self.state.last_usage.is_some() && !is_known {
            self.shell_notes.push(cell::instructions_note(text));
        }
    }

    /// Opens what was asked for, unless the user has gone on meanwhile: then it goes to the transcript.
    fn show_report(&mut self, title: &'static str, text: String) {
        self.hint = None;
        if self.is_asking() || !self.input.is_empty() {
            let mut rows = vec![Line::default(), Line::styled(title, self.look.theme.strong)];
            rows.extend(crate::text::paragraphs(&text, self.look.size.width, self.look.theme.text));
            self.put(rows);
            return;
        }
        let content = match title {
            command::AGENTS => Content::Both(command::agents_at_work, text),
            command::PERMISSIONS => Content::Both(command::session_rules, text),
            command::PLAN => Content::Markdown(text),
            _ => Content::Text(text),
        };
        self.open_page(title, content);
    }
}

/// The beginning and the end of a long output; the model gets more of it.
fn excerpt(output: &str) -> String {
    const FIRST: usize = 40;
    const LAST: usize = 20;
    let lines: Vec<&str> = output.lines().collect();
    if lines.len() <= FIRST + LAST {
        return output.to_owned();
    }
    let left_out = format!("… {} more lines", lines.len() - FIRST - LAST);
    [&lines[..FIRST], &[left_out.as_str()], &lines[lines.len() - LAST..]].concat().join("\n")
}
