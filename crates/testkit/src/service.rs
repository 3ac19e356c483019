//! What stands between a request and its reply: admission, accounting, composition.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    cache::InputUsage,
    capture::Captured,
    compose::{Composer, Setting},
    digest::Chain,
    error::{ApiError, Check},
    models::{self, Model},
    play::{Envelope, Performance},
    prompt::items,
    script::Reply,
    state::Shared,
    validate::{self, Purpose, Request, thinking::Dropped},
};

/// What is known about a request once it was let in.
pub(crate) struct Admission {
    pub(crate) streams: bool,
    /// The request only fills the cache and gets an empty message.
    pub(crate) warms_only: bool,
    model: String,
    omit_thinking: bool,
    usage: InputUsage,
    /// The conversation so far, to which new thinking is bound.
    chain: Chain,
    transformations: Option<Value>,
}

/// The part of the body that is needed without looking at the rest.
#[derive(Debug, Default, Deserialize)]
struct Glance {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
}

/// Checks the body and accounts for its tokens.
pub(crate) fn admit(shared: &Shared, captured: &Captured) -> Check<Admission> {
    let settings = shared.settings().clone();
    if !settings.validate {
        return Ok(admit_unchecked(captured));
    }
    let mut memory = shared.memory();
    let request = Request::open(captured, Purpose::Create)?;
    let verdict = validate::check(&request, &settings, &mut memory)?;
    Ok(Admission {
        streams: request.body["stream"] == true,
        warms_only: request.body["max_tokens"] == 0,
        model: request.model.id.to_owned(),
        omit_thinking: omits_thinking(&request),
        usage: memory.cache.account(&verdict.prompt, settings.cache_minimum(request.model)),
        transformations: transformations(&request, &verdict.dropped),
        chain: verdict.chain,
    })
}

fn admit_unchecked(captured: &Captured) -> Admission {
    let glance: Glance = serde_json::from_slice(captured.raw()).unwrap_or_default();
    Admission {
        streams: glance.stream,
        warms_only: false,
        model: glance.model,
        omit_thinking: false,
        usage: InputUsage { uncached: captured.raw().len() as u64 / 4, ..InputUsage::default() },
        chain: Chain::new("unchecked"),
        transformations: None,
    }
}

/// Counts input tokens, with the same checks.
pub(crate) fn count(shared: &Shared, captured: &Captured) -> Check<u64> {
    let settings = shared.settings().clone();
    if !settings.validate {
        return Ok(captured.raw().len() as u64 / 4);
    }
    let mut memory = shared.memory();
    let request = Request::open(captured, Purpose::Count)?;
    Ok(validate::check(&request, &settings, &mut memory)?.prompt.tokens())
}

/// Looks a model up.
pub(crate) fn model(id: &str) -> Check<&'static Model> {
    models::find(id).ok_or_else(|| ApiError::new(404, "not_found_error", format!("model: {id}")))
}

/// Makes the reply concrete and remembers what it hands out.
pub(crate) fn perform(
    shared: &Shared,
    captured: &Captured,
    admission: &Admission,
    reply: &Reply,
) -> Performance {
    let mut memory = shared.memory();
    // Without checks nobody compares ids, and the body need not be parsed.
    let checked = shared.settings().validate;
    let setting = Setting {
        model: &admission.model,
        omit_thinking: admission.omit_thinking,
        chain: admission.chain.clone(),
        taken_ids: if checked { tool_ids(captured.body()) } else { HashSet::new() },
    };
    let envelope = Envelope {
        id: memory.ids.message(),
        model: admission.model.clone(),
        usage: admission.usage.to_json(),
        input_transformations: admission.transformations.clone(),
    };
    let mut composer = Composer::new(setting, &mut memory.ids, reply);
    let performance = Performance::prepare(reply, &mut composer, &envelope);
    memory.issued.record(&performance.message);
    performance
}

fn tool_ids(body: &Value) -> HashSet<&str> {
    let blocks = items(&body["messages"]).iter().flat_map(|message| items(&message["content"]));
    blocks.filter(|block| block["type"] == "tool_use").filter_map(|block| block["id"].as_str()).collect()
}

fn omits_thinking(request: &Request<'_>) -> bool {
    match request.body["thinking"]["display"].as_str() {
        Some(display) => display == "omitted",
        None => request.model.omits_thinking,
    }
}

/// Only clients that opted into the controls are told what was dropped.
fn transformations(request: &Request<'_>, dropped: &[Dropped]) -> Option<Value> {
    request.has_beta(validate::thinking::CONTROLS).then(|| {
        let entry =
            |one: &Dropped| json!({ "type": "thinking_dropped", "path": one.path, "reason": one.reason });
        dropped.iter().map(entry).collect()
    })
}
