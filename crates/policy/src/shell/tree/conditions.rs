//! `[ … ]`, which is a command like any other, and `[[ … ]]`, which computes.

use tree_sitter::Node;

use super::Walker;
use crate::shell::number;
use crate::shell::program::condition;
use crate::shell::word::Reader;
use crate::shell::{Kind, Word};

/// What stands between words.
const BLANKS: [char; 3] = [' ', '\t', '\n'];
/// Operators of `[[` whose operands are computed.
const COMPUTES: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Walker<'_> {
    pub(super) fn test(&mut self, node: Node<'_>) {
        self.substitutions(node);
        let text = self.text(node);
        let mut pieces = Vec::new();
        self.pieces(node, &mut pieces);
        let inner = pieces.get(1..pieces.len().saturating_sub(1)).unwrap_or_default();
        let computes = text.starts_with("[[");
        let understood = if computes {
            // Without blanks around them, the brackets are parts of other words.
            let between = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
            let is_apart = |text: &str| text.starts_with(BLANKS) && text.ends_with(BLANKS);
            between.is_some_and(is_apart) && self.is_plain_expression(inner)
        } else {
            self.is_on_one_line(&pieces) && self.is_plain_command(inner)
        };
        if !understood {
            self.opaque("a condition can run commands");
        }
        // What is no command gets no names from the shell.
        let given = if computes { &[] } else { inner };
        let named = given.iter().filter_map(|node| self.word(*node));
        let words = Some(Word::literal("[")).filter(|_| !computes).into_iter().chain(named).collect();
        self.push(text.to_owned(), Kind::Test, words, Vec::new());
    }

    /// Brackets, operators and operands one after the other: the tree does not nest them as the shell does.
    fn pieces<'t>(&self, node: Node<'t>, found: &mut Vec<Node<'t>>) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "unary_expression" | "binary_expression" | "parenthesized_expression" => {
                    self.pieces(child, found);
                }
                _ => found.push(child),
            }
        }
    }

    /// Whether `[` with these words between its brackets is one command that only looks. What the tree takes for a
    /// comparison or a list is a redirect or a second command to the shell, and so is what follows a new line.
    fn is_plain_command(&mut self, pieces: &[Node<'_>]) -> bool {
        let is_word = |node: &Node<'_>| node.is_named() || matches!(node.kind(), "!" | "=" | "==" | "!=");
        let word =
            |node: &Node<'_>| if self.is_count(*node) { Some(Word::literal("0")) } else { self.word(*node) };
        let words: Option<Vec<Word>> = pieces.iter().map(word).collect();
        let words = words.map(|words| words.into_iter().map(|word| self.counted(word)).collect::<Vec<_>>());
        pieces.iter().all(is_word) && words.is_some_and(|words| condition::looks(&words))
    }

    /// Whether blanks, and nothing else, stand between the pieces.
    fn is_on_one_line(&self, pieces: &[Node<'_>]) -> bool {
        pieces.windows(2).all(|pair| {
            let gap = self.source.get(pair[0].end_byte()..pair[1].start_byte());
            gap.is_some_and(|gap| !gap.is_empty() && gap.chars().all(|c| matches!(c, ' ' | '\t')))
        })
    }

    /// A variable that could become several words is one if it holds a number, which is to be seen in the end.
    fn counted(&mut self, word: Word) -> Word {
        match variable(&word.text).filter(|_| word.splits) {
            Some(name) if self.holds_names(name) => {
                self.out.named.insert(name.to_owned());
                Word::literal("f")
            }
            Some(name) => {
                self.compute(name);
                Word::literal("0")
            }
            None => word,
        }
    }

    /// Whether a variable got nothing but plain names by now.
    fn holds_names(&self, name: &str) -> bool {
        let held = self.out.variables.get(name).and_then(Option::as_ref);
        held.is_some_and(|held| held.iter().all(condition::is_plain_name) && !held.iter().all(number::counts))
    }

    fn word(&self, node: Node<'_>) -> Option<Word> {
        match node.kind() {
            "!" | "=" | "==" | "!=" | "test_operator" => Some(Word::literal(self.text(node))),
            _ => Reader::read(self.source, node),
        }
    }

    /// Whether `[[` with these pieces computes with numbers only.
    fn is_plain_expression(&mut self, pieces: &[Node<'_>]) -> bool {
        let texts: Vec<&str> = pieces.iter().map(|node| self.text(*node)).collect();
        let text = |at: Option<usize>| at.and_then(|at| texts.get(at)).copied();
        let computed = |at: usize| [at.checked_sub(1), Some(at + 1)].into_iter().map(text);
        for at in (0..texts.len()).filter(|at| COMPUTES.contains(&texts[*at])) {
            for name in computed(at).flatten().filter_map(|side| variable(side.trim_matches('"'))) {
                self.compute(name);
            }
        }
        let counts = |at: Option<usize>| {
            at.and_then(|at| pieces.get(at)).is_some_and(|side| {
                let text = self.text(*side);
                is_number(text) || variable(text.trim_matches('"')).is_some() || self.is_count(*side)
            })
        };
        pieces.iter().enumerate().all(|(at, node)| match node.kind() {
            "test_operator" | "word" if COMPUTES.contains(&self.text(*node)) => {
                counts(at.checked_sub(1)) && counts(Some(at + 1))
            }
            "test_operator" | "word" if matches!(self.text(*node), "-v" | "-R") => {
                text(Some(at + 1)).is_some_and(condition::is_name)
            }
            "regex" => !self.text(*node).contains(char::is_whitespace),
            "test_operator"
            | "word"
            | "number"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "simple_expansion"
            | "expansion"
            | "concatenation"
            | "command_substitution"
            | "arithmetic_expansion"
            | "extglob_pattern" => true,
            "!" | "=" | "==" | "!=" | "=~" | "<" | ">" | "&&" | "||" | "(" | ")" => true,
            _ => false,
        })
    }
}

/// The name of the variable that a text is.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    condition::is_name(name).then_some(name)
}

/// Whether a word of `[[` is certainly a number.
fn is_number(text: &str) -> bool {
    number::is_number(text) || matches!(text, "$#" | "$?" | "${#}" | "\"$#\"" | "\"$?\"")
}
