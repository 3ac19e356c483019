//! What a skill or command that is followed permits and forbids for the time being.

use std::str::FromStr;

use crate::context::Context;
use crate::rule::{Behavior, Origin, Rule, RuleError, Source};

/// Adds rules until [`end_grants`] takes them away. Whatever they allow, rules against it win over them, as over any other.
///
/// # Errors
/// When a rule cannot be understood; then nothing is added.
pub fn grant(cx: &Context, allow: &[String], deny: &[String]) -> Result<Context, RuleError> {
    let mut granted = cx.clone();
    for (behavior, rules) in [(Behavior::Allow, allow), (Behavior::Deny, deny)] {
        for text in rules {
            let rule = Rule::from_str(text)?.from_origin(Origin { source: Source::Turn, file: None });
            let all = granted.rules.of_mut(behavior);
            if !all.contains(&rule) {
                all.push(rule);
            }
        }
    }
    Ok(granted)
}

/// What is left when nothing is followed any more; nothing if nothing was granted.
#[must_use]
pub fn end_grants(cx: &Context) -> Option<Context> {
    let granted = |rule: &Rule| rule.origin.source == Source::Turn;
    let lists = [Behavior::Allow, Behavior::Deny];
    if !lists.iter().any(|behavior| cx.rules.of(*behavior).iter().any(granted)) {
        return None;
    }
    let mut left = cx.clone();
    lists.iter().for_each(|behavior| left.rules.of_mut(*behavior).retain(|rule| !granted(rule)));
    Some(left)
}

/// What is refused for the time being.
#[must_use]
pub fn refusals(cx: &Context) -> Vec<Rule> {
    cx.rules.deny.iter().filter(|rule| rule.origin.source == Source::Turn).cloned().collect()
}

/// The rules for somebody else who works at the same time: what is granted was granted to one alone, what is refused is
/// refused to all, and to this one also what `further` says.
#[must_use]
pub fn without_grants(cx: &Context, further: &[Rule]) -> Context {
    let mut left = cx.clone();
    left.rules.allow.retain(|rule| rule.origin.source != Source::Turn);
    for rule in further {
        if !left.rules.deny.contains(rule) {
            left.rules.deny.push(rule.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Request, Script};
    use crate::decide::{Decision, decide};

    fn verdict(command: &str, cx: &Context) -> &'static str {
        let script = Script { command: command.to_owned(), cwd: "/w".into() };
        let request =
            Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false };
        match decide(&request, cx) {
            Decision::Allow(..) => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
        }
    }

    fn rules(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn grants_hold_until_they_end_and_never_against_a_deny_rule() {
        let mut cx = Context { roots: vec!["/w".into()], ..Context::default() };
        cx.rules.deny.push("Bash(make clean)".parse().unwrap());
        cx.rules.ask.push("Bash(make ask)".parse().unwrap());
        assert_eq!(end_grants(&cx).map(|_| ()), None);
        let granted = grant(&cx, &rules(&["Bash(make:*)"]), &rules(&["Bash(make off)"])).unwrap();
        for (command, before, then) in [
            ("make all", "ask", "allow"),
            ("make clean", "deny", "deny"),
            ("make ask", "ask", "ask"),
            ("make off", "ask", "deny"),
            ("make all && curl x", "ask", "ask"),
        ] {
            assert_eq!((verdict(command, &cx), verdict(command, &granted)), (before, then), "{command}");
            assert_eq!(verdict(command, &end_grants(&granted).unwrap()), before, "{command}");
        }
        assert!(grant(&cx, &rules(&["Bash(make"]), &[]).is_err());
    }

    #[test]
    fn others_are_granted_nothing_and_refused_the_same() {
        let cx = Context { roots: vec!["/w".into()], ..Context::default() };
        let granted = grant(&cx, &rules(&["Bash(make:*)"]), &rules(&["Bash(make off)"])).unwrap();
        let other = without_grants(&granted, &[]);
        assert_eq!((verdict("make all", &other), verdict("make off", &other)), ("ask", "deny"));
        // Who was called upon meanwhile is refused it when it is over for others.
        let later = without_grants(&end_grants(&granted).unwrap(), &refusals(&granted));
        assert_eq!((verdict("make all", &later), verdict("make off", &later)), ("ask", "deny"));
    }
}
