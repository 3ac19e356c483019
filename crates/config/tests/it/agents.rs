//! Agents in the files of user and project, and those that a host gives.

use serde_json::json;
use tiller_config::{
    AgentDefinition, Agents, CommandLine, HookEvent, Isolation, Layer, ProjectTrust, Sources, TrustQuestion,
    agents,
};
use tiller_protocol::mode::Mode;

use crate::world::World;

fn load(world: &World) -> Agents {
    agents(&world.places(), Sources::default(), ProjectTrust::Full)
}

fn file(fields: &str) -> String {
    format!("---\ndescription: d\n{fields}\n---\nDo it.\n")
}

fn told(world: &World, agents: &Agents) -> Vec<String> {
    let root = format!("{}/", world.path("").display().to_string().trim_end_matches('/'));
    agents.problems.iter().map(|problem| problem.to_string().replace(&root, "")).collect()
}

fn get(agents: &Agents, name: &str) -> AgentDefinition {
    assert!(agents.get(name).is_some(), "no {name}: {agents:#?}");
    agents.get(name).cloned().unwrap()
}

#[test]
fn a_file_says_all_there_is_to_say() {
    let text = "---\nname: reviewer\ndescription: Reviews changes.\ntools: Read, Grep,Glob\ndisallowed-tools:\n  - Bash\n\
        model: opus\nforkContext: true\ncriticalSystemReminder_EXPERIMENTAL: Only look.\nisolation: worktree\nmax_turns: 7\n\
        color: red\n---\n\nYou review.\n\nBe kind.\n";
    let world = World::new().file("project/.tiller/agents/team/r.md", text);
    let agents = load(&world);
    assert_eq!(told(&world, &agents), [""; 0]);
    let agent = get(&agents, "reviewer");
    assert_eq!(agent.tools.as_deref().unwrap(), ["Read", "Grep", "Glob"]);
    assert_eq!(
        (&agent.disallowed_tools[..], agent.model.as_deref()),
        (&["Bash".to_owned()][..], Some("opus"))
    );
    assert_eq!((agent.fork_context, agent.max_turns), (true, Some(7)));
    assert_eq!(agent.isolation, Some(Isolation::Worktree));
    assert_eq!(agent.critical_reminder.as_deref(), Some("Only look."));
    assert_eq!(
        (agent.when_to_use.as_str(), agent.prompt.as_str()),
        ("Reviews changes.", "You review.\n\nBe kind.")
    );
    assert_eq!(agent.origin.layer, Layer::Project);
    assert_eq!(agent.origin.file, Some(world.path("project/.tiller/agents/team/r.md")));
    assert!(agent.allows("Grep") && !agent.allows("Bash") && !agent.allows("Edit"));
}

#[test]
fn the_nearest_definition_of_a_name_counts() {
    let world = World::new();
    for (dir, agents) in [
        ("home/.claude", "a b c d Plan"),
        ("home/.tiller", "b c d"),
        ("project/.claude", "c d"),
        ("project/.tiller", "d"),
    ] {
        for name in agents.split(' ') {
            world.write(&format!("{dir}/agents/{name}.md"), &file(&format!("model: {name}-of-{dir}")));
        }
    }
    let agents = load(&world);
    assert_eq!(told(&world, &agents), [""; 0]);
    for (name, place) in [
        ("a", "home/.claude"),
        ("b", "home/.tiller"),
        ("c", "project/.claude"),
        ("d", "project/.tiller"),
        ("Plan", "home/.claude"),
    ] {
        assert_eq!(get(&agents, name).model, Some(format!("{name}-of-{place}")), "{name}");
    }
    assert_eq!(agents.definitions.len(), 5 + 4);
    assert!(get(&agents, "Explore").is_built_in() && !get(&agents, "Plan").is_built_in());

    let restricted = tiller_config::agents(&world.places(), Sources::default(), ProjectTrust::Restricted);
    assert_eq!(get(&restricted, "d").origin.layer, Layer::User, "an untrusted project brings no agents");
    let none = tiller_config::agents(&world.places(), "".parse().unwrap(), ProjectTrust::Full);
    assert!(none.definitions.iter().all(AgentDefinition::is_built_in));
}

#[test]
fn all_tools_can_be_meant_in_several_ways() {
    let world = World::new();
    let cases = [("absent", ""), ("star", "tools: '*'"), ("list", "tools: ['*']"), ("nothing", "tools:")];
    for (name, fields) in cases {
        world.write(&format!("project/.claude/agents/{name}.md"), &file(fields));
    }
    world.write("project/.claude/agents/none.md", &file("tools: []"));
    let agents = load(&world);
    for (name, _) in cases {
        assert_eq!(get(&agents, name).tools, None, "{name}");
    }
    assert!(!get(&agents, "none").allows("Read"));
}

#[test]
fn files_of_other_agents_with_odd_descriptions_are_understood() {
    let text = "---\nname: odd\ndescription: Use this: when \"x\". Examples:\\n<example>user: \"hi\"</example>\n\
        tools: Read, Bash\nmodel: inherit\ncolor: blue\n---\nPrompt.";
    let world = World::new().file("home/.claude/agents/odd.md", text);
    let agents = load(&world);
    assert_eq!(told(&world, &agents), [""; 0]);
    let agent = get(&agents, "odd");
    assert_eq!(agent.when_to_use, "Use this: when \"x\". Examples:\n<example>user: \"hi\"</example>");
    assert_eq!((agent.tools.unwrap().len(), agent.model.as_deref()), (2, Some("inherit")));
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_nothing_else_suffers() {
    let world = World::new().file("project/.tiller/agents/good.md", &file(""));
    for (name, text) in [
        ("a-open", "---\nname: x\n".to_owned()),
        ("b-nothing", "Just text.".to_owned()),
        ("c-silent", "---\ndescription: d\n---\n \n".to_owned()),
        ("d-name", file("name: my agent")),
        ("e-tools", file("model: opus\ntools: {Read: yes}")),
        ("f-isolation", file("isolation: vm")),
        ("g-turns", file("maxTurns: 0")),
        ("h-twice", file("name: good2")),
        ("i-twice", file("name: good2")),
        ("j-part", file("tools: Read, Bash(git log:*, x)\ndisallowedTools: Edit(/etc/**)")),
        ("k-unknown", file("mood: sunny")),
        ("m-mode", file("permissionMode: delegate")),
        ("n-hooks", file("hooks: {PreToolUse: [{hooks: [{type: shout}]}]}")),
    ] {
        world.write(&format!("project/.tiller/agents/{name}.md"), &text);
    }
    fs_err::write(world.path("project/.tiller/agents/l-binary.md"), [0xff, 0xfe]).unwrap();
    let agents = load(&world);
    let names: Vec<&str> = agents.definitions.iter().skip(5).map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["good", "good2", "j-part", "k-unknown"]);
    let part = get(&agents, "j-part");
    assert_eq!(
        (part.tools.unwrap(), part.disallowed_tools),
        (vec!["Read".to_owned()], vec!["Edit".to_owned()])
    );
    insta::assert_snapshot!(told(&world, &agents).join("\n"));
}

#[test]
fn files_of_a_project_do_not_lead_out_of_it() {
    let world = World::new().file("elsewhere/secret.md", &file("")).file("project/real.md", &file(""));
    world.write("home/.tiller/agents/x.md", &file(""));
    let link = |from: &str, to: &str| {
        let from = world.path(from);
        fs_err::create_dir_all(from.parent().unwrap()).unwrap();
        fs_err::os::unix::fs::symlink(world.path(to), from).unwrap();
    };
    link("project/.tiller/agents/out.md", "elsewhere/secret.md");
    link("project/.tiller/agents/in.md", "project/real.md");
    link("home/.tiller/agents/mine.md", "elsewhere/secret.md");
    let agents = load(&world);
    assert!(agents.get("out").is_none() && agents.get("in").is_some() && agents.get("mine").is_some());
    assert_eq!(
        told(&world, &agents),
        ["project/.tiller/agents/out.md: it leads out of the project; the agent is left out"]
    );
}

#[test]
fn a_host_gives_agents_as_an_object() {
    let world = World::new().file("project/.tiller/agents/a.md", &file("model: opus"));
    let mut agents = load(&world);
    agents.add_given(&json!({
        "a": {"description": "A.", "prompt": "Do a.", "tools": ["Read"], "disallowedTools": ["Bash"], "model": "haiku", "maxTurns": 3},
        "b": {"description": "B.", "prompt": "Do b.", "permissionMode": "plan"},
        "c": {"description": "C."},
        "e": {"description": "E.", "prompt": "Do e.", "permissionMode": "free"},
        "d": 1,
    }));
    agents.add_given(&json!([]));
    let a = get(&agents, "a");
    assert_eq!((a.prompt.as_str(), a.model.as_deref(), a.max_turns), ("Do a.", Some("haiku"), Some(3)));
    assert_eq!((a.origin.layer, a.origin.file.as_ref()), (Layer::CommandLine, None));
    assert!(a.allows("Read") && !a.allows("Write"));
    assert!(agents.get("b").is_some() && agents.get("c").is_none() && agents.get("d").is_none());
    assert_eq!(get(&agents, "b").permission_mode, Some(Mode::Plan));
    assert!(agents.get("e").is_none(), "what restricts has to be understood");
    insta::assert_snapshot!(told(&world, &agents).join("\n"));
}

#[test]
fn a_definition_has_a_mode_and_hooks() {
    let fields = "permissionMode: dontAsk\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          \
                  command: ./guard.sh\n  Stop:\n    - hooks: [{type: command, command: ./done.sh}]";
    let world = World::new().file("project/.tiller/agents/good.md", &file(fields));
    let agents = load(&world);
    assert_eq!(told(&world, &agents), [""; 0]);
    let agent = get(&agents, "good");
    assert_eq!(agent.permission_mode, Some(Mode::DontAsk));
    let events: Vec<HookEvent> = agent.hooks.keys().copied().collect();
    assert_eq!(events, [HookEvent::PreToolUse, HookEvent::SubagentStop]);
    assert_eq!(agent.hooks[&HookEvent::PreToolUse][0].matcher, "Bash");
    // They are seen before the project is trusted.
    let question =
        TrustQuestion::of(&world.places(), &CommandLine::default(), &world.env()).unwrap().unwrap();
    assert!(question.concerns[0].row.value["hooks"].to_string().contains("./guard.sh"));
}
