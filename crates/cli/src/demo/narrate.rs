//! Telling the demo as it happens, for a person at a terminal.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};

use serde::Deserialize;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, CallResult, Entry};
use tiller_protocol::id::{CallId, SessionId};

use super::scene::Scene;

/// Lines of a result that are shown.
const SHOWN_LINES: usize = 12;

/// Columns where there is no terminal to ask.
const COLUMNS: usize = 100;

/// Prints the story.
pub(crate) struct Narrator {
    colour: bool,
    wrap: Wrap,
    /// Calls of the answer being told, by what they look at: several run at once.
    calls: HashMap<CallId, String>,
}

/// Breaks flowing text between words.
struct Wrap {
    columns: usize,
    column: usize,
    word: String,
}

impl Wrap {
    /// Takes in more text; gives what can be printed of it.
    fn feed(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            if !c.is_whitespace() {
                self.word.push(c);
                continue;
            }
            out.push_str(&self.flush());
            self.column = if c == '\n' { 0 } else { self.column + 1 };
            out.push(c);
        }
        out
    }

    /// The word that is still open.
    fn flush(&mut self) -> String {
        let length = self.word.chars().count();
        let breaks = self.column > 0 && self.column + length > self.columns;
        self.column = if breaks { length } else { self.column + length };
        let word = std::mem::take(&mut self.word);
        if breaks { format!("\n{word}") } else { word }
    }

    fn new_line(&mut self) -> String {
        let rest = self.flush();
        self.column = 0;
        rest + "\n"
    }
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

#[derive(Deserialize)]
struct TextEvent {
    delta: TextDelta,
}

#[derive(Deserialize)]
struct TextDelta {
    text: String,
}

impl Narrator {
    pub(crate) fn new() -> Self {
        let wrap = Wrap { columns: columns(), column: 0, word: String::new() };
        Self { colour: std::io::stdout().is_terminal(), wrap, calls: HashMap::new() }
    }

    pub(crate) fn opening(&self, scene: &Scene, prompt: &str) -> anyhow::Result<()> {
        say(&format!(
            "{}\nThe model's words are recorded.\nThe loop, the tools, the permission checks and the repository are real.\n\
             Scratch repository: {}\n\n{} {prompt}\n\n",
            self.styled("1", "Tiller demo"),
            scene.dir.display(),
            self.styled("1;36", ">"),
        ))
    }

    pub(crate) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Stream(json) if json.contains("text_delta") => {
                match serde_json::from_str::<TextEvent>(json) {
                    Ok(event) => say(&self.wrap.feed(&event.delta.text)),
                    Err(_) => Ok(()),
                }
            }
            Event::Appended(entry) => self.entry(entry),
            _ => Ok(()),
        }
    }

    pub(crate) fn closing(&self, scene: &Scene, diff: &str, session: SessionId) -> anyhow::Result<()> {
        say(&format!("{}\n", self.styled("1", "What changed:")))?;
        for line in diff.lines() {
            let code = match line.as_bytes().first() {
                Some(b'+') => "32",
                Some(b'-') => "31",
                _ => "2",
            };
            say(&format!("  {}\n", self.styled(code, line)))?;
        }
        say(&format!(
            "\nThe repository stays at {}\n\n\
             Everything that happened:\n  tiller inspect {session}\n\n\
             To work on your own code, start Tiller in its directory:\n  \
             export ANTHROPIC_API_KEY=sk-ant-...\n  tiller\n",
            scene.dir.display()
        ))
    }

    fn entry(&mut self, entry: &Entry) -> anyhow::Result<()> {
        match &entry.body {
            Body::Assistant(block) => match block.block.as_tool_use() {
                Some(call) => {
                    let what =
                        ["command", "file_path", "pattern"].iter().find_map(|key| call.input[*key].as_str());
                    let what = what.unwrap_or_default();
                    self.calls.insert(
                        call.id,
                        format!("{} {}", call.name, what.rsplit('/').next().unwrap_or(what)),
                    );
                    say(&format!("  {} {what}\n", self.styled("1;33", &call.name)))
                }
                None => {
                    self.calls.clear();
                    say(&self.wrap.new_line())
                }
            },
            Body::Result(result) => self.result(result),
            Body::Notice(notice) => say(&format!("  {}\n", notice.content)),
            Body::TurnEnded(_) => say("\n"),
            _ => Ok(()),
        }
    }

    fn result(&self, result: &CallResult) -> anyhow::Result<()> {
        let text = result.text();
        let lines: Vec<&str> = text.lines().collect();
        let code = if result.is_error { "31" } else { "2" };
        if let Some(label) = self.calls.get(&result.call).filter(|_| self.calls.len() > 1) {
            say(&format!("  {}\n", self.styled("33", label)))?;
        }
        for (at, line) in lines.iter().take(SHOWN_LINES).enumerate() {
            let mark = if at == 0 { "└" } else { " " };
            say(&format!("  {mark} {}\n", self.styled(code, line)))?;
        }
        if lines.len() > SHOWN_LINES {
            say(&format!(
                "    {}\n",
                self.styled("2", &format!("… {} more lines", lines.len() - SHOWN_LINES))
            ))?;
        }
        Ok(())
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Prints text as it is.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}
