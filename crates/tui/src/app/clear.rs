//! A new session in the place of this one: what the user has chosen goes along.

use super::overlay::{Overlay, Subject};
use super::{App, Effect, Exit, Kept};
use crate::dialog::ChoiceOption;

impl App {
    /// Begins anew, at once if that stops nothing.
    pub(super) fn clear(&mut self) -> Vec<Effect> {
        let Some(question) = self.stopped_by_clear() else { return self.clear_now() };
        let option =
            |label: &str, detail: &str| ChoiceOption { label: label.to_owned(), detail: detail.to_owned() };
        let options = vec![
            option("Yes, stop and begin anew", "/resume finds this session again"),
            option("No, go on here", ""),
        ];
        self.overlay = Some(Overlay::Choice(self.choice(question, options), Subject::Clear));
        Vec::new()
    }

    /// What a new session would stop.
    fn stopped_by_clear(&self) -> Option<&'static str> {
        match (self.live.turn.is_some(), self.live.running_tasks() > 0) {
            (true, _) => Some("The agent is at work. Stop it?"),
            (false, true) => Some("Something is running in the background. Stop it?"),
            (false, false) => None,
        }
    }

    pub(super) fn clear_now(&mut self) -> Vec<Effect> {
        self.quit(Exit::Cleared(Kept { mode: self.state.mode, model: self.chosen_model.clone() }))
    }
}
