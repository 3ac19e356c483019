//! What is said about keys.

use super::*;

#[test]
fn hints_name_the_keys_that_do_something() {
    let theme = Theme::new(Palette::Plain);
    let last = |view: View| view.lines.last().map(ToString::to_string).unwrap_or_default();
    let mut long = command();
    long.input = json!({"command": "touch a\n".repeat(40)});
    assert_eq!(
        last(Permission::new(long, keys()).view(80, 24, &theme)),
        "enter choose · esc no · pagedown read on"
    );
    assert_eq!(last(Permission::new(command(), keys()).view(80, 24, &theme)), "enter choose · esc no");
    let many = (0..40).map(|number| ChoiceOption::plain(number.to_string())).collect();
    let choice = Choice::new("Which?", Arc::new(|_, _| Vec::new()), many, keys());
    assert_eq!(last(choice.view(80, 24, &theme)), "enter choose · esc cancel");
}

// Esc in the field for one's own words goes back to the options, and says so; the words stay.
#[test]
fn own_words_survive_a_look_at_the_options() {
    let theme = Theme::new(Palette::Plain);
    let mut dialog = questions(vec![question("store", false), question("targets", true)]);
    let shown = |dialog: &Questions| {
        dialog.view(80, 24, &theme).lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(shown(&dialog).contains("left/right other questions · esc refuse"), "{}", shown(&dialog));
    dialog.handle(key(KeyCode::Char('3')));
    typed("teal").into_iter().for_each(|code| _ = dialog.handle(key(code)));
    assert!(shown(&dialog).contains("enter go on · esc back"), "{}", shown(&dialog));
    assert_eq!(dialog.handle(key(ESC)), Outcome::Handled);
    assert!(shown(&dialog).contains("teal"), "{}", shown(&dialog));
}
