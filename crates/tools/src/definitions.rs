//! What the provider is told about the file tools.

use serde_json::json;

use crate::harness::Bench;
use crate::{Registry, file_tools};

#[test]
fn definitions_are_as_agreed() {
    for spec in file_tools(Registry::default()).specs() {
        insta::assert_json_snapshot!(spec.name, spec.definition);
    }
}

#[test]
fn prompts_stay_small() {
    let limits =
        [("Read", 220), ("Edit", 200), ("Write", 110), ("NotebookEdit", 130), ("Glob", 110), ("Grep", 220)];
    for (spec, (name, tokens)) in file_tools(Registry::default()).specs().iter().zip(limits) {
        assert_eq!(spec.name, name);
        let used = spec.definition["description"].as_str().unwrap().len().div_ceil(4);
        assert!(used <= tokens, "{name}: {used} tokens");
    }
}

// EXEC-02
#[test]
fn the_safety_table_holds() {
    let bench = Bench::new();
    for (tool, input, safe) in [
        ("Read", json!({"file_path": "f"}), true),
        ("Glob", json!({"pattern": "*"}), true),
        ("Grep", json!({"pattern": "x"}), true),
        ("Write", json!({"file_path": "f", "content": ""}), false),
        ("Edit", json!({"file_path": "f", "old_string": "a", "new_string": "b"}), false),
        ("NotebookEdit", json!({"notebook_path": "f.ipynb", "new_source": ""}), false),
    ] {
        let call = bench.prepare(tool, &input);
        assert_eq!((call.parallel(), call.read_only()), (safe, safe), "{tool}");
    }
}
