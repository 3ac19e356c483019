use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyModifiers};

use super::*;

fn ctrl(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

fn complaints(settings: &[(&str, &str)]) -> Vec<String> {
    Keymap::with(settings.iter().copied())
        .err()
        .into_iter()
        .flatten()
        .map(|error| error.to_string())
        .collect()
}

#[test]
fn the_table_is_sound() {
    let mut names = HashSet::new();
    let mut keys = HashSet::new();
    for (at, row) in TABLE.iter().enumerate() {
        assert_eq!(row.action as usize, at);
        assert!(names.insert(row.name), "{} is there twice", row.name);
        for key in row.keys {
            let chord: Chord = key.parse().unwrap();
            assert!(keys.insert((row.context, chord)), "{key} is there twice in {:?}", row.context);
        }
    }
}

#[test]
fn settings_give_keys_another_meaning() {
    let map = Keymap::with([("ctrl+x", "background"), ("Control+K", "undo")]).unwrap();
    assert_eq!(map.action(Context::Global, &ctrl('x')), Some(Action::Background));
    assert_eq!(map.action(Context::Global, &ctrl('b')), Some(Action::Background), "the default stays");
    assert_eq!(map.action(Context::Input, &ctrl('k')), Some(Action::Undo));
    assert!(map.keys(Action::KillLineEnd).is_empty());
    let map = Keymap::with([("ctrl+b", "none")]).unwrap();
    assert_eq!(map.action(Context::Global, &ctrl('b')), None);
}

#[test]
fn mistakes_are_told_all_at_once_with_what_to_do() {
    let told =
        complaints(&[("hyper+q", "undo"), ("ctrl+x", "kill word"), ("ctrl+y", "explode"), ("x", "undo")]);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].contains("\"hyper+q\" is not a key"), "{told:?}");
    assert!(told[1].contains("did you mean \"kill-word-back\""), "{told:?}");
    assert!(told[2].contains("\"explode\" is not an action"), "{told:?}");
    assert!(told[3].contains("needed for typing"), "{told:?}");
}

#[test]
fn one_key_cannot_mean_two_things_in_one_place() {
    let told = complaints(&[("ctrl+x", "undo"), ("control+x", "redo")]);
    assert_eq!(told, ["ctrl+x is bound to \"undo\" and to \"redo\" at the same time; remove one of them"]);
    let told = complaints(&[("ctrl+x", "undo"), ("control+x", "background")]);
    assert_eq!(told.len(), 1, "what counts everywhere counts at the input: {told:?}");
    assert!(complaints(&[("ctrl+x", "undo"), ("control+x", "page-down")]).is_empty());
}

#[test]
fn a_key_that_was_chosen_means_nothing_else_at_the_input() {
    let map = Keymap::with([("ctrl+k", "background"), ("ctrl+t", "undo")]).unwrap();
    assert_eq!(map.action(Context::Input, &ctrl('k')), None);
    assert_eq!(map.action(Context::Global, &ctrl('k')), Some(Action::Background));
    assert_eq!(map.action(Context::Global, &ctrl('t')), None);
    let lines = help_lines(&map, 100, &crate::theme::Theme::new(crate::theme::Palette::Plain));
    let of = |key: &str| lines.iter().filter(|line| line.to_string().contains(key)).count();
    assert_eq!((of("ctrl+k"), of("ctrl+t")), (1, 1), "help shows what counts");
    let same = Keymap::with([("ctrl+d", "delete-forward")]).unwrap();
    assert_eq!(same.keys(Action::Exit).len(), 1, "saying again what counts takes nothing away");
}

#[test]
fn nobody_can_lock_themselves_in() {
    let told = complaints(&[("esc", "none")]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("\"interrupt\" would be left without a key"), "{told:?}");
    assert!(complaints(&[("esc", "none"), ("ctrl+x", "interrupt")]).is_empty());
}

const PAGE: &str = include_str!("../../../../docs/keys.md");

#[test]
fn the_page_on_keys_has_the_table() {
    let mut table = "| where | action | keys | what it does |\n|---|---|---|---|\n".to_owned();
    for context in Context::ALL {
        for row in TABLE.iter().filter(|row| row.context == context) {
            let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
            let (place, keys) = (context.title(), keys.join(", "));
            table.push_str(&format!("| {place} | `{}` | {keys} | {} |\n", row.name, row.help));
        }
    }
    assert!(PAGE.contains(&table), "put this table into docs/keys.md:\n\n{table}");
}

#[test]
fn the_example_of_the_page_works() {
    let example = PAGE.split("```json").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let settings: serde_json::Value = serde_json::from_str(example).unwrap();
    let keys = settings["terminal"]["keys"].as_object().unwrap();
    let map =
        Keymap::with(keys.iter().map(|(key, action)| (key.as_str(), action.as_str().unwrap()))).unwrap();
    assert_eq!(map.action(Context::Global, &ctrl('x')), Some(Action::Background));
    assert_eq!(map.action(Context::Global, &ctrl('t')), None);
}
