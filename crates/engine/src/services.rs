//! What running calls share: everything here is cheap to clone and never changes during a session.

use std::sync::Arc;

use tiller_language::Languages;
use tiller_model::Model;
use tiller_policy::Context;
use tiller_protocol::env::Env;
use tiller_tools::{Registry, Shells, Vault};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::confinement::Confiner;
use crate::executor::{Asked, Classifier};
use crate::hook::Hooks;
use crate::session::Aside;

/// Handles that calls need.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) env: Env,
    pub(crate) registry: Registry,
    pub(crate) shells: Arc<Shells>,
    pub(crate) confiner: Arc<Confiner>,
    pub(crate) secrets: Arc<Vault>,
    /// Mode and rules as they are at this moment.
    pub(crate) policy: watch::Receiver<Arc<Context>>,
    /// Compares commands with rules in words.
    pub(crate) classifier: Arc<Classifier>,
    /// What was no matter of course so far.
    pub(crate) asked: Arc<Asked>,
    /// Whether somebody can answer a question.
    pub(crate) interactive: bool,
    pub(crate) model: Arc<dyn Model>,
    /// The model for digests.
    pub(crate) small_model: String,
    /// The model for searches.
    pub(crate) search_model: String,
    pub(crate) hooks: Hooks,
    /// Language servers, if there shall be any.
    pub(crate) languages: Option<Arc<Languages>>,
    /// The way to the session for what is neither a command nor news of a call.
    pub(crate) asides: mpsc::UnboundedSender<Aside>,
    /// Every task of the session, so that its end can wait for them.
    pub(crate) tasks: TaskTracker,
    /// Fires when the session ends.
    pub(crate) ended: CancellationToken,
}
