use serde_json::{Value, json};

use crate::harness::Bench;

fn question(text: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({"label": label, "description": "what it means"})).collect();
    json!({"question": text, "header": "Topic", "options": options, "multiSelect": false})
}

fn ask(questions: &[Value]) -> Value {
    json!({"questions": questions})
}

// EXEC-39
#[test]
fn questions_have_their_bounds() {
    let bench = Bench::new();
    let check = |input: &Value| bench.prepare("AskUserQuestion", input).validate(&bench.view());
    let good = question("Which?", &["A", "B"]);
    check(&ask(std::slice::from_ref(&good))).unwrap();
    let four: Vec<Value> = ["1", "2", "3", "4"].map(|text| question(text, &["A", "B", "C", "D"])).into();
    check(&ask(&four)).unwrap();
    let mut long_header = good.clone();
    long_header["header"] = json!("thirteen long");
    let five: Vec<Value> = ["1", "2", "3", "4", "5"].map(|text| question(text, &["A", "B"])).into();
    for (input, wrong) in [
        (ask(&[]), "one to 4"),
        (ask(&five), "one to 4"),
        (ask(&[question("Which?", &["A"])]), "two to four"),
        (ask(&[question("Which?", &["A", "B", "C", "D", "E"])]), "two to four"),
        (ask(&[question("Which?", &["A", "A"])]), "label"),
        (ask(&[question("Which?", &["A", " "])]), "label"),
        (ask(&[question(" ", &["A", "B"])]), "no text"),
        (ask(&[long_header]), "12 characters"),
        (ask(&[good.clone(), good]), "text of its own"),
    ] {
        let problem = check(&input).unwrap_err();
        assert!(problem.contains(wrong), "{problem}");
    }
}

// EXEC-39
#[tokio::test]
async fn answers_are_told_by_question() {
    let mut bench = Bench::new();
    let mut input = ask(&[
        question("Which?", &["A", "B"]),
        question("What?", &["C", "D"]),
        question("Why?", &["E", "F"]),
    ]);
    input["answers"] = json!({"Which?": "my own words", "What?": ["C", "D"], "Nobody asked": "x"});
    let done = bench.call("AskUserQuestion", input.clone()).await.unwrap();
    assert_eq!(
        done.content[0].as_text().unwrap(),
        "The user has answered:\n- Which?\n  my own words\n- What?\n  C, D\n- Why?\n  (no answer)"
    );
    assert_eq!(done.detail["answers"], json!({"Which?": "my own words", "What?": "C, D"}));
    input["answers"] = json!({});
    let done = bench.call("AskUserQuestion", input).await.unwrap();
    assert!(done.content[0].as_text().unwrap().contains("none of the questions"));
}

#[test]
fn the_model_is_not_offered_to_answer_itself() {
    let spec = crate::plan_tools(crate::Registry::default()).specs().pop().unwrap();
    assert_eq!(spec.name, "AskUserQuestion");
    assert_eq!(spec.definition["input_schema"]["properties"].get("answers"), None);
}
