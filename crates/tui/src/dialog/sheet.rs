//! The shape of a dialog: a title, what it is about (which may scroll), and the choices, in the room there is.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::keys::Action;
use crate::text::{fit, fit_line, width};
use crate::theme::{Palette, Theme};
use crate::view::View;

/// Rows of the subject that are kept, if need be at the cost of the explanation.
const LEAST_BODY: usize = 3;

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
    /// Scrolls by a page; says whether the action was that.
    pub(crate) fn act(&mut self, action: Action) -> bool {
        let page = self.page.get().max(1);
        match action {
            Action::PageDown => self.top = (self.top + page).min(self.furthest.get()),
            Action::PageUp => self.top = self.top.saturating_sub(page),
            _ => return false,
        }
        true
    }

    /// Scrolls by one row.
    pub(crate) fn step(&mut self, down: bool) {
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
        let told = match (top, below) {
            (0, below) => format!("  ↓ {below} more lines"),
            (above, 0) => format!("  ↑ {above} lines above"),
            (above, below) => format!("  ↑ {above}  ↓ {below}"),
        };
        let mut window: Vec<Line<'static>> = lines.into_iter().skip(top).take(seen).collect();
        if rows > 0 {
            window.push(fit_line(Line::styled(told, theme.dim), columns.into()));
        }
        window
    }
}

/// The parts of a dialog.
#[derive(Default)]
pub(crate) struct Sheet {
    pub(crate) title: String,
    pub(crate) style: Style,
    /// Explains; gives way if there is no room.
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
}

impl Sheet {
    /// Lays the parts out in so many rows at most.
    pub(crate) fn compose(self, columns: u16, height: u16, scroll: &Scroll, theme: &Theme) -> View {
        let room = usize::from(height).saturating_sub(1);
        let with_hint = self.foot.len() < room && !self.hint.is_empty();
        let first = (self.focus.end.max(1)).saturating_sub(room).min(self.focus.start);
        let foot: Vec<Line<'static>> = self.foot.into_iter().skip(first).take(room).collect();
        let rest = room - foot.len() - usize::from(with_hint);
        let head_rows = self.head.len().min(rest.saturating_sub(self.body.len().min(LEAST_BODY)));
        let mut lines = vec![title(&self.title, columns, self.style)];
        lines.extend(self.head.into_iter().take(head_rows));
        lines.extend(scroll.window(self.body, rest - head_rows, columns, theme));
        let above = lines.len();
        lines.extend(foot);
        if with_hint {
            lines.push(Line::styled(fit(&self.hint, columns.into()), theme.dim));
        }
        lines.truncate(height.into());
        let lines = lines.into_iter().map(|line| fit_line(line, columns.into())).collect();
        let row = |row: u16| u16::try_from(above).unwrap_or(u16::MAX).saturating_add(row);
        let shift = u16::try_from(first).unwrap_or(u16::MAX);
        let cursor = self.cursor.filter(|(_, at)| *at >= shift).map(|(column, at)| (column, row(at - shift)));
        View { lines, cursor: cursor.filter(|(_, at)| *at < height) }
    }
}

/// A title within a rule over the whole width.
pub(crate) fn title(text: &str, columns: u16, style: Style) -> Line<'static> {
    let columns = usize::from(columns);
    let text = fit(text, columns.saturating_sub(6));
    let rule = columns.saturating_sub(width(&text) + 4);
    let line = Line::from(vec![
        Span::styled("── ", style),
        Span::styled(text, style.patch(Style::new().add_modifier(ratatui::style::Modifier::BOLD))),
        Span::styled(format!(" {}", "─".repeat(rule)), style),
    ]);
    fit_line(line, columns)
}
