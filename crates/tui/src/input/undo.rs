//! What was done to a text, and back.

/// Steps that can be undone at most.
const MOST: usize = 1_000;

/// The kind of an edit; edits of one kind in a row are undone together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// Typing.
    Type,
    /// Deleting to the left.
    Back,
    /// Deleting to the right.
    Forward,
    /// Something that is undone by itself.
    Whole,
}

/// One replacement.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
}

#[derive(Clone, Debug)]
struct Step {
    changes: Vec<Change>,
    /// The cursor before and after.
    before: usize,
    after: usize,
}

/// The steps that led to a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    done: Vec<Step>,
    undone: Vec<Step>,
    /// The kind of the last step, as long as it may grow.
    open: Option<Stroke>,
    /// Whether everything belongs to one step, until released.
    held: bool,
}

impl Undo {
    /// How many steps can be taken back.
    pub(super) fn len(&self) -> usize {
        self.done.len()
    }

    pub(super) fn record(&mut self, change: Change, stroke: Stroke, before: usize, after: usize) {
        self.undone.clear();
        let joins =
            self.open.is_some() && (self.held || (self.open == Some(stroke) && self.continues(&change)));
        match self.done.last_mut().filter(|_| joins) {
            Some(step) => {
                step.add(change);
                step.after = after;
            }
            None => {
                self.done.push(Step { changes: vec![change], before, after });
                if self.done.len() > MOST {
                    self.done.remove(0);
                }
            }
        }
        self.open = (self.held || stroke != Stroke::Whole).then_some(stroke);
    }

    /// A word with the blanks behind it is one step, and so is a line.
    fn continues(&self, change: &Change) -> bool {
        let last = self.done.last().and_then(|step| step.changes.last());
        let Some(letter) = last.and_then(|last| last.inserted.chars().next_back()) else { return true };
        let begins_word = change.inserted.starts_with(|first: char| !first.is_whitespace());
        letter != '\n' && !(letter.is_whitespace() && begins_word)
    }

    /// What follows is a step of its own.
    pub(super) fn seal(&mut self) {
        if !self.held {
            self.open = None;
        }
    }

    /// Everything until [`Undo::release`] is one step.
    pub(super) fn hold(&mut self) {
        self.open = None;
        self.held = true;
    }

    pub(super) fn release(&mut self) {
        self.open = None;
        self.held = false;
    }

    /// Takes one step back. Returns the cursor.
    pub(super) fn undo(&mut self, text: &mut String) -> Option<usize> {
        self.open = None;
        let step = self.done.pop()?;
        for change in step.changes.iter().rev() {
            text.replace_range(change.at..change.at + change.inserted.len(), &change.removed);
        }
        let cursor = step.before;
        self.undone.push(step);
        Some(cursor)
    }

    /// Takes the step again that was taken back. Returns the cursor.
    pub(super) fn redo(&mut self, text: &mut String) -> Option<usize> {
        self.open = None;
        let step = self.undone.pop()?;
        for change in &step.changes {
            text.replace_range(change.at..change.at + change.removed.len(), &change.inserted);
        }
        let cursor = step.after;
        self.done.push(step);
        Some(cursor)
    }
}

impl Step {
    fn add(&mut self, change: Change) {
        match self.changes.last_mut() {
            Some(last) if change.removed.is_empty() && change.at == last.at + last.inserted.len() => {
                last.inserted.push_str(&change.inserted);
            }
            _ => self.changes.push(change),
        }
    }
}
