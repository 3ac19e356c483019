//! What servers of the Model Context Protocol ask.

use tiller_protocol::form::fields;
use tiller_protocol::mcp::{ElicitationAsk, SamplingAsk, SamplingMessage, Wanted};

use super::*;

fn form() -> FormDialog {
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "age": {"type": "integer", "maximum": 150, "default": 30},
        "ok": {"type": "boolean"},
        "sizes": {"type": "array", "items": {"enum": ["small", "large"]}},
    }});
    FormDialog::new("registry", "Who shall own the package?", fields(&schema), keys())
}

fn press(dialog: &mut FormDialog, codes: &[KeyCode]) -> Outcome {
    codes.iter().fold(Outcome::Ignored, |_, code| dialog.handle(key(*code)))
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let mut dialog = form();
    insta::assert_snapshot!(pictures(20, |columns, height, theme| dialog.view(columns, height, theme)));
    press(&mut dialog, &typed("A"));
    assert_eq!(press(&mut dialog, &[ENTER]), Outcome::Handled);
    let shown =
        dialog.view(60, 20, &Theme::printed()).lines.iter().map(ToString::to_string).collect::<String>();
    assert!(shown.contains("Your name needs at least 2 characters"), "{shown}");
    press(&mut dialog, &typed("da"));
    press(&mut dialog, &[ENTER]);
    // What stands there can be changed.
    press(&mut dialog, &[KeyCode::Backspace, KeyCode::Char('6'), ENTER]);
    press(&mut dialog, &[KeyCode::Char('2')]);
    let answered = press(&mut dialog, &[DOWN, KeyCode::Char(' '), DOWN, ENTER]);
    let content = Some(json!({"name": "Ada", "age": 36, "ok": false, "sizes": ["large"]}));
    assert_eq!(answered, Outcome::Answered(Answer::Elicitation { content }));
}

#[test]
fn a_form_is_declined() {
    let refused = Outcome::Answered(Answer::Refuse { feedback: None, then: Then::GoOn });
    assert_eq!(press(&mut form(), &[ESC]), refused);
    let mut later = form();
    press(&mut later, &typed("Ada"));
    assert_eq!(press(&mut later, &[ENTER, ESC]), refused);
}

#[test]
fn a_form_is_filled_in_by_lines() {
    let mut dialog = form();
    let mut say = |line: &str| {
        let said = dialog.form().read(line).unwrap();
        dialog.say(said)
    };
    assert_eq!(say("1 Ada"), Outcome::Handled);
    assert_eq!(say("1 41"), Outcome::Handled);
    assert_eq!(say("3"), Outcome::Handled);
    let content = Some(json!({"name": "Ada", "age": 41, "sizes": ["small", "large"]}));
    assert_eq!(say("1,2"), Outcome::Answered(Answer::Elicitation { content }));
}

fn pending(ask: Ask) -> Pending {
    let mut pending = Pending::new(keys());
    assert!(pending.push(AskId::default(), ask, Attention::Free));
    pending.settle();
    pending
}

fn visit(url: &str) -> Pending {
    pending(Ask::Elicitation(ElicitationAsk {
        server: "registry".to_owned(),
        message: "Please confirm.".to_owned(),
        wanted: Wanted::Visit { url: url.to_owned(), id: "7".to_owned() },
    }))
}

// MCP-06
#[test]
fn a_page_to_visit_is_shown_in_full_and_opened_only_for_whoever_wants_it() {
    let url = "https://example.com/authorize?x=1";
    let mut questions = visit(url);
    insta::assert_snapshot!(pictures(20, |columns, height, theme| questions.view(columns, height, theme)));
    assert_eq!(
        questions.handle(key(KeyCode::Char('1'))),
        PendingOutcome::Visit(AskId::default(), url.to_owned())
    );
    let answered = |code: KeyCode| visit(url).handle(key(code));
    let without = Answer::Elicitation { content: None };
    assert_eq!(answered(KeyCode::Char('2')), PendingOutcome::Answered(AskId::default(), without));
    let refused =
        PendingOutcome::Answered(AskId::default(), Answer::Refuse { feedback: None, then: Then::GoOn });
    assert_eq!((answered(KeyCode::Char('3')), answered(ESC)), (refused.clone(), refused));
    assert_eq!(visit(url).form().unwrap().read("yes"), None, "a yes could mean two things");
}

// MCP-06
#[test]
fn a_page_that_others_can_read_along_is_not_opened() {
    let shown = |url: &str| {
        let view = visit(url).view(80, 20, &Theme::printed());
        view.lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    for (url, host, opens) in [
        ("https://example.com/a", "example.com", true),
        ("http://example.com/a", "example.com", false),
        ("http://127.0.0.1:80/a", "127.0.0.1:80", true),
        ("http://[::1]:80/a", "[::1]:80", true),
        ("http://127.0.0.1@evil.example/a", "evil.example", false),
        ("https://bank.example@evil.example/", "evil.example", true),
        ("http://localhost.evil.example?x=@localhost", "localhost.evil.example", false),
    ] {
        let shown = shown(url);
        assert!(shown.contains(&format!("The page is on {host}.")), "{shown}");
        assert_eq!(shown.contains("Open it in the browser"), opens, "{shown}");
        assert_eq!(shown.contains("not encrypted"), !opens, "{shown}");
    }
}

#[test]
fn what_a_server_would_ask_the_model_is_shown_first() {
    let ask = SamplingAsk {
        server: "registry".to_owned(),
        system: Some("You name packages.".to_owned()),
        messages: vec![SamplingMessage { role: "user".to_owned(), text: "Name\u{202e} mine.".to_owned() }],
        max_tokens: 200,
        model: "claude-test".to_owned(),
    };
    let mut questions = pending(Ask::Sampling(ask));
    insta::assert_snapshot!(pictures(20, |columns, height, theme| questions.view(columns, height, theme)));
    let refused = Answer::Refuse { feedback: None, then: Then::GoOn };
    assert_eq!(questions.handle(key(ESC)), PendingOutcome::Answered(AskId::default(), refused));
}
