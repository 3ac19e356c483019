//! The fixed head of requests, taken apart.

use serde_json::Value;
use tiller_protocol::entry::Epoch;

use super::report::{EpochFacts, Mark, Part};

/// What stands before the first heading.
const OPENING: &str = "opening";

pub(super) fn of(epoch: &Epoch, mark: Mark) -> EpochFacts {
    let list = |json: &str| serde_json::from_str::<Vec<Value>>(json).unwrap_or_default();
    let system: Vec<String> = list(epoch.system.get())
        .iter()
        .filter_map(|block| block["text"].as_str().map(str::to_owned))
        .collect();
    let tools: Vec<Part> = list(epoch.tools.get()).iter().map(tool).collect();
    EpochFacts {
        mark,
        reason: epoch.reason.clone(),
        system_bytes: system.iter().map(|text| text.len() as u64).sum(),
        sections: system.iter().flat_map(|text| sections(text)).collect(),
        tools_bytes: if tools.is_empty() { 0 } else { epoch.tools.get().len() as u64 },
        tools,
        user_context_bytes: epoch.user_context.as_ref().map_or(0, |text| text.len() as u64),
    }
}

fn tool(definition: &Value) -> Part {
    let name = definition["name"].as_str().or(definition["type"].as_str()).unwrap_or_default();
    Part { name: name.to_owned(), bytes: definition.to_string().len() as u64 }
}

/// A prompt by its headings and tags. The parts add up to the whole.
fn sections(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = heading(line.trim_end()) {
            parts.push(Part { name: name.to_owned(), bytes: 0 });
        } else if parts.is_empty() {
            parts.push(Part { name: OPENING.to_owned(), bytes: 0 });
        }
        if let Some(part) = parts.last_mut() {
            part.bytes += line.len() as u64;
        }
    }
    parts
}

fn heading(line: &str) -> Option<&str> {
    let tag =
        || line.strip_prefix('<')?.strip_suffix('>').filter(|name| name.chars().all(char::is_alphanumeric));
    line.strip_prefix("# ").or_else(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_taken_apart_by_headings_and_tags() {
        let text =
            "You are it.\n\n# Tone\nBe brief.\n\n# Tools\nUse `<b>`.\n\n<environment>\nhere\n</environment>";
        let parts = sections(text);
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, [OPENING, "Tone", "Tools", "environment"]);
        assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), text.len() as u64);
    }
}
