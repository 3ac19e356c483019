//! What the shell lists where a word becomes a pattern by what is put in.

use crate::shell::{self, Command, Dirs, Form, Kind, Touch, Word, added, expansions, parameter};

use super::place::{ANY_DEPTH, Places, Where};
use crate::path::Place;

/// What is put into a word.
struct PutIn {
    /// Whether it may be a pattern.
    globs: bool,
    /// Whether it may begin a path that leads elsewhere.
    leads: bool,
    /// Whether the text that the word is made in tells what it is.
    is_known: bool,
}

impl Places<'_> {
    /// Whether a word that only would be listed, if it were a pattern, is none for names elsewhere.
    pub(super) fn lists_nothing(&self, command: &Command, touch: &Touch) -> bool {
        let word = &touch.word;
        if word.form != Form::Dynamic || !(command.kind == Kind::Assign || shell::only_prints(command)) {
            return false;
        }
        let (outside, expansions) = expansions(&word.text);
        if shell::without(&word.text).contains(shell::GLOBS) {
            return false;
        }
        let all: Vec<(bool, PutIn)> =
            expansions.iter().map(|(at, expansion)| (*at == 0, self.put_in(expansion))).collect();
        let is_first_open = all.first().is_some_and(|(is_first, one)| *is_first && !one.is_known);
        let leads = word.tilde
            || word.text.starts_with('/')
            || outside.contains("..")
            || is_first_open
            || self.leads_through_links(&word.text, &touch.dirs)
            || all.iter().any(|(_, one)| one.leads);
        // Of one that stands alone, nobody knows more than of a word that is nothing else.
        let may_be_pattern = all.iter().any(|(is_first, one)| one.globs || !one.is_known && !is_first);
        !(leads && may_be_pattern)
    }

    /// Whether something lies behind a link in the directory that a word names before anything is put in.
    fn leads_through_links(&self, text: &str, dirs: &Dirs) -> bool {
        let named = &text[..text.find(['$', '`']).unwrap_or(text.len())];
        let Some((dir, _)) = named.rsplit_once('/') else { return false };
        let Where::Known(places) = self.of(&Word::literal(dir), dirs) else { return true };
        let holds_none = |place: &Place| {
            let links = self.cx.resolver.links(&place.real, ANY_DEPTH);
            place.real == place.written && links.is_some_and(|links| links.is_empty())
        };
        !places.iter().all(holds_none)
    }

    fn put_in(&self, expansion: &str) -> PutIn {
        let globs = |text: &str| text.contains(shell::GLOBS) || text.contains('\\');
        let leads = |text: &str| text.starts_with(['/', '~']) || text.contains("..");
        let Some((name, operation)) = parameter(expansion) else {
            return PutIn { globs: false, leads: false, is_known: false };
        };
        let added = added(expansion);
        let by_operation = PutIn {
            globs: added.is_some_and(globs),
            leads: added.is_some_and(leads),
            is_known: added.is_none_or(|added| !added.contains(['$', '`'])),
        };
        let held = match self.variables.get(name) {
            Some(Some(values)) => PutIn {
                globs: values
                    .iter()
                    .filter(|value| value.as_number().is_none())
                    .any(|value| value.form != Form::Literal || globs(&value.text)),
                leads: values.iter().any(|value| value.tilde || leads(&value.text)),
                is_known: values.iter().all(|value: &Word| !value.text.is_empty()),
            },
            None if name == "PWD" => PutIn { globs: false, leads: false, is_known: true },
            None if ["HOME", "OLDPWD", "TMPDIR"].contains(&name) => {
                PutIn { globs: false, leads: true, is_known: true }
            }
            _ => PutIn { globs: false, leads: operation.starts_with('/'), is_known: false },
        };
        PutIn {
            globs: held.globs || by_operation.globs,
            leads: held.leads || by_operation.leads,
            is_known: held.is_known && by_operation.is_known,
        }
    }
}
