//! The reminder tag: how Tiller marks what it adds to a conversation, and how it tells that apart again.

use serde_json::Value;
pub use tiller_protocol::forgery::{Neutralised, neutralise};

const OPENING: &str = "<system-reminder>";
const CLOSING: &str = "</system-reminder>";

/// Text as a reminder.
#[must_use]
pub fn wrap(text: &str) -> String {
    format!("{OPENING}\n{text}\n{CLOSING}")
}

/// Messages with their text as reminders: a plain string as a whole, in a list each text block by itself. All else stays.
#[must_use]
pub fn wrap_messages(messages: &[Value]) -> Vec<Value> {
    let mut wrapped = messages.to_vec();
    for content in wrapped.iter_mut().filter_map(content_mut) {
        match content {
            Value::String(text) => *text = wrap(text),
            Value::Array(blocks) => {
                blocks.iter_mut().filter_map(text_mut).for_each(|text| *text = wrap(text));
            }
            _ => {}
        }
    }
    wrapped
}

/// The content of a reminder, if the whole text is one.
#[must_use]
pub fn extract(text: &str) -> Option<&str> {
    let content = text.trim().strip_prefix(OPENING)?.strip_suffix(CLOSING)?.trim();
    (!content.is_empty()).then_some(content)
}

/// A conversation taken apart, each list in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Separated {
    /// What was said and what tools answered, under a heading each.
    pub context_parts: Vec<String>,
    /// The content of the reminders.
    pub system_reminders: Vec<String>,
}

impl Separated {
    fn add(&mut self, heading: &str, text: &str) {
        match extract(text) {
            Some(reminder) => self.system_reminders.push(reminder.to_owned()),
            None => self.context_parts.push(format!("[{heading}]\n{text}")),
        }
    }

    fn add_block(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("text") => self.add("USER", block["text"].as_str().unwrap_or_default()),
            Some("tool_result") => {
                let call = block["tool_use_id"].as_str().unwrap_or_default();
                self.add(&format!("TOOL RESULT: {call}"), &result_text(block));
            }
            _ => {}
        }
    }
}

/// Takes reminders and ordinary content of messages in the user's role apart.
#[must_use]
pub fn separate(messages: &[Value]) -> Separated {
    let mut separated = Separated::default();
    for content in messages.iter().filter_map(content) {
        match content {
            Value::String(text) => separated.add("USER", text),
            Value::Array(blocks) => blocks.iter().for_each(|block| separated.add_block(block)),
            _ => {}
        }
    }
    separated
}

fn result_text(block: &Value) -> String {
    match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// A message's content, on the wire or inside the envelope of a transcript line.
fn content(message: &Value) -> Option<&Value> {
    message.get("message").unwrap_or(message).get("content")
}

fn content_mut(message: &mut Value) -> Option<&mut Value> {
    if message.get("message").is_some() {
        message.get_mut("message")?.get_mut("content")
    } else {
        message.get_mut("content")
    }
}

fn text_mut(block: &mut Value) -> Option<&mut String> {
    if block["type"] != "text" {
        return None;
    }
    match block.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    // STEER-01
    #[test]
    fn wrapping_puts_text_between_tags_on_lines_of_their_own() {
        assert_eq!(wrap("be brief"), "<system-reminder>\nbe brief\n</system-reminder>");
    }

    // STEER-02
    #[test]
    fn strings_are_wrapped_whole_text_blocks_singly_the_rest_not_at_all() {
        let image = json!({"type": "image", "source": {"type": "base64", "data": "eA=="}});
        let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "kept"});
        let messages = [
            json!({"role": "user", "content": "one", "isMeta": true}),
            json!({"role": "user", "content": [{"type": "text", "text": "two", "n": 1}, image, result, {"type": "text", "text": "three"}]}),
            json!({"type": "user", "uuid": "u", "timestamp": "t", "message": {"role": "user", "content": "four"}}),
            json!({"role": "user", "content": null}),
            json!({"role": "user", "content": [{"type": "text", "text": 5}, "six"]}),
            json!("seven"),
        ];
        let before = messages.to_vec();
        let expected = [
            json!({"role": "user", "content": wrap("one"), "isMeta": true}),
            json!({"role": "user", "content": [
                {"type": "text", "text": wrap("two"), "n": 1}, image, result, {"type": "text", "text": wrap("three")},
            ]}),
            json!({"type": "user", "uuid": "u", "timestamp": "t", "message": {"role": "user", "content": wrap("four")}}),
            before[3].clone(),
            before[4].clone(),
            before[5].clone(),
        ];
        assert_eq!(wrap_messages(&messages), expected);
        assert_eq!(messages.to_vec(), before);
    }

    // STEER-03 STEER-04
    #[test]
    fn only_a_text_that_is_a_reminder_from_end_to_end_is_recognised() {
        let cases = [
            ("<system-reminder>\nx\n</system-reminder>", Some("x")),
            ("<system-reminder>x</system-reminder>", Some("x")),
            ("<system-reminder>\nx\n\ny\n</system-reminder>", Some("x\n\ny")),
            ("before <system-reminder>\nx\n</system-reminder>", None),
            ("<system-reminder>\nx\n</system-reminder> after", None),
            (" \n\t<system-reminder>\n x \n</system-reminder>\r\n ", Some("x")),
            ("<system-reminder></system-reminder>", None),
            ("<system-reminder>\n</system-reminder>", None),
            ("<system-reminder> \n \t</system-reminder>", None),
            (
                "<system-reminder>\na\n</system-reminder>\n<system-reminder>\nb\n</system-reminder>",
                Some("a\n</system-reminder>\n<system-reminder>\nb"),
            ),
            ("<system-reminder>\nx", None),
            ("x\n</system-reminder>", None),
            ("<System-Reminder>\nx\n</System-Reminder>", None),
            ("<system-reminder>\nx\n</SYSTEM-REMINDER>", None),
            ("<system-reminder a=\"b\">\nx\n</system-reminder>", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(extract(text), expected, "{text:?}");
        }
    }

    // STEER-05 STEER-06
    #[test]
    fn separation_keeps_order_and_headings() {
        let messages = [
            json!({"role": "user", "content": "hello"}),
            json!({"role": "user", "content": wrap("first")}),
            json!({"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {}},
                {"type": "text", "text": wrap("second")},
                {"type": "tool_result", "tool_use_id": "t1", "content": "done"},
                {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "a"}]},
                {"type": "tool_result", "tool_use_id": "t3", "content": wrap("third")},
                {"type": "tool_result", "tool_use_id": "t4"},
            ]}),
            json!({"role": "user", "content": 7}),
            json!({"type": "user", "message": {"role": "user", "content": wrap("fourth")}}),
        ];
        let expected = Separated {
            context_parts: vec![
                "[USER]\nhello".to_owned(),
                "[USER]\nlook".to_owned(),
                "[TOOL RESULT: t1]\ndone".to_owned(),
                "[TOOL RESULT: t2]\n[{\"type\":\"text\",\"text\":\"a\"}]".to_owned(),
                "[TOOL RESULT: t4]\n".to_owned(),
            ],
            system_reminders: ["first", "second", "third", "fourth"].map(str::to_owned).to_vec(),
        };
        assert_eq!(separate(&messages), expected);
    }

    proptest! {
        #[test]
        fn what_was_wrapped_is_recognised(text in "\\PC*") {
            let trimmed = text.trim();
            let expected = (!trimmed.is_empty()).then_some(trimmed);
            let wrapped = wrap(&text);
            prop_assert_eq!(extract(&wrapped), expected);
        }

        // LEDG-05
        #[test]
        fn only_tiller_produces_a_reminder(text in "(</?system-reminder>|<|/|system|-reminder|>|\\PC{0,6}){0,12}") {
            let neutralised = neutralise(&text);
            prop_assert_eq!(extract(&neutralised.text), None);
            let wrapped = wrap(&neutralised.text);
            prop_assert_eq!(wrapped.matches("<system-reminder>").count(), 1);
            prop_assert_eq!(wrapped.matches("</system-reminder>").count(), 1);
        }
    }
}
