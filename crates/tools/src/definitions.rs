//! What the provider is told about the tools for files and for planning.

use serde_json::{Value, json};
use tiller_protocol::mode::Mode;

use crate::harness::Bench;
use crate::registry::Spec;
use crate::{
    AgentLine, Input, Registry, SkillLine, View, agent_tools, built_in, file_tools, plan_tools, skill_tools,
};

/// Everything that can be on offer.
fn everything() -> Registry {
    let agent = AgentLine { name: "Explore".to_owned(), ..AgentLine::default() };
    let skill = SkillLine { name: "review".to_owned(), ..SkillLine::default() };
    skill_tools(agent_tools(built_in(), vec![agent]), vec![skill])
}

/// What is said about these tools where all the others are there, too.
fn beside_all_others(these: &Registry) -> Vec<Spec> {
    let names = these.names();
    everything().specs().into_iter().filter(|spec| names.contains(&spec.name)).collect()
}

// PROMPT-04: however few tools there are, their descriptions name no other one.
#[test]
fn descriptions_name_no_tool_that_is_missing() {
    let all = everything().names();
    let few: [&[&str]; 4] = [
        &["Bash"],
        &["Read", "Glob", "Grep"],
        &["Read", "Glob", "Grep", "Bash", "WebFetch", "WebSearch", "TodoWrite"],
        &["BashOutput", "KillShell", "ShellInput", "TaskOutput", "ExitPlanMode", "EnterPlanMode"],
    ];
    for tools in few.into_iter().map(<[&str]>::to_vec).chain(all.iter().map(|one| vec![*one])) {
        for spec in everything().filtered(|name| tools.contains(&name)).specs() {
            let text = spec.definition["description"].as_str().unwrap();
            let words = || text.split(|letter: char| !letter.is_ascii_alphanumeric());
            let named = |tool: &&&str| {
                // Some names are also verbs.
                let is_verb = ["Read", "Edit", "Write", "Task", "Skill", "Recall"].contains(*tool);
                text.contains(&format!("`{tool}`")) || !is_verb && words().any(|word| word == **tool)
            };
            let missing: Vec<_> = all.iter().filter(|name| !tools.contains(name)).filter(named).collect();
            assert_eq!(missing, Vec::<&&str>::new(), "{}: {text}", spec.name);
        }
    }
}

#[test]
fn definitions_are_as_agreed() {
    for spec in beside_all_others(&file_tools(Registry::default())) {
        insta::assert_json_snapshot!(spec.name, spec.definition);
    }
}

#[test]
fn prompts_stay_small() {
    let limits =
        [("Read", 220), ("Edit", 200), ("Write", 110), ("NotebookEdit", 130), ("Glob", 110), ("Grep", 220)];
    for (spec, (name, tokens)) in beside_all_others(&file_tools(Registry::default())).iter().zip(limits) {
        assert_eq!(spec.name, name);
        let used = spec.definition["description"].as_str().unwrap().len().div_ceil(4);
        assert!(used <= tokens, "{name}: {used} tokens");
    }
}

// EXEC-02: a tool that is added has to be added here.
#[test]
fn the_safety_table_holds() {
    let registry = everything();
    let table = [
        ("Read", json!({"file_path": "f"}), (true, true)),
        ("Edit", json!({"file_path": "f", "old_string": "a", "new_string": "b"}), (false, false)),
        ("Write", json!({"file_path": "f", "content": ""}), (false, false)),
        ("NotebookEdit", json!({"notebook_path": "f.ipynb", "new_source": ""}), (false, false)),
        ("Glob", json!({"pattern": "*"}), (true, true)),
        ("Grep", json!({"pattern": "x"}), (true, true)),
        ("Bash", json!({"command": "rm x"}), (false, false)),
        ("BashOutput", json!({"bash_id": "bash_1"}), (true, true)),
        ("ShellInput", json!({"shell_id": "bash_1", "text": "x"}), (false, false)),
        ("KillShell", json!({"shell_id": "bash_1"}), (false, false)),
        ("WebFetch", json!({"url": "https://example.org", "prompt": "x"}), (true, true)),
        ("WebSearch", json!({"query": "xyz"}), (true, true)),
        ("TodoWrite", json!({"todos": []}), (false, false)),
        ("EnterPlanMode", json!({}), (true, true)),
        ("ExitPlanMode", json!({}), (true, false)),
        ("AskUserQuestion", question(), (false, true)),
        ("Recall", json!({"query": "x"}), (true, true)),
        ("Task", json!({"description": "d", "prompt": "p", "subagent_type": "Explore"}), (true, true)),
        ("TaskOutput", json!({"task_id": "t"}), (true, true)),
        ("Skill", json!({"skill": "review"}), (false, true)),
    ];
    assert_eq!(table.iter().map(|(tool, ..)| *tool).collect::<Vec<_>>(), registry.names());
    for (tool, input, wanted) in table {
        let call =
            registry.prepare(tool, Input::Json(&input)).unwrap_or_else(|error| panic!("{tool}: {error}"));
        assert_eq!((call.parallel(), call.read_only()), wanted, "{tool}");
    }
}

fn question() -> Value {
    let options = ["a", "b"].map(|label| json!({"label": label, "description": ""}));
    json!({"questions": [{"question": "Which?", "header": "Which", "options": options, "multiSelect": false}]})
}

#[test]
fn definitions_for_planning_are_as_agreed() {
    for spec in beside_all_others(&plan_tools(Registry::default())) {
        insta::assert_json_snapshot!(spec.name, spec.definition);
    }
}

#[test]
fn prompts_for_planning_stay_small() {
    let limits = [("EnterPlanMode", 440), ("ExitPlanMode", 330), ("AskUserQuestion", 230)];
    for (spec, (name, tokens)) in beside_all_others(&plan_tools(Registry::default())).iter().zip(limits) {
        assert_eq!(spec.name, name);
        let used = spec.definition["description"].as_str().unwrap().len().div_ceil(4);
        assert!(used <= tokens, "{name}: {used} tokens");
    }
}

fn prompt_of(tool: &str) -> String {
    let specs = beside_all_others(&plan_tools(Registry::default()));
    let spec = specs.iter().find(|spec| spec.name == tool).unwrap();
    spec.definition["description"].as_str().unwrap().to_owned()
}

// PROMPT-16
#[test]
fn entering_plan_mode_is_taught_with_reasons_and_examples() {
    let prompt = prompt_of("EnterPlanMode");
    let (before, examples) = prompt.split_once("\nGood\n").unwrap();
    let (good, bad) = examples.split_once("\nBad\n").unwrap();
    let listed = |text: &str| text.lines().filter(|line| line.starts_with("- \"")).count();
    assert!(listed(good) >= 3 && listed(bad) >= 3);
    assert_eq!(before.lines().filter(|line| line.starts_with("- ")).count(), 5, "the reasons");
    for said in [
        "Not for a job whose solution is plain",
        "`Task`",
        "`Glob`, `Grep` and `Read`",
        "conventions",
        "`ExitPlanMode`",
    ] {
        assert!(before.contains(said), "{said}");
    }
    for said in ["has to agree", "costs time", "in doubt, implement", "ask whether a plan is wanted"] {
        assert!(bad.contains(said), "{said}");
    }
}

// PROMPT-17
#[test]
fn leaving_plan_mode_is_taught_with_the_file_and_examples() {
    let prompt = prompt_of("ExitPlanMode");
    for said in [
        "no parameter",
        "plan file",
        "only for tasks that lead to writing code",
        "`AskUserQuestion` first",
        "by its purpose",
    ] {
        assert!(prompt.contains(said), "{said}");
    }
    assert_eq!(prompt.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count(), 3);
    let asking = prompt_of("AskUserQuestion");
    assert!(
        asking.contains("(recommended)")
            && asking.contains("Never ask with it whether the plan is acceptable")
    );
}

// EXEC-35, EXEC-36, EXEC-39
#[test]
fn tools_for_planning_are_as_safe_as_they_say() {
    let bench = Bench::new();
    let question = json!({"questions": [{"question": "Which?", "header": "Kind", "options": [
        {"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]});
    for (tool, input, safe, read_only) in [
        ("EnterPlanMode", json!({}), true, true),
        ("ExitPlanMode", json!({"later": "extension"}), true, false),
        ("AskUserQuestion", question, false, true),
    ] {
        let call = bench.prepare(tool, &input);
        assert_eq!((call.parallel(), call.read_only()), (safe, read_only), "{tool}");
        assert!(call.access(&bench.view()).is_empty());
    }
    let registry = plan_tools(Registry::default());
    assert!(registry.prepare("EnterPlanMode", Input::Json(&json!({"plan": "x"}))).is_err());
    let agent = View { sub_agent: true, ..bench.view() };
    let refused = bench.prepare("EnterPlanMode", &json!({})).validate(&agent).unwrap_err();
    assert!(refused.contains("not available to agents"), "{refused}");
    let planning = View { mode: Mode::Plan, ..bench.view() };
    assert!(bench.prepare("EnterPlanMode", &json!({})).validate(&planning).is_err());
}
