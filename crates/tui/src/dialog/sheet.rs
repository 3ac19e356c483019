//! The shape of a dialog: a title, what it is about (which may scroll), and the choices, in the room there is.
//!
//! Nothing is cut in silence: what has no room can be scrolled to, and a row says how much that is.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::keys::Action;
use crate::text::{fit, fit_line, hides_something, line_width, reveal, width, wrap};
use crate::theme::{Palette, Theme};
use crate::view::View;

/// Rows of the subject that are kept, if need be at the cost of the explanation and of choices that are not marked.
const LEAST_BODY: usize = 3;
/// Rows that are enough for a hint although not all choices can be seen.
const ROOMY: usize = 12;
/// Columns around a title.
const AROUND_TITLE: usize = 6;
/// Said if the dialog shows signs instead of characters.
const HIDDEN: &str = "contains characters that are invisible or move the cursor";

/// Makes lines that fit a width.
pub type Render = Arc<dyn Fn(u16, &Theme) -> Vec<Line<'static>> + Send + Sync>;

/// What a dialog is about, drawn once for each width.
pub(crate) struct Body {
    render: Render,
    drawn: RefCell<Option<(u16, Palette, Vec<Line<'static>>)>>,
}

impl Body {
    pub(crate) fn new(render: impl Fn(u16, &Theme) -> Vec<Line<'static>> + Send + Sync + 'static) -> Self {
        Self::from(Arc::new(render) as Render)
    }

    pub(crate) fn lines(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut drawn = self.drawn.borrow_mut();
        match &*drawn {
            Some((wide, palette, lines)) if *wide == columns && *palette == theme.palette => lines.clone(),
            _ => {
                let lines = (self.render)(columns, theme);
                *drawn = Some((columns, theme.palette, lines.clone()));
                lines
            }
        }
    }
}

impl From<Render> for Body {
    fn from(render: Render) -> Self {
        Self { render, drawn: RefCell::new(None) }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Body")
    }
}

/// How far a subject is scrolled. What is possible is known when it is drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scroll {
    top: usize,
    furthest: Cell<usize>,
    page: Cell<usize>,
}

impl Scroll {
    /// Scrolls; says whether the action was that.
    pub(crate) fn act(&mut self, action: Action) -> bool {
        let page = self.page.get().max(1);
        // The window may have become larger, or the text shorter, since it was scrolled.
        self.top = self.top.min(self.furthest.get());
        match action {
            Action::PageDown | Action::ReadOn => self.top = (self.top + page).min(self.furthest.get()),
            Action::PageUp => self.top = self.top.saturating_sub(page),
            Action::First => self.top = 0,
            Action::Last => self.top = self.furthest.get(),
            _ => return false,
        }
        true
    }

    /// Scrolls by one row.
    pub(crate) fn step(&mut self, down: bool) {
        self.top = self.top.min(self.furthest.get());
        self.top = if down { (self.top + 1).min(self.furthest.get()) } else { self.top.saturating_sub(1) };
    }

    pub(crate) fn rewind(&mut self) {
        self.top = 0;
    }

    /// The part of the lines that is seen through a window, with a line that tells how much is not.
    pub(crate) fn window(
        &self,
        lines: Vec<Line<'static>>,
        rows: usize,
        columns: u16,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        if lines.len() <= rows {
            self.furthest.set(0);
            return lines;
        }
        let seen = rows.saturating_sub(1);
        let furthest = lines.len() - seen;
        self.furthest.set(furthest);
        self.page.set(seen);
        let top = self.top.min(furthest);
        let below = lines.len() - top - seen;
        let mut window: Vec<Line<'static>> = lines.into_iter().skip(top).take(seen).collect();
        if rows > 0 {
            window.push(left_out(top, below, columns, theme));
        }
        window
    }
}

/// Says how many lines are not seen.
fn left_out(above: usize, below: usize, columns: u16, theme: &Theme) -> Line<'static> {
    let told = match (above, below) {
        (0, below) => format!("  ↓ {below} more lines"),
        (above, 0) => format!("  ↑ {above} lines above"),
        (above, below) => format!("  ↑ {above}  ↓ {below}"),
    };
    fit_line(Line::styled(told, theme.dim), columns.into())
}

/// The parts of a dialog.
#[derive(Default)]
pub(crate) struct Sheet {
    pub(crate) title: String,
    pub(crate) style: Style,
    /// Explains; scrolls below the body if there is no room above it.
    pub(crate) head: Vec<Line<'static>>,
    /// Scrolls.
    pub(crate) body: Vec<Line<'static>>,
    /// The choices, or a text field.
    pub(crate) foot: Vec<Line<'static>>,
    /// The rows of the foot that must be seen.
    pub(crate) focus: Range<usize>,
    /// The caret within the foot.
    pub(crate) cursor: Option<(u16, u16)>,
    /// Which keys there are; goes first if there is no room.
    pub(crate) hint: String,
    /// The key that scrolls; it is told if there is more than fits.
    pub(crate) read_on: String,
}

impl Sheet {
    /// Lays the parts out in so many rows at most.
    pub(crate) fn compose(self, columns: u16, height: u16, scroll: &Scroll, theme: &Theme) -> View {
        let room = usize::from(height).saturating_sub(1);
        let warning = self.warning(columns, room / 3, theme);
        let room = room - warning.len();
        let mut sheet = self.revealed(columns, theme);
        let least = LEAST_BODY.min(sheet.head.len() + sheet.body.len());
        let hint = sheet.hint_rows(least, columns, room, theme);
        let most = room.saturating_sub(least + hint.len()).max(1).min(room);
        let foot = sheet.take_foot(most, columns, theme);
        let rest = room - foot.lines.len() - hint.len();
        let mut lines = vec![reveal(title(&sheet.title, columns, sheet.style), theme.warning)];
        lines.extend(warning);
        if sheet.head.len() + sheet.body.len().min(LEAST_BODY) <= rest {
            let beside = rest - sheet.head.len();
            lines.append(&mut sheet.head);
            lines.extend(scroll.window(sheet.body, beside, columns, theme));
        } else {
            sheet.body.append(&mut sheet.head);
            lines.extend(scroll.window(sheet.body, rest, columns, theme));
        }
        let above = lines.len();
        lines.extend(foot.lines);
        lines.extend(hint);
        lines.truncate(height.into());
        let lines = lines.into_iter().map(|line| fit_line(line, columns.into())).collect();
        let row = |row: u16| u16::try_from(above).unwrap_or(u16::MAX).saturating_add(row);
        let shift = u16::try_from(foot.first).unwrap_or(u16::MAX);
        let cursor =
            sheet.cursor.filter(|(_, at)| *at >= shift).map(|(column, at)| (column, row(at - shift)));
        View { lines, cursor: cursor.filter(|(_, at)| *at < height) }
    }

    /// Says that something is hidden, in so many rows at most.
    fn warning(&self, columns: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        let foot = self.foot.iter().filter(|_| self.cursor.is_none());
        let mut spans = self.head.iter().chain(&self.body).chain(foot).flat_map(|line| &line.spans);
        if !hides_something(&self.title) && !spans.any(|span| hides_something(&span.content)) {
            return Vec::new();
        }
        let line = Line::styled(HIDDEN, theme.warning);
        let rows = wrap(&line, columns, 0);
        let rows = if rows.len() <= most { rows } else { vec![fit_line(line, columns.into())] };
        rows.into_iter().take(most).collect()
    }

    /// The hint if there is room for it: the choices come first, unless they are more than can be seen anyway.
    fn hint_rows(&self, least: usize, columns: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
        if self.hint.is_empty() || theme.is_printed {
            return Vec::new();
        }
        let rows = |text: String| wrap(&Line::styled(text, theme.dim), columns, 0);
        let mut hint = rows(self.hint.clone());
        let foot = self.foot.len().min(room.saturating_sub(least + hint.len()));
        let scrolls = self.head.len() + self.body.len() + foot + hint.len() > room;
        if scrolls && !self.read_on.is_empty() {
            hint = rows(format!("{} · {} read on", self.hint, self.read_on));
        }
        let fits = self.foot.len() + least + hint.len() <= room;
        let is_windowed = self.foot.len() + least > room && room >= ROOMY && hint.len() <= 2;
        if fits || is_windowed { hint } else { Vec::new() }
    }

    /// With a style for the signs of what is hidden, and a title that can be read to its end.
    fn revealed(mut self, columns: u16, theme: &Theme) -> Self {
        let sign = theme.warning;
        if width(&self.title) + AROUND_TITLE > columns.into() {
            self.body.push(Line::styled(self.title.clone(), theme.strong));
        }
        let whole = |line: Line<'static>| {
            let line = reveal(line, sign);
            if line_width(&line) > columns.into() { wrap(&line, columns, 0) } else { vec![line] }
        };
        self.head = self.head.into_iter().flat_map(whole).collect();
        self.body = self.body.into_iter().flat_map(whole).collect();
        // In a text field there is what the user types.
        if self.cursor.is_none() {
            self.foot = self.foot.into_iter().map(|line| reveal(line, sign)).collect();
        }
        self
    }

    /// The rows of the foot around the marked choice. A choice that is longer than the room goes to the body as well.
    fn take_foot(&mut self, room: usize, columns: u16, theme: &Theme) -> Foot {
        let lines = std::mem::take(&mut self.foot);
        let blank = usize::from(lines.first().is_some_and(|line| line.width() == 0));
        if lines.len() <= room {
            return Foot { lines, first: 0 };
        }
        if lines.len() - blank <= room {
            return Foot { lines: lines.into_iter().skip(blank).collect(), first: blank };
        }
        let focus = match self.cursor {
            Some((_, row)) => usize::from(row)..usize::from(row) + 1,
            None => self.focus.clone(),
        };
        let seen = if room > 1 { room - 1 } else { room };
        let first = focus.end.saturating_sub(seen).max(blank).min(focus.start);
        if focus.len() > seen {
            self.body.push(Line::default());
            self.body.extend(lines[focus].iter().cloned());
        }
        let below = lines.len().saturating_sub(first + seen);
        let mut window: Vec<Line<'static>> = lines.into_iter().skip(first).take(seen).collect();
        if room > 1 {
            window.push(left_out(first.saturating_sub(blank), below, columns, theme));
        }
        Foot { lines: window, first }
    }
}

/// The part of a foot that is seen.
struct Foot {
    lines: Vec<Line<'static>>,
    /// How many rows are above it.
    first: usize,
}

/// A title that can be read to its end: below the rule if it has no room within.
pub(crate) fn wrapped_title(text: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    let mut rows = vec![title(text, columns, style)];
    if width(text) + AROUND_TITLE > columns.into() {
        rows.extend(wrap(&Line::styled(text.to_owned(), style), columns, 0));
    }
    rows
}

/// A title within a rule over the whole width.
pub(crate) fn title(text: &str, columns: u16, style: Style) -> Line<'static> {
    let columns = usize::from(columns);
    let text = fit(text, columns.saturating_sub(AROUND_TITLE));
    let rule = columns.saturating_sub(width(&text) + 4);
    let line = Line::from(vec![
        Span::styled("── ", style),
        Span::styled(text, style.patch(Style::new().add_modifier(ratatui::style::Modifier::BOLD))),
        Span::styled(format!(" {}", "─".repeat(rule)), style),
    ]);
    fit_line(line, columns)
}
