//! Directories that commands make or remove on the way to those that their words name.

use std::path::{Component, Path, PathBuf};

use super::Reason;
use super::place::{Places, Where};
use super::put_in::fillings;
use super::script::Judge;
use crate::path::Place;
use crate::shell::{self, Command, Deed, Dirs, Form, Landing, Name, Touch, Way, Word, alternatives};

impl Judge<'_> {
    /// Whether all that a command makes or removes on its way may be changed.
    pub(super) fn goes_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        let unclear = || Reason::Uncovered { what: format!("the command `{}`", command.text) };
        let passed = self.places.on_the_way(command).ok_or_else(unclear)?;
        passed.iter().try_for_each(|place| {
            if self.cx.roots.contains(&place.real) || self.is_unsettled(place, command.turn) {
                return Err(unclear());
            }
            self.files.may_be_written(place).map(drop)
        })
    }
}

impl Places<'_> {
    /// The directories that a command makes or removes on its way. `None` if nobody can tell which.
    pub(super) fn on_the_way(&self, command: &Command) -> Option<Vec<Place>> {
        let mut all = Vec::new();
        if let Some(way) = shell::way(command, |word| self.spelt(word, &command.dirs)) {
            let written = shell::touches(command).into_iter().filter(|touch| touch.deed == Deed::Write);
            for touch in written {
                all.extend(self.passed(way, &touch)?);
            }
        }
        for landing in shell::landings(command).iter().filter(|landing| landing.name == Name::Path) {
            all.extend(self.passed_by_copy(landing)?);
        }
        Some(all)
    }

    /// The directories on the way to a place that is told.
    fn passed(&self, way: Way, touch: &Touch) -> Option<Vec<Place>> {
        let Some(words) = self.spelt(&touch.word, &touch.dirs) else {
            return self.passed_by_unknown(way, touch);
        };
        let mut passed = Vec::new();
        for word in words {
            for begin in beginnings(way, &word)? {
                let begin = Word { text: begin, form: Form::Literal, ..word.clone() };
                let Where::Known(places) = self.of(&begin, &touch.dirs) else { return None };
                passed.extend(places);
            }
        }
        Some(passed)
    }

    /// The same where it is only known to which places the word leads.
    fn passed_by_unknown(&self, way: Way, touch: &Touch) -> Option<Vec<Place>> {
        let Where::Known(places) = self.of(&touch.word, &touch.dirs) else { return None };
        match way {
            Way::Entered => places.iter().all(|place| !place.turns).then(Vec::new),
            Way::Above => {
                let above = places.iter().flat_map(|place| place.written.ancestors().skip(1));
                Some(above.map(|dir| self.cx.place(dir)).collect())
            }
        }
    }

    /// The directories that are made below a target for a copy that keeps its whole path.
    fn passed_by_copy(&self, landing: &Landing) -> Option<Vec<Place>> {
        let mut made = Vec::new();
        let Some(words) = self.spelt(&landing.source, &landing.dirs) else {
            let Where::Known(places) = self.of(&landing.source, &landing.dirs) else { return None };
            return places.iter().all(|place| !place.turns).then_some(made);
        };
        let begins = words.iter().map(|word| beginnings(Way::Entered, word)).collect::<Option<Vec<_>>>()?;
        let begins = begins.concat();
        if !begins.is_empty() {
            let Where::Known(targets) = self.of(&landing.target, &landing.dirs) else { return None };
            let below = |target: &Place, begin: &str| target.written.join(begin.trim_start_matches('/'));
            let paths =
                targets.iter().flat_map(|target| begins.iter().map(move |begin| below(target, begin)));
            made.extend(paths.map(|path| self.cx.place(&path)));
        }
        Some(made)
    }

    /// What a word becomes when the shell has put something in. `None` if nobody can tell.
    fn spelt(&self, word: &Word, dirs: &Dirs) -> Option<Vec<Word>> {
        let each = self.each(word);
        let is_known = each.iter().all(|word| word.form <= Form::Pattern);
        if is_known { Some(each) } else { fillings(word, dirs, self) }
    }
}

/// The beginnings of a path that name directories on the way. `None` if they are not known.
fn beginnings(way: Way, word: &Word) -> Option<Vec<String>> {
    // Those above go up to the root.
    if way == Way::Above && word.tilde {
        return None;
    }
    let texts = match word.form {
        Form::Pattern => alternatives(&word.text)?,
        _ => vec![word.text.clone()],
    };
    let paths = texts.iter().flat_map(|text| match way {
        Way::Entered => left_again(Path::new(text)),
        Way::Above => above(Path::new(text)),
    });
    let names = paths.map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let is_pattern = |name: &String| word.form == Form::Pattern && name.contains(['*', '?', '[', '(']);
    (!names.iter().any(is_pattern)).then_some(names)
}

/// The directories that a path enters and leaves again.
fn left_again(path: &Path) -> Vec<PathBuf> {
    let mut reached = PathBuf::new();
    let mut left = Vec::new();
    for step in path.components() {
        let is_entered =
            reached.components().next_back().is_some_and(|last| matches!(last, Component::Normal(_)));
        if step == Component::ParentDir && is_entered {
            left.push(reached.clone());
        }
        reached.push(step);
    }
    left
}

/// The directories that a path shows above what it names. What ends in a turn is never removed.
fn above(path: &Path) -> Vec<PathBuf> {
    let is_removed =
        |dir: &&Path| matches!(dir.components().next_back(), Some(Component::Normal(_) | Component::RootDir));
    path.ancestors().skip(1).filter(is_removed).map(Path::to_owned).collect()
}
