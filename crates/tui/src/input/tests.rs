use crossterm::event::{KeyCode, KeyModifiers};
use proptest::prelude::*;

use super::*;
use crate::dialog::picture::pictures;
use crate::theme::{Palette, Theme};
use crate::view::View;

/// Presses keys, written as in settings and separated by blanks.
fn press(input: &mut Input, keys: &str) -> Outcome {
    keys.split_whitespace().fold(Outcome::Ignored, |_, key| input.handle(key_event(key)))
}

fn key_event(key: &str) -> KeyEvent {
    let (modifiers, name) = match key.rsplit_once('+') {
        Some((modifiers, name)) if !name.is_empty() => (modifiers, name),
        _ => ("", key),
    };
    let held = |word: &str, modifier: KeyModifiers| {
        if modifiers.contains(word) { modifier } else { KeyModifiers::NONE }
    };
    let modifiers = held("ctrl", KeyModifiers::CONTROL)
        | held("alt", KeyModifiers::ALT)
        | held("shift", KeyModifiers::SHIFT);
    let code = match name {
        "enter" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "esc" => KeyCode::Esc,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "space" => KeyCode::Char(' '),
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

fn write(input: &mut Input, text: &str) {
    for letter in text.chars() {
        input.handle(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    }
}

fn empty() -> Input {
    Input::new(Arc::new(Keymap::default()), Vec::new())
}

fn with(text: &str) -> Input {
    let mut input = empty();
    write(&mut input, text);
    input
}

/// The text with `|` at the cursor.
fn shown(input: &Input) -> String {
    let mut text = input.editor.buffer.text().to_owned();
    text.insert(input.editor.buffer.cursor(), '|');
    input.editor.folds.labelled(&text)
}

fn screen(input: &Input, columns: u16, height: u16) -> (Vec<String>, Option<(u16, u16)>) {
    let view = input.view(columns, height, "", &Theme::new(Palette::Dark));
    (view.lines.iter().map(ToString::to_string).collect(), view.cursor)
}

#[track_caller]
fn check(text: &str, keys: &str, after: &str) {
    let mut input = with(text);
    press(&mut input, keys);
    assert_eq!(shown(&input), after, "{text:?} {keys:?}");
}

#[test]
fn words_and_lines_are_passed_and_cut() {
    check("one two-three", "alt+b", "one two-|three");
    check("one two-three", "alt+b alt+b alt+b", "|one two-three");
    check("one two", "ctrl+a alt+f", "one| two");
    check("one two-three", "ctrl+w", "one |");
    check("one two-three", "alt+backspace", "one two-|");
    check("one two", "home alt+d", "| two");
    check("one two", "ctrl+left ctrl+k", "one |");
    check("one two", "ctrl+left ctrl+u", "|two");
    check("e\u{301}漢", "backspace backspace", "|");
    check("abc", "left left delete", "a|c");
}

#[test]
fn what_was_cut_comes_back() {
    check("one two three", "ctrl+w ctrl+w ctrl+y", "one two three|");
    check("one two", "ctrl+w left ctrl+w ctrl+y", "one| ");
    check("one two", "ctrl+w left ctrl+w ctrl+y alt+y", "two| ");
    check("one two", "ctrl+w left ctrl+w ctrl+y alt+y alt+y", "one| ");
    check("one", "alt+y", "one|");
}

#[test]
fn words_are_undone_one_by_one() {
    check("one two three", "ctrl+_", "one two |");
    check("one two three", "ctrl+_ ctrl+_", "one |");
    check("one two three", "ctrl+_ ctrl+_ alt+_", "one two |");
    check("one", "backspace backspace ctrl+_", "one|");
    check("one", "ctrl+c ctrl+_", "one|");
    check("one", "ctrl+c", "|");
}

#[test]
fn enter_sends_and_everything_else_breaks_the_line() {
    for newline in ["shift+enter", "alt+enter", "ctrl+j", r"\ enter"] {
        let mut input = with("a");
        assert_eq!(press(&mut input, newline), Outcome::Handled);
        write(&mut input, "b");
        assert_eq!(input.text(), "a\nb", "{newline}");
    }
    let mut input = with("hi");
    let Outcome::Submit(sent) = press(&mut input, "enter") else { panic!() };
    assert_eq!((sent.text.as_str(), sent.purpose), ("hi", Purpose::Prompt));
    assert!(input.is_empty());
    assert_eq!(press(&mut input, "enter"), Outcome::Handled, "nothing is not sent");
    write(&mut input, "later");
    assert!(matches!(press(&mut input, "tab"), Outcome::Queue(sent) if sent.text == "later"));
    assert_eq!(press(&mut input, "tab"), Outcome::Ignored);
}

#[test]
fn rows_are_walked_as_they_are_seen_and_then_the_history() {
    let past = |text: &str| Past { purpose: Purpose::Prompt, text: text.to_owned() };
    let mut input = Input::new(Arc::new(Keymap::default()), vec![past("first"), past("second")]);
    input.resize(12);
    write(&mut input, "one two three four");
    assert_eq!(screen(&input, 12, 5).0, ["› one two ", "  three ", "  four"]);
    press(&mut input, "up");
    assert_eq!(shown(&input), "one two thre|e four");
    press(&mut input, "up");
    assert_eq!(shown(&input), "one |two three four");
    press(&mut input, "up");
    assert_eq!(shown(&input), "second|");
    press(&mut input, "left up");
    assert_eq!(shown(&input), "first|");
    assert_eq!(press(&mut input, "up"), Outcome::Ignored);
    press(&mut input, "down down");
    assert_eq!(shown(&input), "one two three four|");
}

#[test]
fn the_first_letter_says_what_a_line_is() {
    let mut input = with("!ls -l");
    assert_eq!((input.purpose(), input.text().as_str()), (Purpose::Shell, "ls -l"));
    assert_eq!(screen(&input, 20, 3).0, ["! ls -l"]);
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(sent) if sent.purpose == Purpose::Shell));
    press(&mut input, "up");
    assert_eq!((input.purpose(), input.text().as_str()), (Purpose::Shell, "ls -l"));
    press(&mut input, "ctrl+u backspace");
    assert!(input.is_empty());
    write(&mut input, "#a note");
    assert_eq!(input.purpose(), Purpose::Note);
    let mut input = empty();
    input.paste("#!/bin/sh");
    assert_eq!(input.purpose(), Purpose::Prompt, "what is pasted is meant as it stands");
    assert_eq!(press(&mut empty(), "?"), Outcome::Help);
}

#[test]
fn escape_closes_one_thing_at_a_time() {
    let mut input = with("text");
    assert_eq!(press(&mut input, "esc"), Outcome::Escape);
    assert_eq!(press(&mut input, "esc"), Outcome::EscapeTwice);
    assert_eq!(press(&mut input, "esc"), Outcome::Escape);
    assert_eq!(press(&mut input, "a esc"), Outcome::Escape);
    assert_eq!(input.text(), "texta", "nothing that was typed is lost");
    assert_eq!(press(&mut input, "ctrl+c"), Outcome::Handled);
    assert_eq!(press(&mut input, "ctrl+c"), Outcome::Abandon);
    assert_eq!(press(&mut input, "ctrl+d"), Outcome::Ignored, "leaving is not the input's business");
    assert_eq!(press(&mut input, "! esc"), Outcome::Handled);
    assert!(input.is_empty());
}

#[test]
fn a_long_paste_is_one_sign() {
    let mut input = with("see ");
    let long = "line\n".repeat(120);
    assert_eq!(input.paste(&long), Outcome::Handled);
    assert_eq!(shown(&input), "see [pasted 120 lines #1]|");
    press(&mut input, "backspace");
    assert_eq!(shown(&input), "see |");
    press(&mut input, "ctrl+_");
    let Outcome::Submit(sent) = press(&mut input, "enter") else { panic!() };
    assert_eq!(sent.text, format!("see {}", long.trim_end()));
    assert_eq!(sent.shown, "see [pasted 120 lines #1]");
    input.paste(&long);
    assert_eq!(shown(&input), "[pasted 120 lines #2]|", "each label of a session is unique");
    press(&mut input, "alt+p");
    assert_eq!(input.editor.buffer.text(), long);
}

#[test]
fn images_are_attached_and_let_go() {
    let mut input = with("look ");
    let image = Image { number: 1, path: "/tmp/shot.png".into() };
    assert_eq!(input.paste("/tmp/shot.png"), Outcome::LoadImages(vec![image.clone()]));
    assert_eq!(shown(&input), "look [image #1 shot.png]|");
    let mut failed = input.clone();
    failed.image_failed(1);
    assert_eq!(failed.text(), "look /tmp/shot.png");
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(sent) if sent.images == [image]));
    assert_eq!(press(&mut input, "ctrl+v"), Outcome::ReadClipboard);
    assert_eq!(input.paste(""), Outcome::ReadClipboard);
}

#[test]
fn a_line_that_was_cleared_comes_back_as_what_it_was() {
    for (line, purpose) in [("!make", Purpose::Shell), ("#note", Purpose::Note)] {
        let mut input = with("");
        write(&mut input, line);
        press(&mut input, "ctrl+c");
        assert_eq!((input.purpose(), input.is_empty()), (Purpose::Prompt, true));
        write(&mut input, "x");
        press(&mut input, "ctrl+_ ctrl+_");
        assert_eq!((input.purpose(), input.text().as_str()), (purpose, &line[1..]));
        press(&mut input, "alt+_");
        assert_eq!((input.purpose(), input.is_empty()), (Purpose::Prompt, true));
    }
}

#[test]
fn the_history_of_all_sessions_is_searched() {
    let past = |purpose, text: &str| Past { purpose, text: text.to_owned() };
    let entries = vec![
        past(Purpose::Prompt, "fix the build"),
        past(Purpose::Shell, "cargo build"),
        past(Purpose::Prompt, "fix the docs"),
    ];
    let mut input = Input::new(Arc::new(Keymap::default()), entries);
    write(&mut input, "draft");
    press(&mut input, "ctrl+r");
    write(&mut input, "build");
    assert_eq!(screen(&input, 20, 3), (vec!["search: build".to_owned()], Some((13, 0))));
    let menu = input.menu_view(20, 5, &Theme::new(Palette::Dark)).unwrap();
    let rows: Vec<String> = menu.lines.iter().map(ToString::to_string).collect();
    assert_eq!(rows, ["› !cargo build", "  fix the build"]);
    let mut given_up = input.clone();
    press(&mut given_up, "esc");
    assert_eq!(given_up.text(), "draft");
    press(&mut input, "ctrl+r enter");
    assert_eq!((input.purpose(), input.text().as_str()), (Purpose::Prompt, "fix the build"));
}

#[test]
fn the_users_editor_gets_the_text_in_full() {
    let mut input = with("a ");
    let long = "x\n".repeat(20);
    input.paste(&long);
    assert_eq!(press(&mut input, "ctrl+g"), Outcome::EditExternally(format!("a {long}")));
    input.edited("changed\n");
    assert_eq!(shown(&input), "changed|");
    input.give_back(&Past { purpose: Purpose::Prompt, text: "before".to_owned() });
    assert_eq!(input.text(), "before\nchanged");
}

#[test]
fn vim_keys_are_a_setting() {
    let mut input = with("one two");
    input.set_vim(true);
    assert_eq!(press(&mut input, "esc"), Outcome::Handled);
    assert_eq!(input.vim_mode(), Some(VimMode::Normal));
    press(&mut input, "b d w");
    assert_eq!(shown(&input), "one| ");
    assert_eq!(press(&mut input, "esc"), Outcome::Escape);
    assert!(matches!(press(&mut input, "i t w o enter"), Outcome::Submit(sent) if sent.text == "onetwo"));
    assert_eq!(input.vim_mode(), Some(VimMode::Insert));
    press(&mut input, "esc k");
    assert_eq!(input.text(), "onetwo", "above the first row is the history");
}

fn offering(text: &str) -> Input {
    let mut input = empty();
    let command = |text: &str, hint: &str| Candidate { hint: hint.to_owned(), ..Candidate::plain(text) };
    input.set_commands(Arc::from([command("clear", ""), command("model", "<name>")]));
    input.set_files(["src/", "src/main.rs", "my docs/a b.md"].map(Candidate::plain).into());
    write(&mut input, text);
    input
}

#[test]
fn commands_are_completed_and_sent() {
    let mut input = offering("/cl");
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(sent) if sent.text == "/clear"));
    let mut input = offering("/mo");
    assert_eq!(press(&mut input, "enter"), Outcome::Handled);
    assert_eq!(shown(&input), "/model |");
    assert!(matches!(press(&mut input, "o enter"), Outcome::Submit(sent) if sent.text == "/model o"));
    let mut input = offering("/mo");
    press(&mut input, "tab");
    assert_eq!(shown(&input), "/model |");
    let mut input = offering("/usr/bin/x is broken");
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(_)), "a path is no command");
    let mut input = offering("/");
    press(&mut input, "down esc");
    assert!(input.menu_view(20, 5, &Theme::new(Palette::Dark)).is_none());
    assert_eq!(press(&mut input, "esc"), Outcome::Escape);
}

#[test]
fn mentions_are_completed_and_keep_their_lines() {
    let mut input = offering("see @sma");
    assert_eq!(input.mentioned(), Some("sma"));
    press(&mut input, "tab");
    assert_eq!(shown(&input), "see @src/main.rs |");
    assert_eq!(input.mentioned(), None);
    let mut input = offering("@sma#L10-20");
    assert!(input.menu_view(20, 5, &Theme::new(Palette::Dark)).is_none(), "line numbers are not completed");
    press(&mut input, "left left left left left left left");
    let (theme, rows) = (Theme::new(Palette::Dark), |view: Option<View>| view.map(|view| view.lines.len()));
    assert_eq!(rows(input.menu_view(20, 5, &theme)), None, "the cursor only passes");
    press(&mut input, "i tab");
    assert_eq!(shown(&input), "@src/main.rs|#L10-20");
    let mut input = offering("@src");
    press(&mut input, "tab");
    assert_eq!(shown(&input), "@src/|", "a directory is only the way");
    press(&mut input, "m tab");
    assert_eq!(shown(&input), "@src/main.rs |");
    let mut input = offering("@\"my do");
    press(&mut input, "enter");
    assert_eq!(shown(&input), "@\"my docs/a b.md\" |");
    let mut input = offering("@src/main.rs");
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(_)), "there is nothing left to complete");
    assert_eq!(offering("ada@exam").mentioned(), None);
    assert_eq!(offering("/model @s").mentioned(), Some("s"));
}

// TERM-02
#[test]
fn the_caret_is_where_the_next_sign_goes() {
    let mut input = with("漢字👨‍👩‍👧e\u{301}");
    assert_eq!(screen(&input, 20, 3), (vec!["› 漢字👨‍👩‍👧e\u{301}".to_owned()], Some((9, 0))));
    press(&mut input, "left left");
    assert_eq!(screen(&input, 20, 3).1, Some((6, 0)));
    assert_eq!(screen(&with("漢字"), 7, 3).1, Some((4, 0)), "no room for a sign in front");
    let tall = with(&"x".repeat(100));
    let (rows, cursor) = screen(&tall, 20, 3);
    assert_eq!((rows.len(), cursor), (3, Some((2 + 100 % 17, 2))));
}

#[test]
fn pictures_of_the_input() {
    let shown = |input: Input| {
        pictures(12, move |columns, height, theme| {
            let mut input = input.clone();
            input.resize(columns);
            let mut view = input.view(columns, height / 2, "What should be done?", theme);
            if let Some(menu) = input.menu_view(columns, height / 2, theme) {
                let cursor = view.cursor;
                view.push(menu);
                view.cursor = cursor;
            }
            view
        })
    };
    insta::assert_snapshot!("input_empty", shown(empty()));
    let mut wide =
        with("把測試放在這裡，然後運行它們。請同時檢查文檔是否仍然正確，並告訴我哪些部分需要更改 👨‍👩‍👧");
    press(&mut wide, "ctrl+j");
    insta::assert_snapshot!("input_wide", shown(wide));
    let mut pasted = with("Explain this log: ");
    pasted.paste(&"error: something went wrong\n".repeat(2_000));
    pasted.paste("/home/ada/screen shot.png");
    write(&mut pasted, " in one sentence");
    insta::assert_snapshot!("input_pasted", shown(pasted));
    insta::assert_snapshot!("input_command", shown(offering("/")));
    insta::assert_snapshot!("input_mention", shown(offering("compare @src")));
    insta::assert_snapshot!("input_shell", shown(with("!cargo test")));
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let letters = prop::sample::select(vec![
        'a', ' ', '漢', '\u{301}', '🇩', '🇪', '\u{200d}', '👩', '-', '\t', '@', '/', '!',
    ]);
    let typed = letters.prop_map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    let keys = prop::sample::select(vec![
        "left",
        "right",
        "up",
        "down",
        "home",
        "end",
        "backspace",
        "delete",
        "ctrl+k",
        "ctrl+u",
        "ctrl+w",
        "ctrl+y",
        "alt+y",
        "alt+b",
        "alt+f",
        "alt+d",
        "ctrl+j",
        "ctrl+_",
        "alt+_",
        "ctrl+c",
        "alt+p",
        "esc",
        "tab",
        "alt+backspace",
    ]);
    prop_oneof![3 => typed, 2 => keys.prop_map(key_event)]
}

/// Vim's keys, so that letters are commands half of the time.
#[test]
fn a_repeated_change_never_sends_clears_or_opens() {
    let mut input = empty();
    input.set_vim(true);
    press(&mut input, "esc i");
    write(&mut input, "first");
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(_)));
    write(&mut input, "second");
    press(&mut input, "esc .");
    assert_eq!(input.text(), "seconfirstd", "what was typed is typed again, and nothing is sent");
    assert_eq!(input.vim_mode(), Some(VimMode::Normal));
    press(&mut input, "d d i x");
    assert!(matches!(press(&mut input, "ctrl+g"), Outcome::EditExternally(_)));
    assert_eq!(press(&mut input, "esc ."), Outcome::Handled);
    assert_eq!(input.text(), "xx");
    // What would begin a shell line is text in a change.
    press(&mut input, "A ! esc");
    assert!(matches!(press(&mut input, "enter"), Outcome::Submit(sent) if sent.text == "xx!"));
    press(&mut input, "esc .");
    assert_eq!((input.text().as_str(), input.purpose()), ("!", Purpose::Prompt));
}

fn any_vim_key() -> impl Strategy<Value = KeyEvent> {
    let letters: Vec<char> = "hjklwbeWBE0^$gGfFtT;,dcyxXsSDCYrpPuiaIAoO23\"(漢é ".chars().collect();
    let typed = prop::sample::select(letters)
        .prop_map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    prop_oneof![8 => typed, 2 => Just(key_event("esc")), 1 => any_key()]
}

proptest! {
    #[test]
    fn whatever_is_pressed_the_cursor_is_at_a_sign_and_the_view_fits(
        keys in prop::collection::vec(any_key(), 0..60), columns in 1_u16..40, height in 1_u16..6,
    ) {
        let mut input = offering("");
        input.resize(columns);
        input.paste(&"p\n".repeat(30));
        for key in keys {
            input.handle(key);
            sound(&input, columns, height)?;
        }
    }

    #[test]
    fn whatever_vim_does_the_cursor_is_at_a_sign(keys in prop::collection::vec(any_vim_key(), 0..80)) {
        let mut input = with("one (two) \"three\"\n漢字 e\u{301}é\n\nlast");
        input.set_vim(true);
        for key in keys {
            input.handle(key);
            sound(&input, 20, 4)?;
        }
    }

    #[test]
    fn undo_goes_back_to_the_beginning_and_redo_to_the_end(keys in prop::collection::vec(any_key(), 0..40)) {
        let mut input = empty();
        let undoing = [key_event("ctrl+_"), key_event("alt+_"), key_event("esc")];
        for key in keys.into_iter().filter(|key| !undoing.contains(key)) {
            if key.code != KeyCode::Tab {
                input.handle(key);
            }
        }
        let buffer = &mut input.editor.buffer;
        let end = buffer.text().to_owned();
        while buffer.undo() {}
        prop_assert_eq!(buffer.text(), "");
        while buffer.redo() {}
        prop_assert_eq!(buffer.text(), end);
    }

    #[test]
    fn typing_and_deleting_is_what_a_list_of_signs_would_do(
        strokes in prop::collection::vec((0_u8..4, prop::sample::select(vec!["a", "漢", "👨‍👩‍👧", "e\u{301}", "\n"])), 0..50),
    ) {
        let mut buffer = buffer::Buffer::default();
        let (mut left, mut right): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for (stroke, sign) in strokes {
            match stroke {
                0 | 1 => {
                    buffer.insert(sign, undo::Stroke::Type);
                    left.push(sign);
                }
                2 => {
                    buffer.delete_back();
                    left.pop();
                }
                _ => {
                    buffer.go(grapheme::previous(buffer.text(), buffer.cursor()));
                    right.extend(left.pop());
                }
            }
            let model: String = left.iter().chain(right.iter().rev()).copied().collect();
            prop_assert_eq!(buffer.text(), model);
            prop_assert_eq!(buffer.cursor(), left.concat().len());
        }
    }
}

fn sound(input: &Input, columns: u16, height: u16) -> Result<(), TestCaseError> {
    let buffer = &input.editor.buffer;
    prop_assert!(
        grapheme::is_boundary(buffer.text(), buffer.cursor()),
        "{:?} at {}",
        buffer.text(),
        buffer.cursor()
    );
    let (rows, cursor) = screen(input, columns, height);
    let (column, row) = cursor.unwrap();
    prop_assert!(rows.len() <= height.into() && usize::from(row) < rows.len(), "{rows:?} {row}");
    prop_assert!(column < columns, "{column} of {columns}");
    for line in rows {
        prop_assert!(grapheme::text_width(&line) <= columns.into(), "{line:?} in {columns}");
    }
    Ok(())
}
