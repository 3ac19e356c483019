//! Texts of all kinds as they are written.

use super::*;

/// A text as it is written, in pieces of these lengths.
fn in_pieces(text: &str, lengths: &[usize], columns: u16) -> String {
    let theme = Theme::new(Palette::Plain);
    let mut stream = Stream::default();
    let mut rows = Vec::new();
    let mut chars = text.chars().peekable();
    for length in lengths.iter().cycle() {
        if chars.peek().is_none() {
            break;
        }
        stream.push(&chars.by_ref().take((*length).max(1)).collect::<String>());
        rows.extend(stream.complete(columns, &theme));
    }
    rows.extend(stream.finish(columns, &theme));
    joined(&rows)
}

fn words() -> impl Strategy<Value = String> {
    "[a-z]{1,9}([ \t][a-z]{1,9}|, [a-z*`]{1,5}| 1\\. ){0,12}"
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{by}{line}\n") }).collect()
}

fn code(lines: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => "\t{0,3}[a-z]{1,8}\t?[a-z (){}]{0,20}",
        2 => Just(String::new()),
        1 => Just("    ```".to_owned()),
        1 => Just("- no item".to_owned()),
        1 => Just("# no heading".to_owned()),
    ];
    let fence = prop_oneof![Just("```go"), Just("~~~"), Just("  ```"), Just("````")];
    (fence, prop::collection::vec(line, lines)).prop_map(|(fence, lines)| {
        let mark = fence.trim().trim_end_matches("go");
        format!("{fence}\n{}\n{mark}\n", lines.join("\n"))
    })
}

fn table(rows: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec("\\| [a-z]{1,6} \\| [a-z]{0,6} \\|", rows)
        .prop_map(|rows| format!("| one | two |\n|---|:-:|\n{}\n", rows.join("\n")))
}

/// A list with code, quotes and lists in its items; tight here, loose there.
fn list() -> impl Strategy<Value = String> {
    let mark = prop_oneof![Just("- "), Just("* "), Just("-\t"), Just("1. "), Just("9)  "), Just(" 7. ")];
    let item = (words(), prop::option::of(prop_oneof![code(1..6), words(), table(1..3)]), any::<[bool; 2]>());
    let nested = prop::option::of(words());
    (mark, prop::collection::vec((item, nested), 1..6)).prop_map(|(mark, items)| {
        let width = mark.replace('\t', "   ").len();
        let by = if mark == "-\t" { "\t".to_owned() } else { " ".repeat(width) };
        let item = |((text, inner, [apart, loose]), nested): (
            (String, Option<String>, [bool; 2]),
            Option<String>,
        )| {
            let gap = if apart { "\n" } else { "" };
            let inner = inner.map(|inner| format!("{gap}{}", indented(&inner, &by))).unwrap_or_default();
            let nested = nested.map(|text| indented(&format!("- {text}\n- more"), &by)).unwrap_or_default();
            format!("{mark}{text}\n{nested}{inner}{}", if loose { "\n" } else { "" })
        };
        items.into_iter().map(item).collect()
    })
}

fn document() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        4 => words().prop_map(|text| text + "\n"),
        1 => words().prop_map(|text| format!("## {text}\n")),
        3 => code(0..9),
        3 => list(),
        2 => table(0..6),
        1 => words().prop_map(|text| format!("> {text}\n>\n> - {text}\n")),
        1 => words().prop_map(|text| format!("\t{text}\n\n\t\t{text}\n")),
        1 => Just("---\n".to_owned()),
        1 => Just("<details>\n<b>x</b>\n</details>\n".to_owned()),
    ];
    prop::collection::vec((block, any::<bool>()), 1..9).prop_map(|blocks| {
        let separated = |(block, apart): (String, bool)| block + if apart { "\n" } else { "" };
        blocks.into_iter().map(separated).collect()
    })
}

/// What is said, whatever the width of columns and the rows it stands in.
fn said(shown: &str) -> String {
    shown.chars().filter(|c| !c.is_whitespace() && !matches!(c, '─' | '┼' | '│')).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    // TERM-01: however a text arrives, what is written to the scrollback is the same.
    #[test]
    fn written_in_any_pieces_a_text_looks_the_same(
        text in document(),
        pieces in prop::collection::vec(1_usize..60, 1..9),
        columns in 24_u16..90,
    ) {
        prop_assert_eq!(in_pieces(&text, &pieces, columns), shown(&text, columns), "{}", text);
    }
}

/// Texts whose one block is longer than what is kept back.
fn long_texts() -> Vec<(&'static str, String)> {
    let lines = |line: &dyn Fn(usize) -> String| (0..700).map(line).collect::<String>();
    let code = lines(&|n| format!("\tfunc f{n}() {{\n\t\treturn # {n}\n\n"));
    vec![
        ("code", format!("before\n\n```go\n{code}```\n\nafter\n")),
        (
            "code in an item",
            format!("- one\n- two:\n\n{}- three\n\nafter\n", indented(&format!("```go\n{code}```"), "  ")),
        ),
        (
            "code in an item of an item",
            format!("1. a\n   - b\n{}   - c\n2. d\n", indented(&format!("~~~\n{code}~~~"), "     ")),
        ),
        (
            "code in a quote",
            format!(
                "{}\nafter\n",
                lines(&|n| format!("> \tcode {n}\n")).replacen("> ", "> ```\n> ", 1) + "> ```\n"
            ),
        ),
        (
            "a table",
            format!("| a | b |\n|---|--:|\n{}\nafter\n", lines(&|n| format!("| c{n} | d**{n}** |\n"))),
        ),
        (
            "a table in an item",
            format!(
                "* x\n\n{}* y\n",
                indented(
                    &format!("| a | b |\n|---|--:|\n{}", lines(&|n| format!("| c{n} | d{n} |\n"))),
                    "  "
                )
            ),
        ),
        ("a paragraph", lines(&|n| format!("word{n} and *other*\twords - 1. # {n}\n"))),
        ("a line", lines(&|n| format!("word{n} and other words 1. # {n} "))),
        ("a line in an item", format!("1. {}\n2. next\n", lines(&|n| format!("word{n} and more ")))),
        ("a list in an item", format!("- x\n{}- y\n", lines(&|n| format!("  - item {n}\n")))),
    ]
}

// TERM-01, TERM-03: a block that is too long to be kept back is given out in parts, and they mean what the whole means.
#[test]
fn blocks_of_any_length_say_the_same_in_parts() {
    for (what, text) in long_texts() {
        assert!(text.len() > 8 * 1024, "{what}");
        for pieces in [97, 4_096] {
            let parts = in_pieces(&text, &[pieces], 60);
            assert_eq!(said(&parts), said(&shown(&text, 60)), "{what} in pieces of {pieces}");
        }
    }
}

#[test]
fn long_code_looks_the_same_in_parts() {
    for (what, text) in
        long_texts().into_iter().filter(|(what, _)| what.starts_with("code in an") || *what == "code")
    {
        assert_eq!(in_pieces(&text, &[211], 60), shown(&text, 60), "{what}");
    }
}

// TERM-03: what is drawn anew for each frame stays short, whatever the block is.
#[test]
fn little_is_kept_back_of_a_long_block() {
    let theme = Theme::new(Palette::Plain);
    for (what, text) in long_texts() {
        let mut stream = Stream::default();
        for piece in text.as_bytes().chunks(2_048) {
            stream.push(std::str::from_utf8(piece).unwrap());
            stream.complete(60, &theme);
            assert!(stream.pending(60, &theme).len() < 900, "{what}");
        }
    }
}

#[test]
fn items_keep_the_numbers_and_the_gaps_of_their_list() {
    let text = "1. one\n1. two\n\n1. three\n   ```\n   code\n   ```\n1. four\n* other\n* list\n";
    let expected = "1. one\n2. two\n\n3. three\n     code\n4. four\n\n• other\n• list";
    assert_eq!(shown(text, 40), expected);
    for pieces in 1..20 {
        assert_eq!(in_pieces(text, &[pieces], 40), expected, "in pieces of {pieces}");
    }
}

// TERM-03: also in lists that are too long to be kept back, and whatever their items are called in the source.
#[test]
fn items_of_long_lists_in_lists_keep_their_numbers() {
    let lines = |line: &dyn Fn(usize) -> String| (0..700).map(line).collect::<String>();
    for (what, text) in [
        ("as they are called", format!("1. a\n{}2. b\n", lines(&|n| format!("   {}. item {n}\n", n + 1)))),
        ("all called the same", format!("- a\n{}- b\n", lines(&|n| format!("  1. item {n}\n")))),
        ("from another number", format!("3) a\n\n{}3) b\n", lines(&|n| format!("   7) item {n}\n")))),
        (
            "two lists, then another one",
            format!(
                "1. a\n   1. first\n   1. second\n\n   between\n\n{}\n   again\n\n   1. c\n   1. d\n1. b\n",
                lines(&|n| format!("   1. item {n}\n"))
            ),
        ),
        (
            "three deep",
            format!(
                "1. a\n1. b\n   1. c\n   1. d\n{}   1. e\n1. f\n",
                lines(&|n| format!("      1. item {n}\n"))
            ),
        ),
        (
            "cut within items",
            format!("- a\n{}- b\n", lines(&|n| format!("  1. item {n}\n     goes on and on\n     and on\n"))),
        ),
        ("in a quote", lines(&|n| format!("> 1. item {n}\n"))),
    ] {
        for pieces in [97, 4_096] {
            let (parts, whole) = (in_pieces(&text, &[pieces], 60), shown(&text, 60));
            assert_eq!(said(&parts), said(&whole), "{what} in pieces of {pieces}");
            // Where a text is cut, a row ends.
            assert!(parts == whole || what == "cut within items", "{what} in pieces of {pieces}: {parts}");
        }
    }
}

#[test]
fn the_end_of_code_is_not_shown_while_it_is_written() {
    let theme = Theme::new(Palette::Plain);
    let mut stream = Stream::default();
    stream.push("```sh\nmake\n``");
    assert_eq!(joined(&stream.complete(40, &theme)), "  make");
    assert!(stream.pending(40, &theme).is_empty());
    stream.push("`");
    assert!(stream.finish(40, &theme).is_empty());
}
