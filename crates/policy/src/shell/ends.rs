//! Where the shell ends quotes and expansions, and whether the tree ends them there as well.

use tree_sitter::Node;

/// Where a node begins: the tree takes blanks in front of an expansion in quotes for a part of it.
pub(super) fn start(node: Node<'_>, source: &str) -> usize {
    let is_expansion = matches!(
        node.kind(),
        "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion"
    );
    let is_quoted = node.parent().is_some_and(|parent| parent.kind() == "string");
    let text = source.get(node.byte_range()).filter(|_| is_expansion && is_quoted).unwrap_or_default();
    node.start_byte() + text.len() - text.trim_start_matches([' ', '\t', '\n']).len()
}

/// What speaks against the end that the tree gives a piece of text. `text`: the piece, `before`: all that precedes it.
pub(super) fn objection(node: Node<'_>, text: &str, before: &str) -> Option<&'static str> {
    let is_fine = match node.kind() {
        "raw_string" => text.strip_prefix('\'').is_some_and(|rest| rest.find('\'') == Some(rest.len() - 1)),
        "ansi_c_string" => text.strip_prefix("$'").is_some_and(|rest| ansi_end(rest) == Some(rest.len())),
        // Whatever stands around it: quotes, comments and here-documents do not hide a back quote.
        "command_substitution" if text.starts_with('`') => text[1..].find('`') == Some(text.len() - 2),
        "expansion" => own_text(node, text).is_some_and(|own| !own.contains(['}', '(', '\n'])),
        _ => true,
    };
    if !is_fine {
        return Some("quotes or an expansion end elsewhere than they seem");
    }
    // `$$` is a value by itself, whatever follows it.
    let begins_with_dollar =
        text.starts_with('$') && node.is_named() && node.kind() != "special_variable_name";
    (begins_with_dollar && is_dollar(before)).then_some("it is not clear which $ begins an expansion")
}

/// The length of what stands behind `$'`, its end included.
fn ansi_end(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// What of `${…}` is neither quoted, nor escaped, nor an expansion of its own, without its own braces.
fn own_text(node: Node<'_>, text: &str) -> Option<String> {
    let start = node.end_byte().checked_sub(text.len())?;
    let mut own = String::new();
    let mut end = 2;
    let mut add = |part: &str| {
        let mut is_escaped = false;
        for c in part.chars() {
            if !is_escaped && c != '\\' {
                own.push(c);
            }
            is_escaped = c == '\\' && !is_escaped;
        }
    };
    let mut inner = Vec::new();
    nested(node, &mut inner);
    for range in inner {
        let (from, to) = (range.start - start, range.end - start);
        if from < end {
            continue;
        }
        add(text.get(end..from)?);
        end = to;
    }
    add(text.get(end..text.len().checked_sub(1)?)?);
    text.starts_with("${").then_some(own)
}

/// Quoted pieces and expansions inside of a node, in order.
fn nested(node: Node<'_>, found: &mut Vec<std::ops::Range<usize>>) {
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "string"
            | "raw_string"
            | "ansi_c_string"
            | "expansion"
            | "command_substitution"
            | "arithmetic_expansion"
            | "process_substitution" => found.push(child.byte_range()),
            _ => nested(child, found),
        }
    }
}

/// Whether a text ends with a `$` that could belong to what follows.
fn is_dollar(text: &str) -> bool {
    let Some(rest) = text.strip_suffix('$') else { return false };
    rest.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0
}
