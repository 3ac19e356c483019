use super::*;
use crate::input::undo::Stroke;

/// A text with `|` where the cursor is.
fn at_bar(marked: &str) -> Buffer {
    let cursor = marked.find('|').unwrap();
    let mut buffer = Buffer::default();
    buffer.set(&marked.replacen('|', "", 1));
    buffer.go(cursor);
    buffer
}

fn shown(buffer: &Buffer) -> String {
    let mut text = buffer.text().to_owned();
    text.insert(buffer.cursor(), '|');
    text
}

/// Presses keys in normal mode; `␛` is Esc. Keys that insert mode leaves to the editor are typed.
fn press(keys: &str, vim: &mut VimKeys, buffer: &mut Buffer) {
    for letter in keys.chars() {
        let code = if letter == '␛' { KeyCode::Esc } else { KeyCode::Char(letter) };
        press_key(KeyEvent::new(code, KeyModifiers::NONE), vim, buffer);
    }
}

fn press_key(key: KeyEvent, vim: &mut VimKeys, buffer: &mut Buffer) {
    match (vim.handle(&key, buffer), key.code) {
        (Vim::Passed, KeyCode::Char(letter)) => {
            buffer.insert(&letter.to_string(), Stroke::Type);
            vim.inserted(&key);
        }
        (Vim::Repeats(keys), _) => keys.into_iter().for_each(|key| press_key(key, vim, buffer)),
        _ => {}
    }
}

#[track_caller]
fn check(before: &str, keys: &str, after: &str) {
    let mut buffer = at_bar(before);
    let mut vim = VimKeys { mode: VimMode::Normal, ..VimKeys::default() };
    press(keys, &mut vim, &mut buffer);
    assert_eq!(shown(&buffer), after, "{before:?} {keys:?}");
}

#[test]
fn motions_go_where_vim_goes() {
    check("|one two-three", "w", "one |two-three");
    check("|one two-three", "2w", "one two|-three");
    check("|one two-three x", "2W", "one two-three |x");
    check("one two|", "b", "one |two");
    check("one.two|", "B", "|one.two");
    check("|one two", "e", "on|e two");
    check("|one two", "2e", "one tw|o");
    check("  on|e", "0", "|  one");
    check("  on|e", "^", "  |one");
    check("|one\ntwo", "$", "on|e\ntwo");
    check("|a\nb\n c", "G", "a\nb\n |c");
    check("a\nb\n|c", "gg", "|a\nb\nc");
    check("a\nb\n|c", "2G", "a\n|b\nc");
    check("ab|c", "3h", "|abc");
    check("|abc\nd", "9l", "ab|c\nd");
    check("|漢 字", "w", "漢 |字");
}

#[test]
fn signs_are_found_in_the_line() {
    check("|a.b.c", "f.", "a|.b.c");
    check("|a.b.c", "2f.", "a.b|.c");
    check("|a.b.c", "f.;", "a.b|.c");
    check("|a.b.c", "f.;,", "a|.b.c");
    check("|abc.", "t.", "ab|c.");
    check("|ab.c.", "t.;", "ab.|c.");
    check("a.b.|c", "F.", "a.b|.c");
    check("a.bc|", "T.", "a.|bc");
    check("|a\n.", "f.", "|a\n.");
}

#[test]
fn operators_take_what_motions_pass() {
    check("|one two", "dw", "|two");
    check("one |two\nx", "dw", "one| \nx");
    check("|one two three", "d2w", "|three");
    check("|one two three", "2dw", "|three");
    check("one t|wo", "db", "one |wo");
    check("|one two", "de", "| two");
    check("one |two", "d0", "|two");
    check("o|ne two", "D", "|o");
    check("|a(b)c", "df)", "|c");
    check("|a(b)c", "dt)", "|)c");
    check("|one two", "cwx␛", "|x two");
    check("|a b", "cwx␛", "|x b");
    check("|one two three", "2cwx␛", "|x three");
    check("|one two", "cex␛", "|x two");
    check("one |two", "Cx␛", "one |x");
    check("o|ne two", "yiwP", "on|eone two");
}

#[test]
fn lines_are_taken_whole() {
    check("a\n|b\nc", "dd", "a\n|c");
    check("a\n|b", "dd", "|a");
    check("|a\nb\nc", "2dd", "|c");
    check("|a\nb\nc", "dj", "|c");
    check("a\n|b\nc", "dk", "|c");
    check("a\n|b\nc", "dG", "|a");
    check("a\nb\n|c", "dgg", "|");
    check("a\n|b b\nc", "ccx␛", "a\n|x\nc");
    check("|a\nb", "yyjp", "a\n|a\nb");
    check("|a\nb", "ddp", "b\n|a");
    check("|a\nb", "ddP", "|a\nb");
}

#[test]
fn objects_surround_the_cursor() {
    check("one t|wo three", "diw", "one | three");
    check("one t|wo three", "daw", "one |three");
    check("one t|wo", "daw", "on|e");
    check("a-|b c", "diW", "| c");
    check("f(a, |b)", "di(", "f(|)");
    check("f(g(x), |b) c", "da(", "f| c");
    check("f(g(x|), b)", "di(", "f(g(|), b)");
    check("say \"a |b\" c", "ci\"x␛", "say \"|x\" c");
    check("f(a|", "di(", "f(|a");
}

#[test]
fn single_keys_edit() {
    check("a|bc", "x", "a|c");
    check("|abc", "2x", "|c");
    check("|abc", "9x", "|");
    check("ab|c", "X", "a|c");
    check("|abc", "xp", "b|ac");
    check("|ab", "x3p", "baa|a");
    check("|abc", "rx", "|xbc");
    check("|abc", "2rx", "x|xc");
    check("|abc", "9rx", "|abc");
    check("|abc", "sx␛", "|xbc");
    check("a|b", "ix␛", "a|xb");
    check("a|b", "ax␛", "ab|x");
    check(" a|b", "Ix␛", " |xab");
    check("|ab", "Ax␛", "ab|x");
    check("|a\nb", "ox␛", "a\n|x\nb");
    check("a\n|b", "Ox␛", "a\n|x\nb");
}

#[test]
fn a_whole_insertion_is_undone_at_once() {
    check("|one two", "cwnew words␛u", "|one two");
    check("|a\nb", "dd", "|b");
    check("|a\nb", "ddu", "|a\nb");
    check("|abc", "xxx2u", "|bc");
    check("|", "oone␛otwo␛u", "\non|e");
}

#[test]
fn a_change_is_made_again() {
    check("|a b c d", "dw.", "|c d");
    check("|a b c d", "x..", "| c d");
    check("|a b c", "cwx␛w.", "x |x c");
    check("|a\nb", "Ay␛j", "a|y\nb");
    check("|ab", "iy␛.", "|yyab");
    check("|abcd", "xu.", "|bcd");
    check("|abcd", "x2l.", "b|c");
    check("|abcd", "ru.", "|ubcd");
    check("|abcd", ".", "|abcd");
}

#[test]
fn an_incomplete_command_can_be_given_up() {
    check("|one two", "d␛w", "one |two");
    check("|one two", "3␛x", "|ne two");
    check("|one two", "dyw", "one |two");
    let mut vim = VimKeys { mode: VimMode::Normal, ..VimKeys::default() };
    let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(vim.handle(&escape, &mut at_bar("|")), Vim::Passed, "nothing is left to give up");
    let down = KeyEvent::new(KeyCode::Char('j'), KeyModifiers::NONE);
    assert_eq!(vim.handle(&down, &mut at_bar("|")), Vim::Means(Action::Down));
}
