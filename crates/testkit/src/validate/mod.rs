//! The rules of the API. Each module holds one family; a broken rule becomes the answer the service gives.

mod blocks;
mod cache;
mod documents;
mod fields;
pub(crate) mod headers;
pub(crate) mod images;
mod pairing;
mod params;
mod schema;
mod shape;
pub(crate) mod thinking;
pub(crate) mod tools;

use serde_json::Value;

use crate::{
    capture::Captured,
    digest::Chain,
    error::{ApiError, Check},
    models::Model,
    prompt::Prompt,
    service,
    state::{Memory, Settings},
};

/// What the body is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Create,
    Count,
}

/// A request whose head was accepted.
pub(crate) struct Request<'a> {
    pub(crate) body: &'a Value,
    pub(crate) model: &'static Model,
    pub(crate) purpose: Purpose,
    /// Whether the newest API version was asked for.
    pub(crate) newest_version: bool,
    betas: Vec<&'a str>,
}

impl<'a> Request<'a> {
    pub(crate) fn open(captured: &'a Captured, purpose: Purpose) -> Check<Self> {
        let body = captured.json().ok_or_else(|| ApiError::invalid("The request body is not valid JSON"))?;
        if !body.is_object() {
            return Err(ApiError::invalid("Input should be an object"));
        }
        let model = body["model"].as_str().ok_or_else(|| ApiError::at("model", "Field required"))?;
        Ok(Self {
            body,
            model: service::model(model)?,
            purpose,
            newest_version: captured.header("anthropic-version") == Some(headers::NEWEST),
            betas: captured.betas(),
        })
    }

    pub(crate) fn has_beta(&self, name: &str) -> bool {
        self.betas.contains(&name)
    }

    pub(crate) fn has_any_beta(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has_beta(name))
    }
}

/// A request that broke no rule.
pub(crate) struct Verdict<'a> {
    pub(crate) prompt: Prompt<'a>,
    /// The whole conversation, to which the reply's thinking is bound.
    pub(crate) chain: Chain,
    /// Thinking that the model does not get to see.
    pub(crate) dropped: Vec<thinking::Dropped>,
}

/// Checks everything there is to check in a body.
pub(crate) fn check<'a>(
    request: &Request<'a>,
    settings: &Settings,
    memory: &mut Memory,
) -> Check<Verdict<'a>> {
    shape::check(request)?;
    params::check(request)?;
    tools::check(request, &mut memory.tools)?;
    blocks::check(request)?;
    shape::check_order(request)?;
    pairing::check(request)?;
    cache::check(request)?;
    let window = settings.window(request.model);
    images::check(request, window)?;
    let prompt = Prompt::read(request.body);
    let tokens = prompt.tokens();
    if tokens > window {
        return Err(ApiError::invalid(format!("prompt is too long: {tokens} tokens > {window} maximum")));
    }
    let (dropped, chain) = thinking::check(request, &prompt, &memory.issued)?;
    Ok(Verdict { prompt, chain, dropped })
}
