mod hidden;
mod hints;
mod reasons;
mod servers;

use crossterm::event::{KeyCode, KeyModifiers};
use proptest::prelude::*;
use serde_json::json;
use tiller_protocol::ask::{
    AllowedPrompt, Asker, Choice as AnswerOption, FileChange, PermissionAsk, PlanAsk, Question, QuestionAsk,
    Then,
};
use tiller_protocol::id::{AgentId, AskId, CallId};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::{Behavior, Destination, RuleValue, Update};
use uuid::Uuid;

use super::picture::pictures;
use super::*;
use crate::theme::Palette;

const UP: KeyCode = KeyCode::Up;
const DOWN: KeyCode = KeyCode::Down;
const ENTER: KeyCode = KeyCode::Enter;
const ESC: KeyCode = KeyCode::Esc;
const RIGHT: KeyCode = KeyCode::Right;
const LEFT: KeyCode = KeyCode::Left;

fn keys() -> Arc<Keymap> {
    Arc::new(Keymap::default())
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn typed(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

fn command() -> PermissionAsk {
    let rule = RuleValue { tool_name: "Bash".to_owned(), rule_content: Some("cargo test:*".to_owned()) };
    PermissionAsk {
        restates: false,
        cwd: "/work".into(),
        call: CallId::from("toolu_1"),
        tool: "Bash".to_owned(),
        input: json!({"command": "cargo test --workspace \\\n  && echo \"done\"", "description": "Run all tests"}),
        reason: "No rule covers cargo test.".to_owned(),
        blocked_path: None,
        suggestions: vec![Update::AddRules {
            rules: vec![rule],
            behavior: Behavior::Allow,
            destination: Destination::LocalSettings,
        }],
        change: None,
        would_cover: vec!["cargo test -p tui".to_owned(), "cargo test --doc".to_owned()],
        leaves_sandbox: false,
        agent: None,
    }
}

fn edit() -> PermissionAsk {
    PermissionAsk {
        tool: "Edit".to_owned(),
        input: json!({
            "file_path": "/work/src/main.rs",
            "old_string": "fn main() {\n    hello();\n}\n",
            "new_string": "fn main() {\n    hello(\"漢字\");\n}\n",
            "replace_all": true,
        }),
        reason: "Edits are confirmed in mode default.".to_owned(),
        blocked_path: Some("/work/link".into()),
        suggestions: vec![Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session }],
        would_cover: Vec::new(),
        agent: Some(Asker {
            id: AgentId::from("a1"),
            kind: "Explore".to_owned(),
            description: "Find the callers".to_owned(),
        }),
        ..command()
    }
}

fn plan() -> PlanAsk {
    PlanAsk {
        call: CallId::from("toolu_2"),
        plan: "# Plan\n\nMake it **faster**.\n\n1. Measure\n2. Change `main.rs`\n3. Measure again\n"
            .to_owned(),
        path: "/home/ada/.tiller/plans/amber.md".into(),
        allowed_prompts: vec![AllowedPrompt { tool: "Bash".to_owned(), prompt: "run the tests".to_owned() }],
        modes: vec![Mode::BypassPermissions, Mode::AcceptEdits, Mode::Default],
    }
}

fn question(header: &str, multi_select: bool) -> Question {
    let option = |label: &str, description: &str| AnswerOption {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    Question {
        question: format!("Which {header} shall be used?"),
        header: header.to_owned(),
        options: vec![option("First", "Simple and well known."), option("Second", "Faster.")],
        multi_select,
    }
}

fn questions(all: Vec<Question>) -> Questions {
    Questions::new(QuestionAsk { call: CallId::from("toolu_3"), questions: all, agent: None }, keys())
}

/// Presses keys one after the other; what the last one leads to.
fn press(keys: &[KeyCode], mut handle: impl FnMut(KeyEvent) -> Outcome) -> Outcome {
    keys.iter().fold(Outcome::Ignored, |_, code| handle(key(*code)))
}

fn asked(ask: PermissionAsk, pressed: &[KeyCode]) -> Outcome {
    let mut dialog = Permission::new(ask, keys());
    press(pressed, |key| dialog.handle(key))
}

fn allowed(updates: Vec<Update>) -> Outcome {
    Outcome::Answered(Answer::Allow { updated_input: None, updates })
}

fn refused(feedback: Option<&str>, then: Then) -> Outcome {
    Outcome::Answered(Answer::Refuse { feedback: feedback.map(str::to_owned), then })
}

fn with_patch(tool: &str, input: serde_json::Value, is_new: bool, lines: &[&str]) -> PermissionAsk {
    let patch = json!([{"oldStart": 41, "newStart": 41, "lines": lines}]);
    let change = FileChange { is_new, patch: Some(patch) };
    let (tool, input) = (tool.to_owned(), input);
    PermissionAsk { tool, input, change: Some(Box::new(change)), blocked_path: None, agent: None, ..edit() }
}

#[test]
fn a_change_is_shown_with_its_lines_and_words() {
    let edited = with_patch(
        "Edit",
        edit().input,
        false,
        &[" fn main() {", "-    hello();", "+    hello(\"漢字\");\r", " }"],
    );
    let replaced = with_patch(
        "Write",
        json!({"file_path": "/work/notes.md", "content": "one\n2\n"}),
        false,
        &[" one", "-two \u{1b}[2K", "+2"],
    );
    let new = with_patch("Write", json!({"file_path": "/work/new.md", "content": "one\n"}), true, &["+one"]);
    let shown: Vec<String> = [edited, replaced, new]
        .into_iter()
        .map(|ask| {
            let dialog = Permission::new(ask, keys());
            pictures(18, |columns, height, theme| dialog.view(columns, height, theme))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn a_change_of_a_notebook_is_shown_as_one_of_its_cell() {
    let cell = |fields: serde_json::Value| {
        let mut input = json!({"notebook_path": "/work/sums.ipynb", "cell_id": "total"});
        input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        input
    };
    let replaced = cell(json!({"new_source": "a = 1\nb = 3\n"}));
    let replaced = with_patch("NotebookEdit", replaced, false, &[" a = 1", "-b = 2", "+b = 3"]);
    let inserted = cell(json!({"new_source": "# Sums", "cell_type": "markdown", "edit_mode": "insert"}));
    // A host that does not say what would change.
    let inserted = PermissionAsk { change: None, ..with_patch("NotebookEdit", inserted, false, &[]) };
    let deleted = cell(json!({"edit_mode": "delete"}));
    let deleted = with_patch("NotebookEdit", deleted, false, &["-b = 2"]);
    let shown: Vec<String> = [replaced, inserted, deleted]
        .into_iter()
        .map(|ask| {
            let dialog = Permission::new(ask, keys());
            pictures(14, |columns, height, theme| dialog.view(columns, height, theme))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn the_words_that_would_change_are_marked() {
    let ask = with_patch("Edit", edit().input, false, &["-let x = old(1);", "+let x = new(1);"]);
    let theme = Theme::new(Palette::Dark);
    let view = Permission::new(ask, keys()).view(60, 20, &theme);
    let marked = |style| {
        let spans = view.lines.iter().flat_map(|line| &line.spans).filter(|span| span.style == style);
        spans.map(|span| span.content.to_string()).collect::<String>()
    };
    assert_eq!(marked(theme.removed_word), "old(1);");
    assert_eq!(marked(theme.added_word), "new(1);");
}

#[test]
fn up_and_down_in_a_field_go_by_the_rows_that_are_seen() {
    let mut dialog = Permission::new(command(), keys());
    press(&[KeyCode::Char('4')], |key| dialog.handle(key));
    press(&typed("words that take more than a row of a narrow terminal"), |key| dialog.handle(key));
    let theme = Theme::new(Palette::Dark);
    let row = |dialog: &Permission| dialog.view(30, 20, &theme).cursor.map(|(_, row)| row);
    let last = row(&dialog);
    assert_eq!(press(&[UP], |key| dialog.handle(key)), Outcome::Handled);
    assert_eq!(row(&dialog).map(|row| row + 1), last);
    assert_eq!(press(&[DOWN], |key| dialog.handle(key)), Outcome::Handled);
    assert_eq!(row(&dialog), last);
}

#[test]
fn what_was_scrolled_to_its_end_scrolls_back_at_once_in_a_larger_window() {
    let input = json!({"command": (0..60).map(|n| format!("echo {n}\n")).collect::<String>()});
    let mut dialog = Permission::new(PermissionAsk { input, ..command() }, keys());
    let theme = Theme::new(Palette::Dark);
    let shown = |dialog: &Permission, height| -> Vec<String> {
        dialog.view(40, height, &theme).lines.iter().map(ToString::to_string).collect()
    };
    shown(&dialog, 16);
    press(&[KeyCode::PageDown; 40], |key| dialog.handle(key));
    let end = shown(&dialog, 40);
    press(&[KeyCode::PageUp], |key| dialog.handle(key));
    assert_ne!(shown(&dialog, 40), end);
}

// PERM-16
#[test]
fn permission_is_given_once_or_from_now_on_or_not() {
    assert_eq!(asked(command(), &[ENTER]), allowed(Vec::new()));
    assert_eq!(asked(command(), &[KeyCode::Char('1')]), allowed(Vec::new()));
    assert_eq!(asked(command(), &[DOWN, ENTER]), allowed(command().suggestions));
    assert_eq!(asked(command(), &[ESC]), refused(None, Then::EndTurn));
    assert_eq!(asked(command(), &[KeyCode::Char('3')]), refused(None, Then::EndTurn));
    let mut sandboxed = command();
    sandboxed.leaves_sandbox = true;
    assert_eq!(asked(sandboxed, &[ESC]), refused(None, Then::GoOn), "the command has run and has a result");
}

#[test]
fn the_scope_of_a_rule_is_chosen_and_a_mode_has_none() {
    let with = |scope| allowed(command().suggestions.into_iter().map(|one| one.meant_for(scope)).collect());
    assert_eq!(asked(command(), &[DOWN, RIGHT, ENTER]), with(Destination::ProjectSettings));
    assert_eq!(asked(command(), &[DOWN, RIGHT, RIGHT, ENTER]), with(Destination::UserSettings));
    assert_eq!(asked(command(), &[DOWN, LEFT, ENTER]), with(Destination::Session));
    assert_eq!(asked(command(), &[RIGHT]), Outcome::Ignored, "only the marked choice has a scope");
    assert_eq!(asked(edit(), &[DOWN, RIGHT, ENTER]), allowed(edit().suggestions));
}

#[test]
fn a_refusal_can_say_what_to_do_instead() {
    let mut pressed = vec![UP, ENTER];
    assert_eq!(asked(command(), &pressed), Outcome::Handled);
    pressed.push(ENTER);
    assert_eq!(asked(command(), &pressed), Outcome::Handled, "nothing was said yet");
    pressed.extend(typed("use 1 thread"));
    assert_eq!(asked(command(), &pressed), Outcome::Handled, "a digit is text here");
    pressed.push(ENTER);
    assert_eq!(asked(command(), &pressed), refused(Some("use 1 thread"), Then::GoOn));
    assert_eq!(asked(command(), &[UP, ENTER, ESC, UP, UP, UP, ENTER]), allowed(Vec::new()));
}

// PLAN-16
#[test]
fn a_plan_is_approved_in_one_of_the_offered_modes() {
    let approve = |pressed: &[KeyCode]| {
        let mut dialog = PlanApproval::new(plan(), keys());
        press(pressed, |key| dialog.handle(key))
    };
    let approved = |mode| Outcome::Answered(Answer::Plan { mode, plan: plan().plan });
    assert_eq!(approve(&[ENTER]), approved(Mode::AcceptEdits), "not the one that asks nothing any more");
    assert_eq!(approve(&[UP, ENTER]), approved(Mode::BypassPermissions));
    assert_eq!(approve(&[KeyCode::Char('2')]), approved(Mode::AcceptEdits));
    assert_eq!(approve(&[DOWN, ENTER]), approved(Mode::Default));
    assert_eq!(approve(&[KeyCode::Char('e')]), Outcome::EditPlan(plan().path));
    assert_eq!(approve(&[ESC]), refused(None, Then::EndTurn));
    assert_eq!(approve(&[KeyCode::Char('4'), ENTER]), refused(None, Then::EndTurn));
    let with_feedback: Vec<KeyCode> =
        [UP, UP, ENTER].into_iter().chain(typed("smaller")).chain([ENTER]).collect();
    assert_eq!(approve(&with_feedback), refused(Some("smaller"), Then::GoOn));
}

// PLAN-06
#[test]
fn plan_mode_is_entered_only_with_a_yes() {
    let ask = PermissionAsk {
        tool: ENTER_PLAN_MODE.to_owned(),
        reason: "Enter plan mode?\nThe agent would explore first.".to_owned(),
        ..command()
    };
    let enter = |pressed: &[KeyCode]| {
        let mut dialog = PlanEntry::new(&ask, keys());
        press(pressed, |key| dialog.handle(key))
    };
    assert_eq!(enter(&[ENTER]), allowed(Vec::new()));
    assert_eq!(enter(&[DOWN, ENTER]), refused(None, Then::GoOn));
    assert_eq!(enter(&[ESC]), refused(None, Then::EndTurn));
    insta::assert_snapshot!(pictures(20, |columns, height, theme| {
        PlanEntry::new(&ask, keys()).view(columns, height, theme)
    }));
}

fn answers(pairs: &[(&str, &str)]) -> Outcome {
    let answers =
        pairs.iter().map(|(question, answer)| ((*question).to_owned(), (*answer).to_owned())).collect();
    Outcome::Answered(Answer::Question { answers })
}

#[test]
fn one_plain_question_takes_one_key() {
    let one = || questions(vec![question("store", false)]);
    let mut dialog = one();
    assert_eq!(dialog.handle(key(KeyCode::Char('2'))), answers(&[("Which store shall be used?", "Second")]));
    let mut dialog = one();
    let own: Vec<KeyCode> = [UP, ENTER].into_iter().chain(typed("a file, 2")).chain([ENTER]).collect();
    let outcome = press(&own, |key| dialog.handle(key));
    assert_eq!(outcome, answers(&[("Which store shall be used?", "a file, 2")]));
    assert_eq!(one().handle(key(ESC)), refused(None, Then::EndTurn));
}

#[test]
fn several_questions_are_looked_at_before_they_are_sent() {
    let mut dialog = questions(vec![question("store", false), question("targets", true)]);
    let space = KeyCode::Char(' ');
    assert_eq!(press(&[ENTER], |key| dialog.handle(key)), Outcome::Handled);
    assert_eq!(press(&[ENTER], |key| dialog.handle(key)), Outcome::Handled, "nothing is checked yet");
    press(&[space, DOWN, space, DOWN, space], |key| dialog.handle(key));
    press(&typed("mine"), |key| dialog.handle(key));
    press(&[ENTER, ENTER], |key| dialog.handle(key));
    let shown = dialog.view(60, 30, &Theme::new(crate::theme::Palette::Dark));
    let shown: Vec<String> = shown.lines.iter().map(ToString::to_string).collect();
    assert!(shown.iter().any(|line| line == "  → First, Second, mine"), "{shown:#?}");
    let sent = answers(&[
        ("Which store shall be used?", "First"),
        ("Which targets shall be used?", "First, Second, mine"),
    ]);
    assert_eq!(dialog.handle(key(ENTER)), sent);
}

#[test]
fn nothing_is_sent_while_an_answer_is_missing() {
    let mut dialog = questions(vec![question("store", false), question("name", false)]);
    press(&[RIGHT, RIGHT, ENTER], |key| dialog.handle(key));
    let shown = dialog.view(60, 30, &Theme::new(crate::theme::Palette::Dark));
    assert!(shown.lines[0].to_string().contains("The agent asks: store"), "the first page without an answer");
    press(&[ENTER, ENTER], |key| dialog.handle(key));
    assert_eq!(
        dialog.handle(key(ENTER)),
        answers(&[("Which store shall be used?", "First"), ("Which name shall be used?", "First")])
    );
}

fn ask_id(number: u128) -> AskId {
    AskId(Uuid::from_u128(number))
}

fn pending(attention: Attention) -> Pending {
    let mut pending = Pending::new(keys());
    assert!(pending.push(ask_id(1), Ask::Permission(command()), attention));
    assert!(pending.push(ask_id(2), Ask::Plan(plan()), attention));
    pending
}

#[test]
fn keys_that_were_on_their_way_answer_nothing() {
    let mut pending = pending(Attention::Typing);
    for code in [KeyCode::Char('1'), ENTER, KeyCode::Tab, ESC, DOWN, KeyCode::Char('y')] {
        assert_eq!(pending.handle(key(code)), PendingOutcome::Elsewhere, "{code:?}");
    }
    assert!(pending.is_guarded());
    assert!(!pending.paste("x"));
    let outcome = pending.handle(key(KeyCode::PageDown));
    assert_eq!(outcome, PendingOutcome::Handled, "whoever looks around has seen it");
    assert!(!pending.is_guarded());
    assert!(matches!(pending.handle(key(ENTER)), PendingOutcome::Answered(id, _) if id == ask_id(1)));
    assert_eq!(pending.handle(key(ENTER)), PendingOutcome::Handled, "pressed twice, but only meant once");
    pending.settle();
    let approved = Answer::Plan { mode: Mode::AcceptEdits, plan: plan().plan };
    assert_eq!(pending.handle(key(ENTER)), PendingOutcome::Answered(ask_id(2), approved));
    assert!(pending.is_empty());
    assert_eq!(pending.handle(key(ENTER)), PendingOutcome::Elsewhere);
}

#[test]
fn a_new_question_takes_no_key_before_it_is_settled() {
    for attention in [Attention::Free, Attention::Lately] {
        let mut pending = pending(attention);
        assert!(pending.is_too_new() && pending.is_guarded());
        assert_eq!(pending.handle(key(ENTER)), PendingOutcome::Elsewhere);
        assert!(!pending.paste("x"));
        pending.settle();
        assert!(matches!(pending.handle(key(ENTER)), PendingOutcome::Answered(..)));
    }
}

#[test]
fn a_question_that_is_settled_elsewhere_goes_away() {
    let mut pending = pending(Attention::Free);
    assert_eq!(pending.len(), 2);
    pending.resolve(ask_id(1));
    pending.settle();
    assert_eq!(pending.handle(key(KeyCode::Char('e'))), PendingOutcome::EditPlan(ask_id(2), plan().path));
    pending.plan_edited(ask_id(2), "# Other".to_owned());
    let view = pending.view(40, 20, &Theme::new(crate::theme::Palette::Dark));
    assert!(view.lines.iter().any(|line| line.to_string().contains("Other")));
    let approved = Answer::Plan { mode: Mode::AcceptEdits, plan: "# Other".to_owned() };
    let mut answering = self::pending(Attention::Free);
    answering.resolve(ask_id(1));
    answering.settle();
    answering.plan_edited(ask_id(2), "# Other".to_owned());
    assert_eq!(answering.handle(key(ENTER)), PendingOutcome::Answered(ask_id(2), approved));
    pending.resolve(ask_id(2));
    assert_eq!(pending.view(40, 20, &Theme::new(crate::theme::Palette::Dark)), View::default());
}

#[test]
fn pictures_of_permission() {
    let shown = |ask: PermissionAsk, pressed: &[KeyCode]| {
        let mut dialog = Permission::new(ask, keys());
        press(pressed, |key| dialog.handle(key));
        pictures(24, move |columns, height, theme| dialog.view(columns, height, theme))
    };
    insta::assert_snapshot!("permission_command", shown(command(), &[]));
    insta::assert_snapshot!("permission_remember", shown(command(), &[DOWN]));
    insta::assert_snapshot!("permission_edit_of_agent", shown(edit(), &[]));
    let feedback: Vec<KeyCode> =
        [UP, ENTER].into_iter().chain(typed("use cargo nextest instead, please")).collect();
    insta::assert_snapshot!("permission_feedback", shown(command(), &feedback));
    let sandboxed = PermissionAsk {
        leaves_sandbox: true,
        suggestions: Vec::new(),
        would_cover: Vec::new(),
        reason: "The sandbox refused a connection to crates.io.".to_owned(),
        ..command()
    };
    insta::assert_snapshot!("permission_outside_of_the_sandbox", shown(sandboxed, &[]));
    let other = PermissionAsk {
        tool: "mcp__tracker__close".to_owned(),
        input: json!({"issue": 12, "comment": "done\nfor good"}),
        suggestions: Vec::new(),
        would_cover: Vec::new(),
        ..command()
    };
    insta::assert_snapshot!("permission_other_tool", shown(other, &[]));
}

#[test]
fn pictures_of_plans_and_questions() {
    let approval = PlanApproval::new(plan(), keys());
    insta::assert_snapshot!("plan_approval", pictures(24, |c, h, theme| approval.view(c, h, theme)));
    let long = PlanAsk { plan: "- a step\n".repeat(60), ..plan() };
    let mut approval = PlanApproval::new(long, keys());
    let _measured = approval.view(80, 20, &Theme::new(crate::theme::Palette::Dark));
    approval.handle(key(KeyCode::PageDown));
    insta::assert_snapshot!("plan_scrolled", pictures(20, |c, h, theme| approval.view(c, h, theme)));
    let dialog = questions(vec![question("store", false), question("targets", true)]);
    insta::assert_snapshot!("question_single", pictures(20, |c, h, theme| dialog.view(c, h, theme)));
    let mut dialog = questions(vec![question("store", false), question("targets", true)]);
    press(&[ENTER, KeyCode::Char('2')], |key| dialog.handle(key));
    insta::assert_snapshot!("question_several", pictures(20, |c, h, theme| dialog.view(c, h, theme)));
    press(&[ENTER], |key| dialog.handle(key));
    insta::assert_snapshot!("question_review", pictures(20, |c, h, theme| dialog.view(c, h, theme)));
}

#[test]
fn pictures_of_trust_and_of_waiting() {
    let question = TrustQuestion {
        directory: "/work/project".into(),
        concerns: vec![
            ("hooks.PreToolUse".to_owned(), "run ./scripts/check.sh before every command".to_owned()),
            ("permissions.allow".to_owned(), "allow Bash(npm run:*) without asking".to_owned()),
        ],
    };
    let trust = Trust::new(question, keys());
    insta::assert_snapshot!("trust", pictures(20, |c, h, theme| trust.view(c, h, theme)));
    let waiting = pending(Attention::Typing);
    insta::assert_snapshot!("pending_while_typing", pictures(20, |c, h, theme| waiting.view(c, h, theme)));
}

#[test]
fn trust_is_never_the_first_key() {
    let question = TrustQuestion { directory: "/p".into(), concerns: Vec::new() };
    let says = |code| Trust::new(question.clone(), keys()).handle(key(code));
    assert_eq!(says(ENTER), TrustOutcome::Untrusted);
    assert_eq!(says(KeyCode::Char('1')), TrustOutcome::Trusted);
    assert_eq!(says(ESC), TrustOutcome::Leave);
}

fn any_dialog() -> impl Strategy<Value = (Ask, Vec<KeyCode>)> {
    let asks = vec![
        Ask::Permission(command()),
        Ask::Permission(edit()),
        Ask::Permission(PermissionAsk { tool: ENTER_PLAN_MODE.to_owned(), ..command() }),
        Ask::Plan(plan()),
        Ask::Question(QuestionAsk {
            call: CallId::from("toolu_4"),
            questions: vec![question("store", false), question("targets", true)],
            agent: None,
        }),
    ];
    let codes = vec![
        UP,
        DOWN,
        LEFT,
        RIGHT,
        ENTER,
        KeyCode::Tab,
        KeyCode::PageDown,
        KeyCode::PageUp,
        KeyCode::Backspace,
    ];
    let typed = prop::sample::select(vec![' ', '1', '2', '4', 'e', '漢', '\u{301}']).prop_map(KeyCode::Char);
    let keys = prop_oneof![3 => prop::sample::select(codes), 2 => typed];
    (prop::sample::select(asks), prop::collection::vec(keys, 0..30))
}

proptest! {
    #[test]
    fn whatever_is_pressed_a_dialog_fits(
        (ask, pressed) in any_dialog(), columns in 1_u16..60, height in 1_u16..20,
    ) {
        let theme = Theme::new(crate::theme::Palette::Plain);
        let mut pending = Pending::new(keys());
        pending.push(ask_id(1), ask, Attention::Free);
        pending.settle();
        for code in pressed {
            pending.handle(key(code));
            let view = pending.view(columns, height, &theme);
            prop_assert!(view.lines.len() <= height.into());
            prop_assert!(view.lines.iter().all(|line| crate::text::line_width(line) <= columns.into()), "{view:#?}");
            if let Some((column, row)) = view.cursor {
                prop_assert!(column < columns && usize::from(row) < view.lines.len(), "{view:#?}");
            }
        }
    }
}

/// In the smallest terminals, the marked choice is still there.
#[test]
fn every_size_shows_the_marked_choice() {
    let theme = Theme::new(crate::theme::Palette::Plain);
    for (columns, height) in [(20, 6), (20, 4), (12, 10), (5, 3), (1, 1), (300, 2)] {
        let mut dialog = Permission::new(command(), keys());
        for _ in 0..4 {
            let view = dialog.view(columns, height, &theme);
            assert!(view.lines.len() <= height.into(), "{columns}x{height}");
            assert!(
                view.lines.iter().all(|line| line.width() <= columns.into()),
                "{columns}x{height}: {view:#?}"
            );
            if columns >= 20 && height > 3 {
                assert!(
                    view.lines.iter().any(|line| line.to_string().contains('›')),
                    "{columns}x{height}: {view:#?}"
                );
            }
            dialog.handle(key(DOWN));
        }
    }
}
