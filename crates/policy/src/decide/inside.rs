//! What is read in directories by programs that read the files right in them, links followed.

use std::path::PathBuf;

use super::Reason;
use super::listed::{self, unclear};
use super::objection::strictest;
use super::part::Part;
use super::place::{Places, Where};
use super::script::Judge;
use crate::path::Place;
use crate::shell::{self, Command, Touch, Word};

impl Judge<'_> {
    /// If a word stands for directories, there may be links in them that lead elsewhere.
    pub(super) fn inside_may_be_looked_at(&self, command: &Command, touch: &Touch) -> Result<(), Reason> {
        let inside = self.places.inside(touch).ok_or_else(|| unclear(&command.text))?;
        inside.iter().try_for_each(|place| self.may_be_looked_at(place, command.turn).map(drop))
    }

    /// A rule against reading what a link in a directory leads to.
    pub(super) fn inside_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        match self.places.inside(touch) {
            Some(inside) => {
                strictest(inside.iter().filter_map(|place| self.files.read_objection(what, place)))
            }
            None => self.files.may_read(what, |_| true),
        }
    }

    /// Among what the commands of the script list there may be directories, with links in them that lead elsewhere.
    pub(super) fn listed_insides_may_be_looked_at(&self) -> Result<(), Reason> {
        for lister in self.analysis.commands.iter().filter(|command| shell::lists_links(command)) {
            for place in listed::places(lister, &self.places)? {
                self.reached_may_be_looked_at(lister, &place)?;
            }
        }
        Ok(())
    }
}

impl Places<'_> {
    /// What is reached through links right in the directories that a word stands for. `None` if nobody can tell.
    fn inside(&self, touch: &Touch) -> Option<Vec<Place>> {
        let values = self.each(&touch.word);
        let inside = values.iter().map(|value| self.inside_one(value, touch));
        Some(inside.collect::<Option<Vec<_>>>()?.concat())
    }

    fn inside_one(&self, word: &Word, touch: &Touch) -> Option<Vec<Place>> {
        let (dirs, names) = match self.of(word, &touch.dirs) {
            Where::Known(dirs) => (dirs, "*".to_owned()),
            Where::Below(dirs, names) => {
                let comes_apart =
                    || self.come_apart(&dirs, &names, &touch.dirs).is_none_or(|others| !others.is_empty());
                if touch.word.splits && comes_apart() {
                    return None;
                }
                (dirs, format!("{}/*", names.trim_end_matches('/')))
            }
            Where::Elsewhere | Where::Unknown => return None,
        };
        let links: Option<Vec<Vec<PathBuf>>> =
            dirs.iter().map(|dir| self.cx.resolver.links(&dir.real, &names)).collect();
        Some(self.places(&links?.concat(), &touch.dirs))
    }
}
