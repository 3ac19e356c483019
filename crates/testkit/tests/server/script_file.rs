//! The server as a program of its own, fed by a script file.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use crate::support::{Client, ask};

const SCRIPT: &str = r#"{
  "replies": [
    { "steps": [{ "type": "thinking", "thinking": "Look first." },
                { "type": "tool", "name": "Read", "input": { "file_path": "/tmp/a" } }] },
    { "steps": [{ "type": "text", "text": "Done." }], "chunk": 2 }
  ],
  "conversations": [
    { "match": { "first_user_contains": "Summarise" },
      "replies": [{ "failure": { "status": 529, "kind": "overloaded_error", "message": "Overloaded" } }] }
  ],
  "cycle": true
}"#;

#[tokio::test]
async fn a_script_file_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script.json");
    fs_err::write(&script, SCRIPT).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_model-server"))
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let client = Client::at(url.trim(), "sk-ant-test-key");
    for _ in 0..2 {
        let call = client.events(&ask("hi")).await;
        assert_eq!(call.last().unwrap()["type"], "message_stop");
        assert_eq!(call[call.len() - 2]["delta"]["stop_reason"], "tool_use");
        let text = client.events(&ask("hi")).await;
        assert_eq!(text[2]["delta"]["text"], "Do");
    }
    assert_eq!(client.post(&ask("Summarise this")).await.0, 529);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
}
