//! Finding what was said.

use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use regex::bytes::RegexBuilder;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::id::EntryId;
use tiller_protocol::line;

use super::{StoreError, packed};

/// Characters that are shown before what was found.
const BEFORE: usize = 30;
/// Characters that are shown from there on.
const FROM_THERE: usize = 90;

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The entry.
    pub entry: EntryId,
    /// When it was said.
    pub at: Timestamp,
    /// Who said it: `user` or `assistant`.
    pub role: &'static str,
    /// The words around it, in one line.
    pub excerpt: String,
}

/// Where a text, in whatever case, was said in a session: in prompts and answers, not in results of calls.
///
/// # Errors
/// When the log cannot be read.
pub fn search(log: &Path, wanted: &str) -> Result<Vec<Hit>, StoreError> {
    let mut bytes = Vec::new();
    match packed::open(log)?.read_to_end(&mut bytes) {
        Err(error) if !packed::is_damage(log, &error) => return Err(error.into()),
        // What could be unpacked is looked through.
        _ => {}
    }
    // What was said stands in the log as a JSON string; without looking like that, a line need not be parsed.
    let quoted = serde_json::Value::from(wanted).to_string();
    let pattern = regex::escape(quoted.trim_matches('"'));
    let Ok(pattern) = RegexBuilder::new(&pattern).case_insensitive(true).build() else {
        return Ok(Vec::new());
    };
    let lowered = wanted.to_lowercase();
    let mut hits = Vec::new();
    let mut at = 0;
    while let Some(found) = pattern.find_at(&bytes, at) {
        let start = bytes[..found.start()].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = &bytes[found.start()..];
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| found.start() + end);
        hits.extend(hit(&bytes[start..end], &lowered));
        at = end;
    }
    Ok(hits)
}

fn hit(line: &[u8], wanted: &str) -> Option<Hit> {
    let entry: Entry = line::read(std::str::from_utf8(line).ok()?).ok()?;
    let (role, text) = match &entry.body {
        Body::User(message) if !message.is_hidden() => {
            let texts: Vec<String> = message.content.iter().filter_map(RawBlock::as_text).collect();
            ("user", texts.join("\n"))
        }
        Body::Assistant(block) if block.api_error.is_none() => ("assistant", block.block.as_text()?),
        _ => return None,
    };
    let excerpt = excerpt(&text, wanted)?;
    Some(Hit { entry: entry.id, at: entry.at, role, excerpt })
}

fn excerpt(text: &str, wanted: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
    // Lowering may change lengths, so positions are counted in characters of the lowered text.
    let lowered = line.to_lowercase();
    let position = lowered[..lowered.find(&wanted)?].chars().count();
    let start = position.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(start).take(position - start + FROM_THERE).collect();
    let left = if start > 0 { "…" } else { "" };
    let right = if line.chars().count() > position + FROM_THERE { "…" } else { "" };
    Some(format!("{left}{shown}{right}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_show_the_words_around() {
        assert_eq!(excerpt("Fix  the\nBUG now", "bug").as_deref(), Some("Fix the BUG now"));
        let long = format!("{} Needle {}", "a ".repeat(100), "b ".repeat(100));
        let shown = excerpt(&long, "needle").unwrap();
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.contains("Needle"), "{shown}");
        assert_eq!(excerpt("nothing", "else"), None);
    }
}
