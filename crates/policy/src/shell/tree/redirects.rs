//! Redirects and here-documents.

use std::ops::Range;

use tree_sitter::Node;

use super::names::Names;
use super::{Walker, union};
use crate::shell::word::Reader;
use crate::shell::{Kind, Order, Output, Redirect, Turn, Word, is_sink};

impl Walker<'_> {
    pub(super) fn redirected(&mut self, node: Node<'_>) {
        let before = self.dirs.clone();
        let (first, fed) = (self.out.redirects.len(), self.fed.len());
        let mut extra = Vec::new();
        let mut body = None;
        let mut output = self.output;
        let mut input = None;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let already = self.out.commands.len();
            match child.kind() {
                "file_redirect" => self.redirect(child, &mut extra),
                "heredoc_redirect" => {
                    // The rest of its line may be a pipeline that the tree has put inside.
                    output = Output::Fed;
                    self.heredoc(child, &mut extra);
                }
                "herestring_redirect" => self.herestring(child),
                // What stands behind it may belong to another command, or to none.
                "comment" => self.opaque("a comment inside a command is not understood"),
                _ if body.is_some() => self.opaque("a redirect of several commands is not understood"),
                _ => body = Some(child),
            }
            if self.gives_input(child) {
                let names = piped(child).map_or(Names::ANY, |inner| self.printed(inner, already));
                input = Some(if input.is_some() { Names::ANY } else { names });
            }
        }
        // Names are good where they were listed, and nowhere else.
        if body.is_some_and(|body| self.has_mover(body, |_| true)) {
            input = input.map(|_| Names::ANY);
        }
        // The tree puts the redirect of the last command around all that stands before it as well.
        let is_of_last =
            body.is_some_and(|body| matches!(body.kind(), "list" | "pipeline" | "negated_command"));
        if is_of_last && input.is_some() {
            input = Some(Names::ANY);
            self.last_has_input = true;
        }
        let last = self.out.redirects.len();
        let output = output.max(self.output_after(first));
        let walk = |inner: &mut Self| match body {
            Some(body) if body.kind() == "command" => inner.command(body, extra),
            Some(body) if extra.is_empty() => inner.statement(body),
            None if extra.is_empty() => {
                let text = inner.text(node).to_owned();
                inner.push(text, Kind::Assign, Vec::new(), Vec::new());
            }
            _ => inner.opaque("arguments after a redirect are not understood"),
        };
        self.printing(output, |inner| match input {
            Some(names) => inner.fed_with(names, walk),
            None => walk(inner),
        });
        self.last_has_input = false;
        self.fed.truncate(fed);
        // The tree puts the redirect of a list's last command around the list, which may have moved until then.
        self.opened_by_now(first..last);
        let dirs = union(before, self.dirs.clone());
        self.out.redirects[first..last].iter_mut().for_each(|redirect| redirect.dirs.clone_from(&dirs));
    }

    /// `$(<file)` is what the file holds.
    pub(super) fn content(&mut self, node: Node<'_>) {
        let is_alone = node
            .parent()
            .is_some_and(|outer| outer.kind() == "command_substitution" && outer.named_child_count() == 1);
        let mut extra = Vec::new();
        self.redirect(node, &mut extra);
        if !is_alone || !extra.is_empty() {
            self.opaque("a redirect is not understood");
        }
    }

    /// All that was run until now may have run before these files are opened.
    pub(super) fn opened_by_now(&mut self, redirects: Range<usize>) {
        let at = self.out.commands.len();
        self.out.redirects[redirects].iter_mut().for_each(|redirect| redirect.turn.at = at);
    }

    /// Where output goes after these redirects and those that follow them.
    pub(super) fn output_after(&self, first: usize) -> Output {
        let mut redirects = self.out.redirects.iter().skip(first);
        let is_filed = redirects.any(|redirect| redirect.writes && !is_sink(&redirect.target));
        if is_filed { self.output.max(Output::Filed) } else { self.output }
    }

    /// The first word after the sign is the file; the tree takes further arguments for files, too.
    pub(super) fn redirect(&mut self, node: Node<'_>, extra: &mut Vec<Word>) {
        self.substitutions(node);
        self.descriptor(node);
        let mut cursor = node.walk();
        let mut sign = None;
        let mut number = None;
        let mut targets = Vec::new();
        let mut written = "";
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" => number = Some(self.text(child)),
                "<" | ">" | ">>" | "&>" | "&>>" | "<&" | ">&" | ">|" | "<&-" | ">&-" => {
                    sign = Some(child.kind());
                }
                // The first word names the file; more than one is a mistake.
                _ if targets.is_empty() => match Reader::read(self.source, child) {
                    Some(word) => {
                        written = self.text(child);
                        targets.push(word);
                    }
                    None => return self.opaque("a redirect is not understood"),
                },
                _ => match Reader::read_all(self.source, child) {
                    Some(words) => targets.extend(words),
                    None => return self.opaque("a word is not understood"),
                },
            }
        }
        let mut targets = targets.into_iter();
        let target = targets.next();
        extra.extend(targets);
        if let (Some(sign), Some(target)) = (sign, &target) {
            self.numbered(number, sign, target);
        }
        match (sign, target) {
            (Some("<&-" | ">&-"), None) => {}
            (Some("<&" | ">&"), Some(_)) if is_descriptor(written) => {}
            // A `-` closes the descriptor, and what follows is a word of the command, blanks or not.
            (Some("<&"), Some(_)) => self.opaque("a redirect is not understood"),
            (Some(">&"), Some(target)) if target.certain().starts_with('-') => {
                self.opaque("a redirect is not understood");
            }
            // The command at the other end of a pipe is judged by itself.
            (Some("<"), Some(_)) if piped(node).is_some() => {}
            (Some(sign), Some(target)) => {
                let writes = !matches!(sign, "<" | "<&");
                let turn = Turn { at: self.out.commands.len(), order: self.order };
                self.out.redirects.push(Redirect { writes, target, dirs: self.dirs.clone(), turn });
            }
            _ => self.opaque("a redirect is not understood"),
        }
    }

    /// Whether a part of a command gives it another input.
    pub(super) fn gives_input(&self, node: Node<'_>) -> bool {
        matches!(node.kind(), "herestring_redirect" | "heredoc_redirect")
            || node.kind() == "file_redirect" && self.text(node).contains('<')
    }

    pub(super) fn herestring(&mut self, node: Node<'_>) {
        self.substitutions(node);
        self.descriptor(node);
        self.fed.push(self.text(node).to_owned());
    }

    /// The word right before a redirect is perhaps a variable to the shell that gets its number: `{name}>file`.
    fn descriptor(&mut self, node: Node<'_>) {
        let end = node.start_byte();
        let Some(start) = end.checked_sub(1).filter(|start| self.source.get(*start..end) == Some("}")) else {
            return;
        };
        let root = std::iter::successors(Some(node), Node::parent).last().unwrap_or(node);
        let brace = root.descendant_for_byte_range(start, end);
        let owner = brace.filter(|brace| brace.kind() == "}").and_then(|brace| brace.parent());
        if !owner.is_some_and(|owner| matches!(owner.kind(), "expansion" | "compound_statement")) {
            self.opaque("a redirect sets a variable");
        }
    }

    pub(super) fn heredoc(&mut self, node: Node<'_>, extra: &mut Vec<Word>) {
        self.descriptor(node);
        // What follows on the line may get it, too.
        self.fed.push(self.text(node).to_owned());
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                "heredoc_body" => self.substitutions(child),
                "file_redirect" => self.redirect(child, extra),
                "word" | "string" | "raw_string" | "concatenation" | "number" | "simple_expansion"
                | "expansion" => {
                    self.substitutions(child);
                    match Reader::read_all(self.source, child) {
                        Some(words) => extra.extend(words),
                        None => self.opaque("a word is not understood"),
                    }
                }
                _ if child.is_named() => self.apart(|inner| {
                    // What follows on the line runs after what the here-document is for.
                    if node.parent().is_some_and(|line| inner.moves(line)) {
                        inner.dirs = None;
                    }
                    inner.in_order(Order::Later, |inner| inner.statement(child));
                }),
                _ => {}
            }
        }
    }
}

/// The command whose output a redirect reads, if it names nothing else.
fn piped(redirect: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = redirect.walk();
    let children: Vec<Node<'_>> = redirect.children(&mut cursor).collect();
    let reads = |inner: Node<'_>| inner.child(0).is_some_and(|sign| sign.kind() == "<(");
    match children[..] {
        [sign, inner] if sign.kind() == "<" && inner.kind() == "process_substitution" => {
            Some(inner).filter(|inner| reads(*inner))
        }
        _ => None,
    }
}

/// Whether a word stands for an open file, or for none. With quotes it may be the name of one.
fn is_descriptor(written: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    written == "-" || digits(written.strip_suffix('-').unwrap_or(written))
}
