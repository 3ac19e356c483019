//! Looks after one server: keeps its connection and its offer, connects again after a break, and ends it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use tiller_config::{McpDefinition, McpReach};
use tiller_protocol::entry::{Level, Notice};
use tiller_protocol::mcp::{McpOrder, McpState};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::SignIn;
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
    pub(crate) tasks: TaskTracker,
    pub(crate) ended: CancellationToken,
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

    pub(crate) fn tell(&self, content: String) {
        self.surroundings.principal.tell(Notice {
            subtype: "mcp".to_owned(),
            level: Level::Warning,
            content,
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
        self.surroundings.principal.changed(status.shown(&self.definition));
        self.status.send_replace(Arc::new(status));
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
