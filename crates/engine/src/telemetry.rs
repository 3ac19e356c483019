//! Measurements of the loop, written to the local debug log. Nothing leaves the machine.

use tiller_protocol::compaction::Compacted;
use tiller_protocol::id::ChainId;
use tiller_steering::pipeline::{Measurement, Output};
use uuid::Uuid;

/// One measurement.
#[derive(Clone, Debug)]
pub(crate) enum Telemetry<'a> {
    OrphanedMessages {
        count: usize,
        cause: &'a str,
    },
    ModelFallback {
        original: &'a str,
        fallback: &'a str,
        entry_point: &'a str,
    },
    /// What a request needs is got ready.
    QuerySetupStart,
    QuerySetupEnd,
    QueryError {
        assistant_count: usize,
        tool_use_count: usize,
    },
    StreamingToolsUsed {
        tool_count: usize,
    },
    StreamingToolsNotUsed {
        tool_count: usize,
    },
    QueryBeforeAttachments {
        messages: usize,
        assistants: usize,
        results: usize,
    },
    QueryAfterAttachments {
        total: usize,
        changed_files: usize,
    },
    AgentSelected {
        kind: &'a str,
        model: &'a str,
        source: &'a str,
        built_in: bool,
    },
    ModeCycled {
        to: &'a str,
    },
    PlanExit {
        length: usize,
        outcome: &'a str,
    },
    ResponseKeyword,
    SteeringAnswered {
        count: usize,
    },
    SuggestionSuppressed {
        reason: &'a str,
    },
    AttachmentCompute(&'a Measurement),
    AutoCompactSucceeded {
        original_count: usize,
        compacted_count: usize,
        marker: &'a Compacted,
    },
    PostAutocompactTurn {
        turn: Uuid,
        counter: u32,
    },
}

/// Writes a measurement with the step it belongs to.
pub(crate) fn record(telemetry: &Telemetry<'_>, chain: ChainId, depth: u32) {
    macro_rules! event {
        ($name:literal $(, $field:ident = $value:expr)*) => {
            tracing::info!(target: "tiller::telemetry", event = $name, chainId = %chain, depth $(, $field = $value)*)
        };
    }
    match telemetry {
        Telemetry::OrphanedMessages { count, cause } => {
            event!("tiller_orphaned_messages", count = count, cause = cause);
        }
        Telemetry::ModelFallback { original, fallback, entry_point } => {
            event!(
                "tiller_model_fallback",
                original = original,
                fallback = fallback,
                entryPoint = entry_point
            );
        }
        Telemetry::QuerySetupStart => {
            event!("tiller_query_setup_start");
        }
        Telemetry::QuerySetupEnd => {
            event!("tiller_query_setup_end");
        }
        Telemetry::QueryError { assistant_count, tool_use_count } => {
            event!("tiller_query_error", assistantCount = assistant_count, toolUseCount = tool_use_count);
        }
        Telemetry::StreamingToolsUsed { tool_count } => {
            event!("tiller_streaming_tools_used", toolCount = tool_count);
        }
        Telemetry::StreamingToolsNotUsed { tool_count } => {
            event!("tiller_streaming_tools_not_used", toolCount = tool_count);
        }
        Telemetry::QueryBeforeAttachments { messages, assistants, results } => {
            event!(
                "tiller_query_before_attachments",
                messageCount = messages,
                assistantCount = assistants,
                resultCount = results
            );
        }
        Telemetry::QueryAfterAttachments { total, changed_files } => {
            event!("tiller_query_after_attachments", totalCount = total, changedFileCount = changed_files);
        }
        Telemetry::SteeringAnswered { count } => {
            event!("tiller_steering_answered", count = count);
        }
        Telemetry::SuggestionSuppressed { reason } => {
            event!("tiller_prompt_suggestion_suppressed", reason = reason);
        }
        Telemetry::AttachmentCompute(measured) => {
            let (label, duration_ms) = (measured.label, measured.duration.as_millis());
            match measured.output {
                Some(Output { bytes, count }) => event!(
                    "tiller_attachment_compute",
                    label = label,
                    duration_ms = duration_ms,
                    attachment_size_bytes = bytes,
                    attachment_count = count
                ),
                None => event!(
                    "tiller_attachment_compute",
                    label = label,
                    duration_ms = duration_ms,
                    error = true
                ),
            }
        }
        Telemetry::AutoCompactSucceeded { original_count, compacted_count, marker } => {
            event!(
                "tiller_auto_compact_succeeded",
                trigger = marker.trigger.word(),
                originalCount = original_count,
                compactedCount = compacted_count,
                preTokens = marker.pre_tokens,
                postTokens = marker.post_tokens,
                summaryInputTokens = marker.usage.input_tokens,
                summaryOutputTokens = marker.usage.output_tokens
            );
        }
        Telemetry::PostAutocompactTurn { turn, counter } => {
            event!("tiller_post_autocompact_turn", turnId = turn.to_string(), turnCounter = counter);
        }
        Telemetry::AgentSelected { kind, model, source, built_in } => {
            event!(
                "tiller_agent_selected",
                agentType = kind,
                model = model,
                source = source,
                builtIn = built_in
            );
        }
        Telemetry::ModeCycled { to } => {
            event!("tiller_mode_cycle", to = to);
        }
        Telemetry::PlanExit { length, outcome } => {
            event!("tiller_plan_exit", planLengthChars = length, outcome = outcome);
        }
        Telemetry::ResponseKeyword => {
            event!("tiller_response_keyword", is_overly_agreeable = true);
        }
    }
}

/// Phrases of uncritical agreement. Their use is only counted.
const AGREEABLE: [&str; 5] =
    ["great catch", "what a great idea", "you are so right", "that's a brilliant", "couldn't agree more"];

/// Whether an answer flatters instead of judging.
pub(crate) fn is_overly_agreeable(text: &str) -> bool {
    let text = text.to_lowercase();
    AGREEABLE.iter().any(|phrase| text.contains(phrase))
}
