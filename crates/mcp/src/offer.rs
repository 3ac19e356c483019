//! What a server offers, bounded and in our words.

use std::collections::BTreeSet;

use rmcp::model::{PaginatedRequestParams, Prompt, Resource, ServerPeerInfo, Tool};
use rmcp::service::ServiceError;
use serde::Serialize;
use serde_json::{Value, json};
use tiller_protocol::mcp::{McpArgument, McpIdentity, McpPrompt, McpResource, McpTool};
use tiller_tools::Vault;

use crate::link::Link;
use crate::name::{full, plain};
use crate::schema::acceptable;

/// Tools, prompts and resources of one server that are kept.
const MANY: usize = 2_000;
/// Bytes of one list that are kept.
const LIST: usize = 8 * 1024 * 1024;
/// Characters of a description that the model is told.
const DESCRIPTION: usize = 2_048;
/// Characters of a server's instructions that are kept.
const INSTRUCTIONS: usize = 4_000;
/// Characters of names and one-line texts for people.
const LINE: usize = 300;

/// What a server offers.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// What it calls itself.
    pub identity: Option<McpIdentity>,
    /// How it wants to be used.
    pub instructions: Option<String>,
    /// Its tools, by name.
    pub tools: Vec<ToolOffer>,
    /// Its prompts with the names the server knows them by.
    pub prompts: Vec<(String, McpPrompt)>,
    /// What can be read.
    pub resources: Vec<McpResource>,
    /// What was left out, for people.
    pub left_out: Vec<String>,
}

/// A tool of a server.
#[derive(Clone, Debug)]
pub struct ToolOffer {
    /// The name that the model knows.
    pub name: String,
    /// The name that the server knows.
    pub original: String,
    /// What the server says about it.
    pub description: String,
    /// What it needs.
    pub schema: Value,
    /// The server says that it changes nothing, and nothing to the contrary.
    pub read_only: bool,
    /// The server says that it may destroy something.
    pub destructive: bool,
}

impl ToolOffer {
    /// The definition for the `tools` parameter.
    #[must_use]
    pub fn definition(&self) -> Value {
        json!({"name": self.name, "description": self.description, "input_schema": self.schema})
    }

    /// The tool for people.
    #[must_use]
    pub fn shown(&self) -> McpTool {
        McpTool {
            name: self.name.clone(),
            description: self.description.clone(),
            read_only: self.read_only,
            destructive: self.destructive,
        }
    }
}

/// What may be kept of a stranger's words: credentials are masked, and masked before anything is cut, because half a
/// credential is not recognised.
struct Words<'a>(&'a Vault);

impl Words<'_> {
    /// A text, cut to a number of characters.
    fn cut(&self, text: &str, at_most: usize) -> String {
        let text = self.0.mask(text);
        match text.char_indices().nth(at_most) {
            Some((end, _)) => format!("{} [...]", &text[..end]),
            None => text.into_owned(),
        }
    }

    /// One line.
    fn line(&self, text: &str) -> String {
        self.cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), LINE)
    }
}

impl Offer {
    fn introduced(info: Option<&ServerPeerInfo>, words: &Words<'_>) -> Self {
        let Some(info) = info else { return Self::default() };
        let identity = info.server_info.as_ref();
        Self {
            identity: identity
                .map(|one| McpIdentity { name: words.line(&one.name), version: words.line(&one.version) }),
            instructions: info
                .instructions
                .as_deref()
                .map(|text| words.cut(text.trim(), INSTRUCTIONS))
                .filter(|text| !text.is_empty()),
            ..Self::default()
        }
    }

    fn with_tools(mut self, server: &str, tools: List<Tool>, words: &Words<'_>) -> Self {
        let mut taken = BTreeSet::new();
        self.bounded(&tools, "tools");
        let offered = |tool| offered(server, tool, &mut taken, words);
        self.tools = tools.items.into_iter().take(MANY).map(offered).collect();
        self.tools.sort_by(|one, other| one.name.cmp(&other.name));
        self
    }

    fn with_prompts(mut self, server: &str, prompts: List<Prompt>, words: &Words<'_>) -> Self {
        let mut taken = BTreeSet::new();
        self.bounded(&prompts, "prompts");
        self.prompts = prompts
            .items
            .into_iter()
            .take(MANY)
            .map(|prompt| {
                let arguments =
                    prompt.arguments.unwrap_or_default().into_iter().map(|argument| McpArgument {
                        description: words.line(argument.description.as_deref().unwrap_or_default()),
                        required: argument.required.unwrap_or(false),
                        name: argument.name,
                    });
                let known = McpPrompt {
                    name: full(server, &prompt.name, &mut taken),
                    description: words.line(prompt.description.as_deref().unwrap_or_default()),
                    arguments: arguments.collect(),
                };
                (prompt.name, known)
            })
            .collect();
        self
    }

    fn with_resources(mut self, resources: List<Resource>, words: &Words<'_>) -> Self {
        self.bounded(&resources, "resources");
        self.resources = resources
            .items
            .into_iter()
            .take(MANY)
            .map(|resource| McpResource {
                name: words.line(resource.title.as_deref().unwrap_or(&resource.name)),
                description: words.line(resource.description.as_deref().unwrap_or_default()),
                // It has to be what the server knows; where it is told to the model it is masked.
                uri: resource.uri.chars().take(2_000).collect(),
                mime_type: resource.mime_type.as_deref().map(|kind| words.line(kind)),
            })
            .collect();
        self
    }

    fn bounded<T>(&mut self, list: &List<T>, what: &str) {
        if list.is_cut {
            let most = LIST / (1024 * 1024);
            self.left_out.push(format!("its list of {what} has more than {most} MB; the rest is left out"));
        }
        if list.items.len() > MANY {
            self.left_out.push(format!("it has {} {what}; only the first {MANY} count", list.items.len()));
        }
    }
}

/// Asks a server what it offers.
pub(crate) async fn offer(server: &str, link: &Link, secrets: &Vault) -> Result<Offer, ServiceError> {
    let words = Words(secrets);
    let info = link.peer.peer_info();
    let mut offer = Offer::introduced(info.as_deref(), &words);
    let capabilities = info.map(|info| info.capabilities.clone()).unwrap_or_default();
    if capabilities.tools.is_some() {
        let page =
            |page| async { link.peer.list_tools(page).await.map(|found| (found.tools, found.next_cursor)) };
        offer = offer.with_tools(server, pages(page).await?, &words);
    }
    if capabilities.prompts.is_some() {
        let page = |page| async {
            link.peer.list_prompts(page).await.map(|found| (found.prompts, found.next_cursor))
        };
        offer = offer.with_prompts(server, pages(page).await?, &words);
    }
    if capabilities.resources.is_some() {
        let page = |page| async {
            link.peer.list_resources(page).await.map(|found| (found.resources, found.next_cursor))
        };
        offer = offer.with_resources(pages(page).await?, &words);
    }
    Ok(offer)
}

/// What a server lists, as far as it counts.
struct List<T> {
    items: Vec<T>,
    /// Whether there were more bytes than may be kept.
    is_cut: bool,
}

/// A list, page by page, as far as anything of it counts.
async fn pages<T, F>(page: impl Fn(Option<PaginatedRequestParams>) -> F) -> Result<List<T>, ServiceError>
where
    T: Serialize,
    F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
{
    let (mut items, mut cursor, mut bytes) = (Vec::new(), None, 0);
    loop {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let (found, next) = page(Some(params)).await?;
        let is_over = found.is_empty() || next.is_none();
        for item in found {
            bytes += size(&item);
            if bytes > LIST {
                return Ok(List { items, is_cut: true });
            }
            items.push(item);
        }
        if is_over || items.len() > MANY {
            return Ok(List { items, is_cut: false });
        }
        cursor = next;
    }
}

/// Bytes that something takes.
fn size(item: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Nothing can go wrong where nothing is written; what cannot be told is too much.
    serde_json::to_writer(&mut count, item).map_or(usize::MAX / 2, |()| count.0)
}

fn offered(server: &str, tool: Tool, taken: &mut BTreeSet<String>, words: &Words<'_>) -> ToolOffer {
    let (mut schema, remark) = acceptable(&tool.input_schema);
    words.0.mask_value(&mut schema);
    let description = words.cut(tool.description.as_deref().unwrap_or_default(), DESCRIPTION);
    let description = match remark {
        Some(remark) => format!("{description}\n{}", words.0.mask(&remark)),
        None => description,
    };
    let hint =
        |get: fn(&rmcp::model::ToolAnnotations) -> Option<bool>| tool.annotations.as_ref().and_then(get);
    let destructive = hint(|hints| hints.destructive_hint) == Some(true);
    let read_only = hint(|hints| hints.read_only_hint) == Some(true);
    ToolOffer {
        name: full(server, &tool.name, taken),
        original: tool.name.into_owned(),
        description: if description.is_empty() {
            format!("A tool of {}", plain(server))
        } else {
            description
        },
        schema,
        // Whoever claims both cannot be believed.
        read_only: read_only && !destructive,
        destructive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listed(item: &str) -> (usize, bool) {
        let page = |_| async { Ok((vec![item.to_owned(); 10], Some("more".to_owned()))) };
        let list = pages(page).await.unwrap();
        (list.items.len(), list.is_cut)
    }

    // MCP-05
    #[tokio::test]
    async fn a_list_without_end_is_bounded_in_number_and_in_bytes() {
        assert_eq!(listed("x").await, (MANY + 10, false));
        let (count, is_cut) = listed(&"x".repeat(1024 * 1024)).await;
        assert_eq!((count, is_cut), (7, true));
        assert_eq!(listed(&"x".repeat(LIST)).await, (0, true));
    }
}
