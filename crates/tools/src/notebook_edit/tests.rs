use serde_json::{Value, json};

use crate::harness::Bench;

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "sum",
   "metadata": {"n": 1.10e3},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["2\n"]}
   ],
   "source": [
    "1 + 1"
   ]
  }
 ],
 "metadata": {"big": 123456789012345678901234567890},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

async fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.write("n.ipynb", NOTEBOOK);
    bench.text("Read", json!({"file_path": "n.ipynb"})).await;
    bench
}

fn input(fields: &Value) -> Value {
    let mut input = json!({"notebook_path": "n.ipynb", "new_source": ""});
    for (key, value) in fields.as_object().unwrap() {
        input[key] = value.clone();
    }
    input
}

// EDIT-02
#[tokio::test]
async fn a_new_source_changes_nothing_else() {
    let mut bench = bench().await;
    bench.text("NotebookEdit", input(&json!({"cell_id": "sum", "new_source": "a = 1\na"}))).await;
    let expected = NOTEBOOK
        .replace("    \"1 + 1\"\n", "    \"a = 1\\n\",\n    \"a\"\n")
        .replace("\"execution_count\": 7", "\"execution_count\": null")
        .replace(
            "[\n    {\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"2\\n\"]}\n   ]",
            "[]",
        );
    assert_eq!(bench.content("n.ipynb"), expected);
    bench.text("NotebookEdit", input(&json!({"cell_id": "intro", "new_source": "# New"}))).await;
    assert!(bench.content("n.ipynb").contains("   \"source\": [\n    \"# New\"\n   ]\n"));
}

// EDIT-02
#[tokio::test]
async fn inserting_and_deleting_again_gives_the_same_bytes() {
    for after in [None, Some("intro"), Some("sum")] {
        let mut bench = bench().await;
        let report = bench
            .text("NotebookEdit", input(&json!({"cell_id": after, "new_source": "x\n", "cell_type": "code", "edit_mode": "insert"})))
            .await;
        let text = bench.content("n.ipynb");
        let cells = serde_json::from_str::<Value>(&text).unwrap()["cells"].as_array().unwrap().clone();
        let at = match after {
            None => 0,
            Some("intro") => 1,
            Some(_) => 2,
        };
        assert_eq!(cells.len(), 3);
        assert_eq!(cells[at]["source"], json!(["x\n"]));
        let id = cells[at]["id"].as_str().unwrap();
        assert!(report.contains(&format!("Inserted cell {id}")), "{report}");
        bench.text("NotebookEdit", input(&json!({"cell_id": id, "edit_mode": "delete"}))).await;
        assert_eq!(bench.content("n.ipynb"), NOTEBOOK);
    }
}

#[tokio::test]
async fn a_cell_can_change_its_kind() {
    let mut bench = bench().await;
    bench
        .text(
            "NotebookEdit",
            input(&json!({"cell_id": "sum", "new_source": "prose", "cell_type": "markdown"})),
        )
        .await;
    let value: Value = serde_json::from_str(&bench.content("n.ipynb")).unwrap();
    assert_eq!(
        value["cells"][1],
        json!({"cell_type": "markdown", "id": "sum", "metadata": {"n": 1100.0}, "source": ["prose"]})
    );
    for id in ["sum", "intro"] {
        bench.text("NotebookEdit", input(&json!({"cell_id": id, "edit_mode": "delete"}))).await;
    }
    assert!(bench.content("n.ipynb").contains("\"cells\": [],"));
    bench
        .text(
            "NotebookEdit",
            input(&json!({"cell_type": "markdown", "new_source": "a", "edit_mode": "insert"})),
        )
        .await;
    assert!(bench.content("n.ipynb").starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n"));
}

// STEER-62, STEER-63
#[tokio::test]
async fn preconditions_hold_for_notebooks() {
    let mut bench = Bench::new();
    bench.write("n.ipynb", NOTEBOOK);
    let replace = || input(&json!({"cell_id": "sum", "new_source": "x"}));
    assert!(bench.error("NotebookEdit", replace()).await.contains("has not been read yet"));
    bench.text("Read", json!({"file_path": "n.ipynb", "limit": 1})).await;
    assert!(bench.error("NotebookEdit", replace()).await.contains("Only cells 1 to 1"));
    bench.text("Read", json!({"file_path": "n.ipynb"})).await;
    assert!(
        bench
            .error("NotebookEdit", input(&json!({"cell_id": "no"})))
            .await
            .contains("The cells are: intro, sum")
    );
    assert!(bench.error("NotebookEdit", input(&json!({}))).await.contains("cell_id is required"));
    assert!(
        bench
            .error("NotebookEdit", input(&json!({"edit_mode": "insert"})))
            .await
            .contains("cell_type is required")
    );
    let sourceless = json!({"notebook_path": "n.ipynb", "cell_id": "sum"});
    assert!(bench.error("NotebookEdit", sourceless).await.contains("new_source is required to replace"));
    bench.write("n.ipynb", NOTEBOOK.replace("Title", "Other"));
    assert!(bench.error("NotebookEdit", replace()).await.contains("has changed since"));
    bench.write("f.txt", "x");
    let error = bench
        .error("NotebookEdit", json!({"notebook_path": "f.txt", "cell_id": "a", "new_source": ""}))
        .await;
    assert!(error.contains("is not a notebook"), "{error}");
}

#[tokio::test]
async fn a_notebook_on_one_line_stays_on_one_line() {
    let mut bench = Bench::new();
    let before = r#"{"cells":[{"cell_type":"code","source":"a","outputs":[],"metadata":{},"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":2}"#;
    bench.write("n.ipynb", before);
    bench.text("Read", json!({"file_path": "n.ipynb"})).await;
    bench.text("NotebookEdit", input(&json!({"cell_id": "cell-0", "new_source": "b\nc"}))).await;
    assert_eq!(bench.content("n.ipynb"), before.replace("\"a\"", "\"b\\nc\""));
}

#[tokio::test]
async fn what_would_become_of_the_cell_is_shown_beforehand() {
    let bench = bench().await;
    let lines = |fields: Value| {
        let change = bench.prepare("NotebookEdit", &input(&fields)).preview(&bench.view()).unwrap();
        assert!(!change.is_new);
        change.patch.unwrap()[0]["lines"].clone()
    };
    assert_eq!(
        lines(json!({"cell_id": "intro", "new_source": "# Title\nother text"})),
        json!([" # Title", "-text", "+other text"])
    );
    assert_eq!(lines(json!({"cell_id": "sum", "edit_mode": "delete"})), json!(["-1 + 1"]));
    let inserted = json!({"cell_id": "sum", "edit_mode": "insert", "cell_type": "code", "new_source": "x"});
    assert_eq!(lines(inserted), json!(["+x"]));
    assert_eq!(bench.content("n.ipynb"), NOTEBOOK, "nothing was written");
    let nowhere = input(&json!({"cell_id": "gone"}));
    assert!(bench.prepare("NotebookEdit", &nowhere).preview(&bench.view()).is_none());
}
