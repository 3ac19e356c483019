//! Looks after one server: keeps its connection and its offer, connects again after a break, and ends it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use serde_json::Value;
use tiller_config::{McpDefinition, McpReach};
use tiller_protocol::entry::{Level, Notice};
use tiller_protocol::mcp::{McpOrder, McpState};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::{Challenge, SignIn, Standing};
use crate::connect::{Broken, Connection, Held};
use crate::handler::Changed;
use crate::link::Link;
use crate::offer::{Offer, offer};
use crate::servers::{Status, Surroundings};

/// A connection that has lasted this long counts as a good one: the next break is the first again.
const GOOD: Duration = Duration::from_secs(60);

const CLOSED: &str = "the connection was closed";

/// Who looks after one server.
pub(crate) struct Attendant {
    pub(crate) definition: Arc<McpDefinition>,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) status: watch::Sender<Arc<Status>>,
    pub(crate) orders: mpsc::UnboundedReceiver<McpOrder>,
    /// What a server that is part of the host says of its own accord.
    pub(crate) heard: broadcast::Sender<Value>,
    pub(crate) standing: Standing,
    pub(crate) tasks: TaskTracker,
    pub(crate) ended: CancellationToken,
}

/// What comes after a connection.
enum After {
    /// The session ends.
    End,
    /// The user wants something.
    Order(McpOrder),
    /// The user has to sign in; what the service said about it.
    SignIn(Option<Challenge>),
    /// It broke.
    Break(String),
    /// It does not let us in, however often we try.
    Refusal(String),
}

impl Attendant {
    pub(crate) async fn attend(mut self) {
        let mut breaks = 0;
        loop {
            self.set(McpState::Starting);
            let begun = Instant::now();
            let (after, was_ready) = match self.connected().await {
                Some(Ok(connection)) => {
                    self.standing.let_in();
                    (self.serve(connection).await, true)
                }
                Some(Err(Broken::SignIn(challenge))) => (After::SignIn(challenge), false),
                Some(Err(Broken::Failed(why))) => (After::Break(why), false),
                Some(Err(Broken::Refused(why))) => (After::Refusal(why), false),
                None => (After::End, false),
            };
            breaks = if was_ready && begun.elapsed() > GOOD { 0 } else { breaks };
            let order = match self.unless_in_vain(after) {
                After::End => return self.set(McpState::Configured),
                After::Order(order) => Some(order),
                After::SignIn(challenge) => {
                    self.standing.refuse(challenge);
                    self.set(McpState::NeedsSignIn);
                    let Some(order) = self.next_order().await else { return self.set(McpState::Configured) };
                    Some(order)
                }
                After::Refusal(why) => {
                    let why = self.surroundings.secrets.mask(&why).into_owned();
                    tracing::warn!(server = self.definition.name, "{why}");
                    self.set(McpState::Failed { why });
                    let Some(order) = self.next_order().await else { return };
                    Some(order)
                }
                After::Break(why) => {
                    let why = self.surroundings.secrets.mask(&why).into_owned();
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
                if !self.follow(order).await {
                    return;
                }
            }
        }
    }

    /// Waits before the next attempt, or for the user, who may want something else. None at the end.
    async fn pause(&mut self, breaks: u32, was_ready: bool) -> Option<Option<McpOrder>> {
        let patience = self.surroundings.patience;
        let is_service = matches!(self.definition.reach, McpReach::Http { .. });
        // A program that does not even start will not start the next time, and a host that does not know a server does not
        // get to know it.
        let tries_again = breaks <= patience.attempts && (was_ready || is_service);
        let wait = patience.pause * 2_u32.saturating_pow(breaks.saturating_sub(1).min(5));
        tokio::select! {
            () = self.ended.cancelled() => None,
            order = self.orders.recv() => order.map(Some),
            () = sleep(wait), if tries_again => Some(None),
        }
    }

    /// A service that refuses what the user has just signed in for is of no use, and where nobody signs in the next
    /// attempt is a new beginning.
    fn unless_in_vain(&self, after: After) -> After {
        let needs_nobody = matches!(&self.definition.reach, McpReach::Http { oauth, .. }
            if !oauth.grant.needs_user());
        match after {
            After::SignIn(_) if needs_nobody => After::Break("it does not let us in any more".to_owned()),
            After::SignIn(Some(challenge)) if self.standing.is_in_vain(&challenge) => {
                After::Break("it refuses all the same after signing in".to_owned())
            }
            after => after,
        }
    }

    /// Waits for the user. None at the end.
    async fn next_order(&mut self) -> Option<McpOrder> {
        tokio::select! {
            () = self.ended.cancelled() => None,
            order = self.orders.recv() => order,
        }
    }

    /// Does what the user wants before the next attempt. False at the end.
    async fn follow(&mut self, order: McpOrder) -> bool {
        match order {
            McpOrder::Reconnect => true,
            McpOrder::SignOut => {
                if let McpReach::Http { url, .. } = &self.definition.reach
                    && let Err(error) = self.surroundings.tokens.forget(url)
                {
                    self.tell(&format!("signing out of {} failed: {error}", self.definition.name));
                }
                true
            }
            McpOrder::Stop => {
                self.set(McpState::Stopped);
                loop {
                    match self.next_order().await {
                        Some(McpOrder::Stop) => {}
                        Some(McpOrder::Reconnect | McpOrder::SignOut) => return true,
                        Some(McpOrder::SignIn) => return Box::pin(self.sign_in()).await,
                        None => return false,
                    }
                }
            }
            McpOrder::SignIn => Box::pin(self.sign_in()).await,
        }
    }

    /// Lets the user sign in. False at the end.
    async fn sign_in(&mut self) -> bool {
        let definition = Arc::clone(&self.definition);
        let McpReach::Http { url, oauth, .. } = &definition.reach else { return true };
        let challenge = self.standing.challenge();
        let (tokens, outside) = (&self.surroundings.tokens, self.surroundings.outside());
        let begin = SignIn { url, oauth, challenge, tokens, outside };
        let outcome = tokio::select! {
            () = self.ended.cancelled() => return false,
            outcome = self.signed_in(begin) => outcome,
        };
        match outcome {
            Ok(()) => self.standing.sign_in(),
            Err(why) => self.tell(&format!("signing in to {} failed: {why}", definition.name)),
        }
        true
    }

    async fn signed_in(&self, begin: SignIn<'_>) -> Result<(), String> {
        let login = begin.begin().await.map_err(|error| error.to_string())?;
        self.set(McpState::SigningIn { url: login.url().to_owned() });
        login.finish().await.map_err(|error| error.to_string())
    }

    pub(crate) fn tell(&self, content: &str) {
        self.surroundings.principal.tell(Notice {
            subtype: "mcp".to_owned(),
            level: Level::Warning,
            content: self.surroundings.secrets.mask(content).into_owned(),
        });
    }

    fn set(&self, state: McpState) {
        let before = Arc::clone(&self.status.borrow().last_offer);
        self.publish(Status { state, offer: Arc::default(), last_offer: before, link: None });
    }

    pub(crate) fn make_ready(&self, offer: Offer, link: Link) {
        let offer = Arc::new(offer);
        let (last_offer, link) = (Arc::clone(&offer), Some(link));
        self.publish(Status { state: McpState::Ready, offer, last_offer, link });
    }

    /// Front ends hear of it before anybody who waits for the server goes on.
    fn publish(&self, status: Status) {
        // Whoever has taken its name speaks for it.
        if self.orders.is_closed() {
            return;
        }
        self.surroundings.principal.changed(status.shown(&self.definition));
        self.status.send_replace(Arc::new(status));
    }

    /// Until the connection is over.
    async fn serve(&mut self, connection: Connection) -> After {
        let Connection { running, link, mut changed, process } = connection;
        let token = running.cancellation_token();
        let mut over = Box::pin(running.waiting());
        let listening = self.listen(&link);
        let pause = self.surroundings.patience.refresh;
        let (mut due, mut looked) = (None::<Instant>, None::<Instant>);
        let after = loop {
            tokio::select! {
                () = self.ended.cancelled() => break After::End,
                _ = &mut over => break After::Break(CLOSED.to_owned()),
                order = self.orders.recv() => match order {
                    Some(order) => break After::Order(order),
                    None => break After::End,
                },
                Some(news) = changed.recv() => match news {
                    // Whoever called is told; another sign-in would not help.
                    Changed::Refused(challenge) if self.standing.is_in_vain(&challenge) => {}
                    Changed::Refused(challenge) => break After::SignIn(Some(challenge)),
                    // A server that changes its lists all the time is asked now and then.
                    Changed::Lists => due = Some(looked.map_or_else(Instant::now, |looked| looked + pause)),
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    tokio::select! {
                        () = self.ended.cancelled() => break After::End,
                        _ = &mut over => break After::Break(CLOSED.to_owned()),
                        () = self.refresh(&link) => {}
                    }
                    (due, looked) = (None, Some(Instant::now()));
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
                    let _ = link.handler.changed.send(Changed::Lists);
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
        let Surroundings { patience, secrets, .. } = &*self.surroundings;
        let asked = timeout(patience.start, offer(&self.definition.name, link, secrets)).await;
        match asked {
            Ok(Ok(offer)) => self.make_ready(offer, link.clone()),
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
