//! Asking the model for a summary: in parts, if the conversation is too long for one request.

use std::pin::pin;

use tiller_model::{Completion, ModelError, Request, Thinking};
use tiller_protocol::compaction::{SummaryAsked, SummaryUsage};
use tiller_protocol::usage::StopReason;
use tiller_steering::compaction::{Length, chunks, text_tokens};

use super::super::Task;
use super::Unfolded;
use super::wording::{digest, question};
use crate::beside::{SideError, user_message};
use crate::store::StoreError;

/// The longest summary, in tokens.
const LONGEST: u64 = 20_000;
/// Tokens are only estimated, so a part fills no more of its room than this share, in percent.
const FILLED: u64 = 80;
/// The smallest part that a conversation is divided into, in tokens.
const SMALLEST_PART: u64 = 500;

/// A conversation as it is given to the model.
pub(super) struct Source<'a> {
    /// What was said, called and answered.
    pub(super) parts: &'a [String],
    /// The summary of what came before.
    pub(super) earlier: Option<&'a str>,
    /// What the user and hooks want of the summary.
    pub(super) instructions: Option<&'a str>,
}

/// What the model made of it.
pub(super) struct Summary {
    pub(super) text: String,
    pub(super) usage: SummaryUsage,
    /// Tokens that a part of the conversation could have.
    pub(super) part: u64,
    /// What was asked for each part.
    pub(super) asked: Vec<SummaryAsked>,
}

/// What stands behind a summary that was cut off although a short one was asked for.
const CUT_OFF: &str = "[The summary was cut off here by the limit on its length.]";

/// What the model has written.
struct Given {
    text: String,
    is_whole: bool,
}

/// Why there is no summary.
enum Missing {
    /// The request was too long.
    TooLong,
    Unfolded(Unfolded),
}

impl Task {
    /// Asks for a summary. What turns out to be too long is divided further.
    pub(super) async fn summarise(
        &mut self,
        source: &Source<'_>,
    ) -> Result<Result<Summary, Unfolded>, StoreError> {
        let effective = self.window().effective();
        let longest = LONGEST.min(effective / 4).max(1);
        let beside = text_tokens(source.instructions.unwrap_or_default())
            + text_tokens(source.earlier.unwrap_or_default()).max(longest);
        let mut room = self.window().room_for_folding(beside) * FILLED / 100;
        let mut usage = SummaryUsage::default();
        loop {
            room = room.max(SMALLEST_PART);
            match self.summarise_by(room, longest, source, &mut usage).await? {
                Ok((text, asked)) => return Ok(Ok(Summary { text, usage, part: room, asked })),
                Err(Missing::Unfolded(unfolded)) => return Ok(Err(unfolded)),
                Err(Missing::TooLong) if room > SMALLEST_PART => room /= 2,
                Err(Missing::TooLong) => {
                    let why = "even a small part of it is too long for the model".to_owned();
                    return Ok(Err(Unfolded::Failed(why)));
                }
            }
        }
    }

    /// Asks for a summary part by part: each request has the summary of those before.
    async fn summarise_by(
        &mut self,
        room: u64,
        longest: u64,
        source: &Source<'_>,
        usage: &mut SummaryUsage,
    ) -> Result<Result<(String, Vec<SummaryAsked>), Missing>, StoreError> {
        let parts = chunks(source.parts, room);
        let mut asked: Vec<SummaryAsked> = Vec::new();
        let mut summary = source.earlier.map(str::to_owned);
        for at in 0..parts.len() {
            if let Some(before) = asked.last_mut() {
                before.answer.clone_from(&summary);
            }
            let ask = |length| question(&parts, at, summary.as_deref(), source.instructions, length);
            match self.summarise_part(ask, longest, usage).await? {
                Ok((text, question)) => {
                    asked.push(question);
                    summary = Some(text);
                }
                Err(missing) => return Ok(Err(missing)),
            }
        }
        Ok(summary.map(|text| (text, asked)).ok_or_else(|| failed("there is nothing to summarise")))
    }

    /// Asks for the summary of one part. What is open and what comes next stand at its end, so if that is cut off, a short
    /// one is asked for.
    async fn summarise_part(
        &mut self,
        ask: impl Fn(Length) -> String,
        longest: u64,
        usage: &mut SummaryUsage,
    ) -> Result<Result<(String, SummaryAsked), Missing>, StoreError> {
        let mut length = Length::Usual;
        loop {
            let question = ask(length);
            let given = match self.ask_for_summary(&question, longest, usage).await? {
                Ok(given) => given,
                Err(missing) => return Ok(Err(missing)),
            };
            let brief = length == Length::Brief;
            if !given.is_whole && !brief {
                length = Length::Brief;
                continue;
            }
            let asked = SummaryAsked { digest: digest(&question), answer: None, brief };
            return Ok(match given {
                Given { text, .. } if text.is_empty() => Err(failed("the model gave no summary")),
                Given { text, is_whole: true } => Ok((text, asked)),
                Given { text, .. } => Ok((format!("{text}\n\n{CUT_OFF}"), asked)),
            });
        }
    }

    /// Makes one request beside the conversation, while commands are still heard.
    async fn ask_for_summary(
        &mut self,
        question: &str,
        longest: u64,
        usage: &mut SummaryUsage,
    ) -> Result<Result<Given, Missing>, StoreError> {
        let request = Request {
            model: self.model_for_step(),
            messages: vec![user_message(question)].into(),
            max_tokens: Some(u32::try_from(longest).unwrap_or(u32::MAX)),
            thinking: Thinking::Off,
            betas: self.fixed.betas.clone(),
            ..Request::default()
        };
        let (beside, token) = (self.services.beside(), self.turn.token.clone());
        let mut asking = pin!(beside.ask(request));
        let answer = loop {
            tokio::select! {
                biased;
                () = token.cancelled() => return Ok(Err(Missing::Unfolded(Unfolded::Stopped))),
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                answer = &mut asking => break answer,
            }
        };
        match answer {
            Ok((answer, bill)) => {
                usage.requests += 1;
                usage.input_tokens += bill.response.usage.total_input();
                usage.output_tokens += bill.response.usage.output_tokens;
                self.count(bill)?;
                Ok(understood(&answer))
            }
            Err(SideError::Model(ModelError::PromptTooLong { .. } | ModelError::Api { status: 413, .. })) => {
                Ok(Err(Missing::TooLong))
            }
            Err(SideError::Reached(reached)) => Ok(Err(failed(&reached.explain()))),
            Err(error) => Ok(Err(failed(&error.to_string()))),
        }
    }
}

fn failed(why: &str) -> Missing {
    Missing::Unfolded(Unfolded::Failed(why.trim_end_matches('.').to_owned()))
}

/// A summary counts if the model has given one.
fn understood(answer: &Completion) -> Result<Given, Missing> {
    let text = answer.text().trim().to_owned();
    match answer.stop_reason {
        StopReason::Refusal => Err(failed("the model declined to summarise it")),
        StopReason::ContextWindowExceeded => Err(Missing::TooLong),
        StopReason::MaxTokens => Ok(Given { text, is_whole: false }),
        _ => Ok(Given { text, is_whole: true }),
    }
}
