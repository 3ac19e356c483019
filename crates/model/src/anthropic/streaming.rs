//! Answers in pieces, and what happens when the pieces stop coming.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::{Instant, sleep, timeout};

use super::Client;
use super::assembly::{Assembly, StreamFault};
use super::body::{self, Purpose};
use super::failure::{Advice, Failure, header};
use super::transport::describe;
use crate::error::ModelError;
use crate::event::{Abandon, Completion, ModelEvent};
use crate::outbox::Outbox;
use crate::request::Request;
use crate::sse;

/// How long to wait for the end of the body after the end of the message, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(100);

/// Why one streamed attempt came to nothing.
enum Trouble {
    /// The stream cannot be read on: repeat without streaming.
    Broken(String),
    /// The request failed.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Client {
    /// Streams an answer, again and again if need be.
    pub(super) async fn stream(&self, request: Request, out: Outbox) -> Result<(), ModelError> {
        let info = self.info(&request.model);
        let body = body::build(&request, &info, Purpose::Stream);
        let betas = self.betas(&request, &info);
        let mut retries = self.retries(&request);
        loop {
            let failure = match self.stream_once(body.clone(), &betas, &out).await {
                Ok(()) => return Ok(()),
                Err(Trouble::Failed(failure)) => failure,
                Err(Trouble::Broken(detail)) => {
                    tracing::warn!(detail, "the stream broke; repeating the request without streaming");
                    out.push(ModelEvent::Abandoned { why: Abandon::StreamBroken { detail } });
                    let whole = self.complete(&request, &mut retries, |event| out.push(event)).await?;
                    tell(whole, &out);
                    return Ok(());
                }
            };
            let pause = retries.after(failure)?;
            out.push(pause.event);
            sleep(pause.delay).await;
        }
    }

    async fn stream_once(&self, body: Bytes, betas: &[String], out: &Outbox) -> Result<(), Trouble> {
        let sent = Instant::now();
        let idle = self.transport.config.idle_timeout;
        let silent = || Trouble::Broken(format!("nothing came for {} s", idle.as_secs_f32()));
        let posted = timeout(idle, self.transport.post("/v1/messages", body, betas)).await;
        let mut response = posted.map_err(|_| silent())??;
        let request_id = header(response.headers(), "request-id").map(str::to_owned);
        let mut assembly = Assembly::new(request_id.clone(), sent);
        let mut parser = sse::Parser::default();
        while !assembly.is_complete() {
            let chunk = timeout(idle, response.chunk()).await.map_err(|_| silent())?;
            let chunk = chunk.map_err(|error| Trouble::Broken(describe(&error)))?;
            let chunk = chunk.ok_or_else(|| Trouble::Broken("it ended before the message did".to_owned()))?;
            parser
                .feed(&chunk, |event| assembly.event(event.data, &mut |event| out.push(event)))
                .map_err(|fault| trouble(fault, request_id.clone(), out))?;
        }
        drain(response).await;
        Ok(())
    }
}

/// An overload is waited out, a passing problem is answered like a broken stream, the rest is final.
fn trouble(fault: StreamFault, request_id: Option<String>, out: &Outbox) -> Trouble {
    let object = match fault {
        StreamFault::Unreadable(detail) => return Trouble::Broken(detail),
        StreamFault::Reported(object) => object,
    };
    let detail = format!("the provider reported {}: {}", object.kind, object.message);
    let failure = Failure::from_event(object, request_id);
    if failure.error == ModelError::Overloaded {
        out.push(ModelEvent::Abandoned { why: Abandon::Overloaded });
        Trouble::Failed(failure)
    } else if failure.advice == Advice::Retry {
        Trouble::Broken(detail)
    } else {
        Trouble::Failed(failure)
    }
}

async fn drain(mut response: Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    // A server that keeps the body open only costs us the connection.
    let _ = timeout(DRAIN, rest).await;
}

/// An answer in one piece, told in the events of a streamed one.
fn tell(whole: Completion, out: &Outbox) {
    let Completion { message_id, model, blocks, usage, stop_reason, stop_details, request_id, duration } =
        whole;
    out.push(ModelEvent::Started { message_id, model, usage, request_id });
    for (index, block) in blocks.into_iter().enumerate() {
        out.push(ModelEvent::Block { index, block, invalid_input: None });
    }
    out.push(ModelEvent::Finished { usage, stop_reason, stop_details, duration });
}
