//! The Messages API.

mod assembly;
mod block;
mod body;
mod capability;
mod config;
mod failure;
mod retry;
mod streaming;
mod transport;
mod whole;
mod wire;

use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tiller_protocol::env::{Env, Ids};

pub use config::{Config, Proxies, Reach, RetryPolicy, Secret};

pub(crate) use assembly::{Assembly, StreamFault};

use crate::Model;
use crate::catalog::{Catalog, ModelInfo};
use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::outbox;
use crate::request::Request;
use body::{BINDING_BETA, Purpose};
use retry::Retries;
use transport::Transport;

/// The provider's API over HTTP. Cheap to clone; clones share connections and what was learned of models.
#[derive(Clone)]
pub struct Anthropic(Arc<Client>);

struct Client {
    transport: Transport,
    ids: Arc<dyn Ids>,
    catalog: RwLock<Catalog>,
}

impl Anthropic {
    /// A client. Nothing is connected and no certificate is read before the first request.
    ///
    /// # Errors
    /// When the configuration cannot be expressed in HTTP.
    pub fn new(config: Config, catalog: Catalog, env: Env) -> Result<Self, ModelError> {
        let ids = Arc::clone(&env.ids);
        let transport = Transport::new(config, env)?;
        Ok(Self(Arc::new(Client { transport, ids, catalog: RwLock::new(catalog) })))
    }
}

impl Client {
    fn info(&self, id: &str) -> ModelInfo {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).info(id)
    }

    fn retries(&self, request: &Request) -> Retries {
        let policy = self.transport.config.retry;
        Retries::new(policy, Arc::clone(&self.ids), request.fallback_allowed)
    }

    fn betas(&self, request: &Request, info: &ModelInfo) -> Vec<String> {
        let binding = body::binds(request, info).then(|| BINDING_BETA.to_owned());
        request.betas.iter().cloned().chain(binding).collect()
    }

    async fn count(&self, request: Request) -> Result<u64, ModelError> {
        let info = self.info(&request.model);
        let body = body::build(&request, &info, Purpose::Count);
        let betas = self.betas(&request, &info);
        let answer = self.answer(&request, |transport| {
            let (body, betas) = (body.clone(), betas.clone());
            async move { transport.post("/v1/messages/count_tokens", body, &betas).await }
        });
        let count: wire::Count =
            serde_json::from_slice(&answer.await?).map_err(|error| unreadable(&error))?;
        Ok(count.input_tokens)
    }

    async fn refresh(&self, id: String) -> Result<ModelInfo, ModelError> {
        let info = self.info(&id);
        let mut address = self.transport.config.base_url.clone();
        if let Ok(mut segments) = address.path_segments_mut() {
            segments.clear().extend(["v1", "models", info.id.as_str()]);
        }
        let request = Request::default();
        let answer = self.answer(&request, |transport| {
            let path = address.path().to_owned();
            async move { transport.get(&path).await }
        });
        let info = capability::refine(info, &answer.await?).map_err(|error| unreadable(&error))?;
        self.catalog.write().unwrap_or_else(PoisonError::into_inner).learn(info.clone());
        Ok(info)
    }
}

fn unreadable(error: &serde_json::Error) -> ModelError {
    ModelError::Protocol { detail: error.to_string() }
}

impl Model for Anthropic {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let client = Arc::clone(&self.0);
        outbox::stream(move |out| async move { client.stream(request, out).await })
    }

    fn complete(&self, request: Request) -> BoxFuture<'static, Result<Completion, ModelError>> {
        let client = Arc::clone(&self.0);
        Box::pin(async move {
            let mut retries = client.retries(&request);
            client.complete(&request, &mut retries, |_| {}).await
        })
    }

    fn count_tokens(&self, request: Request) -> BoxFuture<'static, Result<u64, ModelError>> {
        let client = Arc::clone(&self.0);
        Box::pin(async move { client.count(request).await })
    }

    fn info(&self, id: &str) -> ModelInfo {
        self.0.info(id)
    }

    fn refresh(&self, id: String) -> BoxFuture<'static, Result<ModelInfo, ModelError>> {
        let client = Arc::clone(&self.0);
        Box::pin(async move { client.refresh(id).await })
    }
}
