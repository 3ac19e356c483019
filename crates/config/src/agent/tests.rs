use super::*;

fn built_in(name: &str) -> AgentDefinition {
    let agents = Agents::built_in();
    assert_eq!(agents.problems, [], "what comes with Tiller is well-formed");
    agents.get(name).cloned().unwrap_or_else(|| panic!("there is no {name}"))
}

fn conveys(text: &str, points: &[&str]) {
    for point in points {
        assert!(text.contains(point), "{point:?} is missing from:\n{text}");
    }
}

/// Nothing that changes files may be had by those who only look.
const READ_ONLY: [&str; 7] =
    ["Task", "ExitPlanMode", "Edit", "Write", "NotebookEdit", "ShellInput", "KillShell"];

const OFF_LIMITS: [&str; 9] = [
    "READ-ONLY",
    "new files, by whatever means",
    "temporary files",
    "changes to existing files",
    "deleting, moving or copying",
    "redirection",
    "here-documents",
    "pipes into files",
    "lasting effect",
];

const LOOKING: [&str; 4] = [
    "`Bash` only to look",
    "ls, cat, head, tail, find, git status, git log, git diff",
    "mkdir, touch, rm, mv, cp, git add, git commit, npm install, pip install",
    "no tools for editing, so trying is pointless",
];

// MODEL-18 PLAN-50 EXEC-34
#[test]
fn built_in_agents_have_their_models_and_tools() {
    let names = Agents::built_in().definitions.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>();
    assert_eq!(names, ["general-purpose", "Explore", "Plan", "statusline-setup", "tiller-guide"]);
    let model = |name| built_in(name).model.expect("it names one");
    assert_eq!(
        names.iter().map(|name| model(name)).collect::<Vec<_>>(),
        ["sonnet", "haiku", "inherit", "sonnet", "haiku"]
    );

    assert!(["Task", "Edit", "mcp__x__y"].iter().all(|tool| built_in("general-purpose").allows(tool)));
    for agent in [built_in("Explore"), built_in("Plan")] {
        assert_eq!(
            (agent.tools.as_deref(), &agent.disallowed_tools[..]),
            (None, &READ_ONLY.map(str::to_owned)[..])
        );
        assert!(READ_ONLY.iter().all(|tool| !agent.allows(tool)) && !agent.allows("Agent"));
        assert!(["TodoWrite", "Bash", "Read", "BashOutput"].iter().all(|tool| agent.allows(tool)));
        assert!(agent.critical_reminder.is_some_and(|text| text.contains("read-only")));
    }
    let tools = |name| built_in(name).tools.expect("it has a list");
    assert_eq!(tools("statusline-setup"), ["Read", "Edit"]);
    assert_eq!(tools("tiller-guide"), ["Read", "Glob", "Grep", "WebFetch", "WebSearch"]);
    assert!(!built_in("tiller-guide").allows("Bash"));
}

// PROMPT-19
#[test]
fn the_exploring_agent_is_told_all_it_needs() {
    let prompt = built_in("Explore").prompt;
    conveys(&prompt, &OFF_LIMITS);
    conveys(&prompt, &LOOKING);
    let points = [
        "search specialist",
        "only job",
        "`Glob` for broad",
        "`Grep` for contents",
        "`Read` for files",
        "\"quick\", \"medium\" or \"very thorough\"",
        "absolute",
        "No emojis",
        "never a file",
        "same response",
        "use as it stands",
    ];
    conveys(&prompt, &points);
}

// PROMPT-20
#[test]
fn the_planning_agent_is_told_all_it_needs() {
    let prompt = built_in("Plan").prompt;
    conveys(&prompt, &OFF_LIMITS);
    conveys(&prompt, &LOOKING);
    let points = [
        "architect",
        "perhaps a perspective",
        "1. Requirements",
        "all the way",
        "2. Exploration",
        "named in the prompt",
        "comparable features",
        "code paths",
        "3. Design",
        "what speaks for it and what against",
        "4. Detail",
        "what depends on what",
        "three to five files",
        "### Files that matter most",
        "serves as model",
    ];
    conveys(&prompt, &points);
    assert!(prompt.ends_with("Nothing is written, edited, deleted or moved by you."));
}

// PROMPT-21
#[test]
fn the_uses_of_agents_are_described() {
    conveys(
        &built_in("Explore").when_to_use,
        &["fast", "pattern", "keywords", "questions", "\"quick\"", "\"medium\"", "\"very thorough\""],
    );
    conveys(
        &built_in("Plan").when_to_use,
        &["as an architect", "steps", "files that matter most", "alternatives"],
    );
    conveys(
        &built_in("general-purpose").when_to_use,
        &["complex questions", "searches code", "several steps", "may well miss"],
    );
    let prompt = built_in("general-purpose").prompt;
    conveys(
        &prompt,
        &[
            "to its end",
            "nothing beyond it",
            "sees nothing else",
            "wide to narrow",
            "other names",
            "absolute",
            "Create a file only",
        ],
    );
}

/// Sub-agents are started often; growing what they are told is a decision and shows here.
#[test]
fn prompts_do_not_grow_unnoticed() {
    let tokens = |text: &str| text.len() / 4;
    let measured: Vec<(String, usize, usize)> = Agents::built_in()
        .definitions
        .into_iter()
        .map(|agent| (agent.name, tokens(&agent.when_to_use), tokens(&agent.prompt)))
        .collect();
    insta::assert_debug_snapshot!(measured);
}

#[test]
fn names_in_definitions_mean_tools() {
    for (name, tool, meant) in [
        ("Read", "Read", true),
        ("read", "Read", false),
        ("*", "Read", true),
        ("Agent", "Task", true),
        ("mcp__git", "mcp__git__log", true),
        ("mcp__git__*", "mcp__git__log", true),
        ("mcp__git__log", "mcp__git__log", true),
        ("mcp__git", "mcp__github__log", false),
        ("mcp__git", "mcp__git", true),
        ("Web", "WebFetch", false),
    ] {
        assert_eq!(covers(name, tool), meant, "{name} {tool}");
    }
}

#[test]
fn what_sets_up_the_status_line_is_shown_a_setting_that_exists() {
    let prompt = built_in("statusline-setup").prompt;
    let example = prompt.lines().find(|line| line.starts_with('{')).unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    let command = &example["terminal"]["statusLine"];
    assert!(command.is_string());
    crate::decode::fit("terminal.statusLine", command).unwrap();
}
