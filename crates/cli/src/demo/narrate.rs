//! Telling the demo as it happens, for a person at a terminal.

use std::io::{IsTerminal, Write};

use serde::Deserialize;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, CallResult, Entry};
use tiller_protocol::id::SessionId;

use super::scene::Scene;

/// Lines of a result that are shown.
const SHOWN_LINES: usize = 12;

/// Prints the story.
pub(crate) struct Narrator {
    colour: bool,
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
        Self { colour: std::io::stdout().is_terminal() }
    }

    pub(crate) fn opening(&self, scene: &Scene, prompt: &str) -> anyhow::Result<()> {
        say(&format!(
            "{}\nThe model's words are recorded. The loop, the tools, the permission checks and the repository are real.\n\
             Scratch repository: {}\n\n{} {prompt}\n\n",
            self.styled("1", "Tiller demo"),
            scene.dir.display(),
            self.styled("1;36", ">"),
        ))
    }

    pub(crate) fn event(&self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Stream(json) if json.contains("text_delta") => {
                match serde_json::from_str::<TextEvent>(json) {
                    Ok(event) => say(&event.delta.text),
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
            "\nThe repository stays at {}; the session is {session}.\n\
             To work on your own code, set ANTHROPIC_API_KEY and run: tiller -p \"...\"\n",
            scene.dir.display()
        ))
    }

    fn entry(&self, entry: &Entry) -> anyhow::Result<()> {
        match &entry.body {
            Body::Assistant(block) => match block.block.as_tool_use() {
                Some(call) => {
                    let what =
                        ["command", "file_path", "pattern"].iter().find_map(|key| call.input[*key].as_str());
                    say(&format!("  {} {}\n", self.styled("1;33", &call.name), what.unwrap_or_default()))
                }
                None => say("\n"),
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
        say(&format!("  {}\n", self.styled(code, &format!("└ {}", result.tool))))?;
        for line in lines.iter().take(SHOWN_LINES) {
            say(&format!("    {}\n", self.styled(code, line)))?;
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
