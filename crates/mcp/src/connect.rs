//! Makes the connection to a server.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransport;
use tiller_config::{McpOAuth, McpReach};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::attendant::Attendant;
use crate::auth::Challenge;
use crate::handler::{Board, Changed, Handler};
use crate::link::Link;
use crate::offer::offer;
use crate::servers::Surroundings;
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
}

/// A service, as configured.
struct Service<'a> {
    url: &'a str,
    headers: &'a std::collections::BTreeMap<String, String>,
    oauth: &'a McpOAuth,
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
                    cwd: &self.surroundings.cwd,
                    vars: &self.surroundings.vars,
                    secrets: &self.surroundings.secrets,
                };
                let (running, held) = self.start(program, Arc::clone(&handler)).await?;
                (running, Some(held))
            }
            McpReach::Http { url, headers, oauth } => {
                let service = Service { url, headers, oauth };
                (self.reach(service, Arc::clone(&handler)).await?, None)
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
        let config = http::config(&url, service.headers).map_err(Broken::Failed)?;
        let client = http::client().map_err(Broken::Failed)?;
        let Surroundings { tokens, offline, .. } = &*self.surroundings;
        let way = auth::way(service.url, service.oauth, tokens, *offline).await;
        Ok(match way.map_err(|error| Broken::Failed(error.to_string()))? {
            Some(manager) => {
                let client = AuthClient::new(client, manager);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                handler.serve_with_lifecycle(transport, mode).await
            }
            None => {
                let transport = StreamableHttpClientTransport::with_client(client, config);
                handler.serve_with_lifecycle(transport, mode).await
            }
        })
    }
}

fn said(error: &ServiceError) -> Broken {
    if let Some(challenge) = Challenge::in_request(error) {
        return Broken::SignIn(Some(challenge));
    }
    Broken::Failed(format!("it did not tell what it offers: {}", short(&error.to_string())))
}

/// What went wrong, in one line.
fn plain(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => plain(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            let mut text = error.error.to_string();
            let mut cause = error.error.source();
            while let Some(deeper) = cause {
                let said = deeper.to_string();
                if !text.contains(&said) {
                    text = format!("{text}: {said}");
                }
                cause = deeper.source();
            }
            format!("it cannot be reached: {}", short(&text))
        }
        other => short(&other.to_string()),
    }
}

/// One line of bounded length.
pub(crate) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(400).collect()
}
