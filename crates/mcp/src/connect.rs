//! Makes the connection to a server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tiller_config::{McpDialect, McpOAuth, McpReach};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use url::Url;

use crate::attendant::Attendant;
use crate::auth::{Challenge, SignInError, Way};
use crate::handler::{Board, Changed, Handler};
use crate::host::HostTransport;
use crate::http::{HttpClient, HttpError};
use crate::link::Link;
use crate::offer::offer;
use crate::sse::EventTransport;
use crate::stdio::{Process, Program};
use crate::{auth, http};

type Running = RunningService<RoleClient, Arc<Handler>>;

/// A connection while it lasts.
pub(crate) struct Connection {
    pub(crate) running: Running,
    pub(crate) link: Link,
    pub(crate) changed: mpsc::UnboundedReceiver<Changed>,
    pub(crate) process: Option<Held>,
}

/// A server that is a program.
pub(crate) struct Held {
    /// Dropping it ends the program.
    pub(crate) stop: oneshot::Sender<()>,
    /// How it ended.
    pub(crate) end: oneshot::Receiver<String>,
}

/// Why there is no connection.
pub(crate) enum Broken {
    /// The user has to sign in; what the service said about it.
    SignIn(Option<Challenge>),
    /// Something is wrong.
    Failed(String),
    /// What is configured is not accepted, and will not be the next time.
    Refused(String),
}

/// A service, as configured.
struct Service<'a> {
    url: &'a str,
    headers: &'a BTreeMap<String, String>,
    oauth: &'a McpOAuth,
    dialect: McpDialect,
}

impl Attendant {
    /// Connects, in the time that there is. None at the end.
    pub(crate) async fn connected(&self) -> Option<Result<Connection, Broken>> {
        let limit = self.surroundings.patience.start;
        let late = || Broken::Failed(format!("it was not ready within {} s", limit.as_secs_f32()));
        tokio::select! {
            () = self.ended.cancelled() => None,
            connected = timeout(limit, self.connect()) => Some(connected.unwrap_or_else(|_| Err(late()))),
        }
    }

    async fn connect(&self) -> Result<Connection, Broken> {
        let (changes, changed) = mpsc::unbounded_channel();
        let board = Arc::<Board>::default();
        let principal = Arc::clone(&self.surroundings.principal);
        let handler = Arc::new(Handler::new(&self.definition.name, principal, Arc::clone(&board), changes));
        let (running, process) = match &self.definition.reach {
            McpReach::Stdio { command, args, env } => {
                let program = Program {
                    server: &self.definition.name,
                    command,
                    args,
                    env,
                    cwd: &self.surroundings.env.cwd,
                    vars: &self.surroundings.env.vars,
                    secrets: &self.surroundings.secrets,
                };
                let (running, held) = self.start(program, Arc::clone(&handler)).await?;
                (running, Some(held))
            }
            McpReach::Http { url, headers, oauth, dialect } => {
                let service = Service { url, headers, oauth, dialect: *dialect };
                (self.reach(service, Arc::clone(&handler)).await?, None)
            }
            McpReach::Host => {
                let principal = Arc::clone(&self.surroundings.principal);
                let transport = HostTransport::new(&self.definition.name, principal, self.heard.subscribe());
                let handler = Arc::clone(&handler);
                let running = handler.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
                (running.map_err(|error| Broken::Failed(plain(&error)))?, None)
            }
        };
        let link = Link { peer: running.peer().clone(), handler, board };
        let offer = offer(&self.definition.name, &link, &self.surroundings.secrets)
            .await
            .map_err(|error| said(&error))?;
        for left_out in &offer.left_out {
            self.tell(&format!("The MCP server {}: {left_out}.", self.definition.name));
        }
        self.make_ready(offer, link.clone());
        Ok(Connection { running, link, changed, process })
    }

    async fn start(&self, program: Program<'_>, handler: Arc<Handler>) -> Result<(Running, Held), Broken> {
        let Process { output, input, custody } = Process::start(program).await.map_err(Broken::Failed)?;
        let (ended, end) = oneshot::channel();
        let (stop, custody_end) = custody.into_parts();
        // It ends when the process is let go of, which the session's end waits for.
        self.tasks.spawn(async move {
            let _ = ended.send(custody_end.await);
        });
        let mut held = Held { stop, end };
        let transport = AsyncRwTransport::new_client(output, input);
        let running = handler.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize);
        // Why a program has ended says more than that the connection is closed.
        let broken = tokio::select! {
            biased;
            running = running => match running {
                Ok(running) => return Ok((running, held)),
                Err(error) => error,
            },
            why = &mut held.end => return Err(Broken::Failed(why.unwrap_or_else(|_| "it ended".to_owned()))),
        };
        let why = timeout(self.surroundings.patience.leaving, &mut held.end).await;
        Err(match why {
            Ok(Ok(why)) => Broken::Failed(why),
            _ => Broken::Failed(plain(&broken)),
        })
    }

    async fn reach(&self, service: Service<'_>, handler: Arc<Handler>) -> Result<Running, Broken> {
        let mode = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        };
        let running = match self.greet(&service, Arc::clone(&handler), mode).await? {
            // An older one that answers whatever it does not know with nothing.
            Err(ClientInitializeError::ExpectedInitResult(_)) => {
                self.greet(&service, handler, ClientLifecycleMode::Initialize).await?
            }
            running => running,
        };
        running.map_err(|error| match Challenge::in_start(&error) {
            Some(challenge) => Broken::SignIn(Some(challenge)),
            None if error.is_authorization_required() => Broken::SignIn(None),
            None => Broken::Failed(plain(&error)),
        })
    }

    async fn greet(
        &self,
        service: &Service<'_>,
        handler: Arc<Handler>,
        mode: ClientLifecycleMode,
    ) -> Result<Result<Running, ClientInitializeError>, Broken> {
        let url = http::address(service.url, self.surroundings.offline).map_err(Broken::Failed)?;
        let headers = http::headers(service.headers).map_err(Broken::Failed)?;
        let client = http::client(&self.surroundings.env).map_err(Broken::Failed)?;
        let outside = self.surroundings.outside();
        match auth::way(service.url, service.oauth, &self.surroundings.tokens, outside).await? {
            Some(Way { manager, prover }) => {
                let client = AuthClient::new(HttpClient::new(client, prover), manager);
                speak(client, &url, headers, service.dialect, (handler, mode)).await
            }
            None => {
                speak(HttpClient::new(client, None), &url, headers, service.dialect, (handler, mode)).await
            }
        }
    }
}

impl From<SignInError> for Broken {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Refused(_) | SignInError::Key => Self::Refused(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Begins to speak with a service, in the way that it understands.
async fn speak<C: StreamableHttpClient + Sync>(
    client: C,
    url: &Url,
    headers: HashMap<HeaderName, HeaderValue>,
    dialect: McpDialect,
    (handler, mode): (Arc<Handler>, ClientLifecycleMode),
) -> Result<Result<Running, ClientInitializeError>, Broken> {
    match dialect {
        McpDialect::Streamable => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(headers)
                .max_sse_event_size(http::LARGEST);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            Ok(handler.serve_with_lifecycle(transport, mode).await)
        }
        McpDialect::Events => {
            let transport = EventTransport::open(client, url, headers).await;
            let transport = transport.map_err(|error| match Challenge::behind(&error) {
                Some(challenge) => Broken::SignIn(Some(challenge)),
                None => Broken::Failed(format!("it cannot be reached: {}", short(&with_causes(&error)))),
            })?;
            Ok(handler.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await)
        }
    }
}

fn said(error: &ServiceError) -> Broken {
    if let Some(challenge) = Challenge::in_request(error) {
        return Broken::SignIn(Some(challenge));
    }
    let why = HttpError::in_request(error).map_or_else(|| error.to_string(), ToString::to_string);
    Broken::Failed(format!("it did not tell what it offers: {}", short(&why)))
}

/// What went wrong, in one line.
fn plain(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => plain(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be reached: {}", short(&with_causes(error.error.as_ref())))
        }
        other => short(&other.to_string()),
    }
}

fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = deeper.source();
    }
    text
}

/// One line of bounded length.
pub(crate) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(400).collect()
}
