//! From the syntax tree to a list of commands.

mod conditions;
mod descriptors;
mod listings;
mod loops;
mod names;
mod plain;
mod redirects;
mod run;
mod searched;
mod values;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use tree_sitter::{Node, Parser};

use self::listings::Readers;
use self::names::Names;
pub(super) use self::names::are_on_disk;
use super::program::condition;
use super::program::lookers::is_known_program;
use super::program::wrapper::is_wrapper;
use super::word::Reader;
use super::{
    Analysis, Assignment, Command, Dirs, Form, Kind, Layer, Number, Order, Output, Redirect, Word, number,
    sound,
};
pub(crate) use descriptors::Descriptors;

/// How deep scripts may be nested, in the tree and in each other.
const DEEPEST: usize = 60;
/// How many directories a command may possibly run in before nobody can tell.
const MOST_DIRS: usize = 8;

/// Analyses shell text that starts in one of `dirs`.
pub(crate) fn analyse(text: &str, dirs: Dirs) -> Analysis {
    let mut analysis = Analysis::default();
    Walker {
        source: text,
        out: &mut analysis,
        dirs,
        outer: Vec::new(),
        base: 0,
        depth: 0,
        names: Names::ANY,
        last_has_input: false,
        passed: Names::ANY,
        readers: Readers::default(),
        fed: Vec::new(),
        output: Output::Shown,
        order: Order::Written,
        set: BTreeSet::new(),
        seen: HashSet::new(),
        pushed: Some(Vec::new()),
    }
    .script();
    for name in &analysis.unset {
        if let Some(Some(values)) = analysis.variables.get_mut(name) {
            values.push(Word::literal(""));
        }
    }
    let is_negative = |name: &String| match analysis.variables.get(name) {
        Some(Some(held)) => !held.iter().all(number::counts_up),
        _ => true,
    };
    if analysis.summed.iter().any(is_negative) {
        let held = analysis.variables.values_mut().flatten().flatten();
        held.filter(|word| word.as_number().is_some()).for_each(|word| *word = Word::number(Number::Any));
    }
    analysis.listings.settle();
    let are_names = |name: &String| match analysis.variables.get(name) {
        Some(Some(held)) => held.iter().all(condition::is_plain_name),
        _ => false,
    };
    if !analysis.named.iter().all(are_names) {
        analysis.opaque.get_or_insert("a condition can run commands");
    }
    let may_be_sign = |name: &String| match analysis.variables.get(name) {
        Some(Some(held)) => held.iter().any(|word| word.text.starts_with('-')),
        _ => true,
    };
    if analysis.searched.iter().any(may_be_sign) {
        analysis.opaque.get_or_insert("a search may read its input");
    }
    let are_numbers = |name: &String| match analysis.variables.get(name) {
        Some(Some(held)) => !held.is_empty() && held.iter().all(number::counts),
        _ => false,
    };
    if !analysis.computed.iter().all(are_numbers) {
        analysis.opaque.get_or_insert("arithmetic on variables can run commands");
    }
    analysis
}

struct Walker<'a> {
    source: &'a str,
    out: &'a mut Analysis,
    /// Where the next command may run, given that all went well.
    dirs: Dirs,
    /// The wrappers around this script.
    outer: Vec<Layer>,
    /// How many of them are around the script as a whole.
    base: usize,
    depth: usize,
    /// What the names that come through the pipeline are like.
    names: Names,
    /// Whether a redirect around the next pipeline or list gives its last command another input.
    last_has_input: bool,
    /// What comes out of the pipeline that was looked at last.
    passed: Names,
    /// Who takes something from that input.
    readers: Readers,
    /// Texts that are put into the next command, or into the pipeline that it is part of.
    fed: Vec<String>,
    /// Where what the next command prints goes.
    output: Output,
    /// Directories that `popd` may lead back to.
    pushed: Dirs,
    /// Whether the next command runs where it is written.
    order: Order,
    /// Variables that have certainly got a value by now, in this very shell.
    set: BTreeSet<String>,
    /// The parts of the tree that were looked at.
    seen: HashSet<usize>,
}

/// Parts of a tree that run or set something by themselves.
const ACTS: &[&str] = &["command", "declaration_command", "test_command", "unset_command"];

impl<'a> Walker<'a> {
    fn script(&mut self) {
        let mut parser = Parser::new();
        let language = tree_sitter_bash::LANGUAGE.into();
        let tree = parser.set_language(&language).ok();
        let plain = plain::plain(self.source);
        let tree = tree.and_then(|()| parser.parse(&*plain, None));
        let objection =
            |root| sound::objection(self.source, root).or_else(|| plain::objection(self.source, root));
        match tree {
            None => self.opaque("it could not be parsed"),
            Some(tree) => match objection(tree.root_node()) {
                Some(objection) => self.opaque(objection),
                // Who has started it may give it any input.
                None => {
                    self.fed_with(Names::ANY, |inner| inner.statement(tree.root_node()));
                    self.has_seen_all(tree.root_node());
                }
            },
        }
    }

    /// Whatever the tree puts where, nothing of it goes unseen.
    fn has_seen_all(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if ACTS.contains(&node.kind()) && !self.seen.contains(&node.id()) {
                return self.opaque("a part of it stands where it is not understood");
            }
            open.extend(node.named_children(&mut cursor));
        }
    }

    fn opaque(&mut self, why: &'static str) {
        self.out.opaque.get_or_insert(why);
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    fn statement(&mut self, node: Node<'_>) {
        if self.depth > DEEPEST {
            return self.opaque("it is nested too deeply");
        }
        self.depth += 1;
        self.seen.insert(node.id());
        self.statement_of_kind(node);
        self.depth -= 1;
    }

    fn statement_of_kind(&mut self, node: Node<'_>) {
        match node.kind() {
            "command" => self.command(node, Vec::new()),
            "list" => self.list(node),
            "pipeline" => self.pipeline(node),
            // Where a redirect fails, nothing is set.
            "redirected_statement" => self.perhaps(|inner| inner.redirected(node)),
            "subshell" | "command_substitution" => self.apart(|inner| inner.sequence(node)),
            // Nobody waits for it.
            "process_substitution" => {
                self.in_order(Order::Later, |inner| inner.apart(|inner| inner.sequence(node)));
            }
            "compound_statement" if self.text(node).starts_with("((") => self.arithmetic(node),
            "program" | "compound_statement" | "do_group" => self.sequence(node),
            "else_clause" | "elif_clause" | "if_statement" | "negated_command" => {
                self.perhaps(|inner| inner.sequence(node));
            }
            "while_statement" => {
                self.perhaps(|inner| inner.repeated(node, |inner| inner.sequence(node)));
            }
            "for_statement" => self.perhaps(|inner| inner.for_statement(node)),
            "c_style_for_statement" => self.perhaps(|inner| inner.counting_loop(node)),
            "case_statement" | "case_item" => self.perhaps(|inner| inner.case(node)),
            "function_definition" => self.perhaps(|inner| inner.function(node)),
            "variable_assignment" | "variable_assignments" => self.assignments(node),
            "declaration_command" | "unset_command" => self.declaration(node),
            "test_command" => self.test(node),
            "file_redirect" => self.content(node),
            "comment" => {}
            _ => self.opaque("it uses syntax that is not understood"),
        }
    }

    /// Statements one after the other; each may fail, so what follows may run where the one before began.
    fn sequence(&mut self, node: Node<'_>) {
        let first = self.set.clone();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.is_named() {
                let before = self.dirs.clone();
                // What another branch sets is not set in this one.
                if matches!(child.kind(), "else_clause" | "elif_clause") {
                    self.set.clone_from(&first);
                }
                self.statement(child);
                self.dirs = union(before, self.dirs.take());
            } else if child.kind() == "&" {
                self.out.background = true;
            }
        }
    }

    fn list(&mut self, node: Node<'_>) {
        let before = self.dirs.clone();
        let mut cursor = node.walk();
        let mut certain = true;
        // What the first one sets is set; whether the others run, nobody can tell.
        let mut set = None;
        let last = node.children(&mut cursor).len().saturating_sub(1);
        let last_has_input = std::mem::take(&mut self.last_has_input);
        for (at, child) in node.children(&mut cursor).enumerate() {
            self.last_has_input = last_has_input && at == last;
            match child.kind() {
                "&&" => {}
                "||" => {
                    certain = false;
                    self.dirs = union(before.clone(), self.dirs.take());
                    if let Some(set) = &set {
                        self.set.clone_from(set);
                    }
                }
                "&" => self.out.background = true,
                _ if child.is_named() => {
                    self.statement(child);
                    set.get_or_insert_with(|| self.set.clone());
                }
                _ => {}
            }
        }
        if let Some(set) = set {
            self.set = set;
        }
        self.last_has_input = false;
        if !certain {
            self.dirs = union(before, self.dirs.take());
        }
    }

    fn pipeline(&mut self, node: Node<'_>) {
        let (mut names, fed) = (Names::ANY, self.fed.len());
        let mut cursor = node.walk();
        let complains = node.children(&mut cursor).any(|child| child.kind() == "|&");
        let last = node.named_child_count().saturating_sub(1);
        let last_has_input = std::mem::take(&mut self.last_has_input);
        for (at, child) in node.named_children(&mut cursor).enumerate() {
            let already = self.out.commands.len();
            let redirected = self.out.redirects.len();
            // Names are good where they were listed, and nowhere else; and who reads from elsewhere gets none of them.
            let is_elsewhere = self.has_mover(child, |_| true) || self.replaces_shell(child);
            if at > 0 && is_elsewhere || at == last && last_has_input {
                names = Names::ANY;
            }
            let output = if at == last { self.output } else { Output::Fed };
            let walk = |inner: &mut Self| inner.printing(output, |inner| inner.statement(child));
            // What stands first takes from the input of the whole, though not by `xargs`: nobody has listed for that.
            self.in_order(Order::Mixed, |inner| {
                inner.apart(|inner| match at {
                    0 => inner.listing_nothing(walk),
                    _ => inner.fed_with(names, walk),
                });
            });
            let first = self.out.commands.get(already..).filter(|all| at == 0 && all.len() == 1);
            let first = first.map(|all| all[0].words().to_vec());
            let listed = first.map(|words| self.listed_by(&words, node));
            names = match self.out.commands.get(already..) {
                // Complaints are no names, and may come by any file that leads to where names go.
                _ if self.out.redirects[redirected..].iter().any(is_diverted) => Names::ANY,
                _ if complains || self.complains(child) => Names::ANY,
                _ if at == 0 => listed.unwrap_or_default(),
                // It may read something else.
                Some(_) if self.text(child).contains('<') => Names::ANY,
                Some([only]) => names.passed_by(only),
                _ => Names::ANY,
            };
            let words = self.out.commands.get(already).map(Command::words).unwrap_or_default();
            let says = words.first().is_some_and(|word| matches!(word.text.as_str(), "echo" | "printf"));
            if says || self.text(child).contains("<<") {
                self.fed.push(self.text(child).to_owned());
            }
        }
        self.passed = names;
        self.fed.truncate(fed);
    }

    /// What happens in a process of its own does not move this one.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let dirs = self.dirs.clone();
        self.perhaps(walk);
        self.dirs = dirs;
    }

    /// What may happen or not leaves nothing behind that could be relied on.
    fn perhaps(&mut self, walk: impl FnOnce(&mut Self)) {
        let set = self.set.clone();
        walk(self);
        self.set = set;
    }

    /// What is run with its output going somewhere else.
    fn printing(&mut self, output: Output, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.output, output);
        walk(self);
        self.output = outer;
    }

    /// What happens in this order at most.
    fn in_order(&mut self, order: Order, walk: impl FnOnce(&mut Self)) {
        let outer = self.order;
        self.order = outer.max(order);
        walk(self);
        self.order = outer;
    }

    /// What may happen many times: with a change of directory inside, nobody can tell where.
    fn repeated(&mut self, node: Node<'_>, walk: impl FnOnce(&mut Self)) {
        let moves = self.moves(node);
        if moves {
            self.dirs = None;
        }
        self.in_order(Order::Mixed, walk);
        if moves {
            self.dirs = None;
        }
    }

    fn for_statement(&mut self, node: Node<'_>) {
        if !self.text(node).starts_with("for") {
            return self.opaque("what somebody selects is not known");
        }
        let mut cursor = node.walk();
        let mut values = Vec::new();
        for value in node.children_by_field_name("value", &mut cursor) {
            self.substitutions(value);
            let read = Reader::read(self.source, value);
            let value = read.unwrap_or_else(|| Word::put_in("", Form::Dynamic, true));
            let value = number::sequence(&value.text).filter(|_| value.splits).unwrap_or(value);
            self.look_into(&value);
            values.push(value);
        }
        if let Some(variable) = node.child_by_field_name("variable") {
            let name = self.text(variable).to_owned();
            let bound =
                if values.is_empty() { vec![Word::put_in("$@", Form::Dynamic, true)] } else { values };
            let assign = |value: &Word| Assignment { name: name.clone(), value: value.clone() };
            let assignments = bound.iter().map(assign).collect();
            self.out.listings.note_each(&name, &bound);
            self.hold(&name, bound);
            self.set.insert(name.clone());
            let text = self.text(node).lines().next().unwrap_or_default().to_owned();
            self.push(text, Kind::Assign, Vec::new(), assignments);
        }
        if let Some(body) = node.child_by_field_name("body") {
            self.repeated(body, |inner| inner.statement(body));
        }
    }

    fn case(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let values: Vec<usize> = {
            let mut inner = node.walk();
            node.children_by_field_name("value", &mut inner).map(|value| value.id()).collect()
        };
        for child in node.children(&mut cursor) {
            if values.contains(&child.id()) {
                self.substitutions(child);
            } else if !child.is_named() {
                self.out.background |= child.kind() == "&";
            } else {
                let before = self.dirs.clone();
                self.statement(child);
                self.dirs = union(before, self.dirs.take());
            }
        }
    }

    /// A body is judged where it is written; nobody can tell where it will run, or who gets what it prints.
    fn function(&mut self, node: Node<'_>) {
        let name = node.child_by_field_name("name").map(|name| self.text(name)).unwrap_or_default();
        if is_known_program(name) || is_wrapper(name) || OF_THE_SHELL.contains(&name) {
            self.opaque("a function takes the name of a program");
        }
        let Some(body) = node.child_by_field_name("body") else { return };
        let before = self.dirs.take();
        self.in_order(Order::Later, |inner| {
            // Whoever calls it may give it another input.
            inner.fed_with(Names::ANY, |inner| inner.printing(Output::Fed, |inner| inner.statement(body)));
            let mut cursor = node.walk();
            for redirect in node.children_by_field_name("redirect", &mut cursor) {
                inner.redirect(redirect, &mut Vec::new());
            }
        });
        let moves = self.moves(body);
        self.dirs = if moves { None } else { before };
    }
}

/// Commands of the shell itself that set, move or end something.
const OF_THE_SHELL: &[&str] = &[
    ":",
    "[",
    "alias",
    "bind",
    "break",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "exit",
    "export",
    "fc",
    "fg",
    "bg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "suspend",
    "test",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Whether a redirect leads anywhere but to nowhere.
fn is_diverted(redirect: &Redirect) -> bool {
    redirect.writes && redirect.target.known() != Some("/dev/null")
}

/// Commands that change the directory, or may.
const MOVERS: &[&str] = &["cd", "pushd", "popd", "eval", "source", "."];
/// What leaves a command where it is.
const WRAPPERS: &[&str] = &["builtin", "command", "time"];

impl Walker<'_> {
    /// Whether what a node holds could change the directory.
    fn moves(&self, node: Node<'_>) -> bool {
        self.has_mover(node, is_same_shell)
    }

    /// Whether one of the commands below a node, among those that count, changes the directory, however it is quoted, or has
    /// a name that is only known when it runs.
    fn has_mover(&self, node: Node<'_>, counts: impl Fn(&Node<'_>) -> bool) -> bool {
        let mut cursor = node.walk();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let children: Vec<_> = node.named_children(&mut cursor).collect();
            if node.kind() == "command" && self.is_mover(&children) {
                return true;
            }
            open.extend(children.into_iter().filter(&counts));
        }
        false
    }

    /// Whether `exec` below a node may give the shell there another input.
    fn replaces_shell(&self, node: Node<'_>) -> bool {
        let mut cursor = node.walk();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let name = node.child_by_field_name("name").filter(|_| node.kind() == "command");
            let name = name.and_then(|name| Reader::read(self.source, name.named_child(0).unwrap_or(name)));
            if name.is_some_and(|name| ["builtin", "command", "exec"].contains(&name.text.as_str())) {
                return true;
            }
            open.extend(node.named_children(&mut cursor));
        }
        false
    }

    fn is_mover(&self, children: &[Node<'_>]) -> bool {
        let is_word = |child: &&Node<'_>| !matches!(child.kind(), "variable_assignment" | "file_redirect");
        let words: Vec<Option<Word>> =
            children.iter().filter(is_word).map(|child| Reader::read(self.source, *child)).collect();
        let is_any = |word: &Option<Word>, of: &[&str]| {
            word.as_ref().and_then(Word::known).is_some_and(|name| of.contains(&name))
        };
        let is_wrapped = words.iter().any(|word| is_any(word, WRAPPERS));
        let is_unknown = |word: &Option<Word>| !word.as_ref().is_some_and(Word::is_literal);
        words.iter().take(if is_wrapped { words.len() } else { 1 }).any(|word| is_any(word, MOVERS))
            || words.iter().take(if is_wrapped { 2 } else { 1 }).any(is_unknown)
    }
}

/// Whether what a node holds runs in the shell that the node is read by.
fn is_same_shell(node: &Node<'_>) -> bool {
    !matches!(node.kind(), "subshell" | "command_substitution" | "process_substitution")
}

fn union(one: Dirs, other: Dirs) -> Dirs {
    let mut all: Vec<PathBuf> = one?;
    for dir in other? {
        if !all.contains(&dir) {
            all.push(dir);
        }
    }
    (all.len() <= MOST_DIRS).then_some(all)
}
