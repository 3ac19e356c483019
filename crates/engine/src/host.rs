//! What tools may ask of the session: progress, digests, searches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tiller_model::{Completion, Request};
use tiller_policy::{Permit, Reason, Release};
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_protocol::effect::SkillUse;
use tiller_protocol::usage::StopReason;
use tiller_sandbox::Confinement;
use tiller_tools::{
    AgentOrder, AgentState, Delegated, Host, Leave, RecallRequest, Recalled, Refused, Skill, Tool,
    WebSearchRequest,
};
use tokio_util::sync::CancellationToken;

use crate::agent::Delegation;
use crate::beside::{SIDE_MAX_TOKENS, SideError, small_question, user_message};
use crate::executor::{Line, News, Watched};
use crate::leave::WayOut;
use crate::recall::Past;
use crate::recipe::skill_for_model;
use crate::services::Services;

/// The provider's search tool.
const SEARCH_TOOL: &str = "web_search_20260318";
/// Searches the provider may make for one call.
const MAX_SEARCHES: u32 = 5;
/// Times a paused search is continued.
const MAX_PAUSES: usize = 4;

/// The host of one call.
pub(crate) struct CallHost {
    call: ToolUse,
    line: Line,
    services: Services,
    watched: Arc<Watched>,
}

impl CallHost {
    pub(crate) fn new(call: ToolUse, line: Line, services: Services) -> Self {
        let watched = Arc::new(Watched::new(call.id.clone(), services.clone()));
        Self { call, line, services, watched }
    }

    /// Sees what the call changes.
    pub(crate) fn watched(&self) -> Arc<Watched> {
        Arc::clone(&self.watched)
    }
}

impl Host for CallHost {
    fn progress(&self, data: Value) {
        self.line.tell(News::Progress(data));
    }

    fn digest(&self, prompt: String) -> BoxFuture<'static, Result<String, String>> {
        let side = Side { line: self.line.clone(), services: self.services.clone() };
        async move {
            let request = small_question(&side.services.small_model, &prompt);
            let answer = side.ask(request).await.map_err(|error| error.to_string())?;
            Ok(answer.text())
        }
        .boxed()
    }

    fn web_search(&self, search: WebSearchRequest) -> BoxFuture<'static, Result<Value, String>> {
        let side = Side { line: self.line.clone(), services: self.services.clone() };
        async move { side.search(search).await.map_err(|error| search_error(&error)) }.boxed()
    }

    fn confinement(&self, permit: &Permit) -> BoxFuture<'static, Result<Confinement, String>> {
        // Found out once, for whoever asks later.
        let _ = permit.only_looks();
        let (confiner, line, permit) =
            (Arc::clone(&self.services.confiner), self.line.clone(), permit.clone());
        let (policy, watched) = (self.services.policy.clone(), Arc::clone(&self.watched));
        async move {
            let held = loop {
                let now = policy.now();
                let held = if confiner.is_quick(&permit) {
                    confiner.hold(&permit, &now)?
                } else {
                    let (confiner, permit) = (Arc::clone(&confiner), permit.clone());
                    let decided = Arc::clone(&now);
                    let held = tokio::task::spawn_blocking(move || confiner.hold(&permit, &decided));
                    held.await.map_err(|error| error.to_string())??
                };
                watched.command(&permit, &held.confinement).await;
                // Looking for files takes a while, and what decides may change meanwhile.
                if Arc::ptr_eq(&now, &policy.now()) {
                    break held;
                }
            };
            held.notices.into_iter().for_each(|notice| line.tell(News::Notice(notice)));
            Ok(held.confinement)
        }
        .boxed()
    }

    fn leave(&self, permit: &Permit, refused: Refused, line: String) -> BoxFuture<'static, Leave> {
        let way_out = WayOut {
            call: self.call.clone(),
            line: self.line.clone(),
            services: self.services.clone(),
            permit: permit.clone(),
            refused,
            reason: Reason::Leaving {
                what: refused.what().to_owned(),
                line,
                release: refused.release().unwrap_or(Release::Machine),
            },
        };
        async move { way_out.ask().await }.boxed()
    }

    fn delegate(
        &self,
        order: AgentOrder,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Delegated, String>> {
        let services = self.services.clone();
        let Some(agents) = services.agents.clone() else {
            return async { Err("There are no agents here.".to_owned()) }.boxed();
        };
        let delegation = Delegation { agents, call: self.call.id.clone(), services, cancel };
        delegation.run(order).boxed()
    }

    fn open_skill(&self, name: &str, arguments: &str) -> Result<SkillUse, String> {
        let mut skills = self.services.recipes.iter().filter(|recipe| recipe.is_skill() && recipe.for_model);
        let skill = skills.find(|recipe| recipe.name == name);
        let skill = skill.ok_or_else(|| format!("There is no skill named {name} here."))?;
        // It may have been denied after it was offered.
        if self.services.policy.now().rules.denies_named(Skill::NAME, name) {
            return Err(format!("A rule of the user's forbids the skill {name}. Go on without it."));
        }
        Ok(skill_for_model(skill, arguments))
    }

    fn agent(&self, id: &str, wait: Duration) -> BoxFuture<'static, Option<AgentState>> {
        let (agents, id) = (self.services.agents.clone(), id.to_owned());
        async move {
            let agents = agents?;
            let known = agents.book.get(&id).filter(|known| known.info.background)?;
            // Whether it has ended or not, what is known then is told.
            let _ = tokio::time::timeout(wait, known.ended.cancelled()).await;
            agents.book.get(&id).map(|known| known.shown())
        }
        .boxed()
    }

    fn agents(&self) -> Vec<AgentState> {
        let known = self.services.agents.iter().flat_map(|agents| agents.book.in_background());
        known.map(|known| known.shown()).collect()
    }

    fn recall(&self, order: RecallRequest) -> BoxFuture<'static, Result<Recalled, String>> {
        let (folded, abandoned) = {
            let lead = self.services.lead.borrow();
            (lead.folded, lead.abandoned.clone())
        };
        let archive = self.services.archive.clone();
        async move {
            let Some(folded) = folded else { return Ok(Recalled::default()) };
            let past = Past { archive, folded, abandoned };
            // A long log takes a while to read.
            let looked_up = tokio::task::spawn_blocking(move || past.recall(&order)).await;
            looked_up.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn stop_agent(&self, id: &str) -> bool {
        self.services.agents.as_ref().is_some_and(|agents| agents.book.stop(id))
    }
}

/// A model request beside the conversation; what it costs is told to the session.
struct Side {
    line: Line,
    services: Services,
}

impl Side {
    async fn ask(&self, request: Request) -> Result<Completion, SideError> {
        let (answer, bill) = self.services.beside().ask(request).await?;
        self.line.tell(News::Spent(bill));
        Ok(answer)
    }

    async fn search(&self, search: WebSearchRequest) -> Result<Value, SideError> {
        let mut tool = json!({"type": SEARCH_TOOL, "name": "web_search", "max_uses": MAX_SEARCHES});
        if !search.allowed_domains.is_empty() {
            tool["allowed_domains"] = json!(search.allowed_domains);
        }
        if !search.blocked_domains.is_empty() {
            tool["blocked_domains"] = json!(search.blocked_domains);
        }
        let question =
            format!("Search the web for: {}\nThen say in a few sentences what was found.", search.query);
        let mut messages = vec![user_message(&question)];
        let mut blocks = Vec::new();
        for _ in 0..=MAX_PAUSES {
            let request = Request {
                model: self.services.lead.borrow().main_model.clone(),
                tools: Bytes::from(json!([tool]).to_string()),
                messages: messages.clone().into(),
                max_tokens: Some(SIDE_MAX_TOKENS),
                ..Request::default()
            };
            let answer = self.ask(request).await?;
            blocks.extend(answer.blocks.iter().map(RawBlock::to_value));
            if answer.stop_reason != StopReason::PauseTurn {
                break;
            }
            messages.truncate(1);
            messages.push(Bytes::from(json!({"role": "assistant", "content": blocks}).to_string()));
        }
        Ok(findings(&blocks))
    }
}

/// The hits and the summary of a search, without the provider's encrypted parts.
fn findings(blocks: &[Value]) -> Value {
    let hits = blocks
        .iter()
        .filter(|block| block["type"] == "web_search_tool_result")
        .filter_map(|block| block["content"].as_array())
        .flatten()
        .map(|hit| json!({"title": hit["title"], "url": hit["url"], "pageAge": hit["page_age"]}));
    let errors = blocks
        .iter()
        .filter(|block| block["type"] == "web_search_tool_result")
        .filter_map(|block| block["content"]["error_code"].as_str());
    let summary: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    json!({"results": hits.collect::<Vec<_>>(), "errors": errors.collect::<Vec<_>>(), "summary": summary.trim()})
}

fn search_error(error: &SideError) -> String {
    match error {
        SideError::Model(refused) if matches!(refused.status(), Some(400 | 404 | 501)) => format!(
            "This endpoint offers no web search ({error}). Work without it, or ask the user for the information."
        ),
        _ => format!("The search failed: {error}"),
    }
}
