use serde_json::json;
use tiller_tools::{Spec, built_in};

use crate::bench::registry;

/// What is said about these tools where the others are there, too.
fn specs() -> Vec<Spec> {
    let names = registry().names();
    built_in().specs().into_iter().filter(|spec| names.contains(&spec.name)).collect()
}

fn spec(name: &str) -> Spec {
    specs().into_iter().find(|spec| spec.name == name).unwrap()
}

fn prompt(name: &str) -> String {
    spec(name).definition["description"].as_str().unwrap().to_owned()
}

/// Prompts cost tokens in every request: this many each, at four bytes to a token.
#[test]
fn prompts_keep_their_budget() {
    let budgets = [
        ("Bash", 550),
        ("TodoWrite", 800),
        ("WebFetch", 130),
        ("WebSearch", 100),
        ("BashOutput", 60),
        ("ShellInput", 70),
        ("KillShell", 60),
    ];
    for (name, tokens) in budgets {
        let used = prompt(name).len().div_ceil(4);
        assert!(used <= tokens, "{name}: {used} tokens, allowed are {tokens}");
    }
}

// EXEC-29
#[test]
fn bash_says_what_it_is_for_and_what_to_use_instead() {
    let prompt = prompt("Bash");
    assert!(prompt.contains("Not meant for reading, writing, editing or searching files"));
    for (instead_of, tool) in [
        ("`find`, `ls`", "`Glob`"),
        ("`grep`, `rg`", "`Grep`"),
        ("`cat`, `head`, `tail`", "`Read`"),
        ("`sed`, `awk`", "`Edit`"),
        ("`echo >`, `cat <<EOF`", "`Write`"),
        ("`echo`, `printf` to talk to the user", "plain text"),
    ] {
        let row = prompt.lines().find(|line| line.starts_with(&format!("| {instead_of}"))).unwrap();
        assert!(row.contains(&format!("| {tool}")), "{row}");
    }
}

// PROMPT-15
#[test]
fn todo_write_teaches_by_examples() {
    let prompt = prompt("TodoWrite");
    let (before, against) = prompt.split_once("Examples where it does not").unwrap();
    let (rules, in_favour) = before.split_once("Examples where a list helps").unwrap();
    let examples =
        |text: &str| text.lines().filter(|line| line.contains(". \"") && line.contains("\" - ")).count();
    assert!(examples(in_favour) >= 3 && examples(against) >= 4);
    for word in ["`pending`", "`in_progress`", "`completed`", "exactly one", "activeForm", "Do not use it"] {
        assert!(rules.contains(word), "{word}");
    }
}

// TODO-15
#[test]
fn todo_write_has_input_examples() {
    let definition = spec("TodoWrite").definition;
    let states: Vec<_> =
        definition["input_examples"][0]["todos"].as_array().unwrap().iter().map(|t| &t["status"]).collect();
    assert!(states.contains(&&json!("in_progress")) && states.contains(&&json!("pending")));
}

#[test]
fn definitions_are_as_reviewed() {
    for spec in specs() {
        insta::assert_json_snapshot!(spec.name, spec.definition);
    }
}
