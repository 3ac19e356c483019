//! Simple commands, and what they run in turn.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tree_sitter::Node;

use super::listings::Readers;
use super::names::Names;
use super::values::take_literally;
use super::{DEEPEST, MOST_DIRS, Walker, union};
use crate::path::lexical;
use crate::shell::program::wrapper::{Inner, look_through};
use crate::shell::word::Reader;
use crate::shell::{
    Assignment, Command, Dirs, Kind, Layer, Order, Output, Turn, Word, is_option, program_name,
};

/// Words of the language itself: no program is called by them, so the tree has misread what begins with one.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while", "{", "}",
];

/// Builtins that set variables whose names they are given.
const SETTERS: &[&str] = &["getopts", "let", "mapfile", "printf", "read", "readarray", "wait"];

impl Walker<'_> {
    pub(super) fn command(&mut self, node: Node<'_>, extra: Vec<Word>) {
        self.seen.insert(node.id());
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        let mut late = Vec::new();
        let mut has_input = false;
        let (fed, redirects) = (self.fed.len(), self.out.redirects.len());
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            has_input |= self.gives_input(child);
            match child.kind() {
                "variable_assignment" => assignments.extend(self.assignment(child)),
                "file_redirect" => self.redirect(child, &mut late),
                "herestring_redirect" => self.herestring(child),
                "heredoc_redirect" => self.heredoc(child, &mut late),
                _ => {
                    self.substitutions(child);
                    match Reader::read_all(self.source, child) {
                        Some(read) => words.extend(read),
                        None => return self.opaque("a word is not understood"),
                    }
                }
            }
        }
        let name = node.child_by_field_name("name").map(|name| self.text(name));
        if name.is_some_and(|name| RESERVED.contains(&name)) {
            return self.opaque("it uses syntax that is not understood");
        }
        assignments.iter_mut().for_each(take_literally);
        // Some shells keep them where a builtin follows.
        for Assignment { name, value } in &assignments {
            self.bind(name, vec![value.clone()]);
        }
        words.extend(late);
        words.extend(extra);
        let text = self.text(node).to_owned();
        let output = self.output_after(redirects);
        self.opened_by_now(redirects..self.out.redirects.len());
        let run = |inner: &mut Self| inner.printing(output, |inner| inner.run(text, words, assignments));
        if has_input {
            self.fed_with(Names::ANY, run);
        } else {
            run(self);
        }
        self.fed.truncate(fed);
    }

    /// Looks through wrappers and notes what is run.
    fn run(&mut self, text: String, words: Vec<Word>, assignments: Vec<Assignment>) {
        if self.depth > DEEPEST || self.outer.len() > DEEPEST {
            return self.opaque("it is nested too deeply");
        }
        match look_through(&words, &self.names.put_in()) {
            Inner::Nothing => {
                self.push(text, Kind::Run, words.clone(), assignments);
                self.note_side_effects(&words);
            }
            Inner::Unclear(why) => {
                self.opaque(why);
                self.push(text, Kind::Run, words, assignments);
            }
            Inner::Script { text: script, here } => {
                self.nested(&script, around(words), assignments, here);
            }
            Inner::Foreign { text: script, why } => {
                self.opaque(why);
                self.nested(&script, around(words), assignments, false);
            }
            Inner::Elsewhere { commands } => {
                self.opaque("find runs a command in directories that it finds");
                let looks = (text.clone(), words.clone(), assignments.clone());
                self.printing(Output::Fed, |inner| inner.push(looks.0, Kind::Run, looks.1, looks.2));
                self.outer.push(around(words));
                self.apart(|inner| {
                    inner.dirs = None;
                    for command in commands {
                        inner.run(text.clone(), command, assignments.clone());
                    }
                });
                self.outer.pop();
            }
            Inner::Moved { commands, dir, assignments: more } => {
                self.opaque("it runs in a directory of its own");
                self.outer.push(around(words));
                self.apart(|inner| {
                    inner.dirs = inner.moved(&[dir]);
                    for command in commands {
                        let both = assignments.iter().chain(&more).cloned().collect();
                        inner.run(text.clone(), command, both);
                    }
                });
                self.outer.pop();
            }
            Inner::Commands { commands, own, assignments: more, plain } => {
                let looks_itself = own > words.len();
                let own = own.min(words.len());
                if looks_itself {
                    let (text, words, assignments) = (text.clone(), words.clone(), assignments.clone());
                    self.printing(Output::Fed, |inner| inner.push(text, Kind::Run, words, assignments));
                }
                self.outer.push(Layer { words, own, inner_suffices: plain, covers_inner: !plain });
                for command in commands {
                    let both = assignments.iter().chain(&more).cloned().collect();
                    self.run(text.clone(), command, both);
                }
                self.outer.pop();
            }
        }
    }

    fn nested(&mut self, script: &str, layer: Layer, assignments: Vec<Assignment>, here: bool) {
        // The variables count for all that the script runs: each must be one that programs may be given.
        for assignment in &assignments {
            self.bind(&assignment.name, vec![assignment.value.clone()]);
        }
        let given = assignments.iter().map(|assignment| assignment.name.clone()).collect();
        if !assignments.is_empty() {
            self.push(script.to_owned(), Kind::Run, Vec::new(), assignments);
        }
        let mut outer = self.outer.clone();
        outer.push(layer);
        let dirs = self.dirs.clone();
        let depth = self.depth + 10;
        let base = outer.len();
        let (fed, output, order) = (self.fed.clone(), self.output, self.order);
        // Another shell knows nothing of the variables of this one.
        let set = if here { self.set.clone() } else { given };
        let pushed = if here { None } else { Some(Vec::new()) };
        self.note_readers();
        let (names, readers) = (Names::ANY, Readers::default());
        Walker {
            source: script,
            out: self.out,
            dirs,
            outer,
            base,
            depth,
            names,
            last_has_input: false,
            passed: names,
            readers,
            fed,
            output,
            pushed,
            order,
            set,
            seen: HashSet::new(),
        }
        .script();
        if here {
            self.dirs = None;
        }
    }

    /// Commands that move the shell or set its variables.
    fn note_side_effects(&mut self, words: &[Word]) {
        let Some(program) = words.first() else { return };
        match program.text.as_str() {
            "cd" | "pushd" if self.runs_here() => {
                if program.text == "pushd" {
                    self.pushed = union(self.pushed.take(), self.dirs.clone());
                }
                self.dirs = self.moved(&words[1..]);
            }
            // Back to one of those, or nowhere.
            "popd" if self.runs_here() && words.len() == 1 => {
                self.dirs = union(self.pushed.clone(), self.dirs.take());
            }
            "cd" | "pushd" | "popd" | "source" | "." => self.dirs = None,
            "alias" if words.len() > 1 => self.opaque("an alias makes a name mean something else"),
            // From then on, words that look like assignments are variables for programs, wherever they stand.
            "set" if words[1..].iter().any(|word| is_option(&word.text, "-k") || word.text == "keyword") => {
                self.opaque("words are made to be variables");
            }
            "hash" if words[1..].iter().any(|word| word.text.starts_with("-p")) => {
                self.opaque("a name is made to mean another program");
            }
            _ => {}
        }
        // What is read there could set any of them.
        if matches!(program.text.as_str(), "source" | ".") {
            self.out.variables.values_mut().for_each(|known| *known = None);
            self.out.listings.spoil_all();
        }
        let sets = matches!(program.text.as_str(), "getopts" | "let" | "mapfile" | "read" | "readarray");
        if sets && !words.iter().all(Word::is_literal) {
            self.opaque("which variable is set depends on what is put in");
        }
        if SETTERS.contains(&program.text.as_str()) {
            let is_line = self.reads_a_line(words);
            for word in &words[1..] {
                // A name may follow the letter of an option at once.
                let attached = word.text.strip_prefix('-').and_then(|rest| rest.get(1..));
                for name in [Some(word.text.as_str()), attached].into_iter().flatten() {
                    self.out.variables.insert(name.to_owned(), None);
                    if !is_line {
                        self.out.listings.spoil(name);
                    }
                }
            }
        }
    }

    /// Whether the wrappers around the current command leave it in this shell.
    fn runs_here(&self) -> bool {
        let wrappers = self.outer.iter().skip(self.base).filter_map(|layer| layer.words.first());
        wrappers.into_iter().all(|wrapper| matches!(wrapper.text.as_str(), "command" | "builtin"))
    }

    fn moved(&self, words: &[Word]) -> Dirs {
        let mut words = words.iter().filter(|word| word.text != "--");
        // `+1` and `-1` are places of the stack that `pushd` keeps.
        let is_plain = |word: &&Word| word.is_literal() && !word.tilde && !word.text.starts_with(['-', '+']);
        let target = words.next().filter(is_plain).filter(|_| words.next().is_none())?;
        let dirs = self.dirs.as_ref()?;
        let mut moved: Vec<PathBuf> = Vec::new();
        for dir in dirs.iter().map(|dir| dir.join(Path::new(&target.text))) {
            // The shell takes `..` by the letters of its path if it can, and by where links have led otherwise.
            for reading in [lexical(&dir), dir] {
                if !moved.contains(&reading) {
                    moved.push(reading);
                }
            }
        }
        (moved.len() <= MOST_DIRS).then_some(moved)
    }

    pub(super) fn push(&mut self, text: String, kind: Kind, words: Vec<Word>, assignments: Vec<Assignment>) {
        self.note_reader(kind, &words, &assignments);
        let mut layers = self.outer.clone();
        layers.push(around(words));
        let (dirs, fed, output) = (self.dirs.clone(), self.fed.clone(), self.output);
        let for_each = self.outer.iter().any(runs_for_each_name);
        let order = if for_each { self.order.max(Order::Mixed) } else { self.order };
        let turn = Turn { at: self.out.commands.len(), order };
        self.out.commands.push(Command { text, kind, layers, assignments, dirs, fed, output, turn });
    }
}

/// Whether a wrapper runs a command as often as it gets names.
fn runs_for_each_name(layer: &Layer) -> bool {
    let name = layer.words.first().and_then(program_name).unwrap_or_default();
    ["find", "gfind", "xargs"].contains(&name)
}

/// A wrapper that adds nothing to what it runs.
fn around(words: Vec<Word>) -> Layer {
    Layer { own: words.len(), words, inner_suffices: true, covers_inner: true }
}
