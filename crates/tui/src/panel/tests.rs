use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use tiller_protocol::command::AgentInfo;
use tiller_protocol::entry::{Attachment, Body, Entry};
use tiller_protocol::id::{AgentId, CallId, EntryId, SessionId};
use tiller_protocol::ledger::{Addition, Ledger};
use uuid::Uuid;

use super::*;
use crate::dialog::picture::pictures;
use crate::keys::Keymap;
use crate::menu::Candidate;
use crate::theme::{Palette, Theme};
use crate::view::View;

fn keys() -> Arc<Keymap> {
    Arc::new(Keymap::default())
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn fits_everywhere(view: impl Fn(u16, u16, &Theme) -> View) {
    let theme = Theme::new(Palette::Light);
    for columns in [1, 7, 20, 33, 200] {
        for height in [1, 2, 5, 30] {
            let view = view(columns, height, &theme);
            assert!(view.lines.len() <= height.into(), "{columns}x{height}");
            for line in view.lines {
                assert!(line.width() <= columns.into(), "{columns}x{height}: {line}");
            }
        }
    }
}

#[test]
fn the_context_is_a_bar_of_its_parts() {
    let part = |name: &str, tokens| ContextPart { name: name.to_owned(), tokens };
    let context = ContextUse {
        parts: vec![
            part("system prompt", 6_000),
            part("tools", 9_000),
            part("instructions", 100),
            part("conversation", 40_000),
            part("steering", 2_500),
        ],
        window: Some(200_000),
        counted: Some(57_912),
    };
    let page = Page::new("Context", Arc::new(Keymap::default()));
    insta::assert_snapshot!(pictures(14, |c, h, theme| page.view(context.lines(c, theme), c, h, theme)));
    fits_everywhere(|c, h, theme| page.view(context.lines(c, theme), c, h, theme));
    let unknown = ContextUse { parts: Vec::new(), window: None, counted: None };
    fits_everywhere(|c, h, theme| page.view(unknown.lines(c, theme), c, h, theme));
}

fn added(ledger: &mut Ledger, seq: u64, kind: &str, text: &str) -> Addition {
    let rendered = vec![tiller_protocol::block::RawBlock::text(text)];
    let content = json!({"type": kind});
    let attachment = Attachment::new(content, kind, format!("{kind} was due"), rendered);
    let entry = Entry {
        seq,
        id: EntryId(Uuid::from_u128(seq.into())),
        parent: None,
        at: jiff::Timestamp::default(),
        agent: None,
        body: Body::Attachment(attachment),
    };
    ledger.apply(&entry).unwrap()
}

// LEDG-02
#[test]
fn the_ledger_shows_the_newest_first_with_totals() {
    let mut ledger = Ledger::default();
    let additions = vec![
        added(&mut ledger, 1, "todo_reminder", "Keep the list up to date."),
        added(&mut ledger, 2, "plan_mode", "Plan mode is on.\nNothing is changed."),
        added(&mut ledger, 3, "todo_reminder", "Keep the list up to date."),
    ];
    let mut steering = Steering::new(additions, &ledger, keys());
    assert_eq!(steering.handle(key(KeyCode::Down)), PanelOutcome::Handled);
    assert_eq!(steering.handle(key(KeyCode::Enter)), PanelOutcome::Handled);
    insta::assert_snapshot!(pictures(18, |c, h, theme| steering.view(c, h, theme)));
    fits_everywhere(|c, h, theme| steering.view(c, h, theme));
    assert_eq!(steering.handle(key(KeyCode::Esc)), PanelOutcome::Closed);
    let empty = Steering::new(Vec::new(), &Ledger::default(), keys());
    fits_everywhere(|c, h, theme| empty.view(c, h, theme));
}

// SECR-01
#[test]
fn the_ledger_shows_where_credentials_were_masked() {
    let mut ledger = Ledger::default();
    let masks = "[secret:password:0123abcd] [secret:password:0123abcd]";
    let additions = (1..=5).map(|seq| added(&mut ledger, seq, &format!("kind_{seq}"), masks)).collect();
    let steering = Steering::new(additions, &ledger, keys());
    let view = steering.view(80, 40, &Theme::new(Palette::Light));
    let text: String = view.lines.iter().map(|line| format!("{line}\n")).collect();
    assert!(
        text.contains("masked: 2 password in kind_5") && text.contains("masked in 2 more places"),
        "{text}"
    );
    fits_everywhere(|c, h, theme| steering.view(c, h, theme));
}

#[test]
fn help_is_made_from_the_tables() {
    let command = Candidate {
        text: "model".to_owned(),
        hint: "<name>".to_owned(),
        help: "Another model".to_owned(),
        source: String::new(),
    };
    let remapped = Arc::new(Keymap::with([("ctrl+x", "background")]).unwrap());
    let mut help = Help::new(remapped, Arc::from([command]));
    let theme = Theme::new(Palette::Dark);
    let all: Vec<String> = help.lines(100, &theme).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(all.join("\n"));
    fits_everywhere(|c, h, theme| help.view(c, h, theme));
    let seen = |help: &Help| help.view(40, 10, &theme).lines[1].to_string();
    let first = seen(&help);
    assert_eq!(help.handle(key(KeyCode::PageDown)), PanelOutcome::Handled);
    assert_ne!(seen(&help), first);
    for _ in 0..100 {
        help.handle(key(KeyCode::PageDown));
    }
    let end = seen(&help);
    help.handle(key(KeyCode::Up));
    assert_ne!(seen(&help), end, "one does not have to come back from beyond the end");
    assert_eq!(help.handle(key(KeyCode::Esc)), PanelOutcome::Closed);
}

fn session(number: u128, title: &str, elsewhere: Option<&str>) -> SessionRow {
    SessionRow {
        id: SessionId(Uuid::from_u128(number)),
        title: title.to_owned(),
        age: "2 hours ago".to_owned(),
        detail: "main · 12 turns".to_owned(),
        elsewhere: elsewhere.map(str::to_owned),
    }
}

#[test]
fn a_session_is_found_by_what_it_was_about() {
    let sessions = vec![
        session(1, "Make the parser faster", None),
        session(2, "漢字 in the status line\nand more", None),
        session(3, "Parser of another project", Some("/work/other")),
        session(4, "", None),
    ];
    let mut picker = Panel::Resume(Resume::new(sessions, keys()));
    insta::assert_snapshot!("resume", pictures(14, |c, h, theme| picker.view(c, h, theme)));
    for letter in "parser".chars() {
        assert_eq!(picker.handle(key(KeyCode::Char(letter))), PanelOutcome::Handled);
    }
    assert_eq!(picker.handle(key(KeyCode::Tab)), PanelOutcome::Handled);
    assert_eq!(picker.handle(key(KeyCode::Down)), PanelOutcome::Handled);
    insta::assert_snapshot!("resume_search", pictures(10, |c, h, theme| picker.view(c, h, theme)));
    fits_everywhere(|c, h, theme| picker.view(c, h, theme));
    assert_eq!(picker.handle(key(KeyCode::Enter)), PanelOutcome::Resume(SessionId(Uuid::from_u128(3))));
    picker.handle(key(KeyCode::Char('x')));
    assert_eq!(
        picker.handle(key(KeyCode::Enter)),
        PanelOutcome::Handled,
        "nothing is found, nothing is chosen"
    );
    assert_eq!(picker.handle(key(KeyCode::Esc)), PanelOutcome::Closed);
}

#[test]
fn agents_stand_below_whoever_started_them() {
    let agent = |id: &str, parent: Option<&str>, state| AgentRow {
        info: AgentInfo {
            id: AgentId::from(id),
            kind: "Explore".to_owned(),
            description: format!("look at {id}"),
            model: "m".to_owned(),
            parent: parent.map(AgentId::from),
            call: CallId::from("c"),
            background: id == "d",
        },
        state,
        time: Duration::from_secs(65),
        tokens: 1_234,
    };
    let running = || AgentState::Running { activity: "Grep".to_owned() };
    let agents = [
        agent("a", None, running()),
        agent("b", Some("a"), AgentState::Done),
        agent("c", Some("a"), AgentState::Failed("out of tokens".to_owned())),
        agent("d", None, running()),
        agent("e", Some("nobody"), running()),
    ];
    insta::assert_snapshot!(pictures(8, |c, h, theme| View::of(agent_tree(&agents, c, h, theme))));
    fits_everywhere(|c, h, theme| View::of(agent_tree(&agents, c, h, theme)));
}
