//! The server as tests hold it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    thread::JoinHandle,
};

use tokio::sync::oneshot;

use crate::{
    capture::Captured,
    endpoints,
    gate::off_thread,
    script::{Matcher, Reply, ScriptFile},
    state::{Settings, Shared},
};

/// A Messages API on a loopback port that answers as scripted and refuses what the real one refuses.
///
/// It runs on a thread of its own, so that blocking tests and tests that start the built binary can use it.
/// Dropping it ends all connections.
pub struct ModelServer {
    url: String,
    key: String,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Options of a server.
#[derive(Debug, Clone, Default)]
pub struct ModelServerBuilder {
    settings: Settings,
    port: u16,
}

impl ModelServerBuilder {
    /// The port to listen on; without one the system chooses.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Whether requests are checked against the rules of the API; without, usage is a rough guess.
    pub fn validate(mut self, validate: bool) -> Self {
        self.settings.validate = validate;
        self
    }

    /// Whether captured requests keep their bodies; long benchmarks cannot afford it.
    pub fn keep_bodies(mut self, keep: bool) -> Self {
        self.settings.keep_bodies = keep;
        self
    }

    /// The API key that is accepted.
    pub fn key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.settings.key);
        self
    }

    /// The context window of every model, in tokens.
    pub fn window(mut self, tokens: u64) -> Self {
        self.settings.window = Some(tokens);
        self
    }

    /// The shortest prefix that is cached, in tokens; 0 caches everything.
    pub fn cache_minimum(mut self, tokens: u64) -> Self {
        self.settings.cache_minimum = Some(tokens);
        self
    }

    /// Binds and serves; returns once connections are accepted.
    pub fn start(self) -> ModelServer {
        let key = self.settings.key.clone();
        let shared = Arc::new(Shared::new(self.settings));
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))
            .expect("a loopback port can be bound");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address: SocketAddr = listener.local_addr().expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel();
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || endpoints::serve(listener, state, stopped))
            .expect("a thread can be started");
        ModelServer { url: format!("http://{address}"), key, shared, stop: Some(stop), thread: Some(thread) }
    }
}

impl ModelServer {
    /// A strict server.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A server that checks nothing.
    pub fn lenient() -> Self {
        Self::builder().validate(false).start()
    }

    /// A server with options.
    pub fn builder() -> ModelServerBuilder {
        ModelServerBuilder::default()
    }

    /// The base URL, for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The API key that is accepted as `x-api-key` or bearer token.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Queues a reply of the default conversation.
    pub fn reply(&self, reply: Reply) {
        self.shared.script().queue(0, reply);
    }

    /// Queues several replies of the default conversation.
    pub fn replies(&self, replies: impl IntoIterator<Item = Reply>) {
        for reply in replies {
            self.reply(reply);
        }
    }

    /// Makes up replies of the default conversation when none is queued.
    pub fn respond_with(&self, respond: impl FnMut(&Captured) -> Reply + Send + 'static) {
        self.shared.script().respond(0, Box::new(respond));
    }

    /// Opens a further conversation for the requests that `matcher` recognises. Earlier ones win.
    pub fn conversation(&self, matcher: Matcher) -> ConversationHandle {
        let index = self.shared.script().add(matcher);
        ConversationHandle { index, shared: Arc::clone(&self.shared) }
    }

    /// Queues everything in a script file.
    pub fn load(&self, script: ScriptFile) {
        for conversation in script.conversations {
            self.conversation(conversation.matcher).replies(conversation.replies);
        }
        if script.cycle && !script.replies.is_empty() {
            let mut replies = script.replies.into_iter().cycle();
            self.respond_with(move |_| replies.next().unwrap_or_default());
        } else {
            self.replies(script.replies);
        }
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Captured> {
        self.shared.captures.all()
    }

    /// The requests for messages so far, without token counts and model lists.
    pub fn messages(&self) -> Vec<Captured> {
        self.requests().into_iter().filter(Captured::is_message).collect()
    }

    /// Blocks until at least `count` requests have arrived and returns all.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Captured> {
        self.shared.captures.wait(count, |_| true)
    }

    /// Blocks until at least `count` requests for messages have arrived and returns those.
    pub fn wait_for_messages(&self, count: usize) -> Vec<Captured> {
        self.shared.captures.wait(count, Captured::is_message)
    }

    /// [`ModelServer::wait_for_requests`] for async tests.
    pub async fn wait_for_requests_async(&self, count: usize) -> Vec<Captured> {
        let shared = Arc::clone(&self.shared);
        off_thread(move || shared.captures.wait(count, |_| true)).await
    }

    /// [`ModelServer::wait_for_messages`] for async tests.
    pub async fn wait_for_messages_async(&self, count: usize) -> Vec<Captured> {
        let shared = Arc::clone(&self.shared);
        off_thread(move || shared.captures.wait(count, Captured::is_message)).await
    }

    /// Every request that was refused for breaking a rule or had no reply scripted.
    pub fn rejections(&self) -> Vec<String> {
        self.shared.rejections().clone()
    }

    /// How many queued replies were not asked for yet, in all conversations.
    pub fn unplayed(&self) -> usize {
        self.shared.script().unplayed()
    }

    /// Panics when a request was refused or a queued reply was never asked for.
    pub fn assert_clean(&self) {
        let rejections = self.rejections();
        assert!(rejections.is_empty(), "the model server refused requests:\n{}", rejections.join("\n"));
        let unplayed = self.unplayed();
        assert!(unplayed == 0, "{unplayed} scripted replies were never asked for");
    }

    /// Changes the context window of every model from now on.
    pub fn set_window(&self, tokens: u64) {
        self.shared.settings().window = Some(tokens);
    }

    /// Changes the shortest prefix that is cached; 0 caches everything.
    pub fn set_cache_minimum(&self, tokens: u64) {
        self.shared.settings().cache_minimum = Some(tokens);
    }

    /// Knows nothing of models any more, as gateways do that pass on messages alone.
    pub fn hide_models(&self) {
        self.shared.settings().models_hidden = true;
    }

    /// Forgets all cached prefixes, as if their time was over.
    pub fn expire_cache(&self) {
        self.shared.memory().cache.clear();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may already be gone; then there is nothing to stop.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take()
            && let Err(panicked) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panicked);
        }
    }
}

/// A conversation beside the default one.
pub struct ConversationHandle {
    index: usize,
    shared: Arc<Shared>,
}

impl ConversationHandle {
    /// Queues a reply.
    pub fn reply(&self, reply: Reply) -> &Self {
        self.shared.script().queue(self.index, reply);
        self
    }

    /// Queues several replies.
    pub fn replies(&self, replies: impl IntoIterator<Item = Reply>) -> &Self {
        for reply in replies {
            self.reply(reply);
        }
        self
    }

    /// Makes up replies when none is queued.
    pub fn respond_with(&self, respond: impl FnMut(&Captured) -> Reply + Send + 'static) -> &Self {
        self.shared.script().respond(self.index, Box::new(respond));
        self
    }

    /// The requests for messages that belong to this conversation, in the order of arrival.
    pub fn requests(&self) -> Vec<Captured> {
        let all = self.shared.captures.all();
        let script = self.shared.script();
        all.into_iter().filter(|one| one.is_message() && script.matches(self.index, one)).collect()
    }
}
