//! Shell text as a syntax tree: every simple command, with the wrappers around it looked through.
//!
//! What is not understood makes the text *opaque*: nothing in it is allowed by itself, and deny rules are then looked
//! for in the bare text.

mod braces;
mod dialect;
mod ends;
mod expansion;
mod listings;
mod number;
mod program;
mod quotes;
mod sound;
mod text;
mod tree;
mod turn;
mod variables;
mod word;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(crate) use braces::alternatives;
pub(crate) use expansion::{GLOBS, added, expansions, parameter, without};
pub(crate) use listings::{Listing, Listings};
pub(crate) use number::{counts_up, ends, is_computed, summed};
pub(crate) use program::{
    Deed, Landing, Manner, Name, Runs, Touch, Way, before_end, changes, ends_options, found_names,
    gets_names, git_deed, git_subcommand, gives_meaning, has_meaning, is_known_program, is_option,
    keeps_options, landings, lists_bare_names, lists_links, lists_names, lists_revisions, named_in_script,
    only_looks, only_prints, possible_subcommands, prints_commit_lines, prints_commits, program_name,
    redirect_touch, run_files, runs, runs_no_more, shown_inside, takes_names_apart, takes_script_from_input,
    touches, way,
};
pub(crate) use text::possible_commands;
pub(crate) use tree::Descriptors;
pub(crate) use turn::{Order, Turn};
pub(crate) use variables::{exports, gives_orders, harmless_assignment, is_own_name};
pub(crate) use word::{Form, Gaps, Number, Word};

/// What a shell text does, as far as it can be seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    /// Every simple command, those inside wrappers and substitutions included.
    pub(crate) commands: Vec<Command>,
    /// Every redirect to or from a file.
    pub(crate) redirects: Vec<Redirect>,
    /// What could not be understood.
    pub(crate) opaque: Option<&'static str>,
    /// Whether something is left running.
    pub(crate) background: bool,
    /// The values a variable can have, for variables that get plain values only.
    pub(crate) variables: BTreeMap<String, Option<Vec<Word>>>,
    /// Names and commits that variables and substitutions stand for.
    pub(crate) listings: Listings,
    /// Variables that are computed with, so that what they hold must be numbers.
    pub(crate) computed: BTreeSet<String>,
    /// Variables that are put into conditions without quotes, so that what they hold must be plain names.
    pub(crate) named: BTreeSet<String>,
    /// Variables that searches get for the names of files.
    pub(crate) searched: BTreeSet<String>,
    /// Variables that others are worked out from as if they were never negative.
    pub(crate) summed: BTreeSet<String>,
    /// Variables that are put in where they may hold nothing yet, or nothing any more.
    pub(crate) unset: BTreeSet<String>,
    /// What its redirects do with further open files.
    pub(crate) descriptors: Descriptors,
}

/// One simple command.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// As it was written.
    pub(crate) text: String,
    /// What kind of thing it is.
    pub(crate) kind: Kind,
    /// The command itself and what it wraps: outermost first, the last one does the work.
    pub(crate) layers: Vec<Layer>,
    /// Variables set for it, or by it.
    pub(crate) assignments: Vec<Assignment>,
    /// Where it may run.
    pub(crate) dirs: Dirs,
    /// Texts that it may read from its input.
    pub(crate) fed: Vec<String>,
    /// Where what it prints goes.
    pub(crate) output: Output,
    /// When it runs.
    pub(crate) turn: Turn,
}

/// Who gets what a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Output {
    /// Whoever runs the script.
    #[default]
    Shown,
    /// A file, from which another part of the script may read it.
    Filed,
    /// Another part of the script.
    Fed,
}

/// Kinds of simple commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A program, builtin or function.
    Run,
    /// Nothing but assignments.
    Assign,
    /// `export`, `local`, `declare` and the like.
    Declare,
    /// `[ … ]` or `[[ … ]]`.
    Test,
}

/// A command line, perhaps one that runs the next layer.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// Program and arguments.
    pub(crate) words: Vec<Word>,
    /// How many of the words are the wrapper's own; all of them in the last layer.
    pub(crate) own: usize,
    /// Whether a rule for the inner command is enough.
    pub(crate) inner_suffices: bool,
    /// Whether a rule for the wrapper covers what it wraps.
    pub(crate) covers_inner: bool,
}

/// A variable and its value.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Word,
}

/// A redirect.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: Word,
    pub(crate) dirs: Dirs,
    /// When the file is opened.
    pub(crate) turn: Turn,
}

/// The directories a command may run in; `None` if that cannot be known.
pub(crate) type Dirs = Option<Vec<PathBuf>>;

impl Command {
    /// Program and arguments of what does the work.
    pub(crate) fn words(&self) -> &[Word] {
        self.layers.last().map_or(&[], |layer| &layer.words)
    }

    /// Whether every wrapper around the inner command is one that adds no powers.
    pub(crate) fn is_plainly_wrapped(&self) -> bool {
        self.layers.iter().rev().skip(1).all(|layer| layer.inner_suffices)
    }
}

/// Analyses shell text that starts in `cwd`.
pub(crate) fn analyse(text: &str, cwd: &Path) -> Analysis {
    tree::analyse(text, Some(vec![cwd.to_path_buf()]))
}

/// Whether a command certainly changes nothing.
#[must_use]
pub fn is_read_only(command: &str) -> bool {
    let analysis = analyse(command, Path::new("/"));
    analysis.changes_nothing()
}

impl Analysis {
    /// Whether nothing is changed, wherever its paths lead.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.opaque.is_none()
            && !self.background
            && !self.commands.is_empty()
            && self.commands.iter().all(only_looks)
            && self.spells_calculations()
            && self.redirects.iter().all(|redirect| !redirect.writes || is_sink(&redirect.target))
    }
}

/// Whether what is written there is gone, or goes to where output goes anyway.
pub(crate) fn is_sink(target: &Word) -> bool {
    matches!(target.known(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"))
}

#[cfg(test)]
mod tests;
