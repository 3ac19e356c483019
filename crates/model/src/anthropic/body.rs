//! The body of a request. Small fields come first, then `system`, `tools` and, last, `messages`, so that a request
//! that only adds messages repeats the bytes of the one before it.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};

use crate::catalog::{Display, ModelInfo, ThinkingForm, ThinkingOff};
use crate::request::{Effort, Request, Thinking};

/// The smallest number of thinking tokens the provider accepts.
const SMALLEST_BUDGET: u32 = 1024;
/// An answer longer than this would take more than ten minutes, too long for a request that is not streamed.
pub(crate) const WHOLE_ANSWER_OUTPUT: u32 = 21_333;
/// The header that goes with `block_binding`.
pub(crate) const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// What the body is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An answer in pieces.
    Stream,
    /// An answer in one piece.
    Whole,
    /// Counting tokens only.
    Count,
}

/// Builds the body. The parts that the request holds as bytes are copied, never read.
pub(crate) fn build(request: &Request, info: &ModelInfo, purpose: Purpose) -> Bytes {
    let max_tokens = max_tokens(request, info, purpose);
    let mut fields = vec![("model", Value::from(info.id.as_str()))];
    if purpose != Purpose::Count {
        fields.push(("max_tokens", max_tokens.into()));
        fields.push(("stream", (purpose == Purpose::Stream).into()));
    }
    fields.extend(thinking(request, info, max_tokens).map(|value| ("thinking", value)));
    fields.extend(output_config(request, info).map(|value| ("output_config", value)));
    if request.cache {
        fields.push(("cache_control", json!({"type": "ephemeral"})));
    }

    let mut body = BytesMut::with_capacity(size(request));
    for (name, value) in &fields {
        body.put_u8(if body.is_empty() { b'{' } else { b',' });
        body.put_slice(format!("\"{name}\":{value}").as_bytes());
    }
    for (name, bytes) in [("system", &request.system), ("tools", &request.tools)] {
        if !bytes.is_empty() {
            body.put_slice(format!(",\"{name}\":").as_bytes());
            body.put_slice(bytes);
        }
    }
    body.put_slice(b",\"messages\":[");
    for (place, run) in request.messages.runs().enumerate() {
        if place > 0 {
            body.put_u8(b',');
        }
        body.put_slice(run);
    }
    body.put_slice(b"]}");
    body.freeze()
}

fn size(request: &Request) -> usize {
    let messages = request.messages.bytes() + request.messages.len();
    request.system.len() + request.tools.len() + messages + 1024
}

fn max_tokens(request: &Request, info: &ModelInfo, purpose: Purpose) -> u32 {
    let window = u32::try_from(info.context_window).unwrap_or(u32::MAX);
    // A conversation may fill nearly two thirds of a small window.
    let wish = request.max_tokens.unwrap_or_else(|| info.agent_output().min(window / 3));
    let limit = if purpose == Purpose::Whole { WHOLE_ANSWER_OUTPUT } else { u32::MAX };
    // What an unknown model can do is only guessed, so an explicit wish is passed on.
    let model_limit = if info.known { info.max_output } else { u32::MAX };
    wish.min(limit).min(model_limit).min(window).max(1)
}

fn output_config(request: &Request, info: &ModelInfo) -> Option<Value> {
    let mut config = serde_json::Map::new();
    if let Some(effort) = request.effort.and_then(|wish| info.effort(wish)) {
        config.insert("effort".to_owned(), effort.as_str().into());
    }
    if let Some(format) = &request.output_format {
        config.insert("format".to_owned(), format.clone());
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

/// The `thinking` field in a form this model accepts; `None` leaves it out.
fn thinking(request: &Request, info: &ModelInfo, max_tokens: u32) -> Option<Value> {
    let mut field = match request.thinking {
        Thinking::ModelDefault => by_default(info),
        Thinking::Off | Thinking::Budget(0) => off(request, info),
        Thinking::Budget(tokens) => budget(info, tokens, max_tokens).or_else(|| adaptive(info)),
        Thinking::Adaptive => adaptive(info).or_else(|| budget(info, max_tokens / 2, max_tokens)),
    }?;
    if binds(request, info) {
        // Only thinking that is on can say what to do with blocks of another prefix.
        if field["type"] == "between_tools" {
            field = adaptive(info)?;
        }
        field["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    }
    Some(field)
}

/// Whether blocks of another prefix are to be dropped, which needs [`BINDING_BETA`].
pub(crate) fn binds(request: &Request, info: &ModelInfo) -> bool {
    request.drop_mismatched_thinking && info.drops_thinking()
}

/// A model whose thinking would come back empty is asked for a summary, since what it says between tool calls
/// may be there.
fn by_default(info: &ModelInfo) -> Option<Value> {
    if info.thinking_by_default { adaptive(info) } else { None }
}

fn adaptive(info: &ModelInfo) -> Option<Value> {
    info.accepts(ThinkingForm::Adaptive).then(|| with_display(info, json!({"type": "adaptive"})))
}

fn budget(info: &ModelInfo, tokens: u32, max_tokens: u32) -> Option<Value> {
    let fits = max_tokens > SMALLEST_BUDGET && info.accepts(ThinkingForm::Budget);
    let tokens = tokens.clamp(SMALLEST_BUDGET, max_tokens.saturating_sub(1).max(SMALLEST_BUDGET));
    fits.then(|| with_display(info, json!({"type": "enabled", "budget_tokens": tokens})))
}

fn off(request: &Request, info: &ModelInfo) -> Option<Value> {
    let effort = request.effort.and_then(|wish| info.effort(wish)).or(info.default_effort);
    match info.thinking_off {
        _ if !info.thinking_by_default => None,
        ThinkingOff::Accepted => Some(json!({"type": "disabled"})),
        ThinkingOff::BelowXHigh if effort < Some(Effort::XHigh) => Some(json!({"type": "disabled"})),
        ThinkingOff::BetweenTools => Some(json!({"type": "between_tools"})),
        ThinkingOff::BelowXHigh | ThinkingOff::Refused => by_default(info),
    }
}

fn with_display(info: &ModelInfo, mut field: Value) -> Value {
    if info.display == Display::Omitted {
        field["display"] = "summarized".into();
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn body(request: &Request, purpose: Purpose) -> String {
        let info = Catalog::shipped().unwrap().info(&request.model);
        String::from_utf8(build(request, &info, purpose).to_vec()).unwrap()
    }

    fn thinking_of(model: &str, thinking: Thinking, effort: Option<Effort>) -> Value {
        let request = Request { model: model.to_owned(), thinking, effort, ..Request::default() };
        serde_json::from_str::<Value>(&body(&request, Purpose::Stream)).unwrap()["thinking"].clone()
    }

    #[test]
    fn small_fields_first_and_messages_last() {
        let request = Request {
            model: "claude-opus-5-5[1m]".to_owned(),
            system: Bytes::from_static(b"[ {\"type\":\"text\",\"text\":\"s\"} ]"),
            tools: Bytes::from_static(b"[]"),
            messages: vec![Bytes::from_static(b"{\"m\":1}"), Bytes::from_static(b"{\"m\":2}")].into(),
            effort: Some(Effort::High),
            output_format: Some(json!({"type": "json_schema"})),
            cache: true,
            ..Request::default()
        };
        insta::assert_snapshot!(body(&request, Purpose::Stream), @r#"{"model":"claude-opus-5-5","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high","format":{"type":"json_schema"}},"cache_control":{"type":"ephemeral"},"system":[ {"type":"text","text":"s"} ],"tools":[],"messages":[{"m":1},{"m":2}]}"#);
        insta::assert_snapshot!(body(&Request { model: "x".to_owned(), ..Request::default() }, Purpose::Count), @r#"{"model":"x","messages":[]}"#);
    }

    // CACHE-01
    #[test]
    fn the_next_request_repeats_the_bytes_of_the_last() {
        let mut request = Request {
            model: "claude-fable-5-2".to_owned(),
            system: Bytes::from_static(b"[1]"),
            tools: Bytes::from_static(b"[2]"),
            messages: vec![Bytes::from_static(b"{\"role\":\"user\"}")].into(),
            ..Request::default()
        };
        let first = body(&request, Purpose::Stream);
        request.messages.push(Bytes::from_static(b"{\"role\":\"assistant\"}"));
        let second = body(&request, Purpose::Stream);
        assert!(second.starts_with(first.strip_suffix("]}").unwrap()));
    }

    // CACHE-08
    #[test]
    fn each_model_is_told_about_thinking_in_a_form_it_accepts() {
        use Thinking::{Adaptive, Budget, ModelDefault, Off};
        let shown = json!({"type": "adaptive", "display": "summarized"});
        let plain = json!({"type": "adaptive"});
        let disabled = json!({"type": "disabled"});
        let between = json!({"type": "between_tools"});
        let some = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
        for (model, thinking, effort, expected) in [
            ("claude-fable-5-2", ModelDefault, None, &shown),
            ("claude-fable-5-2", Off, None, &shown),
            ("claude-fable-5-2", Budget(9000), None, &shown),
            ("claude-haiku-5-5", ModelDefault, None, &shown),
            ("claude-sonnet-5-5", ModelDefault, None, &shown),
            ("claude-sonnet-5-5", Off, None, &between),
            ("claude-opus-5", Off, None, &disabled),
            ("claude-opus-5", Off, Some(Effort::Max), &shown),
            ("claude-sonnet-5", Off, Some(Effort::Max), &disabled),
            ("claude-opus-4-8", ModelDefault, None, &Value::Null),
            ("claude-opus-4-8", Off, None, &Value::Null),
            ("claude-opus-4-8", Adaptive, None, &shown),
            ("claude-opus-4-6", Adaptive, None, &plain),
            ("claude-opus-4-6", Budget(9000), None, &some(9000)),
            ("claude-haiku-4-5", ModelDefault, None, &Value::Null),
            ("claude-haiku-4-5", Budget(1), None, &some(1024)),
            ("claude-haiku-4-5", Budget(50_000), None, &some(31_999)),
            ("claude-haiku-4-5", Adaptive, None, &some(16_000)),
            ("house-model", ModelDefault, None, &Value::Null),
            ("house-model", Budget(9000), None, &Value::Null),
        ] {
            assert_eq!(&thinking_of(model, thinking, effort), expected, "{model} {thinking:?} {effort:?}");
        }
    }

    // CACHE-06
    #[test]
    fn mismatched_thinking_may_be_dropped() {
        let request =
            Request { model: "claude-opus-5-5".into(), drop_mismatched_thinking: true, ..Request::default() };
        let catalog = Catalog::shipped().unwrap();
        let dropping = r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}"#;
        assert!(body(&request, Purpose::Stream).contains(dropping));
        assert!(binds(&request, &catalog.info(&request.model)));
        let quiet = Request { model: "claude-sonnet-5-5".into(), thinking: Thinking::Off, ..request.clone() };
        assert!(body(&quiet, Purpose::Stream).contains(dropping));
        let old = Request { model: "claude-haiku-4-5".into(), ..request };
        assert!(!body(&old, Purpose::Stream).contains(dropping));
        assert!(!binds(&old, &catalog.info(&old.model)));
    }

    #[test]
    fn output_stays_within_limits() {
        let limit = |model: &str, wish, purpose| {
            let request = Request { model: model.into(), max_tokens: wish, ..Request::default() };
            serde_json::from_str::<Value>(&body(&request, purpose)).unwrap()["max_tokens"].as_u64().unwrap()
        };
        assert_eq!(limit("claude-opus-5-5", None, Purpose::Stream), 32_000);
        assert_eq!(limit("claude-opus-5-5", Some(1_000_000), Purpose::Stream), 128_000);
        assert_eq!(limit("claude-opus-5-5", None, Purpose::Whole), 21_333);
        assert_eq!(limit("house-model", Some(100_000), Purpose::Stream), 100_000);
        let small = ModelInfo {
            context_window: 24_000,
            ..ModelInfo::clone(&Catalog::shipped().unwrap().info("claude-opus-5-5"))
        };
        let request = Request::default();
        assert_eq!(max_tokens(&request, &small, Purpose::Stream), 8_000);
    }
}
