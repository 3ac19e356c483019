//! Things in a text that are shown by a short label: long pastes and images. Each is one sign in the text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::input::grapheme::{as_mark, cleaned, clusters, mark};

/// A paste of more lines than this is folded.
const LINES: usize = 8;
/// A paste of more bytes than this is folded.
const BYTES: usize = 1_000;
/// How an address of a file begins.
const FILE: &str = "file://";
/// Extensions of files that are images.
const IMAGES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// What a label stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// A paste.
    Paste(String),
    /// An image.
    Image(PathBuf),
}

/// An image that the user attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its number, which is also in its label.
    pub number: usize,
    /// The file.
    pub path: PathBuf,
}

/// Everything that was folded in a text, by its number, also what was deleted: undo can bring it back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folds {
    folds: Vec<Fold>,
    /// How many there were in the texts before. Numbers go on, so that each label of a session is unique.
    before: usize,
    /// Images of the texts before: such a text may come back.
    earlier: BTreeMap<usize, Fold>,
}

impl Folds {
    /// What to insert for a paste: the text itself if it is short.
    pub(crate) fn paste(&mut self, text: &str) -> String {
        let text = cleaned(text);
        if text.lines().count() <= LINES && text.len() <= BYTES {
            return text;
        }
        self.keep(Fold::Paste(text.clone())).unwrap_or(text)
    }

    /// What to insert for an image.
    pub(crate) fn image(&mut self, path: &Path) -> (String, Image) {
        let image = Image { number: self.before + self.folds.len() + 1, path: path.to_owned() };
        let shown = || cleaned(&path.to_string_lossy());
        (self.keep(Fold::Image(path.to_owned())).unwrap_or_else(shown), image)
    }

    fn keep(&mut self, fold: Fold) -> Option<String> {
        let mark = mark(self.before + self.folds.len())?;
        self.folds.push(fold);
        Some(mark.to_string())
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Fold> {
        let own = index.checked_sub(self.before).and_then(|index| self.folds.get(index));
        own.or_else(|| self.earlier.get(&index))
    }

    /// A new text begins.
    pub(super) fn clear(&mut self) {
        let folds = std::mem::take(&mut self.folds);
        let numbered = folds.into_iter().enumerate().map(|(index, fold)| (self.before + index, fold));
        let numbered: Vec<(usize, Fold)> = numbered.collect();
        self.before += numbered.len();
        self.earlier.extend(numbered.into_iter().filter(|(_, fold)| matches!(fold, Fold::Image(_))));
    }

    /// Every image of the session with its label and its number.
    fn known_images(&self) -> impl Iterator<Item = (String, Image)> {
        let own = self.folds.iter().enumerate().map(|(index, fold)| (self.before + index, fold));
        let all = self.earlier.iter().map(|(index, fold)| (*index, fold)).chain(own);
        all.filter_map(|(index, fold)| match fold {
            Fold::Image(path) => Some((self.label(index), Image { number: index + 1, path: path.clone() })),
            Fold::Paste(_) => None,
        })
    }

    /// A text that comes from outside, in which the labels of images that are known are images again.
    pub(super) fn recognised(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (label, image) in self.known_images() {
            if let Some(mark) = mark(image.number - 1) {
                text = text.replace(&label, mark.encode_utf8(&mut [0; 4]));
            }
        }
        text
    }

    /// What is shown in place of a mark.
    pub(crate) fn label(&self, index: usize) -> String {
        let number = index + 1;
        match self.get(index) {
            Some(Fold::Paste(text)) => match text.lines().count() {
                1 => format!("[pasted {} characters #{number}]", text.chars().count()),
                lines => format!("[pasted {lines} lines #{number}]"),
            },
            Some(Fold::Image(path)) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("[image #{number} {}]", cleaned(&name).replace('\n', " "))
            }
            None => "[?]".to_owned(),
        }
    }

    /// The text with pastes in full. Images stay labels.
    pub(crate) fn expanded(&self, text: &str) -> String {
        self.rewritten(text, |index, fold| match fold {
            Fold::Paste(paste) => paste.clone(),
            Fold::Image(_) => self.label(index),
        })
    }

    /// The text with labels.
    pub(crate) fn labelled(&self, text: &str) -> String {
        self.rewritten(text, |index, _| self.label(index))
    }

    fn rewritten(&self, text: &str, of: impl Fn(usize, &Fold) -> String) -> String {
        let piece = |cluster: &str| match as_mark(cluster) {
            Some(index) => self.get(index).map_or(String::new(), |fold| of(index, fold)),
            None => cluster.to_owned(),
        };
        clusters(text).map(|(_, cluster)| piece(cluster)).collect()
    }

    /// The images whose labels are in a text with labels, each once, in the order in which they are named.
    pub(crate) fn images(&self, labelled: &str) -> Vec<Image> {
        let place = |(label, image): (String, Image)| labelled.find(&label).map(|at| (at, image));
        let mut found: Vec<(usize, Image)> = self.known_images().filter_map(place).collect();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, image)| image).collect()
    }
}

/// What stands for an image in a message of which only the texts are told.
const SOME_IMAGE: &str = "[image]";

/// A text without the signs that images stood before or behind it: so many as are named in it.
pub(super) fn without_signs(text: &str, mut images: usize) -> &str {
    let mut text = text;
    while images > 0 {
        let before = text.strip_prefix(SOME_IMAGE).and_then(|rest| rest.strip_prefix('\n'));
        let behind = || text.strip_suffix(SOME_IMAGE).and_then(|rest| rest.strip_suffix('\n'));
        let Some(rest) = before.or_else(behind) else { return text };
        text = rest;
        images -= 1;
    }
    text
}

/// The files that were dragged into the terminal, if a paste is nothing but paths of images.
pub(crate) fn dragged_images(paste: &str) -> Option<Vec<PathBuf>> {
    let paste = paste.trim();
    if paste.is_empty() || paste.contains('\n') {
        return None;
    }
    // An address is no file of this machine.
    let is_address =
        |word: &str| word.contains("://") && !word.trim_start_matches(['\'', '"']).starts_with(FILE);
    if paste.split(' ').any(is_address) {
        return None;
    }
    let whole = PathBuf::from(paste);
    if is_image(&whole) && whole.is_absolute() && !paste.contains(['\\', '\'', '"']) && !paste.contains(" /")
    {
        return Some(vec![whole]);
    }
    let paths: Vec<PathBuf> = words(paste)?.iter().map(|word| path_of(word)).collect();
    (!paths.is_empty() && paths.iter().all(|path| is_image(path))).then_some(paths)
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    extension.is_some_and(|extension| IMAGES.contains(&extension.as_str())) && path.components().count() > 1
}

fn path_of(word: &str) -> PathBuf {
    let Some(encoded) = word.strip_prefix(FILE) else { return PathBuf::from(word) };
    let mut bytes = Vec::new();
    let mut rest = encoded.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match hex.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// Words as a shell would split them; none if a quote is open.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, ' ') => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pastes_are_folded_and_sent_in_full() {
        let mut folds = Folds::default();
        assert_eq!(folds.paste("short\r\none"), "short\none");
        let long = "line\n".repeat(120);
        let text = format!("see {} please", folds.paste(&long));
        assert_eq!(folds.labelled(&text), "see [pasted 120 lines #1] please");
        assert_eq!(folds.expanded(&text), format!("see {long} please"));
        let wide = folds.paste(&"x".repeat(1_001));
        assert_eq!(folds.labelled(&wide), "[pasted 1001 characters #2]");
    }

    #[test]
    fn images_are_named_and_listed_once() {
        let mut folds = Folds::default();
        let (mark, image) = folds.image(Path::new("/tmp/a shot.png"));
        let text = format!("{mark} and {mark}");
        let labelled = folds.expanded(&text);
        assert_eq!(labelled, "[image #1 a shot.png] and [image #1 a shot.png]");
        assert_eq!(folds.images(&labelled), std::slice::from_ref(&image));
        folds.clear();
        assert_eq!(folds.recognised(&labelled), text, "its text may come back");
        assert_eq!(folds.images(&labelled), [image]);
    }

    #[test]
    fn signs_of_images_are_left_out_where_the_images_are_named() {
        assert_eq!(without_signs("[image]\n[image]\nlook", 2), "look");
        assert_eq!(without_signs("/review x\n[image]", 1), "/review x");
        assert_eq!(without_signs("[image]\nlook", 0), "[image]\nlook");
        assert_eq!(without_signs("[image] look", 1), "[image] look");
    }

    #[test]
    fn paths_of_images_are_recognised_however_the_terminal_quotes_them() {
        for paste in [
            "/tmp/a b.png",
            r"/tmp/a\ b.png",
            "'/tmp/a b.png'",
            "\"/tmp/a b.png\" ",
            "file:///tmp/a%20b.png\n",
        ] {
            assert_eq!(dragged_images(paste), Some(vec![PathBuf::from("/tmp/a b.png")]), "{paste:?}");
        }
        assert_eq!(dragged_images("/a.png '/b c.JPG'"), Some(vec!["/a.png".into(), "/b c.JPG".into()]));
        for paste in [
            "",
            "a.png",
            "see /tmp/a.png",
            "/tmp/a.rs",
            "'/tmp/a.png",
            "/a.png\n/b.png",
            "https://example.com/a.png",
            "/a.png http://example.com/b.png",
        ] {
            assert_eq!(dragged_images(paste), None, "{paste:?}");
        }
    }
}
