//! Servers of the Model Context Protocol: where each stands, what it offers, what can be done with it.

use ratatui::text::{Line, Span};
use tiller_protocol::command::Command;
use tiller_protocol::entry::Level;
use tiller_protocol::mcp::{McpOrder, McpServer, McpState};

use super::overlay::{Content, Overlay, Subject};
use super::{App, Effect};
use crate::dialog::ChoiceOption;
use crate::host::Request;
use crate::menu::Candidate;
use crate::text::{paragraphs, visible_line, wrap};

const NONE: &str = include_str!("mcp.md");

/// What can be done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Show,
    Order(McpOrder),
}

impl Act {
    /// What makes sense for a server that stands there.
    fn all(server: &McpServer) -> Vec<Self> {
        let mut acts = vec![Self::Show];
        let orders: &[McpOrder] = match (&server.state, server.transport.is_service()) {
            (McpState::Ready, true) => &[McpOrder::Reconnect, McpOrder::SignOut, McpOrder::Stop],
            (McpState::Ready | McpState::Starting, _) => &[McpOrder::Reconnect, McpOrder::Stop],
            (McpState::NeedsSignIn | McpState::SigningIn { .. }, _) => &[McpOrder::SignIn, McpOrder::Stop],
            (McpState::Failed { .. }, true) => &[McpOrder::Reconnect, McpOrder::SignIn],
            (McpState::Configured | McpState::Failed { .. } | McpState::Stopped, _) => &[McpOrder::Reconnect],
        };
        acts.extend(orders.iter().copied().map(Self::Order));
        acts
    }

    fn label(self, server: &McpServer) -> &'static str {
        let runs = matches!(server.state, McpState::Ready | McpState::Starting);
        match self {
            Self::Show => "See what it offers",
            Self::Order(McpOrder::Reconnect) if runs => "Restart it",
            Self::Order(McpOrder::Reconnect) => "Start it",
            Self::Order(McpOrder::SignIn) => "Sign in",
            Self::Order(McpOrder::SignOut) => "Sign out",
            Self::Order(McpOrder::Stop) => "Switch it off for this session",
        }
    }
}

impl App {
    /// Takes news of a server.
    pub(super) fn server_changed(&mut self, server: McpServer) -> Vec<Effect> {
        let (name, state) = (server.name.clone(), server.state.clone());
        self.servers.insert(name.clone(), server);
        self.renew_commands();
        if let Some(Overlay::Choice(choice, Subject::Servers(_))) = &self.overlay {
            let marked = choice.marked();
            self.open_servers(marked);
        }
        let McpState::SigningIn { url } = state else { return Vec::new() };
        // The address is there to be read, too: the browser may run elsewhere.
        self.tell(Level::Info, &format!("Sign in to {name} here:\n{url}"));
        vec![Effect::Ask(Request::Visit(url))]
    }

    /// Lets the user choose a server.
    pub(super) fn choose_server(&mut self) -> Vec<Effect> {
        if self.servers.is_empty() {
            return self.open_page("Servers", Content::Text(NONE.trim().to_owned()));
        }
        self.open_servers(0);
        Vec::new()
    }

    fn open_servers(&mut self, marked: usize) {
        let option = |server: &McpServer| ChoiceOption {
            label: format!("{}  {}", server.name, server.state.describe()),
            detail: format!("{} · {} · {}", offers(server), server.scope, server.address),
        };
        let options = self.servers.values().map(option).collect();
        let choice = self.choice("Servers", options).marking(marked);
        let names = self.servers.keys().cloned().collect();
        self.overlay = Some(Overlay::Choice(choice, Subject::Servers(names)));
    }

    /// Lets the user choose what to do with a server.
    pub(super) fn choose_act(&mut self, name: Option<&String>) -> Vec<Effect> {
        let Some(server) = name.and_then(|name| self.servers.get(name)) else { return Vec::new() };
        let acts = Act::all(server);
        let options = acts.iter().map(|act| ChoiceOption::plain(act.label(server))).collect();
        let title = format!("{}: {}", server.name, server.state.describe());
        let (choice, name) = (self.choice(&title, options), server.name.clone());
        self.overlay = Some(Overlay::Choice(choice, Subject::Server(name, acts)));
        Vec::new()
    }

    pub(super) fn act_on_server(&mut self, name: String, act: Option<Act>) -> Vec<Effect> {
        match act {
            Some(Act::Show) => self.open_page("Server", Content::Server(name)),
            Some(Act::Order(order)) => vec![Effect::Send(Command::Mcp { server: name, order })],
            None => Vec::new(),
        }
    }

    /// What a server offers, as it stands now.
    pub(super) fn server_rows(&self, name: &str, columns: u16) -> Vec<Line<'static>> {
        let theme = &self.look.theme;
        let Some(server) = self.servers.get(name) else { return Vec::new() };
        let identity = server.identity.as_ref().map(|own| format!(" ({} {})", own.name, own.version));
        let head = format!("{}{}: {}", server.name, identity.unwrap_or_default(), server.state.describe());
        let mut rows = paragraphs(&visible_line(&head), columns, theme.strong);
        rows.extend(paragraphs(
            &visible_line(&format!("{} · {}", server.scope, server.address)),
            columns,
            theme.dim,
        ));
        let tools = server.tools.iter().map(|tool| {
            let nature = match (tool.destructive, tool.read_only) {
                (true, _) => " (may destroy something, it says)",
                (false, true) => " (changes nothing, it says)",
                (false, false) => "",
            };
            (tool.name.clone(), format!("{}{nature}", tool.description))
        });
        let prompts =
            server.prompts.iter().map(|prompt| (format!("/{}", prompt.name), prompt.description.clone()));
        let resources =
            server.resources.iter().map(|one| (format!("@{}:{}", server.name, one.uri), one.name.clone()));
        let sections: [(&str, Vec<(String, String)>); 3] =
            [("Tools", tools.collect()), ("Prompts", prompts.collect()), ("Resources", resources.collect())];
        for (title, entries) in sections.into_iter().filter(|(_, entries)| !entries.is_empty()) {
            rows.push(Line::default());
            rows.push(Line::styled(title, theme.strong));
            for (name, help) in entries {
                let name = Span::styled(format!("  {}  ", visible_line(&name)), theme.accent);
                let line = Line::from(vec![name, Span::styled(visible_line(&help), theme.dim)]);
                rows.extend(wrap(&line, columns, 4));
            }
        }
        rows
    }
}

/// Prompts of servers as commands.
pub(super) fn candidates<'a>(servers: impl Iterator<Item = &'a McpServer>) -> Vec<Candidate> {
    let of = |server: &'a McpServer| {
        server.prompts.iter().map(|prompt| {
            let hints: Vec<String> = prompt
                .arguments
                .iter()
                .map(|one| if one.required { format!("<{}>", one.name) } else { format!("[{}]", one.name) })
                .collect();
            Candidate {
                text: prompt.name.clone(),
                hint: hints.join(" "),
                help: visible_line(&prompt.description),
                source: visible_line(&server.name),
            }
        })
    };
    servers.flat_map(of).collect()
}

/// What a server has, counted.
fn offers(server: &McpServer) -> String {
    let count = |number: usize, one: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {one}s")),
    };
    let parts = [
        count(server.tools.len(), "tool"),
        count(server.prompts.len(), "prompt"),
        count(server.resources.len(), "resource"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "offers nothing yet".to_owned() } else { parts.join(", ") }
}
