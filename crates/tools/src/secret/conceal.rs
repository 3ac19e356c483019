//! The one way out of a tool: what it says passes here before anybody hears it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tiller_policy::{Access, Permit};
use tiller_protocol::ask::FileChange;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::SkillUse;
use tiller_sandbox::Confinement;
use tokio_util::sync::CancellationToken;

use super::vault::{Masked, Vault};
use crate::bash::Refused;
use crate::cx::{
    AgentOrder, AgentState, Delegated, Host, Leave, RecallRequest, Recalled, ToolCx, View, WebSearchRequest,
};
use crate::registry::PreparedCall;
use crate::tool::{Done, ToolError};

/// A call whose results, errors and progress are masked.
pub(crate) struct Concealing(pub(crate) Box<dyn PreparedCall>);

impl PreparedCall for Concealing {
    fn parallel(&self) -> bool {
        self.0.parallel()
    }

    fn read_only(&self) -> bool {
        self.0.read_only()
    }

    fn validate(&self, view: &View) -> Result<(), String> {
        self.0.validate(view).map_err(|problem| view.secrets.mask(&problem).into_owned())
    }

    fn reads_files(&self) -> bool {
        self.0.reads_files()
    }

    fn access(&self, view: &View) -> Vec<Access> {
        self.0.access(view)
    }

    fn warning(&self) -> Option<String> {
        self.0.warning()
    }

    fn preview(&self, view: &View) -> Option<FileChange> {
        self.0.preview(view)
    }

    fn result_limit(&self) -> usize {
        self.0.result_limit()
    }

    fn run(self: Box<Self>, cx: ToolCx) -> BoxFuture<'static, Result<Done, ToolError>> {
        let secrets = Arc::clone(&cx.view.secrets);
        let host = Arc::new(ConcealingHost { host: Arc::clone(&cx.host), secrets: Arc::clone(&secrets) });
        let running = self.0.run(ToolCx { host, ..cx });
        async move {
            match running.await {
                Ok(done) => Ok(secrets.conceal(done)),
                Err(ToolError::Failed(done)) => Err(ToolError::Failed(secrets.conceal(done))),
                Err(ToolError::Model(text)) => Err(ToolError::Model(secrets.mask(&text).into_owned())),
                Err(ToolError::Cancelled) => Err(ToolError::Cancelled),
            }
        }
        .boxed()
    }
}

/// The way back to the session, masked.
struct ConcealingHost {
    host: Arc<dyn Host>,
    secrets: Arc<Vault>,
}

impl Host for ConcealingHost {
    fn progress(&self, mut data: Value) {
        self.secrets.mask_value(&mut data);
        self.host.progress(data);
    }

    fn digest(&self, prompt: String) -> BoxFuture<'static, Result<String, String>> {
        self.host.digest(self.secrets.mask(&prompt).into_owned())
    }

    fn web_search(&self, search: WebSearchRequest) -> BoxFuture<'static, Result<Value, String>> {
        self.host.web_search(search)
    }

    fn confinement(&self, permit: &Permit) -> BoxFuture<'static, Result<Confinement, String>> {
        self.host.confinement(permit)
    }

    fn leave(&self, permit: &Permit, refused: Refused, line: String) -> BoxFuture<'static, Leave> {
        self.host.leave(permit, refused, self.secrets.mask(&line).into_owned())
    }

    fn delegate(
        &self,
        order: AgentOrder,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Delegated, String>> {
        self.host.delegate(order, cancel)
    }

    fn agent(&self, id: &str, wait: Duration) -> BoxFuture<'static, Option<AgentState>> {
        self.host.agent(id, wait)
    }

    fn agents(&self) -> Vec<AgentState> {
        self.host.agents()
    }

    fn recall(&self, order: RecallRequest) -> BoxFuture<'static, Result<Recalled, String>> {
        self.host.recall(order)
    }

    fn open_skill(&self, name: &str, arguments: &str) -> Result<SkillUse, String> {
        self.host.open_skill(name, arguments)
    }

    fn stop_agent(&self, id: &str) -> bool {
        self.host.stop_agent(id)
    }
}

impl Vault {
    /// Masks a result. What was masked is told to the model, and stands in the details by kind and number.
    fn conceal(&self, mut done: Done) -> Done {
        for block in &mut done.content {
            self.conceal_block(block);
        }
        self.mask_value(&mut done.detail);
        if self.is_empty() {
            return done;
        }
        let texts: Vec<String> = done.content.iter().filter_map(RawBlock::as_text).collect();
        let shown = self.tally(&texts.join("\n"));
        if let Some(last) = done.content.iter_mut().rev().find(|block| block.as_text().is_some())
            && !shown.is_empty()
        {
            *last = RawBlock::text(&format!("{}\n{}", last.as_text().unwrap_or_default(), note(&shown)));
        }
        let masked = if shown.is_empty() { self.tally(&done.detail.to_string()) } else { shown };
        if !masked.is_empty() {
            record(&mut done.detail, &masked);
        }
        done
    }

    fn conceal_block(&self, block: &mut RawBlock) {
        if let Some(text) = block.as_text() {
            if let Cow::Owned(masked) = self.mask(&text) {
                *block = RawBlock::text(&masked);
            }
            return;
        }
        let mut value = block.to_value();
        // The bytes of an image or a document: nothing is recognised in them, and nothing may be changed.
        let is_encoded = value["source"]["type"] == "base64";
        let bytes = value.pointer_mut("/source/data").filter(|_| is_encoded).map(Value::take);
        if self.mask_value(&mut value) > 0 {
            if let Some(bytes) = bytes {
                value["source"]["data"] = bytes;
            }
            *block = RawBlock::from_value(&value);
        }
    }

    /// Masks every text in a value. Says in how many there was something to mask.
    pub fn mask_value(&self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => {
                let Cow::Owned(masked) = self.mask(text) else { return 0 };
                *text = masked;
                1
            }
            Value::Array(items) => items.iter_mut().map(|item| self.mask_value(item)).sum(),
            Value::Object(fields) => fields.values_mut().map(|field| self.mask_value(field)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }
}

/// What the model is told.
fn note(masked: &[Masked]) -> String {
    let kinds: Vec<String> = masked.iter().map(|Masked { kind, count }| format!("{count} {kind}")).collect();
    format!(
        "[Secrets masked above: {}. Edit, Write and NotebookEdit put the real value where you write its mask, in the \
         file that holds it; commands do not get it.]",
        kinds.join(", ")
    )
}

/// What displays and the log are told.
fn record(detail: &mut Value, masked: &[Masked]) {
    if !detail.is_object() {
        *detail = json!({"content": detail.take()});
    }
    detail["masked"] = json!(masked);
}
