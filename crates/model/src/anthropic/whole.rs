//! Answers in one piece.

use std::future::Future;

use reqwest::Response;
use tiller_protocol::block::RawBlock;
use tiller_protocol::id::MessageId;
use tiller_protocol::usage::Usage;
use tokio::time::{Instant, sleep, timeout};

use super::body::{self, Purpose};
use super::failure::{Failure, header};
use super::retry::Retries;
use super::transport::Transport;
use super::wire::Message;
use super::{Client, unreadable};
use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::request::Request;

struct Answer {
    body: Vec<u8>,
    request_id: Option<String>,
    sent: Instant,
}

impl Client {
    /// One answer in one piece. `on_retry` hears of each retry before its pause.
    pub(super) async fn complete(
        &self,
        request: &Request,
        retries: &mut Retries,
        on_retry: impl Fn(ModelEvent),
    ) -> Result<Completion, ModelError> {
        let info = self.info(&request.model);
        let body = body::build(request, &info, Purpose::Whole);
        let betas = self.betas(request, &info);
        let post = |transport| post_message(transport, body.clone(), &betas);
        let answer = self.answer_with(retries, on_retry, post).await?;
        read_message(answer)
    }

    /// The body of the answer to any request, after as many retries as it takes.
    pub(super) async fn answer<'a, F>(
        &'a self,
        request: &Request,
        send: impl Fn(&'a Transport) -> F,
    ) -> Result<Vec<u8>, ModelError>
    where
        F: Future<Output = Result<Response, Failure>>,
    {
        Ok(self.answer_with(&mut self.retries(request), |_| {}, send).await?.body)
    }

    async fn answer_with<'a, F>(
        &'a self,
        retries: &mut Retries,
        on_retry: impl Fn(ModelEvent),
        send: impl Fn(&'a Transport) -> F,
    ) -> Result<Answer, ModelError>
    where
        F: Future<Output = Result<Response, Failure>>,
    {
        loop {
            let sent = Instant::now();
            let failure = match self.answer_once(send(&self.transport), sent).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let pause = retries.after(failure)?;
            on_retry(pause.event);
            sleep(pause.delay).await;
        }
    }

    async fn answer_once(
        &self,
        send: impl Future<Output = Result<Response, Failure>>,
        sent: Instant,
    ) -> Result<Answer, Failure> {
        let waited = self.transport.config.request_timeout;
        let whole = timeout(waited, async {
            let response = send.await?;
            let request_id = header(response.headers(), "request-id").map(str::to_owned);
            Ok(Answer { body: self.transport.read(response).await?, request_id, sent })
        });
        whole.await.unwrap_or_else(|_| {
            let endpoint = self.transport.endpoint_name();
            Err(Failure::fatal(ModelError::Stalled { endpoint, waited }))
        })
    }
}

async fn post_message(
    transport: &Transport,
    body: bytes::Bytes,
    betas: &[String],
) -> Result<Response, Failure> {
    transport.post("/v1/messages", body, betas).await
}

fn read_message(answer: Answer) -> Result<Completion, ModelError> {
    let message: Message<'_> = serde_json::from_slice(&answer.body).map_err(|error| unreadable(&error))?;
    let mut usage = Usage::default();
    if let Some(reported) = message.usage {
        reported.apply(&mut usage);
    }
    let stop_reason = message
        .stop_reason
        .ok_or_else(|| ModelError::Protocol { detail: "the message has no stop reason".to_owned() })?;
    let blocks = message.content.into_iter().map(|block| RawBlock::parse(block.get().to_owned()));
    Ok(Completion {
        message_id: MessageId(message.id),
        model: message.model,
        blocks: blocks.collect::<Result<_, _>>().map_err(|error| unreadable(&error))?,
        usage,
        stop_reason: stop_reason.into(),
        stop_details: message.stop_details,
        request_id: answer.request_id,
        duration: answer.sent.elapsed(),
    })
}
