//! Why something is asked, and why nothing is offered.

use serde_json::json;
use tiller_protocol::ask::PermissionAsk;

use super::super::{Permission, picture};
use super::{command, edit, keys};

fn shown(ask: PermissionAsk) -> String {
    let dialog = Permission::new(ask, keys());
    picture::pictures(30, |columns, height, theme| dialog.view(columns, height, theme))
}

#[test]
fn a_reason_that_says_nothing_new_is_left_out() {
    let edited = PermissionAsk { restates: true, blocked_path: None, agent: None, ..edit() };
    let text = shown(edited);
    assert!(!text.contains("Edits are confirmed") && text.contains("\nsrc/main.rs\n"), "{text}");
}

#[test]
fn why_nothing_is_offered_for_a_command_is_told() {
    let input = json!({"command": "curl -X POST https://example.org"});
    let ask = PermissionAsk { restates: true, input, suggestions: Vec::new(), ..command() };
    let text = shown(ask);
    assert!(text.contains("Only this once: a rule for commands like this would allow too much."), "{text}");
    assert!(!shown(command()).contains("Only this once"), "a rule is offered");
}
