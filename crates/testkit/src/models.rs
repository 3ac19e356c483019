//! What each model accepts, as one table.

use serde_json::{Value, json};

/// The most capable effort level a model accepts; each level includes the ones below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    None,
    High,
    /// Up to `max`, without `xhigh`.
    Max,
    /// Everything.
    XHigh,
}

/// Whose thinking blocks a model can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Open,
    Fable51,
    Fable52,
    Haiku55,
}

/// One row of the model table.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) id: &'static str,
    pub(crate) alias: &'static str,
    display_name: &'static str,
    line: &'static str,
    created_at: &'static str,
    lifecycle: &'static str,
    retires_at: Option<&'static str>,
    pub(crate) context: u64,
    pub(crate) max_output: u64,
    /// Accepted `thinking.type` values.
    pub(crate) thinking: &'static [&'static str],
    /// `disabled` is refused together with effort `xhigh` and `max`.
    pub(crate) disabled_needs_low_effort: bool,
    pub(crate) omits_thinking: bool,
    pub(crate) effort: Effort,
    pub(crate) forced_tools: bool,
    pub(crate) prefill: bool,
    pub(crate) system_messages: bool,
    pub(crate) sampling: bool,
    pub(crate) prefix_check: bool,
    pub(crate) reader: Reader,
    pub(crate) cache_minimum: u64,
    pub(crate) image_edge: u32,
}

const ADAPTIVE: &[&str] = &["adaptive"];
const NOT_MANUAL: &[&str] = &["adaptive", "disabled"];
const MANUAL: &[&str] = &["enabled", "disabled"];
const M: u64 = 1_000_000;

/// The newest generation; older rows state how they differ.
const NEWEST: Model = Model {
    id: "",
    alias: "",
    display_name: "",
    line: "",
    created_at: "1970-01-01T00:00:00Z",
    lifecycle: "active",
    retires_at: None,
    context: M,
    max_output: 128_000,
    thinking: ADAPTIVE,
    disabled_needs_low_effort: false,
    omits_thinking: true,
    effort: Effort::XHigh,
    forced_tools: false,
    prefill: false,
    system_messages: true,
    sampling: false,
    prefix_check: true,
    reader: Reader::Open,
    cache_minimum: 512,
    image_edge: 2576,
};

const FABLE_5: Model = Model { prefix_check: false, ..NEWEST };
const OPUS_4_8: Model =
    Model { thinking: NOT_MANUAL, forced_tools: true, prefix_check: false, cache_minimum: 1024, ..NEWEST };
const CLAUDE_4_6: Model = Model {
    thinking: &["adaptive", "enabled", "disabled"],
    omits_thinking: false,
    effort: Effort::Max,
    system_messages: false,
    sampling: true,
    cache_minimum: 4096,
    image_edge: 1568,
    ..OPUS_4_8
};
const CLAUDE_4_5: Model = Model {
    context: 200_000,
    max_output: 64_000,
    thinking: MANUAL,
    effort: Effort::None,
    prefill: true,
    ..CLAUDE_4_6
};

/// Newest first, as the models endpoint lists them.
const MODELS: &[Model] = &[
    Model {
        id: "claude-fable-5-2",
        display_name: "Claude Fable 5.2",
        line: "fable",
        created_at: "2026-11-09T00:00:00Z",
        reader: Reader::Fable52,
        ..NEWEST
    },
    Model {
        id: "claude-mythos-5-2",
        display_name: "Claude Mythos 5.2",
        line: "mythos",
        created_at: "2026-11-09T00:00:00Z",
        reader: Reader::Fable52,
        ..NEWEST
    },
    Model {
        id: "claude-haiku-5-5",
        display_name: "Claude Haiku 5.5",
        line: "haiku",
        created_at: "2026-10-07T00:00:00Z",
        system_messages: false,
        reader: Reader::Haiku55,
        ..NEWEST
    },
    Model {
        id: "claude-sonnet-5-5",
        display_name: "Claude Sonnet 5.5",
        line: "sonnet",
        created_at: "2026-09-28T00:00:00Z",
        thinking: &["adaptive", "between_tools"],
        ..NEWEST
    },
    Model {
        id: "claude-opus-5-5",
        display_name: "Claude Opus 5.5",
        line: "opus",
        created_at: "2026-09-22T00:00:00Z",
        ..NEWEST
    },
    Model {
        id: "claude-fable-5-1",
        display_name: "Claude Fable 5.1",
        line: "fable",
        created_at: "2026-09-01T00:00:00Z",
        reader: Reader::Fable51,
        ..NEWEST
    },
    Model {
        id: "claude-mythos-5-1",
        display_name: "Claude Mythos 5.1",
        line: "mythos",
        created_at: "2026-09-01T00:00:00Z",
        reader: Reader::Fable51,
        ..NEWEST
    },
    Model {
        id: "claude-opus-5",
        display_name: "Claude Opus 5",
        line: "opus",
        created_at: "2026-07-24T00:00:00Z",
        thinking: NOT_MANUAL,
        disabled_needs_low_effort: true,
        forced_tools: true,
        ..FABLE_5
    },
    Model {
        id: "claude-sonnet-5",
        display_name: "Claude Sonnet 5",
        line: "sonnet",
        created_at: "2026-06-30T00:00:00Z",
        thinking: NOT_MANUAL,
        forced_tools: true,
        system_messages: false,
        cache_minimum: 1024,
        ..FABLE_5
    },
    Model {
        id: "claude-fable-5",
        display_name: "Claude Fable 5",
        line: "fable",
        created_at: "2026-06-09T00:00:00Z",
        ..FABLE_5
    },
    Model {
        id: "claude-mythos-5",
        display_name: "Claude Mythos 5",
        line: "mythos",
        created_at: "2026-06-09T00:00:00Z",
        ..FABLE_5
    },
    Model { id: "claude-opus-4-8", display_name: "Claude Opus 4.8", line: "opus", ..OPUS_4_8 },
    Model {
        id: "claude-opus-4-7",
        display_name: "Claude Opus 4.7",
        line: "opus",
        system_messages: false,
        cache_minimum: 2048,
        ..OPUS_4_8
    },
    Model { id: "claude-opus-4-6", display_name: "Claude Opus 4.6", line: "opus", ..CLAUDE_4_6 },
    Model {
        id: "claude-sonnet-4-6",
        display_name: "Claude Sonnet 4.6",
        line: "sonnet",
        cache_minimum: 1024,
        ..CLAUDE_4_6
    },
    Model {
        id: "claude-opus-4-5-20251101",
        alias: "claude-opus-4-5",
        display_name: "Claude Opus 4.5",
        line: "opus",
        effort: Effort::High,
        ..CLAUDE_4_5
    },
    Model {
        id: "claude-haiku-4-5-20251001",
        alias: "claude-haiku-4-5",
        display_name: "Claude Haiku 4.5",
        line: "haiku",
        created_at: "2025-10-15T00:00:00Z",
        ..CLAUDE_4_5
    },
    Model {
        id: "claude-sonnet-4-5-20250929",
        alias: "claude-sonnet-4-5",
        display_name: "Claude Sonnet 4.5",
        line: "sonnet",
        lifecycle: "deprecated",
        retires_at: Some("2026-11-30T00:00:00Z"),
        cache_minimum: 1024,
        ..CLAUDE_4_5
    },
];

/// All models, newest first.
pub(crate) fn all() -> &'static [Model] {
    MODELS
}

/// The model with this id or alias.
pub(crate) fn find(id: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.id == id || (!model.alias.is_empty() && model.alias == id))
}

impl Model {
    /// Whether the model accepts this effort level.
    pub(crate) fn accepts_effort(&self, level: &str) -> bool {
        match level {
            "low" | "medium" | "high" => self.effort >= Effort::High,
            "max" => self.effort >= Effort::Max,
            "xhigh" => self.effort == Effort::XHigh,
            _ => false,
        }
    }

    /// Whether the model can read thinking blocks made by `source`.
    pub(crate) fn reads(&self, source: &Model) -> bool {
        match (self.reader, source.reader) {
            (own, made) if own == made => true,
            (_, Reader::Fable52) | (Reader::Haiku55, _) => false,
            (own, Reader::Fable51) => own == Reader::Fable52,
            _ => true,
        }
    }

    /// The entry of the models endpoint.
    pub(crate) fn info(&self) -> Value {
        let yes = |supported: bool| json!({ "supported": supported });
        let thinking = |kind: &str| yes(self.thinking.contains(&kind));
        let effort = |level: &str| yes(self.accepts_effort(level));
        json!({
            "type": "model",
            "id": self.id,
            "display_name": self.display_name,
            "created_at": self.created_at,
            "lifecycle": self.lifecycle,
            "deprecated_at": self.retires_at.map(|_| "2026-08-01T00:00:00Z"),
            "retires_at": self.retires_at,
            "line": self.line,
            "max_input_tokens": self.context,
            "max_tokens": self.max_output,
            "capabilities": {
                "batch": yes(true),
                "citations": yes(true),
                "code_execution": yes(true),
                "context_management": {
                    "supported": true,
                    "clear_thinking_20251015": yes(true),
                    "clear_tool_uses_20250919": yes(true),
                    "compact_20260112": yes(true),
                },
                "effort": {
                    "supported": self.effort != Effort::None,
                    "low": effort("low"),
                    "medium": effort("medium"),
                    "high": effort("high"),
                    "max": effort("max"),
                    "xhigh": effort("xhigh"),
                },
                "image_input": yes(true),
                "pdf_input": yes(true),
                "server_tools": {
                    "supported": true,
                    "code_execution": yes(true),
                    "web_search": yes(true),
                },
                "structured_outputs": yes(true),
                "thinking": {
                    "supported": true,
                    "types": {
                        "adaptive": thinking("adaptive"),
                        "between_tools": thinking("between_tools"),
                        "disabled": thinking("disabled"),
                        "enabled": thinking("enabled"),
                    },
                },
            },
        })
    }
}
