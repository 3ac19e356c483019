//! A session that tests play, and the terminal on which it is shown.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event};
use tiller_protocol::effect::Effect as Change;
use tiller_protocol::entry::{
    AssistantBlock, Body, CallResult, Cause, Delivery, Entry, Origin, Outcome, Queued, Reading, TurnEnd,
    UserMessage,
};
use tiller_protocol::id::{EntryId, SessionId};
use tiller_protocol::mode::Mode;
use tiller_testkit::terminal::{LongRows, Terminal};

use crate::app::{App, Confinement, Effect, Info, ModelRow, Options, Place};
use crate::host::{Reply, Request};
use crate::keys::Keymap;
use crate::menu::Candidate;
use crate::screen::{Screen, Size, Wrapping};
use crate::theme::Palette;

/// Rows that are drawn at once.
const AT_ONCE: usize = 4;

/// A front end on a terminal.
pub(super) struct Stage {
    pub(super) app: App,
    pub(super) terminal: Terminal,
    screen: Screen,
    now: Duration,
    entries: u128,
    /// Everything that the front end wanted done.
    pub(super) effects: Vec<Effect>,
}

impl Stage {
    pub(super) fn new(width: u16, height: u16) -> Self {
        Self::resumed(width, height, &[])
    }

    /// A front end with other keys.
    pub(super) fn with_keys(width: u16, height: u16, keys: Keymap) -> Self {
        Self::begun(width, height, &[], keys)
    }

    /// A front end for a session that has a past.
    pub(super) fn resumed(width: u16, height: u16, past: &[Arc<Entry>]) -> Self {
        Self::begun(width, height, past, Keymap::default())
    }

    fn begun(width: u16, height: u16, past: &[Arc<Entry>], keys: Keymap) -> Self {
        let size = Size { width, height };
        let info = Info {
            id: SessionId::default(),
            cwd: "/work".into(),
            home: "/home/u".into(),
            model: "claude-test".to_owned(),
            version: "1.2.3".to_owned(),
            mode: Mode::Default,
            confinement: Confinement {
                means: Some("namespaces, throw-away layers and a filter of system calls".to_owned()),
                is_wanted: true,
            },
            context_window: Some(200_000),
            models: vec![ModelRow {
                name: "opus".to_owned(),
                id: "claude-opus".to_owned(),
                window: Some(1_000_000),
                ..ModelRow::default()
            }],
            plans: "/home/plans".into(),
            bypass_available: true,
            commands: vec![Candidate {
                text: "tools:review".to_owned(),
                hint: "<branch>".to_owned(),
                help: "Look at a branch".to_owned(),
                source: "plugin".to_owned(),
            }],
            advice: Vec::new(),
        };
        let options = Options {
            palette: Palette::Dark,
            fitting: Palette::Dark,
            keys: Arc::new(keys),
            status_command: true,
            ..Options::default()
        };
        let mut stage = Self {
            app: App::new(info, options, Vec::new(), past, size),
            terminal: Terminal::new(width, height, LongRows::Wrap),
            screen: Screen::new(size, Some(0), Wrapping::Anew),
            now: Duration::ZERO,
            entries: 0,
            effects: Vec::new(),
        };
        stage.draw();
        stage
    }

    pub(super) fn draw(&mut self) {
        self.app.at(self.now);
        let turned = match (self.app.place(), self.screen.is_aside()) {
            (Place::Aside, false) => self.screen.turn_aside(),
            (Place::Below, true) => self.screen.turn_back(),
            _ => String::new(),
        };
        self.terminal.write(turned.as_bytes());
        self.app.drawn();
        loop {
            let most = if self.screen.is_aside() { 0 } else { AT_ONCE };
            let finished = self.app.take_finished(most);
            let bytes = self.screen.draw(&finished, &self.app.view());
            self.terminal.write(bytes.as_bytes());
            if most == 0 || !self.app.has_finished() {
                return;
            }
        }
    }

    /// What the terminal shows.
    pub(super) fn shown(&mut self) -> String {
        self.draw();
        self.terminal.text()
    }

    pub(super) fn resize(&mut self, width: u16, height: u16) {
        self.terminal.resize(width, height);
        let size = Size { width, height };
        let cursor = self.terminal.screen().cursor_position().0;
        let bytes = self.screen.resize(size, Some(cursor));
        self.terminal.write(bytes.as_bytes());
        self.app.resize(size);
        self.draw();
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.wait_ms(seconds * 1_000);
    }

    pub(super) fn wait_ms(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
        self.app.at(self.now);
    }

    pub(super) fn event(&mut self, event: Event) {
        self.app.at(self.now);
        let effects = self.app.on_event(event);
        self.effects.extend(effects);
    }

    /// Asks something and lets the user read it.
    pub(super) fn ask(&mut self, event: Event) {
        self.event(event);
        self.draw();
        self.wait(1);
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        let effects = self.app.on_reply(reply);
        self.effects.extend(effects);
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.app.at(self.now);
        let effects = self.app.on_paste(text);
        self.effects.extend(effects);
    }

    /// What the host was asked; it is forgotten then.
    pub(super) fn requests(&mut self) -> Vec<Request> {
        let asked = |effect| match effect {
            Effect::Ask(request) => Some(request),
            _ => None,
        };
        std::mem::take(&mut self.effects).into_iter().filter_map(asked).collect()
    }

    /// The row at the bottom.
    pub(super) fn status(&mut self) -> String {
        self.shown().lines().last().unwrap_or_default().to_owned()
    }

    pub(super) fn append(&mut self, body: Body) {
        self.entries += 1;
        self.event(Event::Appended(entry(self.entries, body)));
    }

    pub(super) fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.app.at(self.now);
        let effects = self.app.on_key(KeyEvent::new(code, modifiers));
        self.effects.extend(effects);
    }

    pub(super) fn press(&mut self, code: KeyCode) {
        self.key(code, KeyModifiers::NONE);
    }

    pub(super) fn write(&mut self, text: &str) {
        text.chars().for_each(|letter| self.press(KeyCode::Char(letter)));
    }

    /// The commands that were sent to the session, as text; they are forgotten then.
    pub(super) fn sent(&mut self) -> Vec<String> {
        let effects = std::mem::take(&mut self.effects);
        let sent = effects.into_iter().filter_map(|effect| match effect {
            Effect::Send(Command::Submit(input)) => {
                let shown =
                    |block: &RawBlock| block.as_text().unwrap_or_else(|| format!("<{}>", block.kind()));
                let texts: Vec<String> = input.content.iter().map(shown).collect();
                Some(format!("{:?} {}", input.delivery, texts.join(" | ")))
            }
            Effect::Send(command) => Some(format!("{command:?}")),
            _ => None,
        });
        sent.collect()
    }

    pub(super) fn begin_turn(&mut self, prompt: &str) {
        self.event(Event::TurnStarted);
        self.append(Body::User(UserMessage::new(vec![RawBlock::text(prompt)], Origin::Typed)));
    }

    pub(super) fn end_turn(&mut self, outcome: Outcome) {
        self.append(Body::TurnEnded(TurnEnd { outcome, marker: None, steps: 1 }));
        self.event(Event::Idle);
    }

    /// A block of text begins to be streamed.
    pub(super) fn stream(&mut self, text: &str) {
        let block = json!({"type": "text", "text": ""});
        self.raw(&json!({"type": "content_block_start", "index": 0, "content_block": block}));
        self.more(text);
    }

    /// A block of thoughts begins to be streamed.
    pub(super) fn think(&mut self, text: &str) {
        let block = json!({"type": "thinking", "thinking": ""});
        self.raw(&json!({"type": "content_block_start", "index": 0, "content_block": block}));
        let delta = json!({"type": "thinking_delta", "thinking": text});
        self.raw(&json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }

    pub(super) fn more(&mut self, text: &str) {
        let delta = json!({"type": "text_delta", "text": text});
        self.raw(&json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }

    fn raw(&mut self, event: &Value) {
        self.event(Event::Stream(event.to_string().into()));
    }

    pub(super) fn say(&mut self, text: &str) {
        self.block(RawBlock::text(text));
    }

    fn block(&mut self, block: RawBlock) {
        self.append(said(block));
    }

    pub(super) fn call(&mut self, id: &str, tool: &str, input: &Value) {
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.block(RawBlock::from_value(&call));
        self.event(Event::CallStarted(id.into()));
    }

    pub(super) fn result(&mut self, id: &str, tool: &str, detail: Value) {
        self.event(Event::CallStopped(id.into()));
        self.append(Body::Result(CallResult {
            call: id.into(),
            tool: tool.to_owned(),
            content: vec![RawBlock::text("done")],
            is_error: false,
            cause: Cause::Call,
            detail,
            effects: Vec::new(),
        }));
    }

    /// A call ends without a result of its own.
    pub(super) fn fail(&mut self, id: &str, tool: &str, cause: Cause) {
        self.event(Event::CallStopped(id.into()));
        self.append(Body::Result(CallResult {
            call: id.into(),
            tool: tool.to_owned(),
            content: vec![RawBlock::text("void")],
            is_error: true,
            cause,
            detail: Value::Null,
            effects: Vec::new(),
        }));
    }

    pub(super) fn queue(&mut self, number: u128, text: &str, delivery: Delivery) -> EntryId {
        let id = EntryId(uuid::Uuid::from_u128(1_000 + number));
        self.append(Body::Queued(Queued {
            id,
            delivery,
            content: vec![RawBlock::text(text)],
            reading: Reading::Usual,
        }));
        id
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.append(Body::Effect(Change::SetMode { mode }));
    }
}

/// An entry of a log.
pub(super) fn entry(number: u128, body: Body) -> Arc<Entry> {
    let id = EntryId(uuid::Uuid::from_u128(number));
    let seq = u64::try_from(number).unwrap();
    Arc::new(Entry { seq, id, parent: None, at: Default::default(), agent: None, body })
}

/// Something that the model has said.
pub(super) fn said(block: RawBlock) -> Body {
    Body::Assistant(AssistantBlock {
        message_id: "m".into(),
        model: "claude-test".to_owned(),
        block,
        invalid_input: None,
        api_error: None,
        aborted: false,
    })
}
