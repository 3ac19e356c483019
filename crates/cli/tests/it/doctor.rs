//! `tiller doctor`: what is found, and what to do about it.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::{Run, World};

fn examined(world: &World) -> (Run, Vec<Value>) {
    let run = world.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().clone();
    (run, findings)
}

/// The findings about a topic: grade, and all that is said.
fn about(findings: &[Value], topic: &str) -> Vec<(String, String)> {
    let found = findings.iter().filter(|finding| finding["topic"] == topic);
    let said = |finding: &Value| format!("{} {}", finding["text"], finding["advice"]);
    found.map(|finding| (finding["grade"].as_str().unwrap().to_owned(), said(finding))).collect()
}

#[track_caller]
fn has(findings: &[Value], topic: &str, grade: &str, words: &[&str]) {
    let found = about(findings, topic);
    let fits = |said: &String| words.iter().all(|word| said.contains(word));
    assert!(found.iter().any(|(found, said)| found == grade && fits(said)), "{grade} {words:?}: {found:#?}");
}

fn write_user(world: &World, text: &str) {
    fs_err::create_dir_all(world.config_dir()).unwrap();
    fs_err::write(world.config_dir().join("settings.json"), text).unwrap();
}

// KERN-08
#[test]
fn the_level_of_confinement_is_told_with_its_reasons() {
    let world = World::new();
    let report: Value = serde_json::from_str(&world.run(&["doctor", "--json"]).ok().stdout).unwrap();
    let facts = &report["confinement"];
    let level = facts["level"].as_str().unwrap();
    let reasons = facts["reasons"].as_array().unwrap();
    assert_eq!(
        level == "namespaces",
        reasons.iter().all(|reason| !reason.as_str().unwrap().contains("namespaces"))
    );
    let text = world.run(&["doctor"]).ok().stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let means = match level {
        "none" => "confined by nothing",
        "landlock" => "confined by Landlock",
        _ => "confined by namespaces",
    };
    assert!(text.contains(means), "{text}");
    for reason in reasons {
        assert!(text.contains(reason.as_str().unwrap()), "{reason} is not in {text}");
    }
    assert_eq!(text.contains("commands are confined to the working directories"), level != "none", "{text}");
    for profile in ["read-only", "workspace"] {
        assert!(text.contains(&format!("profile {profile}")), "{text}");
        for gap in facts["profiles"][profile]["gaps"].as_array().unwrap() {
            assert!(text.contains(gap.as_str().unwrap()), "{gap} is not in {text}");
        }
    }
}

#[test]
fn a_sound_machine_gets_no_complaint() {
    let world = World::new().file("a.txt", "");
    let (run, findings) = examined(&world);
    assert_eq!((run.code(), run.stderr.as_str()), (0, ""));
    let failed: Vec<&Value> = findings.iter().filter(|finding| finding["grade"] == "fail").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    has(&findings, "git", "ok", &["git version"]);
    has(&findings, "files", "ok", &[".tiller", "will be created"]);
    has(&findings, "model", "ok", &[world.server.url(), "ANTHROPIC_API_KEY"]);
    assert!(!run.stdout.contains(world.server.key()), "the key is shown: {}", run.stdout);
    assert_eq!(world.server.requests().len(), 0, "nothing is contacted");
    assert!(!world.config_dir().exists(), "nothing is made");
    let text = world.run(&["doctor"]).ok().stdout;
    let too_wide = |line: &&str| line.chars().count() > 80 && line.split_whitespace().count() > 3;
    assert_eq!(text.lines().find(too_wide), None);
}

#[test]
fn trouble_is_told_with_advice() {
    let world = World::new().var("ANTHROPIC_BASE_URL", "").var("ANTHROPIC_API_KEY", "").file(
        ".tiller/settings.json",
        r#"{"modle": "opus", "sandbox": {"enabled": false}, "permissions": {"allow": ["Bassh"]}, "env": {"A": "b"},
            "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#,
    );
    write_user(&world, r#"{"model": "haiku"}"#);
    fs_err::set_permissions(world.config_dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (run, findings) = examined(&world);
    assert_eq!(run.code(), 1);
    has(&findings, "settings", "ok", &["user: ", "project: ", ".tiller/settings.json"]);
    has(&findings, "settings", "warn", &["modle", "did you mean model"]);
    has(&findings, "rules", "warn", &["the rule Bassh names no tool"]);
    has(&findings, "rules", "ok", &["1 to allow"]);
    has(&findings, "hooks", "ok", &["1, at SessionStart"]);
    has(&findings, "sandbox", "ok", &["only while planning", ".tiller/settings.json"]);
    has(&findings, "trust", "warn", &["env.A", "permissions.allow", "hooks.SessionStart", "tiller trust"]);
    has(&findings, "model", "ok", &["haiku"]);
    has(&findings, "model", "fail", &["no credential", "ANTHROPIC_API_KEY"]);
    has(&findings, "files", "warn", &["mode 755", "chmod 700"]);

    world.run(&["trust"]).ok();
    has(&examined(&world).1, "trust", "ok", &["need no further trust"]);
}

#[test]
fn hooks_that_cannot_run_are_told() {
    let hook = |command: &str| format!(r#"{{"type": "command", "command": "{command}"}}"#);
    let settings = format!(
        r#"{{"hooks": {{"PreToolUse": [{{"matcher": "Bassh", "hooks": [{}, {}]}}], "Stop": [{{"hooks": [{}]}}]}}}}"#,
        hook("./guard.sh"),
        hook("sh ./gone.sh"),
        hook("./plain.sh"),
    );
    let world = World::new().file(".tiller/settings.json", &settings).file("plain.sh", "exit 0");
    let (_, findings) = examined(&world);
    has(&findings, "hooks", "ok", &["3, at PreToolUse, Stop"]);
    has(&findings, "hooks", "warn", &["Bassh", "matches nothing"]);
    has(&findings, "hooks", "warn", &["./guard.sh does not exist"]);
    has(&findings, "hooks", "warn", &["the script ./gone.sh does not exist"]);
    has(&findings, "hooks", "warn", &["./plain.sh cannot be run", "chmod +x"]);
}

#[test]
fn settings_that_stop_every_session_are_a_failure() {
    for (text, words) in [
        ("{", &[".tiller/settings.json", "line 1"][..]),
        (r#"{"permissions": {"deny": "Bash"}}"#, &["permissions.deny"]),
        (r#"{"permissions": {"deny": ["Bash(x"]}}"#, &["is not a rule"]),
    ] {
        let world = World::new().file(".tiller/settings.json", text);
        let (run, findings) = examined(&world);
        assert_eq!(run.code(), 1, "{text}");
        let said = findings.iter().filter(|finding| finding["grade"] == "fail");
        let said: String = said.map(|finding| finding["text"].to_string()).collect();
        for word in words {
            assert!(said.contains(word), "{text}: {word} is not in {said}");
        }
        let (run, _) = examined(&World::new());
        assert_eq!(run.code(), 0);
    }
}

/// Destinations with their reasons.
fn destinations(world: &World, args: &[&str]) -> Vec<(String, String)> {
    let run = world.run(&[&["doctor", "--network", "--json"][..], args].concat()).ok();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = report["destinations"].as_array().unwrap().iter();
    found.map(|found| (text(&found["destination"]), text(&found["reason"]))).collect()
}

// NET-01
#[test]
fn every_destination_is_listed_and_no_other() {
    let world = World::new();
    let url = world.server.url().to_owned();
    let found = destinations(&world, &[]);
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, [url.as_str(), "any other host"]);
    assert!(found[0].1.contains("ANTHROPIC_BASE_URL") && found[1].1.contains("only after you were asked"));

    let world = world.var("HTTPS_PROXY", "http://me:secret@proxy.example:3128").file(
        ".tiller/settings.json",
        &json!({"permissions": {"allow": ["WebFetch(domain:docs.rs)", "Bash"]}, "web": {"allowedDomains": ["crates.io"]}})
            .to_string(),
    );
    let found = destinations(&world, &[]);
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, [url.as_str(), "http://proxy.example:3128", "crates.io", "docs.rs", "any other host"]);
    assert!(found[3].1.contains("WebFetch(domain:docs.rs)") && found[3].1.contains(".tiller/settings.json"));
    let mode = |mode: &str| json!({"permissions": {"defaultMode": mode}}).to_string();
    let found = destinations(&world, &["--no-project-settings", "--settings", &mode("bypassPermissions")]);
    assert_eq!(found.last().unwrap().0, "any host");
    let denied = r#"{"permissions": {"deny": ["WebFetch"]}}"#;
    let found = destinations(&world, &["--settings", denied]);
    assert_eq!(found.len(), 2, "the model and its proxy: {found:?}");

    let text = world.run(&["doctor", "--network"]).ok().stdout;
    assert!(text.contains("No telemetry is sent") && !text.contains("secret"), "{text}");
    assert_eq!(world.server.requests().len(), 0);
}

// NET-01, NET-02
#[test]
fn services_that_are_servers_are_listed() {
    let servers = json!({"mcpServers": {
        "far": {"type": "http", "url": "https://me:secret@tracker.example/mcp?key=secret"},
        "near": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
        "program": {"command": "some-server"},
    }});
    let world = World::new().file(".mcp.json", &servers.to_string());
    let found = destinations(&world, &[]);
    let of_servers: Vec<_> = found.iter().filter(|(_, why)| why.contains("the MCP server")).collect();
    assert_eq!(of_servers[0].0, "https://tracker.example");
    assert_eq!(of_servers[1].0, "http://127.0.0.1:9");
    assert_eq!(of_servers.len(), 2);
    assert!(of_servers[0].1.contains("far") && of_servers[0].1.contains(".mcp.json"), "{of_servers:?}");
    let offline = destinations(&world.var("TILLER_OFFLINE", "1"), &[]);
    let places: Vec<&str> = offline.iter().map(|(place, _)| place.as_str()).collect();
    assert!(
        places.contains(&"http://127.0.0.1:9") && !places.contains(&"https://tracker.example"),
        "{places:?}"
    );
}

// NET-01, NET-02
#[test]
fn offline_nothing_but_this_machine_is_listed() {
    let world = World::new().var("TILLER_OFFLINE", "1").var("HTTPS_PROXY", "http://proxy.example:3128");
    let places: Vec<String> = destinations(&world, &[]).into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, [world.server.url(), "this machine"]);
    let world = world.var("ANTHROPIC_BASE_URL", "https://api.anthropic.com");
    let places: Vec<String> = destinations(&world, &[]).into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["this machine"]);
}

// NET-01
#[test]
fn the_list_needs_no_key() {
    let world = World::new().var("ANTHROPIC_BASE_URL", "").var("ANTHROPIC_API_KEY", "");
    assert_eq!(destinations(&world, &[])[0].0, "https://api.anthropic.com");
    let world =
        World::new().var("ANTHROPIC_BASE_URL", "https://user:secret@gateway.example:8443/v1?k=secret");
    assert_eq!(destinations(&world, &[])[0].0, "https://gateway.example:8443/v1");
}
