//! A second look at the text: where tree and text could disagree with the shell, the text is not understood.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::Node;

use super::ends;

/// The longest text that is analysed.
const LONGEST: usize = 64 * 1024;

/// What speaks against reading the text by its tree.
pub(crate) fn objection(source: &str, root: Node<'_>) -> Option<&'static str> {
    if source.len() > LONGEST {
        return Some("it is too long to analyse");
    }
    if source.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Some("it contains control characters");
    }
    // To the shell these are parts of words, and the parser knows them.
    if source.contains(['\u{85}', '\u{a0}']) {
        return Some("it contains white space that means nothing to the shell");
    }
    if root.has_error() {
        return Some("it is not plain shell syntax");
    }
    if counts_through_signs(source) {
        return Some("braces that count through quotes and signs are not understood");
    }
    let mut survey = Survey { source, substitutions: HashSet::new(), inert: Vec::new(), problem: None };
    survey.visit(root);
    survey.problem.or_else(|| survey.unseen_substitution(root))
}

/// Whether braces may count from a capital letter to a small one: between those are a backslash and a back quote, which
/// count as if they had been written, wherever the tree sees quotes begin and end.
fn counts_through_signs(source: &str) -> bool {
    // The shell takes the end of a line away before it looks at anything else.
    let text = source.replace("\\\n", "");
    text.match_indices("..").any(|(at, _)| {
        let before = text[..at].strip_suffix(|c: char| c.is_ascii_alphabetic());
        let behind = text[at + 2..].strip_prefix(|c: char| c.is_ascii_alphabetic());
        let case = |at: usize| text.as_bytes().get(at).map(u8::is_ascii_uppercase);
        before.is_some_and(|before| before.ends_with('{'))
            && behind.is_some_and(|behind| behind.starts_with(['}', '.']))
            && case(at - 1) != case(at + 2)
    })
}

/// Whether a text ends so that a word may begin behind it: at its beginning, or with a blank or one of these signs that is
/// not escaped. An escaped line end separates nothing.
fn separates(before: &str, signs: &str) -> bool {
    let text = before.trim_end_matches("\\\n");
    let Some(last) = text.chars().next_back() else { return true };
    let escapes = text[..text.len() - last.len_utf8()].bytes().rev().take_while(|byte| *byte == b'\\');
    (last.is_ascii_whitespace() || signs.contains(last)) && escapes.count() % 2 == 0
}

struct Survey<'a> {
    source: &'a str,
    /// Where substitutions begin and where back quotes stand.
    substitutions: HashSet<usize>,
    /// Where nothing is expanded.
    inert: Vec<Range<usize>>,
    problem: Option<&'static str>,
}

impl Survey<'_> {
    fn visit(&mut self, root: Node<'_>) {
        let mut todo = vec![root];
        while let Some(node) = todo.pop() {
            self.look_at(node);
            if self.problem.is_some() {
                return;
            }
            let mut cursor = node.walk();
            todo.extend(node.children(&mut cursor));
        }
    }

    fn look_at(&mut self, node: Node<'_>) {
        if node.is_missing() || node.is_error() {
            self.problem = Some("it is not plain shell syntax");
        }
        let range = ends::start(node, self.source)..node.end_byte();
        let text = self.source.get(range.clone()).unwrap_or_default();
        let before = self.source.get(..range.start).unwrap_or_default();
        if let Some(objection) = ends::objection(node, text, before) {
            self.problem = Some(objection);
        }
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                self.substitutions.insert(range.start);
                self.substitutions.insert(range.end.saturating_sub(1));
                if text.starts_with('`') && text.contains('\\') {
                    self.problem = Some("back quotes with escapes are not understood");
                }
            }
            "arithmetic_expansion" => {
                self.substitutions.insert(range.start);
                if text.contains("\\\n") {
                    self.problem = Some("a line ends inside an expansion");
                }
            }
            "expansion" => {
                self.substitutions.insert(range.start);
                if self.gaps_of(node).any(|gap| gap.contains(['\n', '\\'])) {
                    self.problem = Some("a line ends inside an expansion");
                }
            }
            "simple_expansion" if text.contains(|c: char| c.is_ascii_whitespace() || c == '\\') => {
                self.problem = Some("a line ends inside an expansion");
            }
            // Without braces, the name goes on with the next line.
            "simple_expansion"
                if self.source.get(range.end..).is_some_and(|rest| rest.starts_with("\\\n")) =>
            {
                self.problem = Some("a line ends inside an expansion");
            }
            "raw_string" | "ansi_c_string" if is_in_quoted_expansion(node) => {
                if text.contains(['$', '`', '"', '}', '\\', '\n']) {
                    self.problem = Some("quotes inside a quoted expansion are not understood");
                }
            }
            "raw_string" | "ansi_c_string" => self.inert.push(range),
            "regex" if is_below(node, "expansion") && text.contains(['\'', '"', '}', '\\', '\n']) => {
                self.problem = Some("quotes inside an expansion are not understood");
            }
            "comment" if WORDS.iter().any(|kind| is_below(node, kind)) => {
                self.problem = Some("a # inside a word is not understood");
            }
            "comment" => {
                if !separates(before, ";&|(") {
                    self.problem = Some("a # inside a word is not understood");
                }
                self.inert.push(range);
            }
            // To some shells a longer number is a word of the command, and one that is too large to all. The tree also takes
            // an option for a number that ends with one.
            "file_descriptor" if !is_digit(text) => {
                self.problem = Some("a number before a redirect may be a word of its own");
            }
            "!" | "do" | "elif" | "else" | "if" | "then" | "until" | "while" if !node.is_named() => {
                let next = self.source.get(range.end..).and_then(|rest| rest.chars().next());
                let goes_on = |c: char| !c.is_ascii_whitespace() && (text == "!" || !";&|()<>".contains(c));
                if next.is_some_and(goes_on) {
                    self.problem = Some("a word ends elsewhere than it seems");
                }
            }
            "heredoc_redirect" => self.heredoc(node),
            "string" | "heredoc_body" | "concatenation" | "regex" | "heredoc_content" | "string_content" => {}
            _ if node.child_count() == 0 => self.leaf(node.kind(), text),
            _ => self.gaps(node),
        }
    }

    /// What stands for one piece is one piece to the shell as well: only an escaped blank or line end is part of a word.
    fn leaf(&mut self, kind: &str, text: &str) {
        if text.trim_ascii().is_empty() {
            return;
        }
        let mut is_escaped = false;
        for c in text.chars() {
            if !is_escaped && (c == '\n' || kind == "word" && matches!(c, ' ' | '\t')) {
                self.problem = Some("a line ends inside a word");
            }
            is_escaped = c == '\\' && !is_escaped;
        }
    }

    /// What stands between the pieces of a node.
    fn gaps_of<'n>(&'n self, node: Node<'n>) -> impl Iterator<Item = &'n str> {
        let pieces: Vec<Range<usize>> =
            node.children(&mut node.walk()).map(|child| child.byte_range()).collect();
        let starts = pieces.clone().into_iter().skip(1).map(|piece| piece.start);
        pieces.into_iter().zip(starts).filter_map(|(before, start)| self.source.get(before.end..start))
    }

    /// Between the pieces of a statement there is only blank space.
    fn gaps(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for child in node.children(&mut cursor) {
            let gap = self.source.get(end..child.start_byte()).unwrap_or_default();
            // The tree leaves out new lines after a here-document and escaped line ends.
            if !gap.replace("\\\n", "").chars().all(|c| matches!(c, ' ' | '\t' | '\n')) {
                self.problem = Some("it contains text that is not understood");
            }
            if gap.replace("\\\n", "").contains('\n') && LINES.contains(&node.kind()) {
                self.problem = Some("a line ends inside a command");
            }
            if STATEMENTS.contains(&node.kind())
                && PARTS.contains(&child.kind())
                && !self.is_whole_word(child)
            {
                self.problem = Some("a word ends elsewhere than it seems");
            }
            if gap.is_empty() && child.start_byte() > node.start_byte() && self.tears_a_word(node, child, end)
            {
                self.problem = Some("a word ends elsewhere than it seems");
            }
            // The tree takes an escaped line end for a blank; the shell joins what is around it.
            if !gap.is_empty()
                && gap.replace("\\\n", "").is_empty()
                && self.is_inside_a_word(end, child.start_byte())
            {
                self.problem = Some("a line ends inside a word");
            }
            end = end.max(child.end_byte());
        }
    }

    /// Whether a word of a statement begins and ends where words begin and end.
    fn is_whole_word(&self, child: Node<'_>) -> bool {
        let is_end = |c: char| c.is_ascii_whitespace() || ";&|()<>`".contains(c);
        let behind = self.source.get(child.end_byte()..).map(|text| text.trim_start_matches("\\\n"));
        self.source.get(..child.start_byte()).is_some_and(|text| separates(text, ";&|()<>`"))
            && behind.is_some_and(|text| text.chars().next().is_none_or(is_end))
    }

    /// Whether the tree begins another word where nothing separates it from what stands before.
    fn tears_a_word(&self, node: Node<'_>, child: Node<'_>, end: usize) -> bool {
        let is_word = |node: Node<'_>| node.is_named() && !node.kind().ends_with("_redirect");
        let before = child.prev_sibling().filter(|before| before.end_byte() == end);
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => !child.kind().ends_with("_redirect"),
            "array" | "for_statement" | "file_redirect" | "herestring_redirect" | "redirected_statement" => {
                is_word(child)
                    && !matches!(child.kind(), "do_group" | "compound_statement")
                    && before.is_some_and(is_word)
            }
            _ => false,
        }
    }

    fn is_inside_a_word(&self, end: usize, start: usize) -> bool {
        let is_of_word = |c: char| !c.is_ascii_whitespace() && !";&|()<>".contains(c);
        // A word may end with a substitution.
        let goes_on = self.source.get(..end).is_some_and(|text| !separates(text, ";&|(<>"));
        goes_on && self.source.get(start..).and_then(|text| text.chars().next()).is_some_and(is_of_word)
    }

    /// A here-document ends where the shell ends it, and a quoted one expands nothing.
    fn heredoc(&mut self, node: Node<'_>) {
        let find = |kind: &str| {
            let mut cursor = node.walk();
            node.children(&mut cursor).find(|child| child.kind() == kind).map(|child| child.byte_range())
        };
        let (start, body, end) = (find("heredoc_start"), find("heredoc_body"), find("heredoc_end"));
        let (Some(start), Some(end)) = (start, end) else {
            self.problem = Some("a here-document without its end");
            return;
        };
        let tabs = self.source.get(node.start_byte()..start.start).is_some_and(|op| op.contains("<<-"));
        // The tree leaves out escaped line ends, also those at its beginning.
        let line_end = self.source.get(start.end..).and_then(|rest| rest.find('\n'));
        let first = line_end.map_or(start.end, |at| start.end + at + 1);
        let last = self.source.get(..end.end).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
        let written = self.source.get(start).unwrap_or_default();
        let (delimiter, quoted) = match delimiter(written) {
            Some(found) => found,
            None => {
                self.problem = Some("a here-document whose end is not plain");
                return;
            }
        };
        let ends = |line: &str| (if tabs { line.trim_start_matches('\t') } else { line }) == delimiter;
        let text = self.source.get(first..last).unwrap_or_default();
        let ends_early = text.lines().any(ends) || !quoted && joined(text).iter().any(|line| ends(line));
        let goes_on = !quoted && text.lines().last().is_some_and(is_continued);
        if ends_early || goes_on || !ends(self.line_around(end.end)) {
            self.problem = Some("a here-document that ends elsewhere than it seems");
        }
        self.inert.extend(body.filter(|_| quoted));
    }

    /// The whole line that holds the character before this place.
    fn line_around(&self, at: usize) -> &str {
        let (before, after) = self.source.split_at_checked(at).unwrap_or((self.source, ""));
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = at + after.find('\n').unwrap_or(after.len());
        self.source.get(start..end).unwrap_or_default()
    }

    /// Every mark that starts a substitution must be one in the tree, too.
    fn unseen_substitution(&self, root: Node<'_>) -> Option<&'static str> {
        let bytes = self.source.as_bytes();
        for (at, &byte) in bytes.iter().enumerate() {
            let next = bytes.get(at + 1).copied().unwrap_or_default();
            // The shell joins the lines first.
            let is_joined = bytes[at + 1..].starts_with(b"\\\n");
            let opens = match byte {
                b'`' => true,
                b'$' => is_joined || b"({[".contains(&next),
                b'<' | b'>' => (is_joined || next == b'(') && !is_text(root, at),
                _ => false,
            };
            if !opens || self.substitutions.contains(&at) {
                continue;
            }
            let inert = self.inert.iter().any(|range| range.contains(&at));
            let escapes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if !inert && escapes % 2 == 0 {
                return Some("it contains a substitution that is not understood");
            }
        }
        None
    }
}

fn is_digit(text: &str) -> bool {
    matches!(text.as_bytes(), [byte] if byte.is_ascii_digit())
}

/// The lines of a here-document that is not quoted: the shell joins them before it looks for the end.
fn joined(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for line in text.lines() {
        let (part, goes_on) = match line.strip_suffix('\\').filter(|_| is_continued(line)) {
            Some(part) => (part, true),
            None => (line, false),
        };
        if let Some(last) = lines.last_mut() {
            last.push_str(part);
        }
        if !goes_on {
            lines.push(String::new());
        }
    }
    lines
}

/// Whether a line goes on in the next one: two backslashes are one that is meant.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// What is all one word to the shell, whatever the tree sees in it.
const WORDS: &[&str] =
    &["expansion", "string", "heredoc_body", "arithmetic_expansion", "test_command", "subscript"];

/// What has words of its own.
const STATEMENTS: &[&str] = &[
    "array",
    "command",
    "declaration_command",
    "file_redirect",
    "for_statement",
    "herestring_redirect",
    "redirected_statement",
    "unset_command",
];

/// Words, as the tree calls them.
const PARTS: &[&str] = &[
    "ansi_c_string",
    "arithmetic_expansion",
    "brace_expression",
    "command_name",
    "command_substitution",
    "concatenation",
    "expansion",
    "extglob_pattern",
    "number",
    "raw_string",
    "simple_expansion",
    "string",
    "translated_string",
    "variable_assignment",
    "word",
];

/// What a new line ends.
const LINES: &[&str] = &[
    "command",
    "declaration_command",
    "file_redirect",
    "herestring_redirect",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
];

/// What is around a node, up to the script that it belongs to.
fn around(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), Node::parent)
        .take_while(|outer| !matches!(outer.kind(), "command_substitution" | "process_substitution"))
}

fn is_below(node: Node<'_>, kind: &str) -> bool {
    around(node).any(|outer| outer.kind() == kind)
}

/// Whether single quotes are no quotes there: between double quotes or in a here-document, inside of `${…}`.
fn is_in_quoted_expansion(node: Node<'_>) -> bool {
    let expansions = around(node).skip_while(|outer| outer.kind() != "expansion");
    let mut beyond = expansions.skip(1);
    beyond.any(|outer| matches!(outer.kind(), "string" | "heredoc_body"))
}

/// Whether a byte belongs to quoted text, where `<(` means nothing.
fn is_text(root: Node<'_>, at: usize) -> bool {
    let node = root.named_descendant_for_byte_range(at, at + 1);
    node.is_some_and(|node| {
        matches!(node.kind(), "string" | "string_content" | "heredoc_body" | "heredoc_content")
    })
}

/// The delimiter of a here-document and whether it is quoted.
fn delimiter(written: &str) -> Option<(&str, bool)> {
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let inner = |quote: char| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let quoted = inner('\'').or_else(|| inner('"')).or_else(|| written.strip_prefix('\\'));
    match quoted {
        Some(text) => plain(text).then_some((text, true)),
        None => plain(written).then_some((written, false)),
    }
}
