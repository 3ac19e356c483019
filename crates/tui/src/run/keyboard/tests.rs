//! Bytes as terminals send them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;

use super::burst::{Burst, Came};
use super::decode::{Answer, Begun, Decoder, Word, answer};
use crate::screen::Size;
use crate::theme::Rgb;

fn words(bytes: &str) -> Vec<Word> {
    let mut decoder = Decoder::default();
    let mut words = decoder.feed(bytes.as_bytes());
    if decoder.begun() == Begun::Key {
        words.extend(decoder.settle());
    }
    words
}

/// Keys as people write them.
fn keys(bytes: &str) -> String {
    let name = |word: &Word| match word {
        Word::Key(KeyEvent { code, modifiers, .. }) => {
            let named = |modifier, name: &str| {
                if modifiers.contains(modifier) { name.to_owned() } else { String::new() }
            };
            let control = named(KeyModifiers::CONTROL, "C-");
            let alt = named(KeyModifiers::ALT, "A-");
            let shift = named(KeyModifiers::SHIFT, "S-");
            match code {
                KeyCode::Char(c) => format!("{control}{alt}{shift}{c}"),
                code => format!("{control}{alt}{shift}{code:?}"),
            }
        }
        other => format!("{other:?}"),
    };
    words(bytes).iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn keys_are_what_was_pressed() {
    for (bytes, expected) in [
        ("aé日\u{1f600}", "a é 日 \u{1f600}"),
        ("A", "S-A"),
        ("\r\t\x7f", "Enter Tab Backspace"),
        ("\x03\x1a\0\x1f", "C-c C-z C-  C-7"),
        ("\x1b", "Esc"),
        ("\x1b\x1b", "Esc Esc"),
        ("\x1bb\x1b\r\x1b\x7f", "A-b A-Enter A-Backspace"),
        ("\x1b[A\x1bOB\x1b[H\x1b[F", "Up Down Home End"),
        ("\x1b[1;5C\x1b[1;2D\x1b[1;3A", "C-Right S-Left A-Up"),
        ("\x1b[Z", "S-BackTab"),
        ("\x1b[3~\x1b[5~\x1b[6;5~\x1b[1~\x1b[4~", "Delete PageUp C-PageDown Home End"),
        ("\x1bOP\x1b[15~\x1b[24~\x1b[[A", "F(1) F(5) F(12) F(1)"),
        ("\x1b[13;2u\x1b[27u\x1b[99;5u\x1b[9;2u", "S-Enter Esc C-c S-BackTab"),
        ("\x1b[97;5:1u\x1b[97;5:3u", "C-a"),
        ("\x1b[27;2;13~", "S-Enter"),
        ("\x1b[57414u\x1b[57419u\x1b[57400u", "Enter Up 1"),
        ("\x1b]", "A-]"),
        ("\x1b[", "A-["),
    ] {
        assert_eq!(keys(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn pastes_keep_what_would_be_keys() {
    assert_eq!(
        words("\x1b[200~a\rb\x1b[A\x03\x1b[201~x").first(),
        Some(&Word::Paste("a\rb\x1b[A\x03".to_owned()))
    );
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b[200~one"), []);
    assert_eq!(decoder.begun(), Begun::Paste, "it is waited for");
    assert_eq!(decoder.feed(b" two\x1b[20"), []);
    assert_eq!(decoder.feed(b"1~"), [Word::Paste("one two".to_owned())]);
}

// TERM-02
#[test]
fn answers_are_never_typed() {
    let answers = |bytes: &str| -> Vec<Answer> {
        let answer = |word| match word {
            Word::Answer(answer) => answer,
            other => panic!("{other:?} was typed by {bytes:?}"),
        };
        words(bytes).into_iter().map(answer).collect()
    };
    assert_eq!(answers("\x1b[12;40R"), [Answer::Cursor(39, 11)]);
    assert_eq!(answers("\x1b[8;24;80t"), [Answer::Size(Size { width: 80, height: 24 })]);
    assert_eq!(answers("\x1b]11;rgb:ffff/8080/0000\x1b\\"), [Answer::Background(Rgb(255, 128, 0))]);
    assert_eq!(answers("\x1b]11;rgb:ff/80/00\x07"), [Answer::Background(Rgb(255, 128, 0))]);
    for unasked in [
        "\x1b[?62;22c",
        "\x1b[?1u",
        "\x1b]10;rgb:0/0/0\x07",
        "\x1bP>|xterm\x1b\\",
        "\x1b[I\x1b[O",
        "\x1b[<0;3;4M",
    ] {
        assert_eq!(answers(unasked), [], "{unasked:?}");
    }
    // An answer that comes in pieces is waited for.
    for (whole, answer) in [
        ("\x1b]11;rgb:ff/ff/ff\x07", Answer::Background(Rgb(255, 255, 255))),
        ("\x1b[12;40R", Answer::Cursor(39, 11)),
        ("\x1b[8;24;80t", Answer::Size(Size { width: 80, height: 24 })),
    ] {
        for cut in 1..whole.len() {
            let mut decoder = Decoder::default();
            assert_eq!(decoder.feed(&whole.as_bytes()[..cut]), []);
            let expected = if cut <= 2 { Begun::Key } else { Begun::Sequence };
            assert_eq!(decoder.begun(), expected, "{whole:?} after {cut}");
            assert_eq!(decoder.feed(&whole.as_bytes()[cut..]), [Word::Answer(answer)]);
        }
    }
}

#[test]
fn lines_that_come_at_once_were_pasted() {
    let came = |chunks: &[&str]| -> Vec<Came> {
        let mut burst = Burst::default();
        let mut came: Vec<Came> = chunks.iter().flat_map(|chunk| burst.take(chunk.as_bytes())).collect();
        came.extend(burst.settle());
        came
    };
    let typed = |text: &str| Came::Typed(text.as_bytes().to_vec());
    let pasted = |text: &str| Came::Pasted(text.to_owned());
    assert_eq!(came(&["one\rtwo\r"]), [pasted("one\ntwo")]);
    assert_eq!(came(&["one\r", "\r\tthree\r\nfour"]), [pasted("one\n\n\tthree\nfour")]);
    assert_eq!(came(&["words\r"]), [typed("words\r")], "a line that is sent");
    assert_eq!(came(&["a", "\r", "b"]), [typed("a"), typed("\r"), typed("b")], "pressed one by one");
    assert_eq!(came(&["one\r", "\x1b[A"]), [typed("one\r"), typed("\x1b[A")]);
    assert_eq!(came(&["\x1b[200~a\rb\x1b[201~"]), [typed("\x1b[200~a\rb\x1b[201~")], "marked as pasted");
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_are_cut(text in "[a-zé日\\r]{0,6}(\x1b\\[[0-9;]{0,4}[A-Hu~])?(\x1b\\[200~[a-z\\r]{0,9}\x1b\\[201~)?[a-z]{0,3}", cut in 0_usize..40) {
        let bytes = text.as_bytes();
        let cut = cut.min(bytes.len());
        let mut decoder = Decoder::default();
        let mut pieces = decoder.feed(&bytes[..cut]);
        pieces.extend(decoder.feed(&bytes[cut..]));
        prop_assert_eq!(pieces, Decoder::default().feed(bytes));
    }

    #[test]
    fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::default();
        decoder.feed(&bytes);
        decoder.settle();
    }
}

// TERM-02
#[test]
fn answers_are_told_from_the_text_they_come_with() {
    let cursor = Some(Answer::Cursor(39, 11));
    assert_eq!(answer(b"\x1b[12;40Rpasted\r"), Some((8, cursor)));
    assert_eq!(answer(b"\x1b[?62;22cx"), Some((9, None)));
    for other in ["pasted\r", "\x1b[A", "\x1b[200~x\x1b[201~", "\x1b[12;4", "\x1b"] {
        assert_eq!(answer(other.as_bytes()), None, "{other:?}");
    }
}
