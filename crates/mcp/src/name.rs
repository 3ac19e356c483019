//! Names of tools and prompts, as the model, rules and users know them.

use std::collections::BTreeSet;

use tiller_protocol::mcp::PREFIX;

/// The longest name that providers accept.
const LONGEST: usize = 128;

/// Letters, digits, `_` and `-` stay; anything else becomes `_`.
pub(crate) fn plain(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect()
}

/// Whether this can be the whole name of a tool of a server.
#[must_use]
pub fn is_tool_of(name: &str, server: &str) -> bool {
    let rest = name.strip_prefix(&format!("{PREFIX}{}__", plain(server)));
    rest.is_some_and(|tool| !tool.is_empty())
}

/// `mcp__server__thing`, and no name twice: what differs only in letters that names cannot have gets a number.
pub(crate) fn full(server: &str, thing: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = format!("{PREFIX}{}__{}", plain(server), plain(thing));
    name.truncate(LONGEST);
    let mut number = 2;
    while !taken.insert(name.clone()) {
        let end = format!("_{number}");
        name.truncate(LONGEST - end.len());
        if number > 2 {
            name.truncate(name.rfind('_').unwrap_or(name.len()));
        }
        name.push_str(&end);
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_tells_its_server() {
        for (name, server, fits) in [
            ("mcp__my_server__get", "my.server", true),
            ("mcp__my_server__", "my.server", false),
            ("mcp__my_server", "my.server", false),
            ("mcp__my_serve__get", "my.server", false),
            ("my_server__get", "my.server", false),
        ] {
            assert_eq!(is_tool_of(name, server), fits, "{name} {server}");
        }
    }

    #[test]
    fn names_are_plain_short_and_unique() {
        let mut taken = BTreeSet::new();
        let mut name = |thing: &str| full("my server", thing, &mut taken);
        assert_eq!(name("get.it"), "mcp__my_server__get_it");
        assert_eq!(name("get it"), "mcp__my_server__get_it_2");
        assert_eq!(name("get/it"), "mcp__my_server__get_it_3");
        let long = name(&"x".repeat(300));
        assert_eq!(long.len(), LONGEST);
        let other = name(&"x".repeat(301));
        assert!(other.len() <= LONGEST && other != long && other.ends_with("_2"), "{other}");
    }
}
