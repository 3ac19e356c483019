//! Markdown as rows.

mod written;

use super::*;
use crate::theme::Palette;
use proptest::prelude::*;

fn shown(text: &str, columns: u16) -> String {
    joined(&render(text, columns, &Theme::new(Palette::Plain)))
}

fn joined(rows: &[Line<'_>]) -> String {
    rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

const SAMPLE: &str = "\
# A heading

Some *text* with `code`, **weight** and a [link](https://example.org/a), <https://example.org>.

- first item that is long enough to be wrapped
- second
  1. nested
  2. more

> quoted
> text

| name | count |
|------|------:|
| a | 1 |
| long name | 22 |

```rust
fn main() {
    let x = 1;
}
```

---
Done.
";

#[test]
fn every_kind_of_block_has_its_shape() {
    insta::assert_snapshot!(shown(SAMPLE, 40));
}

#[test]
fn tables_without_room_become_lists() {
    let table = "| file | what is wrong with it | line |\n|-|-|-|\n| a.rs | everything | 10 |\n| b.rs | nothing | 2 |";
    assert_eq!(shown(table, 60).lines().count(), 4);
    insta::assert_snapshot!(shown(table, 14));
}

#[test]
fn entities_are_the_characters_they_stand_for() {
    let text = "a &amp; b, 1 &lt; 2 &gt; 0, &quot;x&quot; &copy; &#65;&#x42; &nosuch; **R&amp;D**\n\n`a &amp; b`\n\n| x &amp; y |\n|-|\n| &lt;z&gt; |";
    let expected = "a & b, 1 < 2 > 0, \"x\" © AB &nosuch; R&D\n\na &amp; b\n\nx & y\n─────\n<z>";
    assert_eq!(shown(text, 60), expected);
    for pieces in 1..9 {
        assert_eq!(streamed(text, pieces, 60), expected, "in pieces of {pieces}");
    }
    // What would command the terminal does not, however it is written.
    assert_eq!(shown("a&#27;[31mb&#x202e;c", 60), "a[31mbc");
}

const NESTED: &str = "\
- first
  - second, which is long enough to be wrapped in a narrow terminal
    1. third
    2. another third

       with a paragraph of its own
  - [x] done
  - [ ] to do
- with code:

  ```sh
  make
  ```
- > a quote in an item

10. ten
11. eleven
";

#[test]
fn lists_within_lists_keep_their_shape() {
    insta::assert_snapshot!(shown(NESTED, 40));
    for pieces in [1, 3, 7, 50, 10_000] {
        assert_eq!(streamed(NESTED, pieces, 40), shown(NESTED, 40), "in pieces of {pieces}");
    }
}

#[test]
fn a_table_that_is_wider_than_the_terminal_is_read_all_the_same() {
    let table = "\
| command | what it does | since | remark |
|:--------|:------------:|------:|--------|
| `tiller sessions verify` | checks the chain of hashes of a log | 0.1 | a|b |
| 日本語のコマンド | **wide** characters<br>and a break | 12.34 | averyveryverylongwordthatfitsnowhere |
";
    for columns in [100, 60, 36, 20] {
        for row in render(table, columns, &Theme::new(Palette::Plain)) {
            assert!(crate::text::line_width(&row) <= usize::from(columns), "{columns}: {row}");
        }
    }
    insta::assert_snapshot!([60, 36, 20].map(|columns| shown(table, columns)).join("\n\n"));
}

/// What comes out when a text is written piece by piece.
fn streamed(text: &str, pieces: usize, columns: u16) -> String {
    let theme = Theme::new(Palette::Plain);
    let mut stream = Stream::default();
    let mut rows = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(pieces.max(1)) {
        stream.push(&piece.iter().collect::<String>());
        rows.extend(stream.complete(columns, &theme));
        stream.pending(columns, &theme);
    }
    rows.extend(stream.finish(columns, &theme));
    joined(&rows)
}

// TERM-01: however a text arrives, what is written to the scrollback is the same.
#[test]
fn a_streamed_text_looks_like_a_whole_one() {
    for pieces in [1, 3, 7, 50, 10_000] {
        assert_eq!(streamed(SAMPLE, pieces, 40), shown(SAMPLE, 40), "in pieces of {pieces}");
    }
}

#[test]
fn finished_blocks_are_given_out_while_the_next_is_written() {
    let theme = Theme::new(Palette::Plain);
    let mut stream = Stream::default();
    stream.push("One.\n\nTw");
    assert_eq!(stream.complete(40, &theme).len(), 1);
    assert_eq!(stream.pending(40, &theme)[0].to_string(), "Tw");
    stream.push("o.\n\n```\nline 1\nline 2\nli");
    let rows: Vec<String> = stream.complete(40, &theme).iter().map(ToString::to_string).collect();
    assert_eq!(rows, ["", "Two.", "", "  line 1", "  line 2"]);
    assert_eq!(stream.pending(40, &theme)[0].to_string(), "  li");
}

// TERM-03: however long a block becomes, what is drawn anew for each frame stays short.
#[test]
fn endless_blocks_are_given_out_in_parts() {
    let theme = Theme::new(Palette::Plain);
    for begin in ["", "```\n", "- "] {
        let mut stream = Stream::default();
        stream.push(begin);
        let mut rows = Vec::new();
        for _ in 0..20_000 {
            stream.push("words and ");
        }
        rows.extend(stream.complete(80, &theme));
        assert!(stream.pending(80, &theme).len() < 300);
        rows.extend(stream.finish(80, &theme));
        let words = rows.iter().map(|row| row.to_string().matches("words").count()).sum::<usize>();
        assert_eq!(words, 20_000, "after {begin:?}");
    }
}

proptest! {
    #[test]
    fn no_row_is_wider_than_the_terminal(text in "[-a-z `*#>|1.\\n日]{0,120}", columns in 20_u16..60) {
        for row in render(&text, columns, &Theme::new(Palette::Plain)) {
            prop_assert!(crate::text::line_width(&row) <= usize::from(columns), "{row:?}");
        }
    }

    #[test]
    fn streaming_loses_no_word(text in "[-a-z `*#>1.\\n]{0,120}", pieces in 1_usize..9) {
        let words = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
        prop_assert_eq!(words(&streamed(&text, pieces, 40)), words(&shown(&text, 40)));
    }
}
