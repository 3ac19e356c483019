//! Rules about the tools of MCP servers: by name, by server, or with `*` for any part of a name.

/// How the names of such tools begin.
pub(super) const PREFIX: &str = "mcp__";

/// What stands between the name of a server and that of its tool.
const JOINT: &str = "__";

/// Whether a rule's tool is a name, or a pattern for names, of such tools.
pub(super) fn is_name(rule: &str) -> bool {
    rule.strip_prefix(PREFIX).is_some_and(|rest| !rest.trim_matches('_').is_empty())
}

/// Whether a rule speaks of a tool: itself, or all that its server offers.
pub(super) fn names_tool(rule: &str, tool: &str) -> bool {
    let Some(server_and_name) = tool.strip_prefix(PREFIX).filter(|_| rule.starts_with(PREFIX)) else {
        return false;
    };
    let mut servers = server_and_name.match_indices(JOINT).map(|(at, _)| &tool[..PREFIX.len() + at]);
    fits(rule, tool) || servers.any(|server| server != PREFIX && fits(without_joint(rule), server))
}

/// Whether a rule speaks of all that a server offers.
pub(super) fn names_server(rule: &str, server: &str) -> bool {
    let whole = format!("{PREFIX}{server}");
    rule.starts_with(PREFIX) && (fits(without_joint(rule), &whole) || fits(rule, &format!("{whole}{JOINT}")))
}

/// `mcp__server__` means the server.
fn without_joint(rule: &str) -> &str {
    rule.strip_suffix(JOINT).unwrap_or(rule)
}

/// Whether a text is what a pattern says, in which `*` stands for anything. Each piece between two of them is taken where it
/// first occurs: no other place would leave more for the next ones, so that nothing has to be tried twice.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, pieces)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = pieces.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Projects may bring rules: none may keep Tiller busy for ever.
    #[test]
    fn many_stars_are_compared_in_no_time() {
        let rule = format!("mcp__{}b", "*a".repeat(200));
        let tool = format!("mcp__srv__{}", "a".repeat(2000));
        assert!(!names_tool(&rule, &tool));
        assert!(names_tool(&rule, &format!("{tool}b")));
        assert!(!fits("a*ba*ba", "aba"));
        assert!(fits("a*b*a", "abba"));
        assert!(fits("a**", "a"));
        assert!(!fits("ab*ba", "aba"));
    }

    #[test]
    fn a_star_stands_for_any_part_of_a_name() {
        for (rule, tool, expected) in [
            ("mcp__*", "mcp__srv__a", true),
            ("mcp__srv", "mcp__srv__a", true),
            ("mcp__srv__", "mcp__srv__a", true),
            ("mcp__srv__*", "mcp__srv__a", true),
            ("mcp__srv__get*", "mcp__srv__get_x", true),
            ("mcp__srv__get*", "mcp__srv__set_x", false),
            ("mcp__*__delete*", "mcp__srv__delete_all", true),
            ("mcp__s*", "mcp__srv__a", true),
            ("mcp__srv", "mcp__srv2__a", false),
            ("mcp__srv__a", "mcp__srv__ab", false),
            ("mcp__a__b", "mcp__a__b__c", true),
            ("mcp__*", "Bash", false),
            ("Bash", "mcp__Bash__a", false),
        ] {
            assert_eq!(names_tool(rule, tool), expected, "{rule} {tool}");
        }
        for (rule, server, expected) in [
            ("mcp__*", "srv", true),
            ("mcp__srv__*", "srv", true),
            ("mcp__srv__", "srv", true),
            ("mcp__srv__get*", "srv", false),
            ("mcp__srv", "srv2", false),
        ] {
            assert_eq!(names_server(rule, server), expected, "{rule} {server}");
        }
    }
}
