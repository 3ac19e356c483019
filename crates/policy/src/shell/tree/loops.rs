//! Loops that count, and numbers that are certain.

use tree_sitter::Node;

use super::{Walker, values};
use crate::shell::condition::is_name;
use crate::shell::{Assignment, Kind, Word};

/// How a counter is compared with where it ends, the longer signs first.
const COMPARISONS: &[&str] = &["<=", ">=", "!=", "==", "<", ">"];

impl Walker<'_> {
    /// `for ((i = 0; i < 3; i++))`: a counter that begins with a number and only ever becomes another one.
    pub(super) fn counting_loop(&mut self, node: Node<'_>) {
        let Some(body) = node.child_by_field_name("body") else {
            return self.opaque("it uses syntax that is not understood");
        };
        let head = self.source.get(node.start_byte()..body.start_byte()).unwrap_or_default();
        let Some((name, bound)) = counter(head) else {
            return self.opaque("arithmetic on variables can run commands");
        };
        if let Some(bound) = bound {
            self.compute(bound);
        }
        self.bind(name, vec![Word::any_number()]);
        self.set.insert(name.to_owned());
        // Nothing inside may give it anything else.
        self.compute(name);
        let assignment = Assignment { name: name.to_owned(), value: Word::any_number() };
        self.push(head.trim().to_owned(), Kind::Assign, Vec::new(), vec![assignment]);
        self.repeated(body, |inner| inner.statement(body));
    }

    /// Whether a substitution is certainly a number: what `wc` says of its input, and nothing else.
    pub(super) fn is_count(&self, node: Node<'_>) -> bool {
        let only = node.named_child(0).filter(|_| node.named_child_count() == 1);
        let counter = match only.map(|only| (only, only.kind())) {
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
}

fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    u32::try_from(node.named_child_count()).ok()?.checked_sub(1).and_then(|last| node.named_child(last))
}

/// The counter of a loop, and the variable that says where it ends, if one does.
fn counter(head: &str) -> Option<(&str, Option<&str>)> {
    let inner = head.strip_prefix("for")?.trim_start().strip_prefix("((")?;
    let (inner, behind) = inner.split_once("))")?;
    matches!(behind.trim(), "" | ";").then_some(())?;
    let [first, condition, step] = inner.split(';').map(str::trim).collect::<Vec<_>>().try_into().ok()?;
    let (name, start) = first.split_once('=')?;
    let name = name.trim();
    (is_name(name) && values::is_number(start.trim())).then_some(())?;
    let behind = condition.strip_prefix(name)?.trim_start();
    let bound = COMPARISONS.iter().find_map(|sign| behind.strip_prefix(sign))?.trim();
    let variable = bound.strip_prefix('$').unwrap_or(bound);
    (values::is_number(bound) || is_name(variable)).then_some(())?;
    let step = [step.strip_prefix(name), step.strip_suffix(name)].into_iter().flatten().next()?.trim();
    let by = ["+=", "-="].iter().find_map(|sign| step.strip_prefix(sign));
    (matches!(step, "++" | "--") || by.is_some_and(|by| values::is_number(by.trim()))).then_some(())?;
    Some((name, (!values::is_number(bound)).then_some(variable)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn a_counter_is_told_from_what_computes_more() {
        for (head, expected) in [
            ("for ((i=0;i<3;i++)); ", Some(("i", None))),
            ("for (( i = 10; i >= 0; --i ))\n", Some(("i", None))),
            ("for ((i=0; i<$n; i+=2)); ", Some(("i", Some("n")))),
            ("for ((i=0; i<n; i+=2)); ", Some(("i", Some("n")))),
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
