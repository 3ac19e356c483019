//! What a session may consume: all its agents draw from one budget, and what a request could cost is set aside before
//! it is made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tiller_model::{ModelInfo, Price};
use tiller_protocol::entry::{Outcome, Response};
use tiller_protocol::state::Spent;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::agent::AgentLimits;

/// Below this an answer is not worth asking for.
const LEAST_OUTPUT: u32 = 1_000;
/// The part of what is left that one request may set aside, so that agents beside it need not wait.
const SHARE: u32 = 4;
/// What a request may set aside although it is more than its share.
const GRANTED_OUTPUT: u32 = 4_000;

/// Limits of a session.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Model requests of a turn, for each agent.
    pub max_turns: Option<u32>,
    /// Dollars.
    pub max_budget_usd: Option<f64>,
    /// Tokens, read and written.
    pub max_tokens: Option<u64>,
    /// Time since the session was opened.
    pub max_time: Option<Duration>,
    /// Calls of one agent running at once.
    pub concurrency: usize,
    /// Sub-agents.
    pub agents: AgentLimits,
    /// How long the end waits for agents in the background; without it, as long as they need.
    pub agents_ceiling: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: None,
            max_budget_usd: None,
            max_tokens: None,
            max_time: None,
            concurrency: 10,
            agents: AgentLimits::default(),
            agents_ceiling: Some(Duration::ZERO),
        }
    }
}

/// A limit that keeps the next request from being made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reached {
    /// Dollars.
    Money { max: f64, spent: f64 },
    /// The next request would cost more than is left, even with the shortest answer worth asking for.
    TooDear { max: f64, spent: f64, estimate: f64 },
    /// Dollars are limited and a price is not known.
    Unpriced { max: f64 },
    /// Tokens.
    Tokens { max: u64 },
    /// The next request would need more tokens than are left, even with the shortest answer worth asking for.
    TooLong { max: u64, used: u64, estimate: u64 },
    /// Time.
    Time { max: Duration },
}

impl Reached {
    /// How a turn ends by it.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Money { .. } | Self::TooDear { .. } | Self::Unpriced { .. } => Outcome::MaxBudget,
            Self::Tokens { .. } | Self::TooLong { .. } => Outcome::MaxTokens,
            Self::Time { .. } => Outcome::MaxTime,
        }
    }

    /// What the user is told.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::Money { max, spent } => {
                format!("Stopped: the spending limit of ${max} is reached (${spent:.4} spent).")
            }
            Self::TooDear { max, spent, estimate } => format!(
                "Stopped: the next request could cost ${estimate:.4} or more, and that is not left of the \
                 spending limit of ${max} (${spent:.4} spent)."
            ),
            Self::Unpriced { max } => {
                format!("Stopped: the spending limit of ${max} cannot be kept, a model's price is not known.")
            }
            Self::Tokens { max } => format!("Stopped: the limit of {max} tokens is reached."),
            Self::TooLong { max, used, estimate } => format!(
                "Stopped: the next request could need {estimate} tokens or more, and that is not left of the limit \
                 of {max} tokens ({used} used)."
            ),
            Self::Time { max } => format!("Stopped: the time limit of {} seconds is reached.", max.as_secs()),
        }
    }
}

/// The budget of a session.
pub(crate) struct Budget {
    limits: Limits,
    begun: Instant,
    book: Mutex<Book>,
    released: Notify,
}

#[derive(Debug, Default)]
struct Book {
    usd: f64,
    unpriced: bool,
    tokens: u64,
    /// What requests may consume that are not answered yet.
    set_aside: Grant,
    requests: usize,
}

/// What one request may consume.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    usd: f64,
    tokens: u64,
    /// The longest answer, if that is limited.
    output: Option<u32>,
}

/// What was set aside for one request, until it is answered.
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    grant: Grant,
}

impl Reservation {
    /// The longest answer that it pays for, if that is limited.
    pub(crate) fn max_tokens(&self) -> Option<u32> {
        self.grant.output
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut book = self.budget.book();
        book.set_aside.usd -= self.grant.usd;
        book.set_aside.tokens -= self.grant.tokens;
        book.requests -= 1;
        drop(book);
        self.budget.released.notify_waiters();
    }
}

/// What comes of an attempt to set something aside.
enum Attempt {
    Granted(Grant),
    Reached(Reached),
    /// Others have set aside what is missing, and may not need it.
    Wait,
}

impl Budget {
    /// For a session that has consumed this already.
    pub(crate) fn new(limits: Limits, spent: &Spent) -> Self {
        let tokens = spent.by_model.values().map(|model| model.usage.total()).sum();
        let book = Book { usd: spent.usd, unpriced: spent.unpriced, tokens, ..Book::default() };
        Self { limits, begun: Instant::now(), book: Mutex::new(book), released: Notify::new() }
    }

    /// Counts a response.
    pub(crate) fn count(&self, response: &Response) {
        let mut book = self.book();
        book.usd += response.cost_usd.unwrap_or_default();
        book.unpriced |= response.cost_usd.is_none();
        book.tokens += response.usage.total();
    }

    /// Dollars spent so far by all agents.
    pub(crate) fn spent(&self) -> f64 {
        self.book().usd
    }

    /// Sets aside what a request with about this much input and an answer of at most this many tokens could cost. Waits
    /// for others that have set aside more than they may need.
    pub(crate) async fn reserve_for(
        self: &Arc<Self>,
        model: &ModelInfo,
        input: u64,
        output: u32,
    ) -> Result<Reservation, Reached> {
        loop {
            let mut released = std::pin::pin!(self.released.notified());
            // From here on no release is missed.
            released.as_mut().enable();
            match self.attempt(model, input, output) {
                Attempt::Granted(grant) => return Ok(Reservation { budget: Arc::clone(self), grant }),
                Attempt::Reached(reached) => return Err(reached),
                Attempt::Wait => released.await,
            }
        }
    }

    fn attempt(&self, model: &ModelInfo, input: u64, output: u32) -> Attempt {
        let mut book = self.book();
        if let Some(max) = self.limits.max_time.filter(|max| self.begun.elapsed() >= *max) {
            return Attempt::Reached(Reached::Time { max });
        }
        let attempt = book.attempt(&self.limits, model, input, output);
        if let Attempt::Granted(grant) = attempt {
            book.set_aside.usd += grant.usd;
            book.set_aside.tokens += grant.tokens;
            book.requests += 1;
        }
        attempt
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn attempt(&self, limits: &Limits, model: &ModelInfo, input: u64, most: u32) -> Attempt {
        let by_tokens = limits.max_tokens.map(|max| self.tokens_left(max, input)).transpose();
        let by_money = limits.max_budget_usd.map(|max| self.money_left(max, model, input)).transpose();
        let affordable = match (by_tokens, by_money) {
            (Ok(by_tokens), Ok(by_money)) => by_tokens.into_iter().chain(by_money).min(),
            (Err(reached), _) | (_, Err(reached)) => return self.refused(reached),
        };
        let Some(affordable) = affordable else { return Attempt::Granted(Grant::default()) };
        let output = affordable.min((affordable / SHARE).max(GRANTED_OUTPUT)).min(most);
        let price = model.price(input).filter(|_| limits.max_budget_usd.is_some());
        let usd = price.map_or(0.0, |price| dollars(price, input, output));
        Attempt::Granted(Grant { usd, tokens: input + u64::from(output), output: Some(output) })
    }

    /// What is missing may come back as long as others have set something aside.
    fn refused(&self, reached: Reached) -> Attempt {
        match reached {
            Reached::TooDear { .. } | Reached::TooLong { .. } if self.requests > 0 => Attempt::Wait,
            reached => Attempt::Reached(reached),
        }
    }

    /// How long an answer may be.
    fn tokens_left(&self, max: u64, input: u64) -> Result<u32, Reached> {
        let used = self.tokens;
        if used >= max {
            return Err(Reached::Tokens { max });
        }
        let left = max.saturating_sub(used).saturating_sub(self.set_aside.tokens).saturating_sub(input);
        let affordable = u32::try_from(left).unwrap_or(u32::MAX);
        if affordable < LEAST_OUTPUT {
            return Err(Reached::TooLong { max, used, estimate: input + u64::from(LEAST_OUTPUT) });
        }
        Ok(affordable)
    }

    /// The same by what it costs.
    fn money_left(&self, max: f64, model: &ModelInfo, input: u64) -> Result<u32, Reached> {
        let spent = self.usd;
        let Some(price) = model.price(input).filter(|_| !self.unpriced) else {
            return Err(Reached::Unpriced { max });
        };
        if spent >= max {
            return Err(Reached::Money { max, spent });
        }
        let left = max - spent - self.set_aside.usd - dollars(price, input, 0);
        let output = dollars(price, 0, 1);
        // A float that is too large for the integer becomes the largest there is.
        let affordable = if output > 0.0 { (left / output) as u32 } else { u32::MAX };
        if left <= 0.0 || affordable < LEAST_OUTPUT {
            return Err(Reached::TooDear { max, spent, estimate: dollars(price, input, LEAST_OUTPUT) });
        }
        Ok(affordable)
    }
}

/// What so many tokens cost at the most.
fn dollars(price: &Price, input: u64, output: u32) -> f64 {
    (input as f64 * price.input.max(price.write5m) + f64::from(output) * price.output) / 1e6
}

#[cfg(test)]
mod tests {
    use tiller_model::Catalog;
    use tiller_protocol::id::MessageId;
    use tiller_protocol::usage::{StopReason, Usage};

    use super::*;

    fn budget(usd: f64) -> Arc<Budget> {
        let limits = Limits { max_budget_usd: Some(usd), ..Limits::default() };
        Arc::new(Budget::new(limits, &Spent::default()))
    }

    fn token_budget(tokens: u64) -> Arc<Budget> {
        let limits = Limits { max_tokens: Some(tokens), ..Limits::default() };
        Arc::new(Budget::new(limits, &Spent::default()))
    }

    impl Budget {
        async fn reserve(self: &Arc<Self>, model: &ModelInfo, input: u64) -> Result<Reservation, Reached> {
            self.reserve_for(model, input, model.agent_output()).await
        }
    }

    fn sonnet() -> ModelInfo {
        Catalog::shipped().unwrap().info("claude-sonnet-5")
    }

    fn response(cost_usd: Option<f64>) -> Response {
        Response {
            message_id: MessageId("msg".to_owned()),
            model: "m".to_owned(),
            usage: Usage { input_tokens: 600, output_tokens: 400, ..Usage::default() },
            stop_reason: StopReason::EndTurn,
            stop_details: None,
            cost_usd,
            duration_ms: 0,
            request_id: None,
            side: false,
            agent: None,
            asked: None,
        }
    }

    // BUDG-01: what a call could cost is set aside before it is made, whoever makes it.
    #[tokio::test]
    async fn parallel_requests_never_promise_more_than_there_is() {
        let budget = budget(1.0);
        let mut held = Vec::new();
        while let Attempt::Granted(..) = budget.attempt(&sonnet(), 10_000, 20_000) {
            // The attempt has set it aside; the reservation gives it back.
            let set_aside = budget.book().set_aside.usd;
            assert!(set_aside <= 1.0, "{set_aside}");
            held.push(());
        }
        assert!(held.len() >= 4, "agents work beside each other: {}", held.len());
    }

    // BUDG-01: the same for tokens.
    #[tokio::test]
    async fn parallel_requests_never_promise_more_tokens_than_there_are() {
        let budget = token_budget(100_000);
        let mut held = Vec::new();
        while let Attempt::Granted(grant) = budget.attempt(&sonnet(), 10_000, 20_000) {
            assert!(budget.book().set_aside.tokens <= 100_000, "{:?}", budget.book());
            held.push(Reservation { budget: Arc::clone(&budget), grant });
        }
        assert!(held.len() >= 4, "agents work beside each other: {}", held.len());
        assert!(matches!(budget.attempt(&sonnet(), 10_000, 20_000), Attempt::Wait));
        held.clear();
        assert_eq!(budget.book().set_aside.tokens, 0);
    }

    // BUDG-01
    #[tokio::test]
    async fn who_finds_everything_set_aside_waits_for_it() {
        let budget = budget(0.1);
        let first = budget.reserve(&sonnet(), 1_000).await.ok().unwrap();
        assert!(first.max_tokens().unwrap() >= LEAST_OUTPUT);
        let mut others = Vec::new();
        while let Attempt::Granted(grant) = budget.attempt(&sonnet(), 1_000, 20_000) {
            others.push(Reservation { budget: Arc::clone(&budget), grant });
        }
        let model = sonnet();
        let waiting = budget.reserve(&model, 1_000);
        let mut waiting = std::pin::pin!(waiting);
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        others.clear();
        drop(first);
        assert!(waiting.await.is_ok());
    }

    // BUDG-01 BUDG-03
    #[tokio::test]
    async fn limits_end_the_work_and_say_which_it_was() {
        let spent = budget(0.5);
        spent.count(&response(Some(0.5)));
        let reached = |result: Result<Reservation, Reached>| result.err().unwrap();
        assert_eq!(reached(spent.reserve(&sonnet(), 1).await), Reached::Money { max: 0.5, spent: 0.5 });
        let dear = budget(0.01);
        let model = sonnet();
        let price = model.price(100_000).unwrap();
        let least = 0.1 * price.input.max(price.write5m) + 0.001 * price.output;
        let refusal = reached(dear.reserve(&model, 100_000).await);
        assert!(matches!(refusal, Reached::TooDear { max: 0.01, spent: 0.0, .. }), "{refusal:?}");
        assert!(refusal.explain().contains(&format!("could cost ${least:.4} or more")), "{refusal:?}");
        let unpriced = budget(0.5);
        unpriced.count(&response(None));
        assert_eq!(reached(unpriced.reserve(&sonnet(), 1).await), Reached::Unpriced { max: 0.5 });
        let tokens = token_budget(2_001);
        assert!(tokens.reserve(&sonnet(), 1).await.is_ok());
        tokens.count(&response(None));
        assert!(tokens.reserve(&sonnet(), 1).await.is_ok());
        let too_long = Reached::TooLong { max: 2_001, used: 1_000, estimate: 1_002 };
        assert_eq!(reached(tokens.reserve(&sonnet(), 2).await), too_long);
        tokens.count(&response(None));
        tokens.count(&response(None));
        assert_eq!(reached(tokens.reserve(&sonnet(), 1).await), Reached::Tokens { max: 2_001 });
        let limits = Limits { max_time: Some(Duration::ZERO), ..Limits::default() };
        let time = Arc::new(Budget::new(limits, &Spent::default()));
        assert_eq!(reached(time.reserve(&sonnet(), 1).await), Reached::Time { max: Duration::ZERO });
    }
}
