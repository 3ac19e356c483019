//! Fields between two lines `---` at the beginning of a Markdown file.

use serde_json::{Map, Value};

use crate::origin::Place;

const FENCE: &str = "---";

/// What a file says about itself, and the text it is about.
#[derive(Debug)]
pub(crate) struct FrontMatter<'a> {
    pub(crate) fields: Map<String, Value>,
    /// The text behind the fields.
    pub(crate) body: &'a str,
    source: &'a str,
}

/// Why the fields of a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) place: Place,
    pub(crate) reason: String,
}

impl<'a> FrontMatter<'a> {
    /// Takes a file apart. One that does not begin with `---` has no fields.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Unreadable> {
        let text = text.trim_start_matches('\u{feff}');
        let Some((first, rest)) = split_line(text).filter(|(first, _)| first.trim_end() == FENCE) else {
            return Ok(Self { fields: Map::new(), body: text, source: "" });
        };
        let Some((source, body)) = split_at_fence(rest) else {
            let reason = format!("the fields are not closed by a line {FENCE}");
            return Err(Unreadable { place: Place { line: 1, column: first.trim_end().len() }, reason });
        };
        Ok(Self { fields: fields(source)?, body, source })
    }

    /// Where a field stands.
    pub(crate) fn place(&self, field: &str) -> Option<Place> {
        let is_its_line =
            |line: &str| line.strip_prefix(field).is_some_and(|rest| rest.trim_start().starts_with(':'));
        let line = self.source.lines().position(is_its_line)?;
        Some(Place { line: line + 2, column: 1 })
    }
}

fn split_line(text: &str) -> Option<(&str, &str)> {
    match text.split_once('\n') {
        Some(parts) => Some(parts),
        None if text.is_empty() => None,
        None => Some((text, "")),
    }
}

/// What stands before and behind the closing line.
fn split_at_fence(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    while let Some((line, behind)) = split_line(rest) {
        if line.trim_end() == FENCE {
            return Some((&text[..text.len() - rest.len()], behind));
        }
        rest = behind;
    }
    None
}

/// Reads the fields as YAML, and those that are no YAML line by line: files that were made for other agents often have
/// colons and quotes where YAML does not allow them.
fn fields(source: &str) -> Result<Map<String, Value>, Unreadable> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let reason = match serde_saphyr::from_str_with_options::<Value>(source, options) {
        Ok(Value::Object(fields)) => return Ok(fields),
        Ok(Value::Null) => return Ok(Map::new()),
        Ok(_) => Unreadable {
            place: Place { line: 2, column: 1 },
            reason: "the fields are not a list of `name: value`".to_owned(),
        },
        Err(error) => unreadable(&error),
    };
    line_by_line(source).ok_or(reason)
}

fn unreadable(error: &serde_saphyr::Error) -> Unreadable {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let place = error.location().map_or(Place { line: 2, column: 1 }, |at| Place {
        line: number(at.line()).saturating_add(1),
        column: number(at.column()),
    });
    let told = error.to_string();
    let reason = told.lines().next().unwrap_or_default();
    // The place is told in the lines of the file, not in those of the fields.
    let reason = reason.rsplit_once(" at line ").map_or(reason, |(reason, _)| reason);
    Unreadable { place, reason: format!("the fields are not valid YAML: {reason}") }
}

/// Fields of which each begins a line with its name; further lines are indented or items of a list.
fn line_by_line(source: &str) -> Option<Map<String, Value>> {
    let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in source.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if line.starts_with([' ', '\t']) || line.starts_with("- ") {
            fields.last_mut()?.1.push(line.trim());
        } else {
            let (name, value) = line.split_once(':')?;
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            fields.push((name, vec![value.trim()]));
        }
    }
    Some(fields.into_iter().map(|(name, lines)| (name.to_owned(), value(&lines))).collect())
}

fn value(lines: &[&str]) -> Value {
    let (first, further) = lines.split_first().unwrap_or((&"", &[]));
    let items: Option<Vec<&str>> = further.iter().map(|line| line.strip_prefix("- ")).collect();
    if let (Some(list), []) = (inline_list(first), further) {
        return list;
    }
    match items {
        Some(items) if first.is_empty() && !items.is_empty() => {
            items.into_iter().map(|item| Value::from(unquoted(item.trim()))).collect()
        }
        _ if first.is_empty() && further.is_empty() => Value::Null,
        _ => {
            let first = if matches!(*first, "|" | "|-" | ">" | ">-") { "" } else { first };
            let text = [&[first], further].concat().join("\n");
            // Whoever writes such lines by hand means line breaks.
            unquoted(text.trim()).replace("\\n", "\n").into()
        }
    }
}

/// `[a, b]` is a list, also beside fields that are no YAML.
fn inline_list(text: &str) -> Option<Value> {
    let looks_like_one = text.starts_with('[') && text.ends_with(']');
    let options = serde_saphyr::options! { with_snippet: false };
    let read = || serde_saphyr::from_str_with_options::<Vec<String>>(text, options).ok();
    looks_like_one.then(read).flatten().map(Value::from)
}

fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> (Value, &str) {
        let parsed = FrontMatter::parse(text).expect("it can be read");
        (parsed.fields.into(), parsed.body)
    }

    #[test]
    fn fields_and_text_are_told_apart() {
        assert_eq!(
            parsed("---\na: 1\nb: [x, y]\n---\ntext\n---\nmore"),
            (json!({"a": 1, "b": ["x", "y"]}), "text\n---\nmore")
        );
        assert_eq!(parsed("\u{feff}--- \r\na: x\r\n---\r\ntext"), (json!({"a": "x"}), "text"));
        assert_eq!(parsed("---\n---\ntext"), (json!({}), "text"));
        assert_eq!(parsed("# Title\n---\na: 1\n---\n"), (json!({}), "# Title\n---\na: 1\n---\n"));
        assert_eq!(parsed(""), (json!({}), ""));
    }

    #[test]
    fn fields_that_are_no_yaml_are_read_line_by_line() {
        let text = "---\nname: x\ndescription: Use it when: a \"b\" comes.\\nExample: user: \"hi\"\ntools:\n  - Read\n  - 'Grep'\n\
            # remark\nmodel: 'opus'\nnote: |\n  one: two: three\n  four\nempty:\nlist: [a, 'b']\nhint: [a] [b]\n---\nbody";
        let expected = json!({
            "name": "x", "description": "Use it when: a \"b\" comes.\nExample: user: \"hi\"", "tools": ["Read", "Grep"],
            "model": "opus", "note": "one: two: three\nfour", "empty": null,
            "list": ["a", "b"], "hint": "[a] [b]",
        });
        assert_eq!(parsed(text), (expected, "body"));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let error = |text| FrontMatter::parse(text).expect_err("it cannot be read");
        assert_eq!(error("---\nname: x\n").reason, "the fields are not closed by a line ---");
        let broken = error("---\nname: x\n[oops\n---\nbody");
        assert!(broken.reason.starts_with("the fields are not valid YAML: "), "{broken:?}");
        assert!(!broken.reason.contains("line "), "{broken:?}");
        assert!((2..=4).contains(&broken.place.line), "{broken:?}");
        assert_eq!(error("---\njust words\n---\n").place.line, 2);
    }

    #[test]
    fn fields_know_their_lines() {
        let parsed = FrontMatter::parse("---\nname: x\ntools : y\n---\n").expect("it can be read");
        assert_eq!(parsed.place("tools"), Some(Place { line: 3, column: 1 }));
        assert_eq!((parsed.place("tool"), parsed.place("body")), (None, None));
    }
}
