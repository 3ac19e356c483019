//! The part about MCP servers: which there are, and how they want to be used.

use tiller_protocol::ingredients::ServerLine;

use crate::reminder::neutralise;
use tiller_protocol::template::{Facts, render};

const MCP: &str = include_str!("mcp.md");
/// Characters of all instructions together.
const ALL_INSTRUCTIONS: usize = 4_000;
/// Instructions that would have to be shorter than this are left out.
const TOO_SHORT: usize = 100;

/// The part, or nothing if there are no servers.
pub(super) fn part(servers: &[ServerLine], facts: Facts<'_>) -> Option<String> {
    if servers.is_empty() {
        return None;
    }
    let speaking = servers.iter().filter(|server| server.instructions.is_some()).count().max(1);
    let room = Some(ALL_INSTRUCTIONS / speaking).filter(|room| *room >= TOO_SHORT);
    let mut text = render(MCP, facts);
    text.push('\n');
    for server in servers {
        let note = if server.note.is_empty() { String::new() } else { format!(" ({})", server.note) };
        text.push_str(&format!("\n- {}{note}", server.name));
        if let (Some(words), Some(room)) = (&server.instructions, room) {
            let words: String = words.chars().take(room).collect();
            let words = words.lines().map(|line| format!("\n  {line}")).collect::<String>();
            text.push_str(&format!(", which says of itself:{words}"));
        }
    }
    Some(neutralise(&text).text.into_owned())
}
