//! Keys: one table of actions as data; settings change it, the help is made from it.

mod action;
mod chord;
mod help;

use std::collections::HashMap;

use crossterm::event::KeyEvent;

use action::ESSENTIAL;
pub use action::{Action, Context, Row, TABLE};
pub use chord::Chord;
pub(crate) use help::{entry as help_entry, help_lines};

/// The word with which settings take a key's meaning away.
const NONE: &str = "none";

/// What is wrong with a table of keys in the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key does not exist.
    #[error("\"{key}\" is not a key; use for example ctrl+b, alt+enter, shift+tab, f5 or pagedown")]
    UnknownKey {
        /// As it was written.
        key: String,
    },
    /// The action does not exist.
    #[error("\"{action}\" is not an action that a key can have{}; /help lists them all", meant(*.nearest))]
    UnknownAction {
        /// As it was written.
        action: String,
        /// What was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// Two settings speak of one key.
    #[error("{key} is bound to \"{first}\" and to \"{second}\" at the same time; remove one of them")]
    Conflict {
        /// The key.
        key: String,
        /// One action.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// The key is needed to write.
    #[error(
        "{key} cannot be bound to \"{action}\": that key is needed for typing; combine it with ctrl or alt"
    )]
    Typed {
        /// The key.
        key: String,
        /// The action.
        action: &'static str,
    },
    /// Nothing would be left to do this with.
    #[error(
        "\"{action}\" would be left without a key, and Tiller cannot be used without it; bind another key to it"
    )]
    Unreachable {
        /// The action.
        action: &'static str,
    },
}

fn meant(name: Option<&str>) -> String {
    name.map(|name| format!(" (did you mean \"{name}\"?)")).unwrap_or_default()
}

/// Which key does what.
#[derive(Clone, Debug)]
pub struct Keymap {
    bindings: HashMap<(Context, Chord), Action>,
    /// The keys of each action, in the order in which help shows them.
    keys: HashMap<Action, Vec<Chord>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut map = Self { bindings: HashMap::new(), keys: HashMap::new() };
        for row in TABLE {
            // That every key of the table can be read is tested.
            row.keys.iter().filter_map(|key| key.parse().ok()).for_each(|chord| map.bind(row.action, chord));
        }
        map
    }
}

impl Keymap {
    /// The default keys, changed by settings such as `{"ctrl+x": "background"}`. `none` takes a key's meaning away.
    ///
    /// # Errors
    /// Everything that is wrong with the settings.
    pub fn with<'a>(settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Vec<KeyError>> {
        let mut map = Self::default();
        let mut errors = Vec::new();
        let mut chosen = HashMap::new();
        for (key, name) in settings {
            if let Err(error) = map.change(key, name, &mut chosen) {
                errors.push(error);
            }
        }
        let lost = ESSENTIAL.iter().filter(|action| map.keys(**action).is_empty());
        errors.extend(lost.map(|action| KeyError::Unreachable { action: action.row().name }));
        if errors.is_empty() { Ok(map) } else { Err(errors) }
    }

    fn change(
        &mut self,
        key: &str,
        name: &str,
        chosen: &mut HashMap<(Context, Chord), Action>,
    ) -> Result<(), KeyError> {
        let chord: Chord = key.parse()?;
        if name == NONE {
            Context::ALL.into_iter().for_each(|context| self.unbind(context, chord));
            return Ok(());
        }
        let row = find(name)?;
        let may_be_typed =
            matches!(row.context, Context::Dialog | Context::Page) || row.action == Action::ShortHelp;
        if !may_be_typed && chord.typed().is_some() {
            return Err(KeyError::Typed { key: chord.to_string(), action: row.name });
        }
        let shared = row.context.shared();
        for place in shared {
            if let Some(before) = chosen.insert((*place, chord), row.action).filter(|own| *own != row.action)
            {
                let (first, second) = (before.row().name, row.name);
                return Err(KeyError::Conflict { key: chord.to_string(), first, second });
            }
        }
        // Who says again what counts anyway takes nothing away.
        if self.bindings.get(&(row.context, chord)) != Some(&row.action) {
            shared.iter().for_each(|place| self.unbind(*place, chord));
            self.bind(row.action, chord);
        }
        Ok(())
    }

    fn bind(&mut self, action: Action, chord: Chord) {
        self.bindings.insert((action.row().context, chord), action);
        self.keys.entry(action).or_default().push(chord);
    }

    fn unbind(&mut self, context: Context, chord: Chord) {
        if let Some(action) = self.bindings.remove(&(context, chord)) {
            self.keys.entry(action).or_default().retain(|bound| *bound != chord);
        }
    }

    /// What a key press means in a context.
    #[must_use]
    pub fn action(&self, context: Context, key: &KeyEvent) -> Option<Action> {
        let chord = Chord::pressed(key)?;
        self.bindings.get(&(context, chord)).copied()
    }

    /// How a key moves in what is only read.
    pub(crate) fn in_page(&self, key: &KeyEvent) -> Option<Action> {
        self.action(Context::Page, key).or_else(|| self.action(Context::Dialog, key))
    }

    /// How a key moves in a question: letters may be the beginning of a message.
    pub(crate) fn in_question(&self, key: &KeyEvent) -> Option<Action> {
        let is_letter = Chord::pressed(key).is_some_and(|chord| chord.typed().is_some());
        let in_page = self.action(Context::Page, key).filter(|_| !is_letter);
        self.action(Context::Dialog, key).or(in_page)
    }

    /// The keys of an action.
    #[must_use]
    pub fn keys(&self, action: Action) -> &[Chord] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The key of an action that is named in hints; empty if it has none.
    #[must_use]
    pub fn hint(&self, action: Action) -> String {
        self.keys(action).first().map(ToString::to_string).unwrap_or_default()
    }

    /// The same as a word in a sentence, e.g. `Ctrl+C`.
    #[must_use]
    pub fn name(&self, action: Action) -> String {
        let capital = |part: &str| match part.split_at_checked(1) {
            Some((first, rest)) => format!("{}{rest}", first.to_ascii_uppercase()),
            None => part.to_owned(),
        };
        self.hint(action).split('+').map(capital).collect::<Vec<_>>().join("+")
    }
}

fn find(name: &str) -> Result<&'static Row, KeyError> {
    TABLE.iter().find(|row| row.name == name).ok_or_else(|| {
        let wanted = name.to_ascii_lowercase().replace([' ', '_'], "-");
        let near = |row: &&Row| row.name.contains(&wanted) || wanted.contains(row.name);
        let nearest = TABLE.iter().find(near).filter(|_| !wanted.is_empty()).map(|row| row.name);
        KeyError::UnknownAction { action: name.to_owned(), nearest }
    })
}

#[cfg(test)]
mod tests;
