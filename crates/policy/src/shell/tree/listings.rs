//! Names and commits that commands print and other parts of the script take from there.

use tree_sitter::Node;

use super::Walker;
use super::names::{Ends, Names};
use crate::shell::input::spares_input;
use crate::shell::{Assignment, Kind, Listing, Output, Word};

/// Who takes something from the input of a part of a script.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// Variables that `read` sets to one line each, and what that ends with.
    lines: Vec<(String, Ends)>,
    /// Whether others may take some of it, so that lines do not begin where they seem to.
    others: bool,
    /// Whether the shell may have got another one for all that follows.
    replaced: bool,
}

impl Walker<'_> {
    /// What prints names and what takes them from there: the part of the script that `walk` goes through gets `names` as
    /// its input.
    pub(super) fn fed_with(&mut self, names: Names, walk: impl FnOnce(&mut Self)) {
        let outer = (std::mem::replace(&mut self.names, names), std::mem::take(&mut self.readers));
        walk(self);
        let readers = std::mem::replace(&mut self.readers, outer.1);
        self.names = outer.0;
        self.readers.replaced |= readers.replaced;
        for (name, ends) in &readers.lines {
            // Where one of them holds nothing, a program could read the input instead of a file.
            readers.lines.iter().for_each(|(other, _)| self.out.listings.depends(name, other));
            match names
                .listing(&self.dirs)
                .filter(|_| !readers.others && !readers.replaced && names.ends() == Some(*ends))
            {
                Some(listing) => self.out.listings.note(&name, listing),
                None => self.out.listings.spoil(&name),
            }
        }
    }

    /// What a substitution prints, noted by its text.
    pub(super) fn substitution(&mut self, node: Node<'_>) {
        let already = self.out.commands.len();
        let dirs = self.dirs.clone();
        let names = std::mem::take(&mut self.names);
        self.printing(Output::Fed, |inner| inner.statement(node));
        self.names = names;
        let printed = self.printed(node, already);
        if node.kind() == "command_substitution"
            && printed.ends() == Some(Ends::Line)
            && let Some(listing) = printed.listing(&dirs)
        {
            let listing = match listing {
                Listing::Names { dirs, .. } => Listing::Names { dirs, one: printed.is_one() },
                commits => commits,
            };
            self.out.listings.note(self.text(node).trim(), listing);
        }
    }

    /// What the only statement inside of a node prints. `already`: how many commands there were before it.
    pub(super) fn printed(&self, node: Node<'_>, already: usize) -> Names {
        let Some(mut only) = node.named_child(0).filter(|_| node.named_child_count() == 1) else {
            return Names::ANY;
        };
        if only.kind() == "redirected_statement" {
            let Some(body) = only.named_child(0) else { return Names::ANY };
            only = body;
        }
        match (only.kind(), self.out.commands.get(already..)) {
            _ if self.complains(node) => Names::ANY,
            ("pipeline", _) => self.passed,
            ("command", Some([only])) => Names::listed_by(only.words()),
            _ => Names::ANY,
        }
    }

    /// Whether complaints may be among what a part of a script prints.
    pub(super) fn complains(&self, node: Node<'_>) -> bool {
        [">&", "&>", "|&"].iter().any(|sign| self.text(node).contains(sign))
    }

    /// Notes who takes something from the input.
    pub(super) fn note_reader(&mut self, kind: Kind, words: &[Word], assignments: &[Assignment]) {
        let is_wrapped = !self.outer.is_empty();
        let wrappers = self.outer.iter().flat_map(|layer| &layer.words);
        self.readers.replaced |= wrappers.chain(words).any(|word| word.text == "exec");
        // Other ends of words than blanks would be cut off.
        let is_whole =
            assignments.iter().all(|given| given.value.known().is_some_and(|ends| ends.trim().is_empty()));
        match line_read(words).filter(|_| !is_wrapped) {
            Some((name, ends)) if is_whole => return self.readers.lines.push((name.to_owned(), ends)),
            Some((name, _)) => self.out.listings.spoil(name),
            None => {}
        }
        // Nothing becomes of a variable that is put in without quotes, unless it certainly holds a name.
        let is_filled = |word: &Word| {
            let name = word.text.strip_prefix('$').unwrap_or_default();
            self.readers.lines.iter().any(|(read, _)| read == name)
        };
        let filled = words.iter().map(|word| if is_filled(word) { Word::literal("f") } else { word.clone() });
        let words: Vec<Word> = filled.collect();
        self.readers.others |= is_wrapped || !spares_input(kind, &words);
    }

    /// Notes that nobody knows who takes something from the input.
    pub(super) fn note_readers(&mut self) {
        self.readers.others = true;
    }

    /// What stands first in a pipeline takes from the same input as the whole, but nobody has listed anything for `xargs`.
    pub(super) fn listing_nothing(&mut self, walk: impl FnOnce(&mut Self)) {
        let names = std::mem::replace(&mut self.names, Names::ANY);
        walk(self);
        self.names = names;
    }

    /// Whether a command is `read` that sets one variable to a line.
    pub(super) fn reads_a_line(&self, words: &[Word]) -> bool {
        self.outer.is_empty() && line_read(words).is_some()
    }
}

/// The variable that `read` sets to a line, if it sets no other and its options only say where a line ends.
fn line_read(words: &[Word]) -> Option<(&str, Ends)> {
    let texts: Vec<&str> = words.iter().map(Word::known).collect::<Option<_>>()?;
    let (name, options) = texts.strip_prefix(&["read"])?.split_last()?;
    let ends = match options {
        [] | ["-r"] => Ends::Line,
        ["-r", "-d", ""] | ["-d", "", "-r"] | ["-d", ""] | ["-rd", ""] => Ends::Nul,
        _ => return None,
    };
    (!name.starts_with('-')).then_some((name, ends))
}
