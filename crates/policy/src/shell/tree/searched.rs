//! Programs that print the names of files in which they find something: what they find in their input has no name.

use tree_sitter::Node;

use super::Walker;
use super::names::Names;
use crate::shell::Word;
use crate::shell::program::search::{Searched, searched};

impl Walker<'_> {
    /// What a command prints at the start of a pipeline, or by itself.
    pub(super) fn listed_by(&mut self, words: &[Word], node: Node<'_>) -> Names {
        let Some((program, rest)) = words.split_first() else { return Names::ANY };
        if !matches!(program.text.as_str(), "grep" | "rg") {
            return Names::listed_by(words);
        }
        // What it may hold besides is seen in the end.
        let is_name = |word: &Word| {
            let held = word.parameter().filter(|name| matches!(self.out.variables.get(*name), Some(Some(_))));
            held.is_some_and(|name| {
                self.out.searched.insert(name.to_owned());
                true
            })
        };
        match searched(&program.text, rest, is_name) {
            Searched::Input => Names::ANY,
            Searched::BelowUnlessFed if self.may_be_fed(node) => Names::ANY,
            _ => Names::listed_by(words),
        }
    }

    /// Whether what a node runs may have another input than the whole script has.
    pub(super) fn may_be_fed(&self, node: Node<'_>) -> bool {
        let mut inner = node;
        while let Some(outer) = inner.parent() {
            let feeds = match outer.kind() {
                "pipeline" => outer.named_child(0).is_none_or(|first| first.id() != inner.id()),
                // What is redirected gets it, and not what makes it.
                "redirected_statement" => {
                    !inner.kind().ends_with("_redirect") && self.text(outer).contains('<')
                }
                "function_definition" => true,
                _ => false,
            };
            if feeds {
                return true;
            }
            inner = outer;
        }
        self.base > 0
    }
}
