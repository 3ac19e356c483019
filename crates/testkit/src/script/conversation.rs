//! Which queue of replies answers which request.

use std::{collections::VecDeque, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reply;
use crate::capture::Captured;

/// Makes up a reply from the request.
pub(crate) type Responder = Box<dyn FnMut(&Captured) -> Reply + Send>;

/// Recognises the requests of one conversation by their body.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matcher {
    /// The first user message contains this text.
    FirstUserContains(String),
    /// The newest user message contains this text.
    LastUserContains(String),
    /// The system prompt contains this text.
    SystemContains(String),
    /// The request names this model.
    Model(String),
    /// The request offers a tool of this name.
    HasTool(String),
    /// The request offers no tools at all.
    NoTools,
    /// Anything else.
    #[serde(skip)]
    Custom(Arc<dyn Fn(&Value) -> bool + Send + Sync>),
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Custom(_) => f.write_str("Custom(..)"),
            other => f.write_str(&serde_json::to_string(other).unwrap_or_default()),
        }
    }
}

impl Matcher {
    /// The first user message contains `text`.
    pub fn first_user_contains(text: &str) -> Self {
        Self::FirstUserContains(text.to_owned())
    }

    /// The newest user message contains `text`.
    pub fn last_user_contains(text: &str) -> Self {
        Self::LastUserContains(text.to_owned())
    }

    /// The system prompt contains `text`.
    pub fn system_contains(text: &str) -> Self {
        Self::SystemContains(text.to_owned())
    }

    /// The request names model `id`.
    pub fn model(id: &str) -> Self {
        Self::Model(id.to_owned())
    }

    /// The request offers a tool called `name`.
    pub fn has_tool(name: &str) -> Self {
        Self::HasTool(name.to_owned())
    }

    /// Any predicate on the parsed body.
    pub fn custom(predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        Self::Custom(Arc::new(predicate))
    }

    pub(crate) fn matches(&self, body: &Value) -> bool {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let mut users = messages.iter().filter(|message| message["role"] == "user");
        let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        match self {
            Self::FirstUserContains(text) => {
                users.next().is_some_and(|user| contains(&user["content"], text))
            }
            Self::LastUserContains(text) => {
                users.next_back().is_some_and(|user| contains(&user["content"], text))
            }
            Self::SystemContains(text) => contains(&body["system"], text),
            Self::Model(id) => body["model"] == id.as_str(),
            Self::HasTool(name) => tools.iter().any(|tool| tool["name"] == name.as_str()),
            Self::NoTools => tools.is_empty(),
            Self::Custom(predicate) => predicate(body),
        }
    }
}

/// Whether a string, or any string inside a list of blocks, contains the text.
fn contains(content: &Value, text: &str) -> bool {
    match content {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(fields) => fields.values().any(|field| contains(field, text)),
        _ => false,
    }
}

/// The replies still to be given, by conversation; number 0 takes what no matcher claims.
#[derive(Default)]
pub(crate) struct Script {
    fallback: Conversation,
    others: Vec<(Matcher, Conversation)>,
}

#[derive(Default)]
struct Conversation {
    queue: VecDeque<Reply>,
    responder: Option<Responder>,
}

impl Conversation {
    fn next(&mut self, captured: &Captured) -> Option<Reply> {
        self.queue.pop_front().or_else(|| self.responder.as_mut().map(|respond| respond(captured)))
    }
}

impl Script {
    pub(crate) fn add(&mut self, matcher: Matcher) -> usize {
        self.others.push((matcher, Conversation::default()));
        self.others.len()
    }

    pub(crate) fn queue(&mut self, conversation: usize, reply: Reply) {
        self.at(conversation).queue.push_back(reply);
    }

    pub(crate) fn respond(&mut self, conversation: usize, responder: Responder) {
        self.at(conversation).responder = Some(responder);
    }

    /// The next reply of the conversation this request belongs to, or how that conversation is called.
    pub(crate) fn next(&mut self, captured: &Captured) -> Result<Reply, String> {
        let claimed = self.others.iter_mut().find(|(matcher, _)| matcher.matches(captured.body()));
        match claimed {
            Some((matcher, conversation)) => {
                conversation.next(captured).ok_or_else(|| format!("conversation {matcher:?}"))
            }
            None => self.fallback.next(captured).ok_or_else(|| "default conversation".to_owned()),
        }
    }

    pub(crate) fn matches(&self, conversation: usize, captured: &Captured) -> bool {
        let claimed = self.others.iter().position(|(matcher, _)| matcher.matches(captured.body()));
        claimed.map_or(0, |index| index + 1) == conversation
    }

    pub(crate) fn unplayed(&self) -> usize {
        let others = self.others.iter().map(|(_, conversation)| conversation.queue.len());
        self.fallback.queue.len() + others.sum::<usize>()
    }

    fn at(&mut self, conversation: usize) -> &mut Conversation {
        match conversation.checked_sub(1) {
            None => &mut self.fallback,
            Some(index) => &mut self.others[index].1,
        }
    }
}
