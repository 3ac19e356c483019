//! Limits and settings that depend on the model.

use serde_json::Value;

use super::{
    Purpose, Request,
    fields::{object, only, required},
    thinking::CONTROLS,
};
use crate::{
    error::{ApiError, Check},
    models::Effort,
    prompt::items,
};

const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];
const MIN_BUDGET: u64 = 1024;

pub(super) fn check(request: &Request<'_>) -> Check {
    if request.purpose == Purpose::Create {
        check_max_tokens(request)?;
    }
    check_sampling(request)?;
    check_thinking(request)?;
    check_output_config(request)?;
    check_tool_choice(request)?;
    check_choices(request)
}

fn check_max_tokens(request: &Request<'_>) -> Check {
    let body = request.body;
    let Some(asked) = body["max_tokens"].as_u64() else {
        return Err(ApiError::at("max_tokens", "Input should be a valid integer"));
    };
    let most = request.model.max_output;
    if asked > most {
        let id = request.model.id;
        return Err(ApiError::invalid(format!(
            "max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {id}"
        )));
    }
    let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
    let output = body["stream"] == true
        || body["thinking"]["type"] == "enabled"
        || body["output_config"]["format"].is_object()
        || forced;
    if asked == 0 && output {
        let rule =
            "0 only warms the cache: not with `stream`, manual thinking, an output format or forced tools";
        return Err(ApiError::at("max_tokens", rule));
    }
    Ok(())
}

fn check_sampling(request: &Request<'_>) -> Check {
    let body = request.body;
    let thinking = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    for name in ["temperature", "top_p", "top_k"] {
        let Some(value) = body[name].as_f64() else { continue };
        let is_default = matches!(name, "temperature" | "top_p") && value == 1.0;
        if !request.model.sampling && !is_default {
            return Err(ApiError::at(name, format!("`{name}` is not supported for this model")));
        }
        let fits_thinking = is_default || (name == "top_p" && (0.95..=1.0).contains(&value));
        if thinking && !fits_thinking {
            return Err(ApiError::at(
                name,
                format!("`{name}` may not be set to {value} when thinking is enabled"),
            ));
        }
    }
    Ok(())
}

fn check_thinking(request: &Request<'_>) -> Check {
    let thinking = &request.body["thinking"];
    if thinking.is_null() {
        return Ok(());
    }
    let given = object("thinking", thinking)?;
    let kind = thinking["type"].as_str().unwrap_or_default();
    let binding: &[&str] = if request.has_beta(CONTROLS) { &["block_binding"] } else { &[] };
    let allowed: &[&[&str]] = match kind {
        "adaptive" => &[&["type", "display"], binding],
        "enabled" => &[&["type", "display", "budget_tokens"], binding],
        "disabled" | "between_tools" => &[&["type"]],
        _ => {
            let rule =
                format!("Input tag '{kind}' found using 'type' does not match any of the expected tags");
            return Err(ApiError::at("thinking", rule));
        }
    };
    only(&format!("thinking.{kind}"), given, allowed)?;
    if !request.model.thinking.contains(&kind) {
        return Err(ApiError::invalid(unsupported_thinking(kind)));
    }
    check_display(request, thinking)?;
    match kind {
        "enabled" => check_budget(request),
        _ => Ok(()),
    }
}

fn unsupported_thinking(kind: &str) -> String {
    match kind {
        "adaptive" => "adaptive thinking is not supported on this model".to_owned(),
        "enabled" => {
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" \
                      and \"output_config.effort\" to control thinking behavior."
                .to_owned()
        }
        kind => format!("\"thinking.type.{kind}\" is not supported for this model."),
    }
}

fn check_display(request: &Request<'_>, thinking: &Value) -> Check {
    let updates = request.has_beta("thinking-display-updates-2026-08-18");
    match thinking["display"].as_str() {
        None | Some("summarized" | "omitted") => {}
        Some("updates") if updates => {}
        Some(_) => return Err(ApiError::at("thinking.display", "Input should be 'summarized' or 'omitted'")),
    }
    let binding = &thinking["block_binding"];
    if binding.is_null() {
        return Ok(());
    }
    let path = "thinking.block_binding";
    only(path, object(path, binding)?, &[&["prefix_mismatch_behavior"]])?;
    match binding["prefix_mismatch_behavior"].as_str() {
        None | Some("error" | "drop_block") => Ok(()),
        Some(_) => Err(ApiError::at(
            format!("{path}.prefix_mismatch_behavior"),
            "Input should be 'error' or 'drop_block'",
        )),
    }
}

fn check_budget(request: &Request<'_>) -> Check {
    let path = "thinking.enabled.budget_tokens";
    let Some(budget) = request.body["thinking"]["budget_tokens"].as_u64() else {
        return Err(ApiError::at(path, "Field required"));
    };
    if budget < MIN_BUDGET {
        return Err(ApiError::at(path, format!("Input should be greater than or equal to {MIN_BUDGET}")));
    }
    let interleaved = request.has_beta("interleaved-thinking-2025-05-14");
    let limit = request.body["max_tokens"].as_u64();
    if limit.is_some_and(|limit| budget >= limit) && !interleaved {
        return Err(ApiError::invalid("`max_tokens` must be greater than `thinking.budget_tokens`"));
    }
    Ok(())
}

fn check_output_config(request: &Request<'_>) -> Check {
    let config = &request.body["output_config"];
    if config.is_null() {
        return Ok(());
    }
    let budget: &[&str] = if request.has_beta("task-budgets-2026-03-13") { &["task_budget"] } else { &[] };
    only("output_config", object("output_config", config)?, &[&["effort", "format"], budget])?;
    let Some(effort) = config["effort"].as_str() else { return Ok(()) };
    if !EFFORTS.contains(&effort) {
        let known = "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";
        return Err(ApiError::at("output_config.effort", known));
    }
    if request.model.effort == Effort::None {
        return Err(ApiError::invalid("This model does not support the effort parameter"));
    }
    if !request.model.accepts_effort(effort) {
        return Err(ApiError::at(
            "output_config.effort",
            format!("`{effort}` is not supported for this model"),
        ));
    }
    let disabled = request.body["thinking"]["type"] == "disabled";
    if disabled && request.model.disabled_needs_low_effort && matches!(effort, "xhigh" | "max") {
        let rule =
            format!("\"thinking.type.disabled\" is not supported with effort `{effort}` for this model.");
        return Err(ApiError::invalid(rule));
    }
    Ok(())
}

fn check_tool_choice(request: &Request<'_>) -> Check {
    let choice = &request.body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    let given = object("tool_choice", choice)?;
    let kind = choice["type"].as_str().unwrap_or_default();
    let parallel: &[&str] = &["type", "disable_parallel_tool_use"];
    match kind {
        "auto" | "any" => only(&format!("tool_choice.{kind}"), given, &[parallel])?,
        "tool" => {
            only("tool_choice.tool", given, &[parallel, &["name"]])?;
            required("tool_choice.tool", given, &["name"])?;
        }
        "none" => only("tool_choice.none", given, &[&["type"]])?,
        _ => {
            return Err(ApiError::at(
                "tool_choice",
                format!("Input tag '{kind}' found using 'type' is not known"),
            ));
        }
    }
    let tools = items(&request.body["tools"]);
    if tools.is_empty() {
        return Err(ApiError::invalid("tool_choice may only be specified while providing tools."));
    }
    if kind == "tool" && !tools.iter().any(|tool| tool["name"] == choice["name"]) {
        return Err(ApiError::invalid(format!("Tool {} not found in provided tools", choice["name"])));
    }
    if !matches!(kind, "any" | "tool") {
        return Ok(());
    }
    if !request.model.forced_tools {
        let rule = "tool_choice: type \"tool\" and \"any\" are not supported for this model.";
        return Err(ApiError::invalid(rule));
    }
    if request.body["thinking"]["type"] == "enabled" {
        return Err(ApiError::invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(())
}

/// Fields with a fixed set of values.
fn check_choices(request: &Request<'_>) -> Check {
    let choices: &[(&str, &[&str])] =
        &[("service_tier", &["auto", "standard_only"]), ("speed", &["standard", "fast"])];
    for (field, known) in choices {
        let value = &request.body[*field];
        if !value.is_null() && !known.iter().any(|known| value == known) {
            return Err(ApiError::at(field, format!("Input should be one of {known:?}")));
        }
    }
    let predates_regions = !request.model.thinking.contains(&"adaptive");
    if predates_regions && !request.body["inference_geo"].is_null() {
        return Err(ApiError::at("inference_geo", "not supported for this model"));
    }
    let sequences = items(&request.body["stop_sequences"]);
    let blank = |value: &Value| value.as_str().is_none_or(|text| text.trim().is_empty());
    match sequences.iter().position(blank) {
        Some(index) => Err(ApiError::at(
            format!("stop_sequences.{index}"),
            "each stop sequence must contain non-whitespace",
        )),
        None => Ok(()),
    }
}
