//! Variables, arithmetic, and all that is run to make a word.

use tree_sitter::Node;

use super::{DEEPEST, Walker};
use crate::shell::program::condition;
use crate::shell::word::Reader;
use crate::shell::{Assignment, Form, Kind, Number, Word, expansion, number};

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
        found.iter_mut().for_each(take_literally);
        found.iter().for_each(|assignment| self.set_to(assignment));
        let text = self.text(node).to_owned();
        self.push(text, Kind::Assign, Vec::new(), found);
    }

    /// Remembers what a variable of this shell is set to.
    fn set_to(&mut self, assignment: &Assignment) {
        self.bind(&assignment.name, vec![assignment.value.clone()]);
        // Where something has to be worked out first, that may fail.
        if assignment.value.is_literal() {
            self.set.insert(assignment.name.clone());
        }
    }

    /// Notes that a variable is put in.
    fn puts_in(&mut self, expansion: &str) {
        if let Some((name, _)) = expansion::parameter(expansion).filter(|(name, _)| !self.set.contains(*name))
        {
            self.out.unset.insert(name.to_owned());
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> Option<Assignment> {
        self.substitutions(node);
        let name = node.child_by_field_name("name");
        let name = name.filter(|name| name.kind() == "variable_name").map(|name| self.text(name).to_owned());
        let value = match node.child_by_field_name("value") {
            None => Some(Word::literal("")),
            Some(array) if array.kind() == "array" => Some(Word::put_in("()", Form::Dynamic, true)),
            Some(value) if self.is_count(value) => Some(Word::number(Number::Count)),
            Some(value) => Reader::read(self.source, value),
        };
        let (Some(name), Some(mut value)) = (name, value) else {
            self.opaque("an assignment is not understood");
            return None;
        };
        self.look_into(&value);
        if self.text(node).contains("+=") {
            value.form = Form::Dynamic;
            self.out.listings.spoil(&name);
        }
        if let Some(array) = node.child_by_field_name("value").filter(|value| value.kind() == "array") {
            self.elements(array, &name);
        }
        Some(Assignment { name, value })
    }

    /// What the elements of an array stand for is to be judged like the values of any other variable.
    fn elements(&mut self, array: Node<'_>, name: &str) {
        let mut cursor = array.walk();
        for element in array.named_children(&mut cursor).filter(|element| element.kind() != "comment") {
            match Reader::read(self.source, element) {
                Some(value) => {
                    let assignment = Assignment { name: name.to_owned(), value };
                    self.push(self.text(element).to_owned(), Kind::Assign, Vec::new(), vec![assignment]);
                }
                None => self.opaque("a word is not understood"),
            }
        }
    }

    /// Some builtins look into the values of variables and run what they find there.
    pub(super) fn look_into(&mut self, value: &Word) {
        if value.is_literal() && (value.text.contains("$(") || value.text.contains('`')) {
            self.opaque("a variable holds a command");
        }
    }

    /// Remembers the values a variable may have.
    pub(super) fn bind(&mut self, name: &str, values: Vec<Word>) {
        self.out.listings.note_values(name, &values);
        self.hold(name, values);
    }

    /// The same for values of which nothing but their text is to be known.
    pub(super) fn hold(&mut self, name: &str, mut values: Vec<Word>) {
        // What is computed is a number.
        for value in values.iter_mut().filter(|value| !value.is_literal() && number::is_computed(&value.text))
        {
            let summed = number::summed(&value.text);
            let kind = if summed.is_some() { Number::Count } else { Number::Any };
            self.out.summed.extend(summed.into_iter().flatten().map(str::to_owned));
            *value = Word::number(kind);
        }
        // Behind a colon it stands for a directory as well.
        let plain = values.iter().all(|value| value.form <= Form::Pattern && !value.text.contains(":~"));
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
        if !words.iter().all(Word::is_literal) {
            self.opaque("which variable is set depends on what is put in");
        }
        // One that is named alone may be taken away, or begin anew without a value.
        for name in words.iter().filter_map(Word::known).filter(|name| condition::is_name(name)) {
            self.set.remove(name);
            self.out.unset.insert(name.to_owned());
        }
        // What is declared or unset holds nothing for a while.
        words.iter().for_each(|word| self.out.listings.spoil(&word.text));
        // The others fail outside of functions, or in shells that do not know them.
        let is_certain =
            words.first().is_some_and(|word| matches!(word.text.as_str(), "export" | "readonly"));
        for assignment in &assignments {
            match is_certain {
                true => self.set_to(assignment),
                false => self.bind(&assignment.name, vec![assignment.value.clone()]),
            }
        }
        let text = self.text(node).to_owned();
        self.push(text, Kind::Declare, words, assignments);
    }

    /// Arithmetic follows variables into subscripts, and subscripts can hold commands. So it must be known of every
    /// variable that it holds a number.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        let text = self.without_counts(node);
        let text = text.trim_start();
        let text = text.strip_prefix('$').unwrap_or(text);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " _$+-*/%()<>=!&|^~?:,\t\n".contains(c);
        let begins_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        // Behind a letter, a name is put together.
        let names_parts = |before: &str| before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let before_signs = text.split('$').rev().skip(1);
        if !text.chars().all(is_plain)
            || !text.split('$').skip(1).all(begins_name)
            || before_signs.into_iter().any(names_parts)
        {
            return self.opaque("arithmetic on variables can run commands");
        }
        let assigns =
            ["++", "--"].iter().any(|sign| text.contains(sign)) || without_comparisons(text).contains('=');
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in names.filter(|name| begins_name(name)) {
            self.compute(name);
            if assigns {
                let kind = if number::grown(text) == Some(name) { Number::Count } else { Number::Any };
                self.bind(name, vec![Word::number(kind)]);
            }
        }
    }

    /// The text of some arithmetic with a number in the place of each command that counts something.
    fn without_counts(&mut self, node: Node<'_>) -> String {
        let mut text = self.text(node).to_owned();
        let mut found = Vec::new();
        let mut open = vec![node];
        let mut cursor = node.walk();
        while let Some(node) = open.pop() {
            match node.kind() {
                "command_substitution" if self.is_count(node) => found.push(node),
                _ => open.extend(node.named_children(&mut cursor)),
            }
        }
        found.sort_by_key(|count| std::cmp::Reverse(count.start_byte()));
        for count in found {
            self.substitutions(count);
            let start = count.start_byte() - node.start_byte();
            if let Some(end) = text.get(start..).map(|_| start + count.byte_range().len()) {
                text.replace_range(start..end, "0");
            }
        }
        text
    }

    /// Notes that a variable is computed with: it must have got a value by now, and hold only numbers in the end.
    pub(super) fn compute(&mut self, name: &str) {
        if !matches!(self.out.variables.get(name), Some(Some(_))) {
            self.opaque("arithmetic on variables can run commands");
        }
        self.out.computed.insert(name.to_owned());
    }

    /// Everything that is run to make a word.
    pub(super) fn substitutions(&mut self, node: Node<'_>) {
        if self.depth > DEEPEST {
            return self.opaque("it is nested too deeply");
        }
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                return self.substitution(node);
            }
            "arithmetic_expansion" => return self.arithmetic(node),
            "subscript" => {
                let index = node.child_by_field_name("index").map(|index| self.text(index));
                if !index.is_some_and(expansion::is_plain_subscript) {
                    self.opaque("subscripts can run commands");
                }
            }
            "expansion" if !expansion::is_plain(self.text(node).trim_start()) => {
                self.opaque("an expansion is not understood");
            }
            "expansion" | "simple_expansion" => self.puts_in(self.text(node).trim_start()),
            // A subscript in front of an element is computed.
            "array" if self.has_subscripts(node) => self.opaque("subscripts can run commands"),
            _ => {}
        }
        self.depth += 1;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.substitutions(child);
        }
        self.depth -= 1;
    }

    fn has_subscripts(&self, array: Node<'_>) -> bool {
        let mut cursor = array.walk();
        array.named_children(&mut cursor).any(|element| self.text(element).starts_with('['))
    }
}

/// Where a variable is set, patterns and braces are plain text: what is put in without quotes is taken for a pattern only
/// then. Builtins that set variables get words like any others.
pub(super) fn take_literally(assignment: &mut Assignment) {
    if assignment.value.form == Form::Pattern && assignment.value.as_number().is_none() {
        assignment.value.form = Form::Literal;
    }
}

/// A text without the signs of comparisons that have an `=` in them.
fn without_comparisons(text: &str) -> String {
    ["==", "!=", "<=", ">="].iter().fold(text.to_owned(), |text, sign| text.replace(sign, ""))
}
