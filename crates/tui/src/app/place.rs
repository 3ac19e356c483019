//! Where a picture belongs: below the transcript, or on a screen of its own.

use ratatui::text::Line;

use super::App;
use crate::view::View;

/// Where the next picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Below what is finished.
    Below,
    /// On the alternate screen; what is finished meanwhile waits.
    Aside,
}

/// Screens of fewer rows are too small to be shared.
const SMALL: u16 = 12;

impl App {
    /// Where the next picture is drawn. A view that leaves nothing of the transcript in sight is shown aside, until it is
    /// closed; otherwise it would push the transcript away and leave an empty screen behind.
    pub fn place(&mut self) -> Place {
        let is_tall = |app: &Self| {
            let (columns, room) = (app.look.size.width, app.page_rows());
            let view = app.overlay_view(columns, room, &app.look.theme);
            view.is_some_and(|view| view.lines.len() > usize::from(app.shared_rows()))
        };
        self.is_aside = self.overlay.is_some() && (self.is_aside || is_tall(self));
        if self.is_aside { Place::Aside } else { Place::Below }
    }

    /// Rows of a question below the transcript: about two thirds of the screen, so that one sees what it is about.
    pub(super) fn shared_rows(&self) -> u16 {
        let height = self.look.size.height;
        if height < SMALL { self.page_rows() } else { self.page_rows().min(height - height / 3) }
    }

    /// Rows of a page that has the screen for itself.
    fn page_rows(&self) -> u16 {
        let status = u16::try_from(self.status().len()).unwrap_or(u16::MAX);
        self.look.size.height.saturating_sub(status)
    }

    /// The page with the status at the very bottom.
    pub(super) fn page_view(&self) -> View {
        let mut view = self.dialog_view(self.look.size.width, self.page_rows()).unwrap_or_default();
        let free = usize::from(self.page_rows()).saturating_sub(view.lines.len());
        view.push(View::of(vec![Line::default(); free]));
        view.push(View::of(self.status()));
        view
    }
}
