//! Turns the events of a stream into [`ModelEvent`]s.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use tiller_protocol::id::MessageId;
use tiller_protocol::usage::{StopReason, Usage};
use tokio::time::Instant;

use super::block::OpenBlock;
use super::wire::{Delta, ErrorObject, Event, Message, Stop};
use crate::event::ModelEvent;
use crate::sse;

/// Why a stream cannot be read on.
#[derive(Debug)]
pub(crate) enum StreamFault {
    /// It makes no sense.
    Unreadable(String),
    /// The provider reported an error in it.
    Reported(ErrorObject),
}

impl From<sse::Fault> for StreamFault {
    fn from(fault: sse::Fault) -> Self {
        Self::Unreadable(fault.to_string())
    }
}

impl From<serde_json::Error> for StreamFault {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(format!("an event is not valid: {error}"))
    }
}

/// The state of one streamed response.
pub(crate) struct Assembly {
    request_id: Option<String>,
    sent: Instant,
    open: Vec<(usize, OpenBlock)>,
    usage: Usage,
    stop_reason: Option<StopReason>,
    stop_details: Option<Value>,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waiting,
    Started,
    Complete,
}

impl Assembly {
    /// A response to a request that was sent at that moment.
    pub(crate) fn new(request_id: Option<String>, sent: Instant) -> Self {
        Self {
            request_id,
            sent,
            open: Vec::new(),
            usage: Usage::default(),
            stop_reason: None,
            stop_details: None,
            progress: Progress::Waiting,
        }
    }

    /// Whether the response has ended properly.
    pub(crate) fn is_complete(&self) -> bool {
        self.progress == Progress::Complete
    }

    /// Takes one event's payload. Events of a later version of the protocol are passed on and otherwise ignored.
    pub(crate) fn event(&mut self, data: &str, emit: &mut impl FnMut(ModelEvent)) -> Result<(), StreamFault> {
        if self.is_complete() {
            return Ok(());
        }
        let event: Event<'_> = serde_json::from_str(data)?;
        match event.kind.as_ref() {
            "message_start" => emit(self.start(required(event.message, "message")?)?),
            "content_block_start" => self.open_block(event.index, event.content_block)?,
            "content_block_delta" => self.add_delta(event.index, event.delta)?,
            "content_block_stop" => emit(self.close_block(event.index)?),
            "message_delta" => self.update(&event)?,
            "error" => {
                emit(ModelEvent::Raw(Arc::from(data)));
                let error = required(event.error, "error")?;
                return Err(StreamFault::Reported(serde_json::from_str(error.get())?));
            }
            _ => {}
        }
        emit(ModelEvent::Raw(Arc::from(data)));
        if event.kind == "message_stop" {
            emit(self.finish()?);
        }
        Ok(())
    }

    fn start(&mut self, message: &RawValue) -> Result<ModelEvent, StreamFault> {
        if self.progress != Progress::Waiting {
            return Err(unreadable("a second message began"));
        }
        self.progress = Progress::Started;
        let message: Message<'_> = serde_json::from_str(message.get())?;
        if let Some(usage) = message.usage {
            usage.apply(&mut self.usage);
        }
        Ok(ModelEvent::Started {
            message_id: MessageId(message.id),
            model: message.model,
            usage: self.usage,
            request_id: self.request_id.clone(),
        })
    }

    fn open_block(&mut self, index: usize, start: Option<&RawValue>) -> Result<(), StreamFault> {
        let block = OpenBlock::new(required(start, "content_block")?);
        if self.progress != Progress::Started || self.open.iter().any(|(open, _)| *open == index) {
            return Err(unreadable("a content block began out of order"));
        }
        self.open.push((index, block));
        Ok(())
    }

    fn add_delta(&mut self, index: usize, delta: Option<&RawValue>) -> Result<(), StreamFault> {
        let delta: Delta<'_> = serde_json::from_str(required(delta, "delta")?.get())?;
        let open = self.open.iter_mut().find(|(open, _)| *open == index);
        let (_, block) = open.ok_or_else(|| unreadable("a delta belongs to no content block"))?;
        block.add(&delta);
        Ok(())
    }

    fn close_block(&mut self, index: usize) -> Result<ModelEvent, StreamFault> {
        let place = self.open.iter().position(|(open, _)| *open == index);
        let place = place.ok_or_else(|| unreadable("a content block ended that had not begun"))?;
        let (index, open) = self.open.remove(place);
        let (block, invalid_input) = open.finish()?;
        Ok(ModelEvent::Block { index, block, invalid_input })
    }

    fn update(&mut self, event: &Event<'_>) -> Result<(), StreamFault> {
        if let Some(usage) = event.usage {
            usage.apply(&mut self.usage);
        }
        let Some(delta) = event.delta else { return Ok(()) };
        let stop: Stop = serde_json::from_str(delta.get())?;
        if let Some(reason) = stop.stop_reason {
            self.stop_reason = Some(reason.into());
        }
        if stop.stop_details.is_some() {
            self.stop_details = stop.stop_details;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ModelEvent, StreamFault> {
        if self.progress != Progress::Started || !self.open.is_empty() {
            return Err(unreadable("the message ended before it was complete"));
        }
        let stop_reason =
            self.stop_reason.take().ok_or_else(|| unreadable("the message ended without a reason"))?;
        self.progress = Progress::Complete;
        Ok(ModelEvent::Finished {
            usage: self.usage,
            stop_reason,
            stop_details: self.stop_details.take(),
            duration: self.sent.elapsed(),
        })
    }
}

fn required<'a>(value: Option<&'a RawValue>, name: &str) -> Result<&'a RawValue, StreamFault> {
    value.ok_or_else(|| StreamFault::Unreadable(format!("an event lacks \"{name}\"")))
}

fn unreadable(detail: &str) -> StreamFault {
    StreamFault::Unreadable(detail.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    const EVENTS: [&str; 12] = [
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"cache_creation":null}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":[]}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_stop"}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
        r#"{"type":"ping"}"#,
    ];

    fn order() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(EVENTS.to_vec()), 0..16)
    }

    proptest! {
        #[test]
        fn events_in_any_order_end_in_a_fault_or_a_message(order in order()) {
            let mut assembly = Assembly::new(None, Instant::now());
            let mut emitted = Vec::new();
            for event in order {
                if assembly.event(event, &mut |event| emitted.push(event)).is_err() {
                    break;
                }
            }
            let count = |wanted: fn(&ModelEvent) -> bool| emitted.iter().filter(|event| wanted(event)).count();
            let finished = count(|event| matches!(event, ModelEvent::Finished { .. }));
            prop_assert_eq!(finished, usize::from(assembly.is_complete()));
            let started = count(|event| matches!(event, ModelEvent::Started { .. }));
            prop_assert!(finished <= started);
        }
    }
}
