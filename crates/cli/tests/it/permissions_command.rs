//! `tiller permissions`: decisions explained, examples tested, rules listed.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::{Run, World};

/// Explains a call; gives the answer.
#[track_caller]
fn explain(world: &World, args: &[&str]) -> Value {
    let run = world.run(&[&["permissions", "explain", "--json"][..], args].concat()).ok();
    assert_eq!(run.stderr, "", "{args:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

fn bash(command: &str) -> String {
    json!({"command": command}).to_string()
}

/// Explains many calls at once.
fn batch(world: &World, lines: &[Value]) -> Run {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.run_with_stdin(&["permissions", "explain", "--batch"], &input)
}

// RULE-02
#[test]
fn a_decision_is_explained_part_by_part() {
    let world = World::new();
    let answer = explain(&world, &["--mode", "default", "Bash", r#"{"command":"ls && rm x"}"#]);
    assert_eq!(answer["decision"], "ask");
    assert_eq!(answer["reason"], "no rule allows the command `rm x`");
    assert_eq!((&answer["rule"], &answer["source"]), (&Value::Null, &Value::Null));
    let parts: Vec<_> =
        answer["parts"].as_array().unwrap().iter().map(|part| (&part["what"], &part["decision"])).collect();
    assert_eq!(parts, [(&json!("ls"), &json!("allow")), (&json!("rm x"), &json!("ask"))]);
    assert_eq!(world.server.requests().len(), 0);
}

// RULE-02, PERM-01
#[test]
fn every_mode_and_kind_of_rule_can_be_tried() {
    let world = World::new();
    for (args, command, decision, rule) in [
        (&["--mode", "default"][..], "touch x", "ask", None),
        (&["--mode", "acceptEdits"], "touch x", "allow", None),
        (&["--mode", "dontAsk"], "touch x", "deny", None),
        (&["--mode", "bypassPermissions"], "touch x", "allow", None),
        (&["--mode", "plan"], "git status", "allow", None),
        (&["--allow", "Bash(touch:*)"], "touch x", "allow", Some("Bash(touch:*)")),
        (&["--allow", "Bash(touch:*)"], "touch x; make", "ask", None),
        (&["--ask", "Bash(ls:*)"], "ls", "ask", Some("Bash(ls:*)")),
        (&["--mode", "bypassPermissions", "--deny", "Bash(rm:*)"], "env rm x", "deny", Some("Bash(rm:*)")),
        (&["--allow", "Bash", "--deny", "Read(.env)"], "cat .env", "deny", Some("Read(.env)")),
    ] {
        let answer = explain(&world, &[args, &["Bash", &bash(command)]].concat());
        assert_eq!(answer["decision"], decision, "{args:?} {command}: {answer:#}");
        assert_eq!(answer["rule"], json!(rule), "{args:?} {command}: {answer:#}");
        let source = rule.map(|_| "command line");
        assert_eq!(answer["source"], json!(source), "{args:?} {command}");
    }
}

// RULE-02
#[test]
fn the_settings_count_unless_rules_are_named() {
    let world = World::new()
        .file(".tiller/settings.json", r#"{"permissions": {"deny": ["Bash(make:*)"], "allow": ["Edit"]}}"#)
        .file(".claude/settings.local.json", r#"{"permissions": {"allow": ["WebFetch(domain:docs.rs)"]}}"#);
    let file = world.path(".tiller/settings.json");
    let answer = explain(&world, &["Bash", &bash("make all")]);
    assert_eq!((&answer["decision"], &answer["rule"]), (&json!("deny"), &json!("Bash(make:*)")));
    assert_eq!((&answer["source"], &answer["mode"]), (&json!(file), &json!("default")));
    assert_eq!(answer["parts"][0]["source"], json!(file));
    assert_eq!(explain(&world, &["Edit", "x"])["source"], json!(file));
    let answer = explain(&world, &["WebFetch", "https://docs.rs/x"]);
    assert_eq!(answer["source"], json!(world.path(".claude/settings.local.json")));

    let answer = explain(&world, &["--ask", "Read", "Bash", &bash("make all")]);
    assert_eq!((&answer["decision"], &answer["rule"]), (&json!("ask"), &Value::Null));
    let answer = explain(&world, &["--no-project-settings", "Bash", &bash("make all")]);
    assert_eq!(answer["decision"], "ask");
    let more = r#"{"permissions": {"defaultMode": "dontAsk"}}"#;
    let answer = explain(&world, &["--settings", more, "Bash", &bash("touch x")]);
    assert_eq!((&answer["decision"], &answer["mode"]), (&json!("deny"), &json!("dontAsk")));
}

// RULE-02, RULE-05
#[test]
fn paths_lead_where_they_lead_in_a_session() {
    let world = World::new().file("src/a.rs", "").var("HOME", "/nowhere/home");
    let outside = tempfile::tempdir().unwrap();
    let out = fs_err::canonicalize(outside.path()).unwrap();
    symlink(&out, world.path("link")).unwrap();
    symlink("src", world.path("inner")).unwrap();
    let decided = |args: &[&str]| explain(&world, args)["decision"].as_str().unwrap().to_owned();
    let added = out.display().to_string();
    for (args, decision) in [
        (&["Read", "src/a.rs"][..], "allow"),
        (&["Read", "inner/a.rs"], "allow"),
        (&["Read", "link/new/x"], "ask"),
        (&["Read", "src/../../x"], "ask"),
        (&["Read", "~/x"], "ask"),
        (&["Bash", "cat link/x"], "ask"),
        (&["Bash", "cat inner/a.rs"], "allow"),
        (&["Bash", "find . -exec cat {} +"], "ask"),
        (&["Bash", "find . | xargs cat"], "ask"),
        (&["Bash", "git ls-files | xargs cat"], "ask"),
        (&["Bash", "find . -type f | xargs cat"], "allow"),
        (&["Bash", "find src | xargs cat"], "allow"),
        (&["Bash", "find . -name '*.rs' -exec cat {} +"], "allow"),
        (&["--add-dir", &added, "Read", "link/new/x"], "allow"),
        (&["--deny", "Read(src/**)", "Read", "inner/a.rs"], "deny"),
        (&["--deny", "Read(~/x)", "Bash", "cat /nowhere/home/x"], "deny"),
        (&["--mode", "acceptEdits", "Write", "inner/b.rs"], "allow"),
        (&["--mode", "acceptEdits", "Write", "link/b.rs"], "ask"),
        (&["--mode", "plan", "Write", "src/b.rs"], "deny"),
    ] {
        assert_eq!(decided(args), decision, "{args:?}");
    }
}

#[test]
fn input_may_be_typed_as_it_comes_to_mind() {
    let world = World::new();
    for (tool, plain, whole) in [
        ("Bash", "ls -la | wc -l", json!({"command": "ls -la | wc -l"})),
        ("Read", "/etc/shadow", json!({"file_path": "/etc/shadow"})),
        ("Edit", "x", json!({"file_path": "x", "old_string": "a", "new_string": "b"})),
        ("Write", "x", json!({"file_path": "x"})),
        ("WebFetch", "https://docs.rs/x", json!({"url": "https://docs.rs/x", "prompt": "p"})),
    ] {
        assert_eq!(explain(&world, &[tool, plain]), explain(&world, &[tool, &whole.to_string()]), "{tool}");
    }
    let piped = world.run_with_stdin(&["permissions", "explain", "--json", "Bash", "-"], &bash("ls")).ok();
    assert_eq!(serde_json::from_str::<Value>(&piped.stdout).unwrap(), explain(&world, &["Bash", "ls"]));
    let mcp = explain(&world, &["--allow", "mcp__srv", "mcp__srv__tool", r#"{"anything": 1}"#]);
    assert_eq!((&mcp["decision"], &mcp["rule"]), (&json!("allow"), &json!("mcp__srv")));
}

// RULE-02
#[test]
fn how_a_command_would_be_held_is_part_of_the_answer() {
    let world = World::new();
    let doctor: Value = serde_json::from_str(&world.run(&["doctor", "--json"]).stdout).unwrap();
    let (decision, profile) = match doctor["confinement"]["level"].as_str().unwrap() {
        "none" => ("deny", Value::Null),
        _ => ("allow", json!("read-only")),
    };
    let planned = explain(&world, &["--mode", "plan", "Bash", "make"]);
    assert_eq!((&planned["decision"], &planned["profile"]), (&json!(decision), &profile));
    let bypassed = explain(&world, &["--mode", "bypassPermissions", "Bash", "make"]);
    assert_eq!(bypassed["profile"], "full");
    assert_eq!(explain(&world, &["--mode", "bypassPermissions", "Edit", "x"])["profile"], Value::Null);
}

// RULE-02, PERM-12
#[test]
fn what_only_a_model_can_tell_is_said_to_be_open() {
    let world = World::new();
    let rule = "Bash(prompt: run the tests)";
    let answer = explain(&world, &["--allow", rule, "Bash", "cargo test"]);
    assert_eq!((&answer["decision"], &answer["asksModel"]), (&json!("ask"), &json!(["run the tests"])));
    let answer = explain(&world, &["--deny", rule, "Bash", "cargo test"]);
    assert_eq!((&answer["decision"], &answer["rule"]), (&json!("ask"), &json!(rule)));
    let text = world.run(&["permissions", "explain", "--allow", rule, "Bash", "cargo test"]).ok().stdout;
    assert!(text.contains("a session first asks a model whether it does this: run the tests"), "{text}");
    assert_eq!(explain(&world, &["--allow", rule, "Bash", "ls"]).get("asksModel"), None);
    assert_eq!(world.server.requests().len(), 0);
}

// RULE-02, PERM-01
#[test]
fn a_question_that_makes_no_sense_is_refused() {
    let world = World::new();
    for (args, code, words) in [
        (&["Bash", r#"{"command":"#][..], 1, &["is not JSON", r#"'{"command":"..."}'"#][..]),
        (&["Bash", "[1]"], 1, &["is not a JSON object"]),
        (&["Glob", "*.rs"], 1, &["Glob", "is not JSON"]),
        (&["Bash", "{}"], 1, &["missing field `command`"]),
        (&["Bash", r#"{"cmd":"ls"}"#], 1, &["unknown field `cmd`"]),
        (&["Teleport", "{}"], 1, &["There is no tool named Teleport", "Bash"]),
        (&["--mode", "yolo", "Bash", "ls"], 1, &["unknown permission mode", "acceptEdits"]),
        (&["--allow", "Bash(git", "Bash", "ls"], 1, &["\"Bash(git\" is not a rule"]),
        (&["Bash"], 1, &["INPUT"]),
        (&["--batch", "Bash", "ls"], 1, &["--batch"]),
        (&["--allways", "Bash", "Bash", "ls"], 2, &["--allways"]),
    ] {
        let run = world.run(&[&["permissions", "explain"][..], args].concat());
        assert_eq!((run.code(), run.stdout.as_str()), (code, ""), "{args:?}: {run:#?}");
        for word in words {
            assert!(run.stderr.contains(word), "{args:?}: {word} is not in {}", run.stderr);
        }
    }
}

// PERM-20
#[test]
fn a_mode_that_is_disabled_cannot_be_tried() {
    let world = World::new()
        .file(".tiller/settings.json", r#"{"permissions": {"disableBypassPermissionsMode": true}}"#);
    let run = world.run(&["permissions", "explain", "--mode", "bypassPermissions", "Bash", "rm x"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("is disabled by") && run.stderr.contains("settings.json"), "{}", run.stderr);
}

#[test]
fn the_explanation_reads_well_in_eighty_columns() {
    let world = World::new().file(".tiller/settings.json", r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#);
    let command =
        "ls -la && timeout 5 rm x; echo one two three four five six seven eight nine ten eleven > out";
    let run = world.run(&["permissions", "explain", "Bash", command]).ok();
    let shown = run.stdout.replace(&world.dir().display().to_string(), "<project>");
    insta::assert_snapshot!(shown, @r"
    deny   Bash in mode default
           because the rule Bash(rm:*) says so
           rule    Bash(rm:*)
           source  <project>/.tiller/settings.json

    parts, each on its own
      allow  ls -la
               it changes nothing
      deny   timeout 5 rm x
               the rule Bash(rm:*) says so (<project>/.tiller/settings.json)
      allow  echo one two three four five six seven eight nine ten eleven
               it changes nothing
      ask    > out
               no rule allows writing <project>/out
    ");
    let asked = world.run(&["permissions", "explain", "Edit", "notes"]).ok();
    assert!(asked.stdout.contains("a run with nobody to ask denies it"), "{}", asked.stdout);
}

#[test]
fn a_batch_answers_line_by_line() {
    let world = World::new().file(".tiller/settings.json", r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#);
    let call = |command: &str| json!({"tool": "Bash", "input": {"command": command}});
    let mut planned = call("touch x");
    planned["mode"] = json!("dontAsk");
    let mut ruled = call("rm x");
    ruled["allow"] = json!(["Bash(rm x)"]);
    let run = batch(&world, &[call("ls"), call("rm x"), planned, ruled]).ok();
    let decisions: Vec<Value> = run.frames().iter().map(|frame| frame["decision"].clone()).collect();
    assert_eq!(decisions, ["allow", "deny", "deny", "allow"]);

    let mut misspelt = call("ls");
    misspelt["mod"] = json!("plan");
    let run = batch(&world, &[misspelt, call("ls"), json!({"tool": "Nope"})]);
    let frames = run.frames();
    assert_eq!((run.code(), frames.len()), (1, 3), "{run:#?}");
    assert!(frames[0]["error"].as_str().unwrap().contains("unknown field `mod`"), "{}", frames[0]);
    assert_eq!((&frames[1]["decision"], &frames[2]["line"]), (&json!("allow"), &json!(3)));
}

/// What a corpus says about one call.
struct Case {
    line: String,
    expected: String,
    mode: String,
    /// Whether the kernel is to confine commands.
    confined: bool,
    call: Value,
}

/// Reads a corpus of the policy crate; its working directory `/w` becomes the project.
fn cases(corpus: &str, world: &World) -> Vec<Case> {
    let dir = world.dir().display().to_string();
    let (mut rules, mut confined) = (json!({}), false);
    // Names that the project does not have.
    let mut made_up = false;
    let mut cases = Vec::new();
    for line in corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(directive) = line.strip_prefix('@') {
            match directive.split_once(' ') {
                Some(("names", _)) => made_up = true,
                Some((list, rule)) => match rules[list].as_array_mut() {
                    Some(rules) => rules.push(json!(rule)),
                    None => rules[list] = json!([rule]),
                },
                None if directive == "reset" => (rules, confined, made_up) = (json!({}), false, false),
                None => confined = true,
            }
            continue;
        }
        if made_up {
            continue;
        }
        let fields: Vec<&str> = line.splitn(3, ' ').collect();
        let [expected, mode, command] = fields[..] else { panic!("{line}") };
        let command = format!(" {command}").replace(" /w", &format!(" {dir}")).replace('␤', "\n");
        let mut call = rules.clone();
        call["tool"] = json!("Bash");
        call["input"] = json!({"command": command[1..]});
        call["mode"] = json!(mode);
        let (line, expected, mode) = (line.to_owned(), expected.to_owned(), mode.to_owned());
        cases.push(Case { line, expected, mode, confined, call });
    }
    cases
}

// RULE-01, RULE-02
#[test]
fn the_binary_decides_as_the_corpus_says() {
    let world = World::new().var("HOME", "/home/u").file("conf/x", "");
    let doctor: Value = serde_json::from_str(&world.run(&["doctor", "--json"]).stdout).unwrap();
    let can_confine = doctor["confinement"]["level"] != "none";
    let corpora = [
        include_str!("../../../policy/tests/corpus/edits.txt"),
        include_str!("../../../policy/tests/corpus/git_files.txt"),
        include_str!("../../../policy/tests/corpus/harmful.txt"),
        include_str!("../../../policy/tests/corpus/harmless.txt"),
        include_str!("../../../policy/tests/corpus/own_work.txt"),
        include_str!("../../../policy/tests/corpus/rules.txt"),
        include_str!("../../../policy/tests/corpus/sneaky.txt"),
    ];
    let mut cases: Vec<Case> = corpora.iter().flat_map(|corpus| cases(corpus, &world)).collect();
    // What is only perhaps denied is asked about where the kernel does not hide it.
    let depends = |case: &Case| case.mode == "plan" || case.expected == "ask" && case.call["deny"].is_array();
    cases.retain(|case| !depends(case) || case.confined == can_confine);
    assert!(cases.len() > 900, "{}", cases.len());
    let calls: Vec<Value> = cases.iter().map(|case| case.call.clone()).collect();
    let answers = batch(&world, &calls).ok().frames();
    assert_eq!(answers.len(), cases.len());
    let wrong = cases.iter().zip(&answers).filter(|(case, answer)| answer["decision"] != case.expected);
    let wrong: Vec<String> = wrong.map(|(case, answer)| format!("{}\n    {answer}", case.line)).collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

// RULE-01, RULE-05
#[test]
fn names_on_disk_are_looked_at_before_they_are_taken_for_options() {
    let world = World::new().file("a.txt", "").file("src/a b.txt", "");
    let decisions = |world: &World, lines: &[&str]| {
        let calls: Vec<Value> =
            lines.iter().map(|line| json!({"tool": "Bash", "input": {"command": line}})).collect();
        let answers = batch(world, &calls).ok().frames();
        answers.iter().map(|answer| answer["decision"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let lines = ["sort *.txt", "for f in *; do ls $f; done", "for f in *.txt; do wc -l \"$f\"; done"];
    assert_eq!(decisions(&world, &lines), ["allow"; 3]);
    assert_eq!(decisions(&world, &["for f in src/*; do sort $f; done"]), ["ask"]);
    let world = world.file("--output=x.txt", "");
    assert_eq!(decisions(&world, &lines), ["ask"; 3]);
    assert_eq!(decisions(&world, &["sort a*", "sort ./*.txt"]), ["allow"; 2]);
}

const EXAMPLES: &str = r#"{"permissions": {
    "deny": ["Bash(rm:*)"],
    "allow": ["Bash(cargo test:*)"],
    "tests": [
        {"tool": "Bash", "input": {"command": "sudo rm -rf /"}, "expect": "deny"},
        {"tool": "Bash", "input": {"command": "cargo test --lib"}, "expect": "allow"},
        {"tool": "Edit", "input": {"file_path": "x"}, "mode": "acceptEdits", "expect": "allow"},
        {"tool": "Edit", "input": {"file_path": "x"}, "expect": "ask"}
    ]
}}"#;

// RULE-03
#[test]
fn examples_beside_the_rules_are_tested() {
    let world = World::new().file(".tiller/settings.json", EXAMPLES);
    let run = world.run(&["permissions", "test"]).ok();
    assert_eq!(run.stdout, "all 4 examples pass\n");
    let run = world.run(&["permissions", "test", "--verbose"]).ok();
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with("ok ")).count(), 4, "{}", run.stdout);

    let run = World::new().run(&["permissions", "test"]).ok();
    assert!(run.stdout.contains("there are no examples"), "{}", run.stdout);
}

// RULE-03: nobody must take an example that is none for one that comes out as expected.
#[test]
fn examples_that_cannot_be_read_fail() {
    let broken = EXAMPLES.replace("\"expect\": \"ask\"", "\"expects\": \"ask\"");
    let world = World::new().file(".tiller/settings.json", &broken);
    let run = world.run(&["permissions", "test"]);
    assert_eq!(run.code(), 1);
    assert!(run.stdout.contains("permissions.tests[3]") && run.stdout.contains("1 of 4"), "{}", run.stdout);
    let run = world.run(&["permissions", "test", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["passed"], &report["failed"]), (&json!(3), &json!(1)));
}

/// A rule of the table in the documentation, and calls that it speaks of and does not speak of.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)]);

const TABLE: &[Row] = &[
    ("Read", &[("Read", "a")], &[("Edit", "a")]),
    ("Bash(cargo test)", &[("Bash", "cargo test")], &[("Bash", "cargo test --lib")]),
    ("Bash(cargo test:*)", &[("Bash", "cargo test --lib")], &[("Bash", "cargo fmt")]),
    ("Edit(src/**)", &[("Edit", "src/a/b"), ("Write", "src/a")], &[("Edit", "lib/src/a"), ("Read", "src/a")]),
    ("Edit(./Makefile)", &[("Edit", "Makefile")], &[("Edit", "sub/Makefile")]),
    ("Read(.env)", &[("Read", ".env"), ("Read", "a/.env")], &[("Read", "a/env")]),
    ("Edit(*.lock)", &[("Edit", "Cargo.lock"), ("Edit", "a/b.lock")], &[("Edit", "a/lock")]),
    ("Read(//etc/hosts)", &[("Read", "/etc/hosts")], &[("Read", "etc/hosts"), ("Read", "/etc/passwd")]),
    ("Read(~/.ssh/**)", &[("Read", "~/.ssh/id")], &[("Read", ".ssh/id")]),
    ("Edit(/docs/**)", &[("Edit", "docs/a"), ("Edit", "/docs/a")], &[("Edit", "a/docs/b")]),
    (
        "WebFetch(domain:docs.rs)",
        &[("WebFetch", "https://docs.rs/x"), ("WebFetch", "https://static.docs.rs/x")],
        &[("WebFetch", "https://notdocs.rs/x")],
    ),
];

#[test]
fn the_documented_rules_speak_of_what_they_are_said_to_speak_of() {
    let world = World::new();
    let documented = include_str!("../../../../docs/permissions.md");
    let input = |tool: &str, on: &str| match tool {
        "Bash" => json!({"command": on}),
        "WebFetch" => json!({"url": on, "prompt": "p"}),
        "Write" => json!({"file_path": on, "content": "c"}),
        "Edit" => json!({"file_path": on, "old_string": "a", "new_string": "b"}),
        _ => json!({"file_path": on}),
    };
    let home = world.home().display().to_string();
    for (rule, fits, others) in TABLE {
        assert!(documented.contains(&format!("`{rule}`")), "{rule} is not in the documentation");
        for ((tool, on), denied) in
            fits.iter().map(|call| (call, true)).chain(others.iter().map(|call| (call, false)))
        {
            let input = input(tool, &on.replacen('~', &home, 1)).to_string();
            let answer = explain(&world, &["--deny", rule, tool, &input]);
            assert_eq!(answer["decision"] == "deny", denied, "{rule}: {tool} {on}: {answer}");
        }
    }
}

// A rule against something that can never fit is no protection.
#[test]
fn rules_that_fit_nothing_are_told() {
    for (rule, words) in [
        ("WebFetch(docs.rs)", "WebFetch(domain:docs.rs)"),
        ("WebFetch(https://docs.rs/x)", "WebFetch(domain:docs.rs)"),
        ("Read([a)", "would fit nothing"),
    ] {
        let settings = json!({"permissions": {"deny": [rule]}}).to_string();
        let run = World::new().file(".tiller/settings.json", &settings).run(&["permissions", "list"]);
        assert!(run.code() != 0 && run.stderr.contains(words), "{rule}: {}", run.stderr);
    }
    for (rule, words) in [("Glob(src/**)", "Read(src/**)"), ("TodoWrite(x)", "write TodoWrite")] {
        let settings = json!({"permissions": {"deny": [rule]}}).to_string();
        let run = World::new().file(".tiller/settings.json", &settings).run(&["permissions", "list"]).ok();
        assert!(run.stderr.contains(words), "{rule}: {}", run.stderr);
    }
}

// RULE-03
#[test]
fn a_difference_fails_and_is_shown() {
    let world = World::new().file(".tiller/settings.json", &EXAMPLES.replace("Bash(rm:*)", "Bash(rm)")).file(
        ".tiller/settings.local.json",
        r#"{"permissions": {"tests": [{"tool": "Beam", "input": {}, "expect": "ask"}]}}"#,
    );
    let run = world.run(&["permissions", "test"]);
    assert_eq!(run.code(), 1, "{run:#?}");
    let shown = run.stdout.replace(&world.dir().display().to_string(), "<project>");
    insta::assert_snapshot!(shown, @r#"
    FAIL   Bash {"command":"sudo rm -rf /"}
           expected  deny
           got       ask: no rule allows the command `sudo rm -rf /`
           in        <project>/.tiller/settings.json
    FAIL   Beam {}
           expected  ask
           but       There is no tool named Beam. Available tools: Read, Edit,
                     Write, NotebookEdit, Glob, Grep, Bash, BashOutput, ShellInput,
                     KillShell, WebFetch, WebSearch, TodoWrite, EnterPlanMode,
                     ExitPlanMode, AskUserQuestion, Recall.
           in        <project>/.tiller/settings.local.json
    2 of 5 examples fail
    "#);
    let run = world.run(&["permissions", "test", "--json"]);
    assert_eq!(run.code(), 1);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["passed"], &report["failed"]), (&json!(3), &json!(2)), "{report:#}");
    let first = &report["tests"][0];
    assert_eq!(
        (&first["expect"], &first["decision"], &first["passed"]),
        (&json!("deny"), &json!("ask"), &json!(false))
    );
}

#[test]
fn the_rules_that_count_are_listed_with_their_files() {
    let world = World::new().file(".tiller/settings.json", EXAMPLES);
    let run = world.run(&["permissions", "list"]).ok();
    let file = world.path(".tiller/settings.json");
    let expected = format!(
        "mode   default  (default)\ndeny   Bash(rm:*)  ({0})\nallow  Bash(cargo test:*)  ({0})\n",
        file.display()
    );
    assert_eq!(run.stdout, expected);
    let listed: Value =
        serde_json::from_str(&world.run(&["permissions", "list", "--json"]).ok().stdout).unwrap();
    assert_eq!(listed["deny"], json!([{"rule": "Bash(rm:*)", "source": file}]));
}
