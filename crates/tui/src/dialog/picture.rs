//! What a view looks like in a real terminal, as text: for tests.

use std::fmt::Write;

use tiller_testkit::terminal::{LongRows, Terminal};

use crate::screen::{Screen, Size, Wrapping};
use crate::theme::{Palette, Theme};
use crate::view::View;

/// The rows of a view, with the caret, as a terminal of this size shows them.
fn terminal(view: &View, columns: u16, height: u16) -> Terminal {
    let mut screen = Screen::new(Size { width: columns, height }, Some(0), Wrapping::Anew);
    let mut terminal = Terminal::new(columns, height, LongRows::Cut);
    terminal.write(screen.draw(&[], view).as_bytes());
    terminal
}

/// The frames of a widget at three widths, with its colours and without.
pub(crate) fn pictures(height: u16, view: impl Fn(u16, u16, &Theme) -> View) -> String {
    let mut all = String::new();
    for columns in [40, 80, 120] {
        let dark = view(columns, height, &Theme::new(Palette::Dark));
        let plain = view(columns, height, &Theme::new(Palette::Plain));
        for line in &dark.lines {
            assert!(line.width() <= columns.into(), "{columns}: {line}");
        }
        assert!(dark.lines.len() <= height.into());
        let dark = terminal(&dark, columns, height);
        let plain = terminal(&plain, columns, height);
        assert_eq!(dark.text(), plain.text(), "colours change nothing else");
        let _ = writeln!(all, "═══ {columns} columns ═══\n{}", dark.text());
        if !dark.screen().hide_cursor() {
            let (row, column) = dark.screen().cursor_position();
            let _ = writeln!(all, "caret: column {column}, row {row}");
        }
        if columns == 80 {
            let _ = writeln!(all, "─── dark ───\n{}─── no-color ───\n{}", styles(&dark), styles(&plain));
        }
    }
    all
}

/// The styled stretches of each row.
fn styles(terminal: &Terminal) -> String {
    let screen = terminal.screen();
    let (rows, columns) = screen.size();
    let mut all = String::new();
    for row in 0..rows {
        let mut stretches: Vec<(String, String)> = Vec::new();
        for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
            let marks = [cell.bold(), cell.inverse(), cell.underline(), cell.italic()];
            let style = style(&format!("{:?}", cell.fgcolor()), marks);
            match stretches.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.contents()),
                _ => stretches.push((style, cell.contents().to_owned())),
            }
        }
        stretches.retain(|(style, text)| !style.is_empty() && !text.trim().is_empty());
        let stretches: Vec<String> =
            stretches.iter().map(|(style, text)| format!("{style} {:?}", text.trim())).collect();
        if !stretches.is_empty() {
            let _ = writeln!(all, "{row}: {}", stretches.join(", "));
        }
    }
    all
}

/// A colour by its number, and what else is special.
fn style(color: &str, marks: [bool; 4]) -> String {
    let number: String = color.chars().filter(char::is_ascii_digit).collect();
    let names = ["bold", "reversed", "underlined", "italic"];
    let marks = names.into_iter().zip(marks).filter(|(_, on)| *on).map(|(name, _)| name.to_owned());
    let all: Vec<String> = std::iter::once(number).chain(marks).filter(|word| !word.is_empty()).collect();
    all.join("+")
}
