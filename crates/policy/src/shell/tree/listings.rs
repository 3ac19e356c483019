//! Names and commits that commands print and other parts of the script take from there.

use tree_sitter::Node;

use super::Walker;
use super::names::Names;
use crate::shell::program::condition::is_name;
use crate::shell::program::input::spares_input;
use crate::shell::program::name_ends::Ends;
use crate::shell::{Assignment, Kind, Listing, Output, Word};

/// Who takes something from the input of a part of a script.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// Variables that `read` sets to one line each.
    lines: Vec<Line>,
    /// Whether others may take some of it, so that lines do not begin where they seem to.
    others: bool,
    /// Whether the shell may have got another one for all that follows.
    replaced: bool,
}

/// A variable that `read` sets to a line, or to the first word on it.
#[derive(Debug)]
struct Line {
    name: String,
    /// What the line ends with.
    ends: Ends,
    /// The variables that are set to other words on it.
    others: Vec<String>,
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
        let is_read_by_lines = !readers.others && !readers.replaced;
        for Line { name, ends, others } in &readers.lines {
            // Where one of them holds nothing, a program could read the input instead of a file.
            readers.lines.iter().for_each(|other| self.out.listings.depends(name, &other.name));
            others.iter().for_each(|other| self.out.listings.spoil(other));
            let listing = if others.is_empty() { names.listing(&self.dirs) } else { names.first_field() };
            match listing.filter(|_| is_read_by_lines && names.ends() == Some(*ends)) {
                Some(listing) => self.out.listings.note(name, listing),
                None => self.out.listings.spoil(name),
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
    pub(super) fn printed(&mut self, node: Node<'_>, already: usize) -> Names {
        let Some(mut only) = node.named_child(0).filter(|_| node.named_child_count() == 1) else {
            return Names::ANY;
        };
        if only.kind() == "redirected_statement" {
            let Some(body) = only.named_child(0) else { return Names::ANY };
            only = body;
        }
        let command = match self.out.commands.get(already..) {
            Some([only]) => only.words().to_vec(),
            _ => Vec::new(),
        };
        match only.kind() {
            _ if self.complains(node) => Names::ANY,
            "pipeline" => self.passed,
            "command" => self.listed_by(&command, node),
            _ => Names::ANY,
        }
    }

    /// Whether complaints may be among what a part of a script prints.
    pub(super) fn complains(&self, node: Node<'_>) -> bool {
        [">&", "&>", "|&", "/dev/std"].iter().any(|sign| self.text(node).contains(sign))
    }

    /// Notes who takes something from the input.
    pub(super) fn note_reader(&mut self, kind: Kind, words: &[Word], assignments: &[Assignment]) {
        let is_wrapped = !self.outer.is_empty();
        let wrappers = self.outer.iter().flat_map(|layer| &layer.words);
        self.readers.replaced |= wrappers.chain(words).any(|word| word.text == "exec");
        // Other ends of words than blanks would be cut off.
        let is_whole = assignments
            .iter()
            .all(|given| given.value.known().is_some_and(|ends| ends.trim_ascii().is_empty()));
        match line_read(words).filter(|_| !is_wrapped) {
            Some(line) if is_whole => return self.readers.lines.push(line),
            Some(line) => {
                line.others.iter().chain([&line.name]).for_each(|name| self.out.listings.spoil(name));
            }
            None => {}
        }
        // Nothing becomes of a variable that is put in without quotes, unless it certainly holds a name.
        let is_filled = |word: &Word| {
            let name = word.text.strip_prefix('$').unwrap_or_default();
            self.readers.lines.iter().any(|line| line.name == name && line.others.is_empty())
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

    /// Whether a command is `read` that sets variables to lines, or to words on them.
    pub(super) fn reads_a_line(&self, words: &[Word]) -> bool {
        self.outer.is_empty() && line_read(words).is_some()
    }
}

/// What `read` sets, if its options only say where a line ends.
fn line_read(words: &[Word]) -> Option<Line> {
    let texts: Vec<&str> = words.iter().map(Word::known).collect::<Option<_>>()?;
    let rest = texts.strip_prefix(&["read"])?;
    let (ends, names) = match rest {
        ["-r", "-d", "", names @ ..] | ["-d", "", "-r", names @ ..] | ["-d" | "-rd", "", names @ ..] => {
            (Ends::Nul, names)
        }
        ["-r", names @ ..] | names => (Ends::Line, names),
    };
    let (name, others) = names.split_first().filter(|_| names.iter().all(|name| is_name(name)))?;
    let others = others.iter().map(|other| (*other).to_owned()).collect();
    Some(Line { name: (*name).to_owned(), ends, others })
}
