//! By which means commands can be confined here, and what each profile is worth.

use serde_json::{Value, json};
use tiller_sandbox::{Level, Profile, gaps, probe};

use super::finding::Finding;

const TOPIC: &str = "confinement";
const PROFILES: [(Profile, &str); 2] = [(Profile::ReadOnly, "read-only"), (Profile::Workspace, "workspace")];

/// What holds a command at a level, in words.
pub(crate) fn means(level: Level) -> &'static str {
    match level {
        Level::None => "nothing",
        Level::Landlock => "Landlock and a filter of system calls",
        Level::Namespaces => "namespaces, throw-away layers and a filter of system calls",
    }
}

fn name(level: Level) -> &'static str {
    match level {
        Level::None => "none",
        Level::Landlock => "landlock",
        Level::Namespaces => "namespaces",
    }
}

/// The same for programs.
pub(super) fn facts() -> Value {
    let support = probe();
    let profiles = PROFILES.map(|(profile, name)| {
        (name.to_owned(), json!({"gaps": gaps(profile, support.level, support.landlock)}))
    });
    json!({
        "level": name(support.level),
        "landlock": support.landlock,
        "reasons": support.reasons,
        "profiles": serde_json::Map::from_iter(profiles),
    })
}

pub(super) fn examine() -> Vec<Finding> {
    let support = probe();
    let landlock = support.landlock.map(|version| format!(" (Landlock {version})")).unwrap_or_default();
    let held = format!("commands can be confined by {}{landlock}", means(support.level));
    let why = support.reasons.join("; ");
    let mut findings = vec![match support.level {
        Level::Namespaces => Finding::ok(TOPIC, held),
        Level::Landlock => Finding::warn(
            TOPIC,
            format!("{held}; {why}"),
            "allow unprivileged user namespaces, so that commands can write while planning",
        ),
        Level::None => Finding::warn(
            TOPIC,
            format!("{held}; {why}"),
            "use a kernel with Landlock 3 or newer, or allow unprivileged user namespaces; until then plan mode runs \
             only plainly read-only commands",
        ),
    }];
    for (profile, name) in PROFILES {
        let missing = gaps(profile, support.level, support.landlock);
        findings.push(match missing.is_empty() {
            true => Finding::ok(TOPIC, format!("profile {name} is fully enforced")),
            false => Finding::ok(TOPIC, format!("profile {name} does not cover: {}", missing.join("; "))),
        });
    }
    findings
}
