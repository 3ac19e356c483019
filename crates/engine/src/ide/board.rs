//! What editors have said last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tiller_steering::attachment::Diagnostic;
use tiller_steering::source::Editor;

use super::message::Said;

/// Files whose problems are kept.
const MAX_FILES: usize = 200;

/// One editor, as long as it stays connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Speaker(pub(super) u64);

/// What editors have said last. What an editor said is forgotten when it leaves.
#[derive(Debug, Default)]
pub(super) struct Board {
    looks: Option<(Speaker, Editor)>,
    problems: BTreeMap<PathBuf, (Speaker, Vec<Diagnostic>)>,
}

impl Board {
    /// What the user looks at.
    pub(super) fn looks(&self) -> Option<&Editor> {
        self.looks.as_ref().map(|(_, looks)| looks)
    }

    /// The problems in a file.
    pub(super) fn problems(&self, file: &Path) -> Option<&[Diagnostic]> {
        self.problems.get(file).map(|(_, problems)| problems.as_slice())
    }

    /// Takes down what was said.
    ///
    /// # Errors
    /// A text for the editor, if it says too much.
    pub(super) fn take(&mut self, speaker: Speaker, said: Said) -> Result<(), String> {
        match said {
            Said::Looks(looks) => self.looks = Some((speaker, looks)),
            Said::LooksAway => self.looks = None,
            Said::Problems(file, problems) if problems.is_empty() => {
                self.problems.remove(&file);
            }
            Said::Problems(file, problems) => {
                if self.problems.len() >= MAX_FILES && !self.problems.contains_key(&file) {
                    return Err(format!("problems of more than {MAX_FILES} files are not kept"));
                }
                self.problems.insert(file, (speaker, problems));
            }
        }
        Ok(())
    }

    /// An editor is gone.
    pub(super) fn leave(&mut self, speaker: Speaker) {
        self.looks.take_if(|(who, _)| *who == speaker);
        self.problems.retain(|_, (who, _)| *who != speaker);
    }
}

#[cfg(test)]
mod tests {
    use tiller_steering::attachment::Severity;

    use super::*;

    fn problem() -> Diagnostic {
        Diagnostic { severity: Severity::Error, line: 1, column: 1, message: "odd".to_owned(), source: None }
    }

    fn opened(path: &str) -> Said {
        Said::Looks(Editor::Opened(path.into()))
    }

    #[test]
    fn the_last_word_counts_until_its_speaker_leaves() {
        let (one, two) = (Speaker(1), Speaker(2));
        let mut board = Board::default();
        board.take(one, opened("/p/a")).unwrap();
        board.take(two, opened("/p/b")).unwrap();
        board.take(one, Said::Problems("/p/a".into(), vec![problem()])).unwrap();
        board.leave(one);
        assert!(matches!(board.looks(), Some(Editor::Opened(path)) if path == Path::new("/p/b")));
        assert!(board.problems(Path::new("/p/a")).is_none());
        board.leave(two);
        assert!(board.looks().is_none());
    }

    #[test]
    fn problems_are_replaced_and_bounded() {
        let mut board = Board::default();
        let says = |board: &mut Board, file: String, problems| {
            board.take(Speaker(1), Said::Problems(file.into(), problems))
        };
        for number in 0..MAX_FILES {
            says(&mut board, format!("/p/{number}"), vec![problem()]).unwrap();
        }
        assert!(says(&mut board, "/p/more".to_owned(), vec![problem()]).is_err());
        says(&mut board, "/p/0".to_owned(), vec![problem(), problem()]).unwrap();
        assert_eq!(board.problems(Path::new("/p/0")).unwrap().len(), 2);
        says(&mut board, "/p/0".to_owned(), Vec::new()).unwrap();
        says(&mut board, "/p/more".to_owned(), vec![problem()]).unwrap();
    }
}
