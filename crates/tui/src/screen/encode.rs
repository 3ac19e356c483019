//! Styled lines as bytes for a terminal.

use std::fmt::Write;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

/// Modifiers with the number that switches each on.
const MODIFIERS: [(Modifier, u8); 6] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
    (Modifier::CROSSED_OUT, 9),
];

/// A line with its styles; it ends as it began, in the terminal's own style.
pub(super) fn encode(line: &Line<'_>) -> String {
    let mut out = String::new();
    let mut current = Style::new();
    for span in &line.spans {
        let style = line.style.patch(span.style);
        if style != current {
            change(&mut out, style);
            current = style;
        }
        // Whatever a text may hold, only this module moves the cursor.
        out.extend(span.content.chars().filter(|c| !c.is_control()));
    }
    if current != Style::new() {
        out.push_str("\x1b[0m");
    }
    out
}

fn change(out: &mut String, style: Style) {
    out.push_str("\x1b[0");
    for (modifier, number) in MODIFIERS {
        if style.add_modifier.contains(modifier) {
            let _ = write!(out, ";{number}");
        }
    }
    color(out, style.fg, 30);
    color(out, style.bg, 40);
    out.push('m');
}

/// `base` is 30 for the text and 40 for what is behind it.
fn color(out: &mut String, color: Option<Color>, base: u8) {
    let (extended, bright) = (base + 8, base + 60);
    let number = match color {
        None | Some(Color::Reset) => return,
        Some(Color::Indexed(index)) => {
            let _ = write!(out, ";{extended};5;{index}");
            return;
        }
        Some(Color::Rgb(red, green, blue)) => {
            let _ = write!(out, ";{extended};2;{red};{green};{blue}");
            return;
        }
        Some(Color::Black) => base,
        Some(Color::Red) => base + 1,
        Some(Color::Green) => base + 2,
        Some(Color::Yellow) => base + 3,
        Some(Color::Blue) => base + 4,
        Some(Color::Magenta) => base + 5,
        Some(Color::Cyan) => base + 6,
        Some(Color::Gray) => base + 7,
        Some(Color::DarkGray) => bright,
        Some(Color::LightRed) => bright + 1,
        Some(Color::LightGreen) => bright + 2,
        Some(Color::LightYellow) => bright + 3,
        Some(Color::LightBlue) => bright + 4,
        Some(Color::LightMagenta) => bright + 5,
        Some(Color::LightCyan) => bright + 6,
        Some(Color::White) => bright + 7,
    };
    let _ = write!(out, ";{number}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::text::Span;

    #[test]
    fn styles_are_switched_on_and_off() {
        let line = Line::from(vec![
            Span::raw("a"),
            Span::styled("b", Style::new().fg(Color::Indexed(80)).add_modifier(Modifier::BOLD)),
            Span::styled("c", Style::new().bg(Color::Red).fg(Color::White)),
        ]);
        assert_eq!(encode(&line), "a\x1b[0;1;38;5;80mb\x1b[0;97;41mc\x1b[0m");
        assert_eq!(encode(&Line::raw("plain")), "plain");
    }

    #[test]
    fn no_text_reaches_the_terminal_as_a_command() {
        assert_eq!(encode(&Line::raw("a\x1b]0;x\x07b\r\u{9b}2Jc")), "a]0;xb2Jc");
    }
}
