//! Looks after one server: connects, keeps its offer, connects again after a break, and ends it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransport;
use tiller_config::{McpDefinition, McpOAuth, McpReach};
use tiller_protocol::entry::{Level, Notice};
use tiller_protocol::mcp::{McpOrder, McpState};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::{self, SignIn};
use crate::handler::{Board, Changed, Handler};
use crate::http;
use crate::link::Link;
use crate::offer::{MANY, Offer};
use crate::servers::{Status, Surroundings};
use crate::stdio::{Process, Program};

/// A connection that has lasted this long counts as a good one: the next break is the first again.
const GOOD: Duration = Duration::from_secs(60);

const CLOSED: &str = "the connection was closed";

/// Who looks after one server.
pub(crate) struct Attendant {
    pub(crate) definition: Arc<McpDefinition>,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) status: watch::Sender<Arc<Status>>,
    pub(crate) orders: mpsc::UnboundedReceiver<McpOrder>,
    pub(crate) tasks: TaskTracker,
    pub(crate) ended: CancellationToken,
}

/// A connection while it lasts.
struct Connection {
    running: RunningService<RoleClient, Arc<Handler>>,
    link: Link,
    changed: mpsc::UnboundedReceiver<Changed>,
    process: Option<Held>,
}

/// A server that is a program.
struct Held {
    /// Dropping it ends the program.
    stop: oneshot::Sender<()>,
    /// How it ended.
    end: oneshot::Receiver<String>,
}

/// Why there is no connection.
enum Broken {
    /// The user has to sign in; what the service said about it.
    SignIn(Option<String>),
    /// Something is wrong.
    Failed(String),
}

/// What comes after a connection.
enum After {
    /// The session ends.
    End,
    /// The user wants something.
    Order(McpOrder),
    /// It broke.
    Break(String),
}

impl Attendant {
    pub(crate) async fn attend(mut self) {
        let (mut breaks, mut challenge) = (0, None);
        loop {
            self.set(McpState::Starting);
            let begun = Instant::now();
            let (after, was_ready) = match self.connected().await {
                Some(Ok(connection)) => (self.serve(connection).await, true),
                Some(Err(Broken::SignIn(said))) => {
                    challenge = said;
                    self.set(McpState::NeedsSignIn);
                    (self.next_order().await, false)
                }
                Some(Err(Broken::Failed(why))) => (After::Break(why), false),
                None => (After::End, false),
            };
            breaks = if was_ready && begun.elapsed() > GOOD { 0 } else { breaks };
            let order = match after {
                After::End => return self.set(McpState::Configured),
                After::Order(order) => Some(order),
                After::Break(why) => {
                    tracing::warn!(server = self.definition.name, "{why}");
                    self.set(McpState::Failed { why });
                    breaks += 1;
                    match self.pause(breaks, was_ready).await {
                        Some(order) => order,
                        None => return,
                    }
                }
            };
            if let Some(order) = order {
                breaks = 0;
                if !self.follow(order, challenge.as_deref()).await {
                    return;
                }
            }
        }
    }

    /// Waits before the next attempt, or for the user, who may want something else. None at the end.
    async fn pause(&mut self, breaks: u32, was_ready: bool) -> Option<Option<McpOrder>> {
        let patience = self.surroundings.patience;
        let is_program = matches!(self.definition.reach, McpReach::Stdio { .. });
        // A program that does not even start will not start the next time.
        let tries_again = breaks <= patience.attempts && (was_ready || !is_program);
        let wait = patience.pause * 2_u32.saturating_pow(breaks.saturating_sub(1).min(5));
        tokio::select! {
            () = self.ended.cancelled() => None,
            order = self.orders.recv() => order.map(Some),
            () = sleep(wait), if tries_again => Some(None),
        }
    }

    async fn next_order(&mut self) -> After {
        tokio::select! {
            () = self.ended.cancelled() => After::End,
            order = self.orders.recv() => order.map_or(After::End, After::Order),
        }
    }

    /// Does what the user wants before the next attempt. False at the end.
    async fn follow(&mut self, order: McpOrder, challenge: Option<&str>) -> bool {
        match order {
            McpOrder::Reconnect => true,
            McpOrder::SignOut => {
                if let McpReach::Http { url, .. } = &self.definition.reach
                    && let Err(error) = self.surroundings.tokens.forget(url)
                {
                    self.tell(format!("signing out of {} failed: {error}", self.definition.name));
                }
                true
            }
            McpOrder::Stop => {
                self.set(McpState::Stopped);
                loop {
                    match self.next_order().await {
                        After::Order(McpOrder::Stop) => {}
                        After::Order(McpOrder::Reconnect | McpOrder::SignOut) => return true,
                        After::Order(McpOrder::SignIn) => return Box::pin(self.sign_in(challenge)).await,
                        After::End | After::Break(_) => return false,
                    }
                }
            }
            McpOrder::SignIn => Box::pin(self.sign_in(challenge)).await,
        }
    }

    /// Lets the user sign in. False at the end.
    async fn sign_in(&mut self, challenge: Option<&str>) -> bool {
        let McpReach::Http { url, oauth, .. } = &self.definition.reach else { return true };
        let (url, oauth) = (url.clone(), oauth.clone());
        let begin = SignIn { url: &url, oauth: &oauth, challenge, tokens: &self.surroundings.tokens };
        let outcome = tokio::select! {
            () = self.ended.cancelled() => return false,
            outcome = self.signed_in(begin) => outcome,
        };
        if let Err(why) = outcome {
            self.tell(format!("signing in to {} failed: {why}", self.definition.name));
        }
        true
    }

    async fn signed_in(&self, begin: SignIn<'_>) -> Result<(), String> {
        let login = begin.begin().await.map_err(|error| error.to_string())?;
        self.set(McpState::SigningIn { url: login.url().to_owned() });
        login.finish().await.map_err(|error| error.to_string())
    }

    fn tell(&self, content: String) {
        self.surroundings.principal.tell(Notice {
            subtype: "mcp".to_owned(),
            level: Level::Warning,
            content,
        });
    }

    fn set(&self, state: McpState) {
        let status = Status { state, offer: Arc::default(), link: None };
        self.publish(status);
    }

    fn publish(&self, status: Status) {
        let status = Arc::new(status);
        self.status.send_replace(Arc::clone(&status));
        self.surroundings.principal.changed(status.shown(&self.definition));
    }

    /// Connects, in the time that there is. None at the end.
    async fn connected(&self) -> Option<Result<Connection, Broken>> {
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
        let offer = offer(&self.definition.name, &link).await.map_err(|error| said(&error))?;
        for left_out in &offer.left_out {
            self.tell(format!("The MCP server {}: {left_out}.", self.definition.name));
        }
        self.publish(Status { state: McpState::Ready, offer: Arc::new(offer), link: Some(link.clone()) });
        Ok(Connection { running, link, changed, process })
    }

    async fn start(
        &self,
        program: Program<'_>,
        handler: Arc<Handler>,
    ) -> Result<(RunningService<RoleClient, Arc<Handler>>, Held), Broken> {
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

    async fn reach(
        &self,
        service: Service<'_>,
        handler: Arc<Handler>,
    ) -> Result<RunningService<RoleClient, Arc<Handler>>, Broken> {
        let url = http::address(service.url, self.surroundings.offline).map_err(Broken::Failed)?;
        let config = http::config(&url, service.headers).map_err(Broken::Failed)?;
        let client = http::client().map_err(Broken::Failed)?;
        let mode = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        };
        let tokens = &self.surroundings.tokens;
        let running = match auth::known(service.url, service.oauth, tokens).await {
            Some(manager) => {
                let client = AuthClient::new(client, manager);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                handler.serve_with_lifecycle(transport, mode).await
            }
            None => {
                let transport = StreamableHttpClientTransport::with_client(client, config);
                handler.serve_with_lifecycle(transport, mode).await
            }
        };
        running.map_err(|error| match error.auth_challenge() {
            Some(challenge) => Broken::SignIn(Some(challenge.to_owned())),
            None if error.is_authorization_required() => Broken::SignIn(None),
            None => Broken::Failed(plain(&error)),
        })
    }

    /// Until the connection is over.
    async fn serve(&mut self, connection: Connection) -> After {
        let Connection { running, link, mut changed, process } = connection;
        let token = running.cancellation_token();
        let mut over = Box::pin(running.waiting());
        let listening = self.listen(&link);
        let after = loop {
            tokio::select! {
                () = self.ended.cancelled() => break After::End,
                _ = &mut over => break After::Break(CLOSED.to_owned()),
                order = self.orders.recv() => match order {
                    Some(order) => break After::Order(order),
                    None => break After::End,
                },
                Some(Changed) = changed.recv() => {
                    let looked = async {
                        self.refresh(&link).await;
                        // A server that changes its lists all the time is asked now and then.
                        sleep(self.surroundings.patience.refresh).await;
                    };
                    tokio::select! {
                        () = self.ended.cancelled() => break After::End,
                        _ = &mut over => break After::Break(CLOSED.to_owned()),
                        () = looked => {}
                    }
                    while changed.try_recv().is_ok() {}
                }
            }
        };
        listening.cancel();
        token.cancel();
        if !matches!(after, After::Break(_)) {
            let _ = timeout(self.surroundings.patience.leaving, &mut over).await;
        }
        self.let_go(process, after).await
    }

    /// Newer servers tell of changes only to those who ask for it.
    fn listen(&self, link: &Link) -> CancellationToken {
        let token = self.ended.child_token();
        let version = link.peer.peer_info().map(|info| info.protocol_version.clone());
        if version != Some(ProtocolVersion::V_2026_07_28) {
            return token;
        }
        let (link, stop) = (link.clone(), token.clone());
        self.tasks.spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed();
            let listening = async {
                let Ok(mut subscription) = link.peer.listen(filter.resources_list_changed().build()).await
                else {
                    return;
                };
                while let Ok(Some(_)) = subscription.next().await {
                    let _ = link.handler.changed.send(Changed);
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = listening => {}
            }
        });
        token
    }

    /// Asks again what there is. A server that does not answer keeps the offer that it made.
    async fn refresh(&self, link: &Link) {
        let asked = timeout(self.surroundings.patience.start, offer(&self.definition.name, link)).await;
        match asked {
            Ok(Ok(offer)) => {
                let (state, link) = (McpState::Ready, Some(link.clone()));
                self.publish(Status { state, offer: Arc::new(offer), link });
            }
            Ok(Err(error)) => tracing::warn!(server = self.definition.name, "{error}"),
            Err(_) => tracing::warn!(server = self.definition.name, "its lists were not told in time"),
        }
    }

    /// Lets a program end by itself, and ends it if it does not.
    async fn let_go(&self, process: Option<Held>, after: After) -> After {
        let Some(Held { stop, mut end }) = process else { return after };
        let by_itself = timeout(self.surroundings.patience.leaving, &mut end).await;
        drop(stop);
        let why = match by_itself {
            Ok(why) => why,
            Err(_) => end.await,
        };
        match (after, why) {
            (After::Break(_), Ok(why)) => After::Break(why),
            (after, _) => after,
        }
    }
}

/// A service, as configured.
struct Service<'a> {
    url: &'a str,
    headers: &'a std::collections::BTreeMap<String, String>,
    oauth: &'a McpOAuth,
}

/// Asks a server what it offers.
async fn offer(server: &str, link: &Link) -> Result<Offer, ServiceError> {
    let info = link.peer.peer_info();
    let mut offer = Offer::introduced(info.as_deref());
    let capabilities = info.map(|info| info.capabilities.clone()).unwrap_or_default();
    if capabilities.tools.is_some() {
        let page = |page| async { link.peer.list_tools(page).await.map(|found| (found.tools, found.next_cursor)) };
        offer = offer.with_tools(server, pages(page).await?);
    }
    if capabilities.prompts.is_some() {
        let page =
            |page| async { link.peer.list_prompts(page).await.map(|found| (found.prompts, found.next_cursor)) };
        offer = offer.with_prompts(server, pages(page).await?);
    }
    if capabilities.resources.is_some() {
        let page = |page| async {
            link.peer.list_resources(page).await.map(|found| (found.resources, found.next_cursor))
        };
        offer = offer.with_resources(pages(page).await?);
    }
    Ok(offer)
}

/// A list, page by page, as far as anything of it counts.
async fn pages<T, F>(page: impl Fn(Option<PaginatedRequestParams>) -> F) -> Result<Vec<T>, ServiceError>
where
    F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
{
    let (mut list, mut cursor) = (Vec::new(), None);
    loop {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let (found, next) = page(Some(params)).await?;
        let is_over = found.is_empty() || next.is_none();
        list.extend(found);
        if is_over || list.len() > MANY {
            return Ok(list);
        }
        cursor = next;
    }
}

fn said(error: &ServiceError) -> Broken {
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
