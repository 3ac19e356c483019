//! Recognising a request without keeping it.

use serde::{Deserialize, Serialize};

use crate::name;
use crate::request::Request;

/// Short hashes of the parts of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    model: String,
    system: String,
    tools: String,
    messages: Vec<String>,
}

impl Fingerprint {
    /// Of this request.
    pub(super) fn new(request: &Request) -> Self {
        Self {
            model: name::wire_id(&request.model),
            system: hash(&request.system),
            tools: hash(&request.tools),
            messages: request.messages.iter().map(|message| hash(&message)).collect(),
        }
    }

    /// The first part in which a request differs from this one.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if self.model != other.model {
            return Some(format!("the model is {} instead of {}", other.model, self.model));
        }
        for (name, ours, theirs) in
            [("system", &self.system, &other.system), ("tools", &self.tools, &other.tools)]
        {
            if ours != theirs {
                return Some(format!("\"{name}\" differs"));
            }
        }
        let pairs = self.messages.iter().zip(&other.messages);
        if let Some(place) =
            pairs.enumerate().find(|(_, (ours, theirs))| ours != theirs).map(|(place, _)| place)
        {
            return Some(format!("messages[{place}] differs"));
        }
        let (ours, theirs) = (self.messages.len(), other.messages.len());
        (ours != theirs).then(|| format!("there are {theirs} messages instead of {ours}"))
    }
}

fn hash(bytes: &[u8]) -> String {
    const DIGITS: usize = 16;
    blake3::hash(bytes).to_hex()[..DIGITS].to_owned()
}
