//! `WebFetch`: reads a page and lets a small model answer a question about it.

mod get;
mod page;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::env::Env;
use tiller_tls::Certificates;

use self::get::{Found, Page, address, get, is_loopback};
use crate::cx::{ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

/// Characters of a page that the small model gets to read.
const MAX_CHARS: usize = 100_000;
const DIGEST: &str = include_str!("digest.md");

/// Reads web pages.
#[derive(Debug, Default)]
pub struct WebFetch {
    /// For other machines. Made when it is first needed: loading certificates takes time.
    outside: OnceLock<Result<Client, String>>,
    /// For this machine.
    inside: OnceLock<Result<Client, String>>,
}

/// What `WebFetch` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebFetchInput {
    /// The address of the page.
    url: String,
    /// What to find out from it.
    prompt: String,
}

impl Tool for WebFetch {
    const NAME: &'static str = "WebFetch";
    type Input = WebFetchInput;

    fn describe(&self) -> Description {
        Description::new("Reads a web page", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &WebFetchInput) -> bool {
        true
    }

    fn read_only(&self, _input: &WebFetchInput) -> bool {
        true
    }

    fn validate(&self, input: &WebFetchInput, _view: &View) -> Result<(), String> {
        if input.prompt.trim().is_empty() {
            return Err("The prompt is empty. Say what to find out from the page.".to_owned());
        }
        address(&input.url).map(drop)
    }

    fn access(&self, input: &WebFetchInput, _view: &View) -> Vec<Access> {
        let host = address(&input.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.map(Access::Net).into_iter().collect()
    }

    async fn run(&self, input: WebFetchInput, cx: ToolCx) -> Result<Done, ToolError> {
        tokio::select! {
            done = self.fetch(&input, &cx) => done.map_err(ToolError::Model),
            () = cx.cancel.cancelled() => Err(ToolError::Cancelled),
        }
    }
}

impl WebFetch {
    async fn fetch(&self, input: &WebFetchInput, cx: &ToolCx) -> Result<Done, String> {
        let url = address(&input.url)?;
        let client = match is_loopback(&url) {
            true => self.inside.get_or_init(|| inside(&cx.env)),
            false => self.outside.get_or_init(|| outside(&cx.env)),
        };
        match get(client.as_ref().map_err(String::clone)?, url, &cx.permit).await? {
            Found::Page(page) => digest(page, &input.prompt, cx).await,
            Found::Elsewhere { from, to, status } => {
                let text = format!(
                    "{from} redirects to another host ({status}), which was not followed. To read it, call WebFetch \
                     again with this address: {to}"
                );
                let detail = json!({"url": from.as_str(), "code": status.as_u16(), "redirect": to.as_str(), "result": text});
                Ok(Done::text(&text).with_detail(detail))
            }
        }
    }
}

fn outside(env: &Env) -> Result<Client, String> {
    finish(tiller_tls::client(), env)
}

/// What is meant for this machine is not shown to a proxy, nor is the name looked up.
fn inside(env: &Env) -> Result<Client, String> {
    finish(tiller_tls::client().no_proxy().dns_resolver(Arc::new(Loopback)), env)
}

fn finish(builder: ClientBuilder, env: &Env) -> Result<Client, String> {
    let trusting = Certificates::of(env).trusted_by(builder).map_err(|error| error.to_string())?;
    trusting.build().map_err(|error| format!("No connection can be made: {error}"))
}

/// Every name is this machine.
struct Loopback;

impl Resolve for Loopback {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        // The port is that of the address.
        let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

async fn digest(page: Page, task: &str, cx: &ToolCx) -> Result<Done, String> {
    let (url, code, bytes) = (page.url.to_string(), page.status.as_u16(), page.body.len());
    let text = page::text(page).await?;
    let (shown, cut) = match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => (&text[..end], true),
        None => (text.as_str(), false),
    };
    let fence = format!("=== page {} ===", cx.env.fresh());
    // The page comes last: whatever it contains is not looked at for placeholders.
    let prompt = DIGEST
        .replace("{fence}", &fence)
        .replace("{url}", &url)
        .replace("{task}", task)
        .replace("{page}", shown);
    let answer = cx.host.digest(prompt).await?;
    let remark = if cut { "\n\n[the page is long; only its first 100000 characters were read]" } else { "" };
    let result = format!("{}{remark}", answer.trim());
    Ok(Done::text(&result).with_detail(json!({"url": url, "code": code, "bytes": bytes, "result": result})))
}
