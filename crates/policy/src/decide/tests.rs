mod bounds;
mod held;
mod landing;
mod links;
mod listings;
mod meaning;
mod moved;
mod places;
mod spelt;
mod steered;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::access::Script;
use crate::path::Resolver;
use crate::rule::Source;
use crate::{Holding, Kernel, Profile, explain, is_read_only_command};

fn cx(mode: Mode) -> Context {
    Context { mode, roots: vec!["/w".into()], home: "/home/u".into(), ..Context::default() }
}

/// As on a machine whose kernel can confine commands.
fn confining() -> Holding {
    Holding { workspace: true, kernel: Kernel::new(|| true), ..Holding::default() }
}

fn with(mut cx: Context, behavior: Behavior, rules: &[&str]) -> Context {
    cx.rules.of_mut(behavior).extend(rules.iter().map(|rule| rule.parse::<Rule>().unwrap()));
    cx
}

fn request(tool: &str, access: Vec<Access>, read_only: bool) -> Request {
    Request { tool: tool.to_owned(), access, read_only }
}

fn write(path: &str) -> Request {
    request("Write", vec![Access::Write(path.into())], false)
}

fn read(tool: &str, path: &str) -> Request {
    request(tool, vec![Access::Read(path.into())], true)
}

fn fetch(host: &str) -> Request {
    request("WebFetch", vec![Access::Net(host.to_owned())], true)
}

fn bash(command: &str) -> Request {
    let script = Script { command: command.to_owned(), cwd: "/w".into() };
    request("Bash", vec![Access::Exec(script)], is_read_only_command(command))
}

fn verdict(request: &Request, cx: &Context) -> &'static str {
    match decide(request, cx) {
        Decision::Allow(..) => "allow",
        Decision::Deny(_) => "deny",
        Decision::Ask(_) => "ask",
    }
}

fn reason(request: &Request, cx: &Context) -> Reason {
    match decide(request, cx) {
        Decision::Allow(_, reason) | Decision::Deny(reason) | Decision::Ask(reason) => reason,
    }
}

// PERM-02, PERM-03, PERM-04, PLAN-45
#[test]
fn modes_decide_what_no_rule_covers() {
    let cases = [
        (Mode::Default, ["ask", "ask", "ask", "allow"]),
        (Mode::AcceptEdits, ["allow", "ask", "ask", "allow"]),
        (Mode::BypassPermissions, ["allow", "allow", "allow", "allow"]),
        (Mode::DontAsk, ["deny", "deny", "deny", "allow"]),
        (Mode::Plan, ["deny", "deny", "deny", "allow"]),
    ];
    for (mode, expected) in cases {
        let requests = [write("/w/a"), write("/etc/passwd"), bash("make"), bash("ls")];
        let verdicts = requests.each_ref().map(|request| verdict(request, &cx(mode)));
        assert_eq!(verdicts, expected, "{mode}");
    }
}

// PERM-21: wherever Tiller keeps its own things.
#[test]
fn directories_of_tiller_are_guarded_under_any_name() {
    let cx = Context { guarded: vec!["/w/cfg".into()], ..cx(Mode::AcceptEdits) };
    assert_eq!(verdict(&write("/w/cfg/settings.json"), &cx), "ask");
    assert_eq!(verdict(&bash("touch cfg/settings.json"), &cx), "ask");
    assert_eq!(verdict(&write("/w/cfgs/x"), &cx), "allow");
    let cx = with(cx, Behavior::Allow, &["Write"]);
    assert_eq!(verdict(&write("/w/cfg/settings.json"), &cx), "ask");
}

// PERM-03, PERM-21: what could loosen the rules that still hold is asked where nothing else is.
#[test]
fn without_questions_what_steers_is_asked_all_the_same() {
    let bypass = Context { holding: confining(), ..cx(Mode::BypassPermissions) };
    let hiding = with(bypass.clone(), Behavior::Deny, &["Read(.env)"]);
    let allowed = with(bypass.clone(), Behavior::Allow, &["Write", "Bash"]);
    for cx in [&bypass, &hiding, &allowed] {
        assert_eq!(verdict(&write("/w/.git/config"), cx), "ask");
        assert_eq!(verdict(&write("/w/.tiller/settings.json"), cx), "ask");
        for command in [
            "echo x > .git/hooks/update",
            "cp * .git/hooks/",
            "cd .git && tee config",
            "true && mv a .claude/settings.json",
            "git mv a .git/hooks/update",
            "rm -rf .git",
        ] {
            assert_eq!(verdict(&bash(command), cx), "ask", "{command}");
        }
        for command in
            ["git init", "git config user.name me", "git checkout HEAD", "git commit -m x", "make > log"]
        {
            assert_eq!(verdict(&bash(command), cx), "allow", "{command}");
        }
    }
    let meant = with(bypass, Behavior::Allow, &["Edit(.git/config)"]);
    assert_eq!(verdict(&write("/w/.git/config"), &meant), "allow");
    assert_eq!(verdict(&bash("echo x > .git/config"), &meant), "allow");
    assert_eq!(verdict(&bash("echo x > .git/hooks/update"), &meant), "ask");
}

// PERM-05
#[test]
fn an_allow_by_mode_gives_the_mode_as_its_reason() {
    let mode = Mode::BypassPermissions;
    assert_eq!(reason(&bash("make"), &cx(mode)), Reason::Mode { mode });
    let json = serde_json::to_value(reason(&bash("make"), &cx(mode))).unwrap();
    assert_eq!(json, serde_json::json!({"type": "mode", "mode": "bypassPermissions"}));
}

// PERM-06, PLAN-47
#[test]
fn planning_with_bypass_available_allows_only_what_changes_nothing() {
    let cx = Context { bypass_available: true, plan_file: Some("/p/plan.md".into()), ..cx(Mode::Plan) };
    let planning = Reason::Mode { mode: Mode::Plan };
    for (request, expected) in [
        (bash("cat /etc/hosts"), "allow"),
        (read("Read", "/etc/hosts"), "allow"),
        (fetch("example.org"), "allow"),
        (write("/p/plan.md"), "allow"),
        (write("/w/a"), "deny"),
        (bash("make"), "deny"),
        (bash("ls > f"), "deny"),
    ] {
        assert_eq!(verdict(&request, &cx), expected, "{request:?}");
        assert_eq!(reason(&request, &cx), planning, "{request:?}");
    }
}

// PLAN-45, PLAN-46
#[test]
fn only_the_plan_file_may_be_written_while_planning() {
    let allowed = with(cx(Mode::Plan), Behavior::Allow, &["Edit", "Write", "Bash", "Edit(src/**)"]);
    let cx = Context { plan_file: Some("/home/u/plans/p.md".into()), bypass_available: true, ..allowed };
    assert_eq!(verdict(&write("/home/u/plans/p.md"), &cx), "allow");
    assert_eq!(verdict(&write("/home/u/plans/other.md"), &cx), "deny");
    assert_eq!(verdict(&write("/w/src/a.rs"), &cx), "deny");
    assert!(matches!(approve(&write("/w/src/a.rs"), &cx), Decision::Deny(_)));
    let both = request(
        "Write",
        vec![Access::Write("/home/u/plans/p.md".into()), Access::Write("/w/a".into())],
        false,
    );
    assert_eq!(verdict(&both, &cx), "deny");
    assert_eq!(
        verdict(&read("Read", "/home/u/plans/p.md"), &Context { bypass_available: false, ..cx }),
        "allow"
    );
}

// PLAN-48
#[test]
fn commands_that_may_change_something_need_confinement_while_planning() {
    let confined = Context { holding: confining(), ..cx(Mode::Plan) };
    for command in
        ["make", "python3 -c 'open(\"f\", \"w\")'", "cat > f <<E\nx\nE", "sed -i s/a/b/ f", "git commit"]
    {
        assert_eq!(verdict(&bash(command), &cx(Mode::Plan)), "deny", "{command}");
        match decide(&bash(command), &confined) {
            Decision::Allow(permit, _) => assert!(permit.profile() == Profile::ReadOnly, "{command}"),
            other => panic!("{command}: {other:?}"),
        }
    }
    let Decision::Allow(permit, _) = decide(&bash("ls"), &confined) else { panic!("ls is harmless") };
    assert_eq!(permit.profile(), Profile::ReadOnly);
    let denied = with(confined, Behavior::Deny, &["Bash(make:*)"]);
    assert_eq!(verdict(&bash("make"), &denied), "deny");
}

fn profile_of(decision: &Decision) -> Option<Profile> {
    match decision {
        Decision::Allow(permit, _) => Some(permit.profile()),
        _ => None,
    }
}

// KERN-06: how a command is held follows from mode and settings; no rule, hook or yes loosens it.
#[test]
fn the_profile_of_a_command_follows_the_mode() {
    let allowed = |mode| Context { holding: confining(), ..with(cx(mode), Behavior::Allow, &["Bash"]) };
    for command in ["make", "ls"] {
        for (mode, profile) in [
            (Mode::Default, Profile::Workspace),
            (Mode::AcceptEdits, Profile::Workspace),
            (Mode::DontAsk, Profile::Workspace),
            (Mode::Plan, Profile::ReadOnly),
            (Mode::BypassPermissions, Profile::Full),
        ] {
            let cx = allowed(mode);
            let hook = Reason::Hook { name: "h".to_owned(), reason: String::new() };
            for decision in
                [decide(&bash(command), &cx), approve(&bash(command), &cx), vouch(&bash(command), &cx, hook)]
            {
                assert_eq!(profile_of(&decision), Some(profile), "{mode} {command}");
            }
        }
    }
    let mut off = allowed(Mode::Default);
    off.holding.workspace = false;
    assert_eq!(profile_of(&decide(&bash("make"), &off)), Some(Profile::Full));
    let off = Context { mode: Mode::Plan, ..off };
    assert_eq!(profile_of(&decide(&bash("make"), &off)), Some(Profile::ReadOnly));
    let mut weak = allowed(Mode::Default);
    weak.holding.kernel = Kernel::default();
    assert_eq!(profile_of(&decide(&bash("make"), &weak)), Some(Profile::Full));
    assert_eq!(profile_of(&decide(&write("/w/a"), &allowed(Mode::BypassPermissions))), Some(Profile::Full));
}

// KERN-06
#[test]
fn leaving_the_confinement_takes_the_user_and_no_rule_against_it() {
    let cx = |mode| Context { holding: confining(), ..with(cx(mode), Behavior::Allow, &["Bash(make:*)"]) };
    let Decision::Allow(permit, _) = decide(&bash("make"), &cx(Mode::Default)) else { panic!("not allowed") };
    assert_eq!(profile_of(&leave(&permit, Release::Machine, &cx(Mode::Default))), Some(Profile::Full));
    for mode in [Mode::Plan, Mode::DontAsk] {
        assert!(
            matches!(leave(&permit, Release::Machine, &cx(mode)), Decision::Deny(Reason::Mode { .. })),
            "{mode}"
        );
    }
    let denied = with(cx(Mode::Default), Behavior::Deny, &["Bash(make:*)"]);
    assert!(matches!(leave(&permit, Release::Machine, &denied), Decision::Deny(Reason::Rule { .. })));
}

// KERN-06: whoever gets the network gets nothing else.
#[test]
fn what_was_refused_is_given_and_nothing_else() {
    let cx = Context { holding: confining(), ..with(cx(Mode::Default), Behavior::Allow, &["Bash(make:*)"]) };
    let Decision::Allow(permit, _) = decide(&bash("make"), &cx) else { panic!("not allowed") };
    let Decision::Allow(online, _) = leave(&permit, Release::Network, &cx) else { panic!("not allowed") };
    assert_eq!((online.profile(), online.released()), (Profile::Workspace, Some(Release::Network)));
    let Decision::Allow(out, _) = leave(&permit, Release::Machine, &cx) else { panic!("not allowed") };
    assert_eq!((out.profile(), out.released()), (Profile::Full, Some(Release::Machine)));
}

#[test]
fn commands_that_run_outside_are_covered_part_by_part_and_allowed_by_somebody() {
    let outside = |allow: &[&str]| {
        let mut cx = with(cx(Mode::Default), Behavior::Allow, allow);
        cx.holding = Holding { outside: vec!["docker:*".to_owned(), "git status".to_owned()], ..confining() };
        cx
    };
    for (command, allow, profile) in [
        ("docker ps", &["Bash(docker ps)"][..], Profile::Full),
        ("docker ps && docker pull x", &["Bash(docker:*)"], Profile::Full),
        ("docker ps 2>/dev/null", &["Bash"], Profile::Full),
        ("timeout 5 docker ps", &["Bash"], Profile::Full),
        ("docker ps | grep x", &["Bash"], Profile::Workspace),
        ("docker ps; rm -rf x", &["Bash"], Profile::Workspace),
        ("docker ps $(rm x)", &["Bash"], Profile::Workspace),
        ("docker ps > x", &["Bash"], Profile::Workspace),
        ("docker ps &", &["Bash"], Profile::Workspace),
        ("LD_PRELOAD=./x docker ps", &["Bash"], Profile::Workspace),
        ("docker() { rm x; }; docker ps", &["Bash"], Profile::Workspace),
        ("eval \"$COMMAND\"", &["Bash"], Profile::Workspace),
        ("dockerx ps", &["Bash"], Profile::Workspace),
        // It only looks, so nobody was asked.
        ("git status", &[], Profile::Workspace),
        ("git status", &["Bash(git status)"], Profile::Full),
    ] {
        assert_eq!(profile_of(&decide(&bash(command), &outside(allow))), Some(profile), "{command}");
    }
    assert_eq!(profile_of(&approve(&bash("docker build ."), &outside(&[]))), Some(Profile::Full));
    let planning = Context { mode: Mode::Plan, ..outside(&["Bash"]) };
    assert_eq!(profile_of(&decide(&bash("docker ps"), &planning)), Some(Profile::ReadOnly));
}

// PLAN-49
#[test]
fn the_session_s_own_tools_work_while_planning() {
    for tool in ["TodoWrite", "Task"] {
        assert_eq!(verdict(&request(tool, Vec::new(), false), &cx(Mode::Plan)), "allow", "{tool}");
    }
    for tool in ["AskUserQuestion", "ExitPlanMode"] {
        assert_eq!(verdict(&request(tool, Vec::new(), false), &cx(Mode::Plan)), "ask", "{tool}");
    }
    assert_eq!(verdict(&request("mcp__srv__write", Vec::new(), false), &cx(Mode::Plan)), "ask");
}

// STEER-55: whoever coordinates hands work out, asks and looks.
#[test]
fn delegate_mode_leaves_the_work_to_others() {
    let cx = Context {
        bypass_available: true,
        ..with(cx(Mode::Delegate), Behavior::Allow, &["Bash", "Write", "Edit"])
    };
    for tool in ["Task", "TodoWrite"] {
        assert_eq!(verdict(&request(tool, Vec::new(), false), &cx), "allow", "{tool}");
    }
    assert_eq!(verdict(&request("AskUserQuestion", Vec::new(), false), &cx), "ask");
    assert_eq!(verdict(&read("Read", "/w/a"), &cx), "allow");
    assert_eq!(verdict(&request("KillShell", Vec::new(), false), &cx), "deny");
    for request in [write("/w/a"), bash("make"), request("mcp__srv__write", Vec::new(), false)] {
        assert_eq!(verdict(&request, &cx), "deny", "{request:?}");
        assert!(matches!(approve(&request, &cx), Decision::Deny(_)), "a yes does not help: {request:?}");
        assert_eq!(reason(&request, &cx), Reason::Mode { mode: Mode::Delegate });
    }
}

// PERM-08
#[test]
fn questions_to_the_user_are_asked_in_every_mode() {
    let question = request("AskUserQuestion", Vec::new(), true);
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions, Mode::Plan] {
        let allowed = with(cx(mode), Behavior::Allow, &["AskUserQuestion"]);
        assert_eq!(verdict(&question, &allowed), "ask", "{mode}");
        assert_eq!(reason(&question, &allowed), Reason::NeedsUser);
    }
}

// PERM-07
#[test]
fn the_checks_come_in_their_order() {
    let all = |mode, allow: &[&str], ask: &[&str], deny: &[&str]| {
        with(with(with(cx(mode), Behavior::Allow, allow), Behavior::Ask, ask), Behavior::Deny, deny)
    };
    let make = bash("make");
    let cases = [
        // A denied tool is denied, whatever else is said.
        (all(Mode::BypassPermissions, &["Bash"], &["Bash"], &["Bash"]), "deny"),
        (all(Mode::BypassPermissions, &["Bash"], &[], &["Bash(make)"]), "deny"),
        // The plan guard comes before questions and before the allow rules.
        (all(Mode::Plan, &["Bash"], &["Bash"], &[]), "deny"),
        // A question by rule comes before the mode and before the allow rules.
        (all(Mode::BypassPermissions, &["Bash"], &["Bash"], &[]), "ask"),
        (all(Mode::BypassPermissions, &["Bash"], &["Bash(make:*)"], &[]), "ask"),
        (all(Mode::DontAsk, &["Bash"], &["Bash"], &[]), "deny"),
        // The mode comes before the rest, then the rules.
        (all(Mode::BypassPermissions, &[], &[], &[]), "allow"),
        (all(Mode::Default, &["Bash"], &[], &[]), "allow"),
        (all(Mode::Default, &["Bash(make:*)"], &[], &[]), "allow"),
        (all(Mode::Default, &[], &[], &[]), "ask"),
    ];
    for (cx, expected) in cases {
        assert_eq!(verdict(&make, &cx), expected, "{} {:?}", cx.mode, cx.rules);
    }
}

// PERM-12
// PERM-12: without an answer of a model, a rule in words allows nothing, and what it might forbid is asked.
#[test]
fn a_rule_in_words_needs_a_model() {
    for behavior in [Behavior::Allow, Behavior::Ask, Behavior::Deny] {
        let cx = with(cx(Mode::Default), behavior, &["Bash(prompt: run make)"]);
        let uncovered = Reason::Uncovered { what: "the command `make`".to_owned() };
        assert_eq!(reason(&bash("make"), &cx) == uncovered, behavior == Behavior::Allow);
        assert_eq!(verdict(&bash("prompt: run make"), &cx), "ask");
        assert_eq!(verdict(&bash("ls"), &cx) == "allow", behavior == Behavior::Allow);
    }
}

// PERM-21
#[test]
fn files_that_steer_tiller_or_git_are_always_asked_for() {
    let broad = with(cx(Mode::AcceptEdits), Behavior::Allow, &["Edit", "Edit(**)"]);
    let paths = [
        "/w/.tiller/settings.json",
        "/w/.claude/settings.json",
        "/w/.git/hooks/pre-commit",
        "/w/sub/.git/config",
    ];
    for path in paths {
        assert_eq!(verdict(&write(path), &cx(Mode::AcceptEdits)), "ask", "{path}");
        assert_eq!(verdict(&write(path), &broad), "ask", "{path}");
        assert_eq!(verdict(&bash(&format!("echo x > {path}")), &broad), "ask", "{path}");
    }
    assert_eq!(verdict(&write("/w/.gitignore"), &cx(Mode::AcceptEdits)), "allow");
    let meant = with(cx(Mode::Default), Behavior::Allow, &["Edit(.claude/commands/**)"]);
    assert_eq!(verdict(&write("/w/.claude/commands/x.md"), &meant), "allow");
    assert_eq!(verdict(&write("/w/.claude/settings.json"), &meant), "ask");
}

#[test]
fn a_yes_of_the_user_does_not_outrank_a_deny_rule_or_plan_mode() {
    let denied = with(cx(Mode::Default), Behavior::Deny, &["Write(secret/**)"]);
    assert!(matches!(approve(&write("/w/secret/a"), &denied), Decision::Deny(_)));
    assert!(matches!(approve(&write("/w/a"), &denied), Decision::Allow(..)));
    assert!(matches!(approve(&write("/w/a"), &cx(Mode::Plan)), Decision::Deny(_)));
    assert!(matches!(approve(&write("/w/a"), &cx(Mode::DontAsk)), Decision::Allow(..)));
}

#[test]
fn a_permit_covers_what_was_declared_and_no_more() {
    let Decision::Allow(permit, _) = decide(&write("/w/a"), &cx(Mode::AcceptEdits)) else {
        panic!("not allowed")
    };
    assert!(permit.write(Path::new("/w/a")).is_ok());
    assert!(permit.write(Path::new("/w/b")).is_err());
    assert!(permit.script().is_err());
    assert!(permit.connect("example.org").is_err());
}

// RULE-06
#[test]
fn a_denied_read_holds_for_every_tool_and_is_left_out_of_searches() {
    let cx = with(cx(Mode::BypassPermissions), Behavior::Deny, &["Read(.env)", "Read(secrets/**)"]);
    for tool in ["Read", "Grep", "Glob"] {
        assert_eq!(verdict(&read(tool, "/w/.env"), &cx), "deny", "{tool}");
        assert_eq!(verdict(&read(tool, "/w/secrets/key"), &cx), "deny", "{tool}");
        let Decision::Allow(permit, _) = decide(&read(tool, "/w"), &cx) else {
            panic!("{tool} is not allowed")
        };
        assert!(permit.read(Path::new("/w/src/main.rs")).is_ok());
        assert!(permit.read(Path::new("/w/sub/.env")).is_err());
        assert_eq!(permit.excludes(Path::new("/w/secrets/a/b")), Some("Read(secrets/**)"));
        assert_eq!(permit.excludes(Path::new("/w/environment")), None);
    }
    assert_eq!(verdict(&bash("cat .env"), &cx), "deny");
}

// RULE-05
#[test]
fn links_and_dots_are_followed_before_paths_are_compared() {
    let resolver = Resolver::new(|path: &Path| match path.strip_prefix("/w/link") {
        Ok(rest) => Path::new("/outside").join(rest),
        Err(_) => crate::path::lexical(path),
    });
    let edits = Context { resolver, ..cx(Mode::AcceptEdits) };
    for command in
        ["rm link/x", "touch link/new", "echo x > link/new", "cat link/x", "cp a link/b", "cd link && cat x"]
    {
        assert_eq!(verdict(&bash(command), &edits), "ask", "{command}");
    }
    assert_eq!(verdict(&bash("rm sub/../x"), &edits), "allow");
    let denied = with(edits, Behavior::Deny, &["Read(//outside/**)", "Read(link/**)"]);
    assert_eq!(verdict(&bash("cat link/x"), &denied), "deny");
    assert_eq!(verdict(&bash("cat sub/../link/x"), &denied), "deny");
}

#[test]
fn hosts_are_judged_with_what_is_below_them() {
    let cx = with(cx(Mode::Default), Behavior::Allow, &["WebFetch(domain:example.org)"]);
    let cx = with(cx, Behavior::Deny, &["WebFetch(domain:private.example.org)"]);
    for (host, expected) in [
        ("example.org", "allow"),
        ("docs.example.org", "allow"),
        ("x.private.example.org", "deny"),
        ("other.org", "ask"),
    ] {
        assert_eq!(verdict(&fetch(host), &cx), expected, "{host}");
    }
}

#[test]
fn tools_of_servers_are_asked_for_unless_a_rule_allows_them() {
    let call = request("mcp__srv__tool", Vec::new(), true);
    assert_eq!(verdict(&call, &cx(Mode::Default)), "ask");
    for rule in ["mcp__srv", "mcp__srv__tool", "mcp__srv__*"] {
        assert_eq!(verdict(&call, &with(cx(Mode::Default), Behavior::Allow, &[rule])), "allow", "{rule}");
        assert_eq!(
            verdict(&call, &with(cx(Mode::BypassPermissions), Behavior::Deny, &[rule])),
            "deny",
            "{rule}"
        );
    }
}

#[test]
fn a_pattern_starts_where_its_first_characters_say() {
    let rule = |text: &str, file: Option<&str>| {
        let origin = crate::rule::Origin { source: Source::Project, file: file.map(PathBuf::from) };
        text.parse::<Rule>().unwrap().from_origin(origin)
    };
    let cases = [
        ("Edit(//tmp/x/**)", None, "/tmp/x/a/b", true),
        ("Edit(//tmp/x)", None, "/tmp/x/a", true),
        ("Edit(~/notes/*.md)", None, "/home/u/notes/a.md", true),
        ("Edit(~/notes/*.md)", None, "/home/u/notes/sub/a.md", false),
        ("Edit(/out/**)", Some("/p/.tiller/settings.json"), "/p/out/a", true),
        ("Edit(/out/**)", Some("/p/.tiller/settings.json"), "/w/out/a", false),
        ("Edit(/out/**)", None, "/w/out/a", true),
        ("Edit(./src/*.rs)", None, "/w/src/a.rs", true),
        ("Edit(src/*.rs)", None, "/w/src/sub/a.rs", false),
        ("Edit(*.rs)", None, "/w/src/sub/a.rs", true),
        ("Edit(build/)", None, "/w/sub/build/a", true),
        ("Write(src/**)", None, "/w/src/a", true),
        ("Read(src/**)", None, "/w/src/a", false),
    ];
    for (text, file, path, expected) in cases {
        let mut cx = cx(Mode::Default);
        cx.rules.allow.push(rule(text, file));
        assert_eq!(verdict(&write(path), &cx) == "allow", expected, "{text} {path}");
    }
}

// RULE-02
#[test]
fn an_explanation_names_rule_source_and_every_part() {
    let mut cx = with(cx(Mode::Default), Behavior::Allow, &["Bash(cargo test:*)"]);
    let origin =
        crate::rule::Origin { source: Source::Project, file: Some("/w/.tiller/settings.json".into()) };
    cx.rules.deny.push("Bash(rm:*)".parse::<Rule>().unwrap().from_origin(origin));
    let json = serde_json::to_value(explain(&bash("cd x && cargo test | tee log; sudo rm x"), &cx)).unwrap();
    assert_eq!(json["decision"], "deny");
    assert_eq!(json["rule"], "Bash(rm:*)");
    assert_eq!(json["source"], "project");
    assert_eq!(json["file"], "/w/.tiller/settings.json");
    assert_eq!(json["reason"]["type"], "rule");
    let parts: Vec<(&str, &str)> = json["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["what"].as_str().unwrap(), part["decision"].as_str().unwrap()))
        .collect();
    assert_eq!(
        parts,
        [("cd x", "allow"), ("cargo test", "allow"), ("tee log", "ask"), ("sudo rm x", "deny")]
    );
}

proptest! {
    // Adding a deny rule never allows more.
    #[test]
    fn deny_is_monotone(
        command in prop_oneof!["[a-z&;|$() ./<>'\"`{}*\n-]{0,40}", "(rm|ls|cat|env|sh -c|xargs|x=1|>|\\||;|&&|\\$\\(|\\)| |'|f|\\.env){0,12}"],
        rule in prop_oneof!["Bash\\((rm|ls|cat|[a-z]{1,3})(:\\*)?\\)", "Read\\((\\.env|f|\\*\\*)\\)", "Edit\\((f|\\*\\*)\\)"],
        mode in prop::sample::select(Mode::ALL.to_vec()),
        allow in prop::sample::select(vec!["Bash", "Bash(ls:*)", "Bash(rm:*)", "Read"]),
    ) {
        let before = with(cx(mode), Behavior::Allow, &[allow]);
        let after = with(before.clone(), Behavior::Deny, &[&rule]);
        let rank = |verdict| match verdict { "allow" => 2, "ask" => 1, _ => 0 };
        prop_assert!(rank(verdict(&bash(&command), &after)) <= rank(verdict(&bash(&command), &before)));
    }

    #[test]
    fn any_text_gets_an_answer(command in any::<String>(), mode in prop::sample::select(Mode::ALL.to_vec())) {
        let cx = with(cx(mode), Behavior::Deny, &["Read(.env)", "Bash(rm:*)", "Edit(src/**)"]);
        let request = bash(&command);
        let _ = explain(&request, &cx);
        let _ = crate::suggest(&request, &cx);
    }
}

// NET-02: no mode, no rule and no yes leads out.
#[test]
fn offline_only_this_machine_may_be_contacted() {
    for mode in [Mode::Default, Mode::BypassPermissions, Mode::AcceptEdits, Mode::Plan] {
        let cx = with(cx(mode), Behavior::Allow, &["WebFetch"]);
        let offline = Context { offline: true, ..cx.clone() };
        for (host, here) in
            [("localhost", true), ("[::1]", true), ("example.org", false), ("10.0.0.1", false)]
        {
            let request = fetch(host);
            assert_eq!(matches!(decide(&request, &offline), Decision::Allow(..)), here, "{mode} {host}");
            assert_eq!(matches!(approve(&request, &offline), Decision::Allow(..)), here, "{mode} {host}");
            assert!(matches!(decide(&request, &cx), Decision::Allow(..)), "{mode} {host}");
        }
    }
    let refused = decide(&fetch("example.org"), &Context { offline: true, ..cx(Mode::Default) });
    assert!(matches!(refused, Decision::Deny(reason) if reason.explain().contains("offline")));
}

#[test]
fn rules_about_a_server_hold_for_its_resources() {
    let reading = request("ReadMcpResourceTool", vec![Access::Server("files".to_owned())], true);
    let verdict_with = |behavior, rule: &str| {
        let cx = with(cx(Mode::BypassPermissions), behavior, &[rule]);
        verdict(&reading, &cx)
    };
    assert_eq!(verdict(&reading, &cx(Mode::Default)), "allow");
    for (behavior, rule, expected) in [
        (Behavior::Deny, "mcp__files", "deny"),
        (Behavior::Deny, "mcp__files__*", "deny"),
        (Behavior::Deny, "mcp__files__read", "allow"),
        (Behavior::Deny, "mcp__file", "allow"),
        (Behavior::Ask, "mcp__files", "ask"),
    ] {
        assert_eq!(verdict_with(behavior, rule), expected, "{rule}");
    }
}
