//! A connection for tests: the near end is the real one, the far end is the test itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use tiller_protocol::entry::Notice;
use tiller_protocol::mcp::{ElicitationAsk, McpServer};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::mpsc;

use crate::handler::{Board, Changed, Handler};
use crate::link::Link;
use crate::principal::{Elicited, Principal, Sampled, SamplingRequest};

type Answering = Box<dyn Fn() -> BoxFuture<'static, Elicited> + Send + Sync>;

/// A session that counts the questions that are put to it.
pub(crate) struct Counting {
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) answer: Answering,
}

impl Principal for Counting {
    fn roots(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn elicit(&self, _: ElicitationAsk) -> BoxFuture<'static, Elicited> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.answer)()
    }

    fn sample(&self, _: SamplingRequest) -> BoxFuture<'static, Result<Sampled, String>> {
        async { Err("no".to_owned()) }.boxed()
    }

    fn sampling_model(&self) -> String {
        String::new()
    }

    fn relay(&self, _: &str, _: Value) -> BoxFuture<'static, Result<Value, String>> {
        async { Err("no".to_owned()) }.boxed()
    }

    fn changed(&self, _: McpServer) {}

    fn tell(&self, _: Notice) {}
}

/// The far end.
pub(crate) struct Server {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Server {
    /// Says all of this at once.
    pub(crate) async fn say(&mut self, messages: &[Value]) {
        let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        self.output.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Asks the user something.
    pub(crate) fn question(id: u32) -> Value {
        let schema = json!({"type": "object", "properties": {}});
        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create",
            "params": {"message": "Well?", "requestedSchema": schema}})
    }
}

/// A connection while it lasts.
pub(crate) struct Bench {
    pub(crate) link: Link,
    pub(crate) server: Server,
    _running: RunningService<RoleClient, Arc<Handler>>,
    _changed: mpsc::UnboundedReceiver<Changed>,
}

impl Bench {
    pub(crate) async fn new(principal: Counting) -> Self {
        let (near, far) = duplex(64 * 1024);
        let (input, output) = split(far);
        let mut server = Server { lines: BufReader::new(input).lines(), output };
        let (changes, changed) = mpsc::unbounded_channel();
        let board = Arc::<Board>::default();
        let handler = Arc::new(Handler::new("s", Arc::new(principal), Arc::clone(&board), changes));
        let (read, write) = split(near);
        let transport = AsyncRwTransport::new_client(read, write);
        let serving = Arc::clone(&handler).serve_with_lifecycle(transport, ClientLifecycleMode::Initialize);
        let greeting = async {
            let hello = server.hear().await;
            let result = json!({"protocolVersion": hello["params"]["protocolVersion"], "capabilities": {},
                "serverInfo": {"name": "s", "version": "1"}});
            server.say(&[json!({"jsonrpc": "2.0", "id": hello["id"], "result": result})]).await;
            assert_eq!(server.hear().await["method"], "notifications/initialized");
        };
        let (running, ()) = tokio::join!(serving, greeting);
        let running = running.unwrap();
        let link = Link { peer: running.peer().clone(), handler, board };
        Self { link, server, _running: running, _changed: changed }
    }
}
