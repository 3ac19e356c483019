//! The HTTP side.

use std::{io, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Path, Query, Request, State},
    response::Response,
    routing::{get, post},
    serve::ListenerExt as _,
};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::{
    capture::Captured,
    error::{ApiError, Check},
    models,
    play::{Action, Performance},
    script::Reply,
    service,
    state::Shared,
    validate::headers,
};

/// More than the service accepts, so that a body over its limit can be refused politely.
const READ_LIMIT: usize = 256 << 20;
const BODY_LIMIT: usize = 32 << 20;

type Server = State<Arc<Shared>>;

/// Serves until told to stop; then all connections are dropped with the runtime.
pub(crate) fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be started");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)
            .expect("a listener can be registered")
            // A write may only wait for a gate, never for more data.
            .tap_io(|stream| stream.set_nodelay(true).expect("a socket takes TCP_NODELAY"));
        let router = Router::new()
            .route("/v1/messages", post(create_message))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .route("/v1/models", get(list_models))
            .route("/v1/models/{id}", get(show_model))
            .fallback(unknown_endpoint)
            .with_state(shared);
        let server = std::future::IntoFuture::into_future(axum::serve(listener, router));
        tokio::select! {
            result = server => result.expect("accepting connections does not fail"),
            _ = stopped => {}
        }
    });
}

/// One request on its way through.
struct Visit {
    shared: Arc<Shared>,
    captured: Captured,
    number: usize,
    request_id: String,
}

impl Visit {
    async fn enter(shared: Arc<Shared>, request: Request) -> Self {
        let (parts, body) = request.into_parts();
        let raw = to_bytes(body, READ_LIMIT).await.unwrap_or_default();
        let captured = Captured::new(&parts, raw);
        let kept = if shared.settings().keep_bodies { captured.clone() } else { captured.without_body() };
        let number = shared.captures.push(kept);
        let request_id = shared.next_request_id();
        Self { shared, captured, number, request_id }
    }

    fn answer(&self, result: Check<Value>) -> Response {
        match result {
            Ok(value) => self.respond(StatusCode::OK, "application/json", Body::from(value.to_string())),
            Err(error) => self.refuse(&error),
        }
    }

    fn respond(&self, status: StatusCode, content_type: &'static str, body: Body) -> Response {
        self.captured.answered(status.as_u16());
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert("request-id", HeaderValue::from_str(&self.request_id).expect("ids are ASCII"));
        response
    }

    /// Answers with an error and remembers that the request was at fault.
    fn refuse(&self, error: &ApiError) -> Response {
        let ApiError { status, message, .. } = error;
        let (method, path) = (self.captured.method(), self.captured.path());
        self.shared.rejections().push(format!("request {} {method} {path}: {status} {message}", self.number));
        self.fail(error)
    }

    fn fail(&self, error: &ApiError) -> Response {
        let body = error.body(&self.request_id).to_string();
        self.respond(error.status(), "application/json", Body::from(body))
    }

    /// The checks that do not look into the body.
    fn check_head(&self) -> Check {
        let settings = self.shared.settings().clone();
        if !settings.validate {
            return Ok(());
        }
        headers::check(&self.captured, &settings.key)?;
        if self.captured.raw().len() > BODY_LIMIT {
            return Err(ApiError::new(413, "request_too_large", "Request exceeds the maximum size"));
        }
        Ok(())
    }
}

async fn create_message(State(shared): Server, request: Request) -> Response {
    let visit = Visit::enter(shared, request).await;
    let admitted = visit.check_head().and_then(|()| service::admit(&visit.shared, &visit.captured));
    let admission = match admitted {
        Ok(admission) => admission,
        Err(error) => return visit.refuse(&error),
    };
    let next = match admission.warms_only {
        true => Ok(Reply::new().stop("max_tokens")),
        false => visit.shared.script().next(&visit.captured),
    };
    let reply = match next {
        Ok(reply) => reply,
        Err(conversation) => return unscripted(&visit, &conversation),
    };
    for gate in &reply.header_gates {
        gate.pass().await;
    }
    let response = match &reply.failure {
        Some(failure) => visit.fail(&ApiError::new(failure.status, &failure.kind, &failure.message)),
        None => {
            let performance = service::perform(&visit.shared, &visit.captured, &admission, &reply);
            if admission.streams {
                stream_reply(&visit, performance)
            } else {
                send_whole(&visit, performance).await
            }
        }
    };
    with_headers(response, &reply)
}

/// A test that scripted too few replies; no retry will help.
fn unscripted(visit: &Visit, conversation: &str) -> Response {
    let message = format!("the test scripted no reply for this request of the {conversation}");
    let mut response = visit.refuse(&ApiError::new(500, "api_error", message));
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    response
}

fn with_headers(mut response: Response, reply: &Reply) -> Response {
    for (name, value) in &reply.headers {
        let name = http::HeaderName::try_from(name).expect("a scripted header name is valid");
        response
            .headers_mut()
            .insert(name, HeaderValue::from_str(value).expect("a scripted header is valid"));
    }
    response
}

async fn send_whole(visit: &Visit, performance: Performance) -> Response {
    for gate in performance.gates() {
        gate.pass().await;
    }
    visit.answer(Ok(performance.message))
}

fn stream_reply(visit: &Visit, performance: Performance) -> Response {
    let playing = (performance.actions.into_iter(), visit.captured.clone());
    let writes = stream::unfold(playing, |(mut actions, captured)| async {
        let written = loop {
            let Some(action) = actions.next() else {
                captured.completely_sent();
                return None;
            };
            match action {
                Action::Write(bytes) => break Ok::<Bytes, io::Error>(bytes),
                Action::Wait(gate) => gate.pass().await,
                Action::Stall => std::future::pending().await,
                Action::Cut => {
                    // What was written before has to leave before the connection goes.
                    tokio::task::yield_now().await;
                    break Err(io::Error::other("the script cuts the connection here"));
                }
            }
        };
        Some((written, (actions, captured)))
    });
    let mut response =
        visit.respond(StatusCode::OK, "text/event-stream; charset=utf-8", Body::from_stream(writes));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn count_tokens(State(shared): Server, request: Request) -> Response {
    let visit = Visit::enter(shared, request).await;
    let counted = visit.check_head().and_then(|()| service::count(&visit.shared, &visit.captured));
    visit.answer(counted.map(|tokens| json!({ "input_tokens": tokens })))
}

/// The page of the model list that is asked for.
#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default = "default_limit")]
    limit: usize,
    after_id: Option<String>,
    before_id: Option<String>,
}

fn default_limit() -> usize {
    20
}

async fn list_models(State(shared): Server, Query(page): Query<Page>, request: Request) -> Response {
    let visit = Visit::enter(shared, request).await;
    visit.answer(visit.check_head().map(|()| model_page(&page)))
}

fn model_page(page: &Page) -> Value {
    let position = |id: &String| models::all().iter().position(|model| model.id == id);
    let start = page.after_id.as_ref().and_then(position).map_or(0, |index| index + 1);
    let end = page.before_id.as_ref().and_then(position).unwrap_or(models::all().len());
    let listed = models::all().get(start..end).unwrap_or_default();
    let shown: Vec<Value> = listed.iter().take(page.limit).map(models::Model::info).collect();
    json!({
        "has_more": shown.len() < listed.len(),
        "first_id": shown.first().map(|model| model["id"].clone()),
        "last_id": shown.last().map(|model| model["id"].clone()),
        "data": shown,
    })
}

async fn show_model(State(shared): Server, Path(id): Path<String>, request: Request) -> Response {
    let visit = Visit::enter(shared, request).await;
    let found = match visit.shared.settings().models_hidden {
        true => Err(ApiError::new(404, "not_found_error", "Not Found")),
        false => service::model(&id),
    };
    let model = visit.check_head().and(found).map(models::Model::info);
    visit.answer(model)
}

async fn unknown_endpoint(State(shared): Server, request: Request) -> Response {
    let visit = Visit::enter(shared, request).await;
    visit.refuse(&ApiError::new(404, "not_found_error", "Not Found"))
}
