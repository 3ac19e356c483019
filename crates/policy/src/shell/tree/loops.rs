//! Loops that count, and numbers that are certain.

use tree_sitter::Node;

use super::Walker;
use crate::shell::program::condition::is_name;
use crate::shell::word::Reader;
use crate::shell::{Assignment, Kind, Number, Word, number};

/// Commands that print one number and nothing else.
const COUNTERS: &[&str] = &["date +%s", "git rev-list --count HEAD", "nproc"];

/// How a counter is compared with where it ends, the longer signs first.
const COMPARISONS: &[&str] = &["<=", ">=", "!=", "==", "<", ">"];

impl Walker<'_> {
    /// `for ((i = 0; i < 3; i++))`: a counter that begins with a number and only ever becomes another one.
    pub(super) fn counting_loop(&mut self, node: Node<'_>) {
        let Some(body) = node.child_by_field_name("body") else {
            return self.opaque("it uses syntax that is not understood");
        };
        let head = self.source.get(node.start_byte()..body.start_byte()).unwrap_or_default();
        let Some((name, bound, kind)) = counter(head) else {
            return self.opaque("arithmetic on variables can run commands");
        };
        if let Some(bound) = bound {
            self.compute(bound);
        }
        self.bind(name, vec![Word::number(kind)]);
        self.set.insert(name.to_owned());
        // Nothing inside may give it anything else.
        self.compute(name);
        let assignment = Assignment { name: name.to_owned(), value: Word::number(kind) };
        self.push(head.trim().to_owned(), Kind::Assign, Vec::new(), vec![assignment]);
        self.repeated(body, |inner| inner.statement(body));
    }

    /// Whether a substitution is certainly a number: what `wc` says of its input, or another program that only counts.
    pub(super) fn is_count(&self, node: Node<'_>) -> bool {
        let only = node.named_child(0).filter(|_| node.named_child_count() == 1);
        if node.kind() == "string"
            && self.text(node).len() == only.map_or(0, |only| self.text(only).len()) + 2
        {
            return only.is_some_and(|only| self.is_count(only));
        }
        let is_counter = |only: &Node<'_>| COUNTERS.contains(&self.text(*only));
        if node.kind() == "command_substitution" && only.filter(is_counter).is_some() {
            return true;
        }
        let counter = match only.map(|only| (only, only.kind())) {
            Some((pipeline, "pipeline")) if self.is_line_number(pipeline) => {
                return node.kind() == "command_substitution";
            }
            Some((pipeline, "pipeline")) => last_child(pipeline),
            Some((redirected, "redirected_statement")) if redirected.named_child_count() == 2 => {
                let reads = last_child(redirected).is_some_and(|redirect| {
                    redirect.kind() == "file_redirect" && self.text(redirect).starts_with('<')
                });
                redirected.named_child(0).filter(|_| reads)
            }
            _ => None,
        };
        let counter = counter.filter(|counter| counter.kind() == "command").map(|counter| self.text(counter));
        node.kind() == "command_substitution"
            && matches!(counter, Some("wc -l" | "wc -c" | "wc -m" | "wc -w"))
    }

    /// Whether a pipeline prints the numbers of lines that `grep` finds in one file.
    fn is_line_number(&self, pipeline: Node<'_>) -> bool {
        let mut cursor = pipeline.walk();
        let parts: Option<Vec<_>> =
            pipeline.named_children(&mut cursor).map(|child| self.plain_words(child)).collect();
        let Some([finder, between @ .., last]) = parts.as_deref() else { return false };
        let words = |words: &[&str], of: &[String]| of.iter().map(String::as_str).eq(words.iter().copied());
        let is_one = |part: &Vec<String>| ONE_LINE.iter().any(|one| words(one, part));
        let finds = match finder.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["grep", options, pattern, file] => {
                let letters = options.strip_prefix('-').unwrap_or_default();
                letters.contains('n')
                    && letters.chars().all(|letter| "nEFiwx".contains(letter))
                    && !pattern.starts_with('-')
                    && file.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
                    && file.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
            }
            _ => false,
        };
        finds && between.iter().all(is_one) && FIRST_FIELD.iter().any(|first| words(first, last))
    }

    /// The words of a command, if all of them mean themselves.
    fn plain_words(&self, node: Node<'_>) -> Option<Vec<String>> {
        let mut cursor = node.walk();
        let mut words = node.named_children(&mut cursor).map(|child| Reader::read(self.source, child));
        let word = |word: Option<Word>| word?.known().map(str::to_owned);
        (node.kind() == "command").then(|| words.by_ref().map(word).collect())?
    }
}

/// What takes one line of several.
const ONE_LINE: &[&[&str]] =
    &[&["head", "-1"], &["head", "-n1"], &["head", "-n", "1"], &["tail", "-1"], &["tail", "-n", "1"]];
/// What takes what stands before the first colon.
const FIRST_FIELD: &[&[&str]] = &[
    &["cut", "-d:", "-f1"],
    &["cut", "-f1", "-d:"],
    &["cut", "-d", ":", "-f", "1"],
    &["cut", "-d", ":", "-f1"],
];

fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    u32::try_from(node.named_child_count()).ok()?.checked_sub(1).and_then(|last| node.named_child(last))
}

/// The counter of a loop, and the variable that says where it ends, if one does.
fn counter(head: &str) -> Option<(&str, Option<&str>, Number)> {
    let inner = head.strip_prefix("for")?.trim_start().strip_prefix("((")?;
    let (inner, behind) = inner.split_once("))")?;
    matches!(behind.trim(), "" | ";").then_some(())?;
    let [first, condition, step] = inner.split(';').map(str::trim).collect::<Vec<_>>().try_into().ok()?;
    let (name, start) = first.split_once('=')?;
    let name = name.trim();
    (is_name(name) && number::is_number(start.trim())).then_some(())?;
    let behind = condition.strip_prefix(name)?.trim_start();
    let bound = COMPARISONS.iter().find_map(|sign| behind.strip_prefix(sign))?.trim();
    let variable = bound.strip_prefix('$').unwrap_or(bound);
    (number::is_number(bound) || is_name(variable)).then_some(())?;
    let step = [step.strip_prefix(name), step.strip_suffix(name)].into_iter().flatten().next()?.trim();
    let by = ["+=", "-="].iter().find_map(|sign| step.strip_prefix(sign));
    (matches!(step, "++" | "--") || by.is_some_and(|by| number::is_number(by.trim()))).then_some(())?;
    let counts_up = !start.trim().starts_with('-') && !step.starts_with('-');
    let kind = if counts_up { Number::Count } else { Number::Any };
    Some((name, (!number::is_number(bound)).then_some(variable), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn a_counter_is_told_from_what_computes_more() {
        for (head, expected) in [
            ("for ((i=0;i<3;i++)); ", Some(("i", None, Number::Count))),
            ("for (( i = 10; i >= 0; --i ))\n", Some(("i", None, Number::Any))),
            ("for (( i = -1; i < 1; i++ ))\n", Some(("i", None, Number::Any))),
            ("for ((i=0; i<$n; i+=2)); ", Some(("i", Some("n"), Number::Count))),
            ("for ((i=0; i<n; i+=2)); ", Some(("i", Some("n"), Number::Count))),
            ("for ((;;)); ", None),
            ("for ((i=a[0];i<3;i++)); ", None),
            ("for ((i=0;i<a[$(x)];i++)); ", None),
            ("for ((i=0;j<3;i++)); ", None),
            ("for ((i=0;i<3;i=x)); ", None),
            ("for ((i=0,j=x;i<3;i++)); ", None),
            ("for ((i=0;i<3;i++)) x; ", None),
        ] {
            assert_eq!(counter(head), expected, "{head}");
        }
    }
}
