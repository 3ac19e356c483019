//! The credentials of a session and the masks that stand for them. Kept in memory alone: what the log holds cannot be
//! turned back.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tiller_protocol::env::{Env, Ids};
use tiller_protocol::mask::{self, DIGITS, OPENING};

use super::find::{Finding, Kind, Spans, find};
use super::known::Known;

/// Credentials remembered at most; the oldest are forgotten first, and then have to be read again.
const REMEMBERED: usize = 5_000;

/// The credentials that a session has come across. Masks them, and knows what a mask stands for.
pub struct Vault {
    ids: Option<Arc<dyn Ids>>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    by_value: HashMap<Arc<str>, Secret>,
    /// The value of each mask.
    by_mask: HashMap<Arc<str>, Arc<str>>,
    /// Values, oldest first.
    order: VecDeque<Arc<str>>,
    /// Values to look for; made anew when one was added.
    known: Option<Arc<Known>>,
}

struct Secret {
    mask: Arc<str>,
    kind: Kind,
    /// Files that held it when they were read.
    files: BTreeSet<PathBuf>,
}

/// How many credentials of a kind are masked in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Masked {
    /// The kind, as masks name it.
    pub kind: String,
    /// How many masks of the kind there are.
    pub count: usize,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault")
            .field("masks", &self.is_on())
            .field("secrets", &self.book().order.len())
            .finish()
    }
}

impl Vault {
    /// An empty one.
    #[must_use]
    pub fn new(env: &Env) -> Self {
        Self { ids: Some(Arc::clone(&env.ids)), book: Mutex::default() }
    }

    /// One that leaves every text as it is.
    #[must_use]
    pub fn off() -> Self {
        Self { ids: None, book: Mutex::default() }
    }

    fn is_on(&self) -> bool {
        self.ids.is_some()
    }

    /// The text with credentials masked. Lines stay lines, and a mask stays what it is.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask_seen_in(text, None)
    }

    /// Masks the content of a file, or part of it, and remembers that the file holds these credentials: given by its path
    /// with links resolved.
    #[must_use]
    pub fn mask_file<'a>(&self, text: &'a str, file: &Path) -> Cow<'a, str> {
        self.mask_seen_in(text, Some(file))
    }

    fn mask_seen_in<'a>(&self, text: &'a str, file: Option<&Path>) -> Cow<'a, str> {
        let Some(ids) = self.ids.as_deref() else { return Cow::Borrowed(text) };
        let found = find(text);
        let mut book = self.book();
        let mut spans = Spans::default();
        // What is masked stays so; "secret:" and what follows would look like a credential.
        masks_in(text).for_each(|mask| _ = spans.take(&mask));
        let mut masks: Vec<(Range<usize>, Arc<str>)> = Vec::new();
        for Finding { span, kind, .. } in found {
            if spans.take(&span) {
                let mask = book.enter(&text[span.clone()], kind, ids).shown_in(file);
                masks.push((span, mask));
            }
        }
        let known = book.known();
        for span in known.find(text) {
            if let Some(secret) = book.by_value.get_mut(&text[span.clone()])
                && spans.take(&span)
            {
                masks.push((span, secret.shown_in(file)));
            }
        }
        if masks.is_empty() {
            return Cow::Borrowed(text);
        }
        masks.sort_by_key(|(span, _)| span.start);
        Cow::Owned(replaced(text, &masks))
    }

    /// Text for a file with the real values in place of masks. A value is put only into a file that holds it, or held
    /// it when it was read: nothing is copied from file to file this way.
    ///
    /// # Errors
    /// When a mask stands for nothing that is known, or for something of another file, with a text for the model.
    pub(crate) fn restore<'a>(
        &self,
        text: &'a str,
        file: &Path,
        content: &str,
    ) -> Result<Cow<'a, str>, String> {
        if !self.is_on() {
            return Ok(Cow::Borrowed(text));
        }
        let book = self.book();
        let mut values = Vec::new();
        for span in masks_in(text) {
            let mask = &text[span.clone()];
            match book.of_mask(mask) {
                Some((value, secret)) if secret.files.contains(file) || content.contains(&**value) => {
                    values.push((span, Arc::clone(value)));
                }
                // The file has this very text.
                _ if content.contains(mask) => {}
                Some(_) => return Err(elsewhere(mask, file)),
                None => return Err(unknown(mask, file)),
            }
        }
        Ok(if values.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replaced(text, &values)) })
    }

    /// Text with the real values in place of masks, for the eyes of the user. It must not reach the model or a log.
    #[must_use]
    pub fn reveal<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let book = self.book();
        let value = |span: Range<usize>| Some((span.clone(), Arc::clone(book.of_mask(&text[span])?.0)));
        let values: Vec<_> = masks_in(text).filter_map(value).collect();
        if values.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replaced(text, &values)) }
    }

    /// The first mask in a text that stands for a credential.
    pub(crate) fn mentioned<'a>(&self, text: &'a str) -> Option<&'a str> {
        let book = self.book();
        masks_in(text).map(|span| &text[span]).find(|mask| book.of_mask(mask).is_some())
    }

    /// Whether nothing has been masked so far.
    pub(super) fn is_empty(&self) -> bool {
        self.book().order.is_empty()
    }

    /// What is masked in a text.
    #[must_use]
    pub fn tally(&self, text: &str) -> Vec<Masked> {
        let book = self.book();
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        for span in masks_in(text) {
            if let Some((_, secret)) = book.of_mask(&text[span]) {
                *counts.entry(secret.kind).or_default() += 1;
            }
        }
        counts.into_iter().map(|(kind, count)| Masked { kind: kind.to_owned(), count }).collect()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// The value and the rest of what is known about a credential.
    fn of_mask(&self, mask: &str) -> Option<(&Arc<str>, &Secret)> {
        self.by_value.get_key_value(self.by_mask.get(mask)?)
    }

    /// The values to look for, as of now.
    fn known(&mut self) -> Arc<Known> {
        let values = self.by_value.keys();
        Arc::clone(self.known.get_or_insert_with(|| Arc::new(Known::new(values))))
    }

    /// A credential, which is given a mask if it is new.
    fn enter(&mut self, value: &str, kind: Kind, ids: &dyn Ids) -> &mut Secret {
        if self.order.len() == REMEMBERED && !self.by_value.contains_key(value) {
            self.forget_oldest();
        }
        match self.by_value.entry(Arc::from(value)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mask = fresh_mask(kind, ids, |mask| self.by_mask.contains_key(mask));
                self.by_mask.insert(Arc::clone(&mask), Arc::clone(new.key()));
                self.order.push_back(Arc::clone(new.key()));
                self.known = None;
                new.insert(Secret { mask, kind, files: BTreeSet::new() })
            }
        }
    }

    fn forget_oldest(&mut self) {
        let gone = self.order.pop_front().and_then(|value| self.by_value.remove(&value));
        if let Some(secret) = gone {
            self.by_mask.remove(&secret.mask);
        }
    }
}

impl Secret {
    /// The mask, for a text that stands in a file or elsewhere.
    fn shown_in(&mut self, file: Option<&Path>) -> Arc<str> {
        self.files.extend(file.map(Path::to_owned));
        Arc::clone(&self.mask)
    }
}

fn fresh_mask(kind: Kind, ids: &dyn Ids, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
    loop {
        // The end of an id is its random part.
        let digits = ids.next().simple().to_string().split_off(32 - DIGITS);
        let mask = format!("{OPENING}{kind}:{digits}]");
        if !is_taken(&mask) {
            return mask.into();
        }
    }
}

/// Where texts that look like masks stand.
fn masks_in(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    mask::masks_in(text).map(|mask| mask.span)
}

/// The text with other texts in place of some of its stretches, which come in order.
fn replaced(text: &str, changes: &[(Range<usize>, Arc<str>)]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut from = 0;
    for (span, value) in changes {
        new.push_str(&text[from..span.start]);
        new.push_str(value);
        from = span.end;
    }
    new + &text[from..]
}

fn unknown(mask: &str, file: &Path) -> String {
    format!(
        "{mask} stands for a value that is not known any more: masks hold for one run. Read {} again and use the masks \
         it shows then.",
        file.display()
    )
}

fn elsewhere(mask: &str, file: &Path) -> String {
    format!(
        "{mask} stands for a value that is not in {}, and secrets are not copied from file to file. Leave it out: let \
         the program take it from where it is, or ask the user to put it there.",
        file.display()
    )
}
