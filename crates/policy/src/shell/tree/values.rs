//! Variables, tests, arithmetic, and all that is run to make a word.

use tree_sitter::Node;

use super::{DEEPEST, Walker};
use crate::shell::word::Reader;
use crate::shell::{Assignment, Form, Kind, Word};

impl Walker<'_> {
    pub(super) fn assignments(&mut self, node: Node<'_>) {
        let mut found = Vec::new();
        if node.kind() == "variable_assignment" {
            found.extend(self.assignment(node));
        } else {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                found.extend(self.assignment(child));
            }
        }
        for assignment in &found {
            self.bind(&assignment.name, vec![assignment.value.clone()]);
        }
        let text = self.text(node).to_owned();
        self.push(text, Kind::Assign, Vec::new(), found);
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> Option<Assignment> {
        self.substitutions(node);
        let name = node.child_by_field_name("name");
        let name = name.filter(|name| name.kind() == "variable_name").map(|name| self.text(name).to_owned());
        let value = match node.child_by_field_name("value") {
            None => Some(Word::literal("")),
            Some(array) if array.kind() == "array" => Some(Word::put_in("()", Form::Dynamic, true)),
            Some(value) => Reader::read(self.source, value),
        };
        let (Some(name), Some(mut value)) = (name, value) else {
            self.opaque("an assignment is not understood");
            return None;
        };
        // Some builtins look into the values of variables and run what they find there.
        if value.is_literal() && (value.text.contains("$(") || value.text.contains('`')) {
            self.opaque("a variable holds a command");
        }
        if self.text(node).contains("+=") {
            value.form = Form::Dynamic;
        }
        Some(Assignment { name, value })
    }

    /// Remembers the values a variable may have.
    pub(super) fn bind(&mut self, name: &str, values: Vec<Word>) {
        let plain = values.iter().all(|value| value.form <= Form::Pattern && !value.tilde);
        let known = self.out.variables.entry(name.to_owned()).or_insert_with(|| Some(Vec::new()));
        match known {
            Some(before) if plain => before.extend(values),
            known => *known = None,
        }
    }

    pub(super) fn declaration(&mut self, node: Node<'_>) {
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => assignments.extend(self.assignment(child)),
                _ if !child.is_named() => words.push(Word::literal(self.text(child))),
                _ => {
                    self.substitutions(child);
                    match Reader::read(self.source, child) {
                        Some(word) => words.push(word),
                        None => self.opaque("a declaration is not understood"),
                    }
                }
            }
        }
        for assignment in &assignments {
            self.bind(&assignment.name, vec![assignment.value.clone()]);
        }
        let text = self.text(node).to_owned();
        self.push(text, Kind::Declare, words, assignments);
    }

    pub(super) fn test(&mut self, node: Node<'_>) {
        self.substitutions(node);
        let compares = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v "];
        let text = self.text(node);
        let computes = text.starts_with("[[") && compares.iter().any(|operator| text.contains(operator));
        if (computes && text.contains('$')) || text.contains("-v ") {
            self.opaque("arithmetic on variables can run commands");
        }
        let text = text.to_owned();
        self.push(text, Kind::Test, Vec::new(), Vec::new());
    }

    /// Arithmetic follows variables into subscripts, and subscripts can hold commands.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        if self
            .text(node)
            .trim_start_matches('$')
            .contains(|c: char| c.is_alphabetic() || "$`_'\"".contains(c))
        {
            self.opaque("arithmetic on variables can run commands");
        }
    }

    /// Everything that is run to make a word.
    pub(super) fn substitutions(&mut self, node: Node<'_>) {
        if self.depth > DEEPEST {
            return self.opaque("it is nested too deeply");
        }
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                let names = std::mem::take(&mut self.names);
                self.statement(node);
                self.names = names;
                return;
            }
            "arithmetic_expansion" => return self.arithmetic(node),
            "subscript" => {
                let index = node.child_by_field_name("index").map(|index| self.text(index));
                if !index.is_some_and(|index| index == "@" || index == "*" || index.parse::<u32>().is_ok()) {
                    self.opaque("subscripts can run commands");
                }
            }
            "expansion" => {
                let text = self.text(node);
                // Transformations can run commands, defaults can assign.
                let transforms = text.contains('@') && !text.contains("[@]") && text != "${@}";
                if transforms || text.contains('=') || text.starts_with("${!") {
                    self.opaque("an expansion is not understood");
                }
            }
            _ => {}
        }
        self.depth += 1;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.substitutions(child);
        }
        self.depth -= 1;
    }
}
