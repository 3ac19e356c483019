//! Cache breakpoints.

use serde_json::Value;

use super::{
    Request,
    fields::{object, only},
};
use crate::{
    error::{ApiError, Check},
    prompt::{Ttl, items, ttl},
};

const MAX_BREAKPOINTS: usize = 4;

/// A marked block and where it is.
struct Mark {
    path: String,
    ttl: Ttl,
    is_last: bool,
}

pub(super) fn check(request: &Request<'_>) -> Check {
    let automatic = &request.body["cache_control"];
    if !automatic.is_null() {
        check_mark("cache_control", automatic)?;
    }
    let marks = marks(request.body)?;
    let automatic = ttl(automatic);
    check_automatic(&marks, automatic)?;
    let found = marks.len();
    if found > MAX_BREAKPOINTS {
        return Err(ApiError::invalid(format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}."
        )));
    }
    let ttls = marks.iter().map(|mark| (mark.path.as_str(), mark.ttl));
    let ttls = ttls.chain(automatic.map(|ttl| ("cache_control", ttl)));
    let mut short_seen = false;
    for (path, ttl) in ttls {
        if ttl == Ttl::OneHour && short_seen {
            let rule = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
            return Err(ApiError::at(format!("{path}.cache_control.ttl"), rule));
        }
        short_seen |= ttl == Ttl::FiveMinutes;
    }
    Ok(())
}

/// The automatic breakpoint needs a free place, and must agree with a mark already there.
fn check_automatic(marks: &[Mark], automatic: Option<Ttl>) -> Check {
    let Some(automatic) = automatic else { return Ok(()) };
    let last = marks.last().filter(|mark| mark.is_last);
    if last.is_some_and(|mark| mark.ttl != automatic) {
        return Err(ApiError::at(
            "cache_control",
            "the last block already has cache_control with a different ttl",
        ));
    }
    if last.is_none() && marks.len() >= MAX_BREAKPOINTS {
        let found = marks.len() + 1;
        return Err(ApiError::invalid(format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}."
        )));
    }
    Ok(())
}

/// All explicit breakpoints in the order of the prompt.
fn marks(body: &Value) -> Check<Vec<Mark>> {
    let mut marks = Vec::new();
    for section in ["tools", "system"] {
        for (index, block) in items(&body[section]).iter().enumerate() {
            collect(&mut marks, || format!("{section}.{index}"), block, false)?;
        }
    }
    let messages = items(&body["messages"]);
    for (index, message) in messages.iter().enumerate() {
        let blocks = items(&message["content"]);
        for (position, block) in blocks.iter().enumerate() {
            for (inner, nested) in items(&block["content"]).iter().enumerate() {
                let path = || format!("messages.{index}.content.{position}.content.{inner}");
                collect(&mut marks, path, nested, false)?;
            }
            let is_last = index + 1 == messages.len() && position + 1 == blocks.len();
            collect(&mut marks, || format!("messages.{index}.content.{position}"), block, is_last)?;
        }
    }
    Ok(marks)
}

fn collect(marks: &mut Vec<Mark>, path: impl Fn() -> String, block: &Value, is_last: bool) -> Check {
    let Some(mark) = block.get("cache_control").filter(|mark| !mark.is_null()) else { return Ok(()) };
    let path = path();
    check_mark(&format!("{path}.cache_control"), mark)?;
    if block["type"] == "text" && block["text"].as_str().is_some_and(|text| text.trim().is_empty()) {
        let rule = "cache_control cannot be set for empty text blocks";
        return Err(ApiError::at(path, rule));
    }
    marks.extend(ttl(mark).map(|ttl| Mark { path, ttl, is_last }));
    Ok(())
}

fn check_mark(path: &str, mark: &Value) -> Check {
    only(path, object(path, mark)?, &[&["type", "ttl"]])?;
    if mark["type"] != "ephemeral" {
        return Err(ApiError::at(format!("{path}.type"), "Input should be 'ephemeral'"));
    }
    match &mark["ttl"] {
        Value::Null => Ok(()),
        ttl if ttl == "5m" || ttl == "1h" => Ok(()),
        _ => Err(ApiError::at(format!("{path}.ttl"), "Input should be '5m' or '1h'")),
    }
}
