//! What was denied, as far as it fits into the result: SDKs give up at a line of more than one mebibyte.

use serde_json::Value;

/// Bytes that all of it may have.
const MAX_BYTES: usize = 256 * 1024;
/// Characters of a text in an input, if it does not fit as a whole.
const TEXT_CHARS: usize = 1_000;

/// Denied calls in the form that a result has for them.
pub(super) struct Denials {
    pub(super) told: Vec<Value>,
    /// How many there is no room for.
    pub(super) left_out: usize,
}

impl Denials {
    /// All of them as they are, or with long texts shortened; what does not fit even so is counted.
    pub(super) fn fitting(all: &[Value]) -> Self {
        if all.iter().map(size).sum::<usize>() <= MAX_BYTES {
            return Self { told: all.to_vec(), left_out: 0 };
        }
        let mut room = MAX_BYTES;
        let mut told = Vec::new();
        for denial in all {
            let mut denial = denial.clone();
            shorten(&mut denial["tool_input"]);
            if let Some(left) = room.checked_sub(size(&denial)) {
                room = left;
                told.push(denial);
            }
        }
        let left_out = all.len() - told.len();
        Self { told, left_out }
    }
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS) {
                let left_out = text[end..].chars().count();
                text.truncate(end);
                text.push_str(&format!("… [{left_out} characters left out]"));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn denied(content: &str) -> Value {
        json!({"tool_name": "Write", "tool_use_id": "a", "tool_input": {"file_path": "f", "content": content}})
    }

    #[test]
    fn what_fits_is_told_as_it_is() {
        let all = vec![denied(&"x".repeat(50_000)); 4];
        let denials = Denials::fitting(&all);
        assert_eq!((denials.told, denials.left_out), (all, 0));
    }

    #[test]
    fn long_texts_are_shortened_before_anything_is_left_out() {
        let denials = Denials::fitting(&vec![denied(&"ä".repeat(100_000)); 12]);
        assert_eq!((denials.told.len(), denials.left_out), (12, 0));
        let content = denials.told[11]["tool_input"]["content"].as_str().unwrap();
        assert!(content.ends_with("ä… [99000 characters left out]"), "{content}");
        assert_eq!(denials.told[11]["tool_input"]["file_path"], "f");
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let denials = Denials::fitting(&vec![denied("x"); 10_000]);
        assert_eq!(denials.told.len() + denials.left_out, 10_000);
        assert!(denials.told.iter().map(size).sum::<usize>() <= MAX_BYTES && denials.left_out > 0);
    }
}
