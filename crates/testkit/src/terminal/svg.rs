//! A screen as a picture.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::Terminal;

/// Pixels of a character cell.
const CELL: (f32, f32) = (8.4, 18.0);
/// Pixels around the text.
const MARGIN: f32 = 14.0;

/// Colours of a terminal that programs do not choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colors {
    /// Text.
    pub text: &'static str,
    /// What is behind it.
    pub background: &'static str,
}

impl Colors {
    /// Light text on a dark background.
    pub const DARK: Self = Self { text: "#d8dee9", background: "#16181d" };
    /// Dark text on a light background.
    pub const LIGHT: Self = Self { text: "#24292f", background: "#fbfbf8" };
}

/// Neighbouring cells that look the same.
#[derive(Default)]
struct Run {
    column: u16,
    columns: u16,
    text: String,
    look: Look,
}

impl Run {
    fn rename(&mut self, renamed: &[(&str, &str)]) {
        for (name, other) in renamed {
            if self.text.contains(name) {
                self.text = self.text.replace(name, other);
                self.columns = u16::try_from(self.text.width()).unwrap_or(u16::MAX);
            }
        }
    }
}

#[derive(Clone, Default, PartialEq)]
struct Look {
    color: String,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

impl Terminal {
    /// The screen as SVG, as far as it is used. Names of places that are nobody's business are written as others.
    #[must_use]
    pub fn svg(&self, colors: Colors, renamed: &[(&str, &str)]) -> String {
        let (_, columns) = self.screen().size();
        let rows = u16::try_from(self.text().lines().count()).unwrap_or(u16::MAX);
        let width = f32::from(columns).mul_add(CELL.0, 2.0 * MARGIN);
        let height = f32::from(rows).mul_add(CELL.1, 2.0 * MARGIN);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
            colors.background
        );
        for row in 0..rows {
            for mut run in runs(self.screen(), row, columns, colors) {
                run.rename(renamed);
                write_run(&mut svg, row, &run);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn runs(screen: &vt100::Screen, row: u16, columns: u16, colors: Colors) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let look = look(cell, colors);
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let wide = if cell.is_wide() { 2 } else { 1 };
        match runs.last_mut().filter(|run| run.look == look) {
            Some(run) => {
                run.text.push_str(text);
                run.columns += wide;
            }
            None => runs.push(Run { column, columns: wide, text: text.to_owned(), look }),
        }
    }
    runs.retain(|run| run.look.background.is_some() || !run.text.trim().is_empty());
    runs
}

fn look(cell: &vt100::Cell, colors: Colors) -> Look {
    let mut color = hex(cell.fgcolor()).unwrap_or_else(|| colors.text.to_owned());
    let mut background = hex(cell.bgcolor());
    if cell.inverse() {
        let behind = background.unwrap_or_else(|| colors.background.to_owned());
        background = Some(std::mem::replace(&mut color, behind));
    }
    Look {
        color,
        background,
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}

fn write_run(svg: &mut String, row: u16, run: &Run) {
    let (x, y) = (f32::from(run.column).mul_add(CELL.0, MARGIN), f32::from(row).mul_add(CELL.1, MARGIN));
    let width = f32::from(run.columns) * CELL.0;
    if let Some(color) = &run.look.background {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{color}\"/>",
            CELL.1
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    for (is_on, attribute) in [
        (run.look.bold, " font-weight=\"bold\""),
        (run.look.dim, " opacity=\"0.7\""),
        (run.look.italic, " font-style=\"italic\""),
        (run.look.underline, " text-decoration=\"underline\""),
    ] {
        style.push_str(if is_on { attribute } else { "" });
    }
    // Several ordinary spaces would become one.
    let text =
        run.text.replace(' ', "\u{a0}").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let baseline = y + 13.5;
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" fill=\"{}\"{style}>{text}</text>",
        run.look.color
    );
}

/// A colour as the web writes it; nothing for the terminal's own.
fn hex(color: vt100::Color) -> Option<String> {
    const FIRST: [&str; 16] = [
        "#1d1f21", "#cc6666", "#7fa650", "#d7a65f", "#6f94c0", "#b294bb", "#5fb0a8", "#c5c8c6", "#7c7f85",
        "#e06c6c", "#98c379", "#e5c07b", "#81a2be", "#c678dd", "#70c0b1", "#ffffff",
    ];
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * u32::from(step) };
    Some(match color {
        vt100::Color::Default => return None,
        vt100::Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        vt100::Color::Idx(index @ 0..16) => FIRST[usize::from(index)].to_owned(),
        vt100::Color::Idx(index @ 16..232) => {
            let index = index - 16;
            let (red, green, blue) = (level(index / 36), level(index / 6 % 6), level(index % 6));
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        vt100::Color::Idx(index) => {
            let gray = 8 + 10 * (u32::from(index) - 232);
            format!("#{gray:02x}{gray:02x}{gray:02x}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::LongRows;

    #[test]
    fn styles_and_places_are_kept() {
        let mut terminal = Terminal::new(20, 3, LongRows::Wrap);
        terminal.write(b"a <b> \x1b[1;38;5;80mbold\x1b[0m\r\n\x1b[7m x \x1b[0m");
        let svg = terminal.svg(Colors::DARK, &[]);
        assert!(svg.contains("fill=\"#d8dee9\">a\u{a0}&lt;b&gt;\u{a0}</text>"), "{svg}");
        assert!(svg.contains("fill=\"#5fd7d7\" font-weight=\"bold\">bold</text>"), "{svg}");
        assert!(svg.contains("<rect x=\"14.0\" y=\"32.0\" width=\"25.2\""), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 196 64\""), "two rows are used: {svg}");
    }
}
