use super::*;
use crate::problem::Severity;
use crate::server::languages;

const FILE: &str = "/p/a.rs";

/// A client, and what it has said.
struct Talk {
    client: Client,
    reports: Arc<Mutex<Reports>>,
    dir: tempfile::TempDir,
}

impl Talk {
    fn begin() -> Self {
        let mut all = languages(std::collections::BTreeMap::new());
        all.retain(|language| language.name == "rust");
        let language = all.remove(0);
        let server = language.servers[0].clone();
        let terms = Terms { language: Arc::new(language), server, folders: vec!["/p".into()] };
        let reports = Arc::<Mutex<Reports>>::default();
        let client = Client::new(terms, Arc::clone(&reports));
        Self { client, reports, dir: tempfile::tempdir().unwrap() }
    }

    /// With a server that offers this.
    fn ready(capabilities: &Value) -> Self {
        let mut talk = Self::begin();
        let id = talk.said()[0]["id"].as_u64().unwrap();
        talk.answers(id, Ok(json!({"capabilities": capabilities})));
        talk.said();
        talk
    }

    fn said(&mut self) -> Vec<Value> {
        self.client.take_outgoing().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    fn methods(&mut self) -> Vec<String> {
        self.said().iter().map(|message| message["method"].as_str().unwrap_or("answer").to_owned()).collect()
    }

    fn answers(&mut self, id: u64, outcome: Result<Value, Failure>) {
        self.client.receive(Message::Response { id, outcome }).unwrap();
    }

    fn tells(&mut self, method: &str, params: Value) {
        self.client.receive(Message::Notification { method: method.to_owned(), params }).unwrap();
    }

    fn publishes(&mut self, version: Option<i64>, lines: &[u64]) {
        let diagnostics = diagnostics(lines);
        let params = json!({"uri": format!("file://{FILE}"), "version": version, "diagnostics": diagnostics});
        self.tells("textDocument/publishDiagnostics", params);
    }

    fn changed(&mut self, text: &str) {
        let on_disk = self.dir.path().join("file");
        fs_err::write(&on_disk, text).unwrap();
        self.client.changed(Path::new(FILE), OnDisk::read(&on_disk).unwrap());
    }

    fn lines(&self) -> Vec<u64> {
        let problems = self.reports.lock().unwrap().of(Path::new(FILE));
        assert!(problems.iter().all(|problem| problem.severity == Severity::Error));
        problems.iter().map(|problem| problem.line).collect()
    }
}

fn diagnostics(lines: &[u64]) -> Value {
    let one = |line: &u64| json!({"range": {"start": {"line": line - 1, "character": 0}}, "message": "odd"});
    lines.iter().map(one).collect()
}

fn pushing() -> Value {
    json!({"textDocumentSync": {"openClose": true, "change": 2, "save": {}}})
}

fn pulling() -> Value {
    json!({"textDocumentSync": 1, "diagnosticProvider": {"interFileDependencies": false}})
}

#[test]
fn nothing_is_said_before_the_greeting_is_answered() {
    let mut talk = Talk::begin();
    let greeting = talk.said();
    assert_eq!((greeting.len(), greeting[0]["method"].as_str()), (1, Some("initialize")));
    assert_eq!(greeting[0]["params"]["rootUri"], "file:///p");
    assert_eq!(greeting[0]["params"]["initializationOptions"]["cargo"]["targetDir"], true);
    talk.changed("one");
    talk.changed("two");
    assert_eq!(talk.methods(), Vec::<String>::new());
    assert!(!talk.client.is_settled());
    talk.answers(1, Ok(json!({"capabilities": pushing()})));
    let said = talk.said();
    let methods: Vec<_> = said.iter().map(|message| message["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["initialized", "textDocument/didOpen", "textDocument/didSave"]);
    assert_eq!(said[1]["params"]["textDocument"]["text"], "two", "only the last text counts");
    assert_eq!(said[1]["params"]["textDocument"]["languageId"], "rust");
}

#[test]
fn a_change_is_settled_when_it_was_reported_on() {
    let mut talk = Talk::ready(&pushing());
    talk.changed("one");
    assert_eq!(talk.methods(), ["textDocument/didOpen", "textDocument/didSave"]);
    assert!(!talk.client.is_settled());
    talk.publishes(Some(1), &[3, 7]);
    assert!(talk.client.is_settled());
    assert_eq!(talk.lines(), [3, 7]);

    talk.changed("two");
    assert_eq!(talk.methods(), ["textDocument/didChange", "textDocument/didSave"]);
    talk.publishes(Some(1), &[9]);
    assert!(!talk.client.is_settled(), "that was about the text before");
    assert_eq!(talk.lines(), [3, 7]);
    talk.publishes(None, &[]);
    assert!(talk.client.is_settled());
    assert_eq!(talk.lines(), Vec::<u64>::new());
}

#[test]
fn work_that_a_change_has_caused_is_waited_for_and_no_other() {
    let mut talk = Talk::ready(&pushing());
    let progress = |kind: &str| json!({"token": "check", "value": {"kind": kind}});
    talk.tells("$/progress", progress("begin"));
    assert!(talk.client.is_settled(), "nothing was changed");
    talk.changed("one");
    talk.publishes(Some(1), &[]);
    assert!(!talk.client.is_settled());
    talk.tells("$/progress", progress("end"));
    assert!(talk.client.is_settled());
    talk.tells("$/progress", progress("begin"));
    assert!(talk.client.is_settled());
}

#[test]
fn a_server_that_still_looks_at_the_project_has_not_reported() {
    let mut talk = Talk::ready(&pushing());
    let status = |quiescent: bool| json!({"health": "ok", "quiescent": quiescent});
    talk.changed("one");
    talk.tells("experimental/serverStatus", status(false));
    talk.publishes(Some(1), &[]);
    assert!(!talk.client.is_settled() && !talk.client.has_reported());
    talk.publishes(Some(1), &[2]);
    talk.tells("experimental/serverStatus", status(true));
    assert!(talk.client.is_settled() && talk.client.has_reported());
    assert_eq!(talk.lines(), [2]);
}

#[test]
fn a_server_that_lags_is_not_waited_for_until_it_speaks() {
    let mut talk = Talk::ready(&pushing());
    talk.changed("one");
    talk.client.stop_waiting();
    assert!(talk.client.is_settled() && !talk.client.has_reported());
    talk.changed("two");
    assert!(talk.client.is_settled());
    talk.publishes(Some(2), &[1]);
    talk.changed("three");
    assert!(!talk.client.is_settled());
}

#[test]
fn problems_are_asked_for_where_that_is_offered() {
    let mut talk = Talk::ready(&pulling());
    talk.changed("one");
    let said = talk.said();
    assert_eq!(said[2]["method"], "textDocument/diagnostic");
    let id = said[2]["id"].as_u64().unwrap();
    talk.publishes(None, &[5]);
    assert!(!talk.client.is_settled(), "what is pushed comes in addition");

    talk.answers(id, Err(Failure { code: DROPPED[0], message: String::new() }));
    let again = talk.said()[0]["id"].as_u64().unwrap();
    assert_ne!(again, id);
    talk.answers(id, Ok(json!({"kind": "full", "items": diagnostics(&[99])})));
    assert_eq!(talk.lines(), [5], "the first question has been answered already");
    let elsewhere = json!({"file:///p/b.rs": {"kind": "full", "items": diagnostics(&[4])}});
    let report = json!({"kind": "full", "items": diagnostics(&[1]), "relatedDocuments": elsewhere});
    talk.answers(again, Ok(report));
    assert!(talk.client.is_settled());
    assert_eq!(talk.lines(), [1, 5]);
    assert_eq!(talk.reports.lock().unwrap().of(Path::new("/p/b.rs"))[0].line, 4);

    let refresh = Message::Request {
        id: json!("r"),
        method: "workspace/diagnostic/refresh".to_owned(),
        params: Value::Null,
    };
    talk.client.receive(refresh).unwrap();
    let said = talk.said();
    assert_eq!(said[1]["method"], "textDocument/diagnostic");
    talk.answers(said[1]["id"].as_u64().unwrap(), Ok(json!({"kind": "unchanged", "resultId": "x"})));
    assert_eq!(talk.lines(), [1, 5]);
}

#[test]
fn a_question_is_not_repeated_for_ever() {
    let mut talk = Talk::ready(&pulling());
    talk.changed("one");
    let mut questions = 0;
    while let Some(asked) =
        talk.said().into_iter().find(|message| message["method"] == "textDocument/diagnostic")
    {
        questions += 1;
        let dropped = Failure { code: DROPPED[1], message: "again".to_owned() };
        talk.answers(asked["id"].as_u64().unwrap(), Err(dropped));
    }
    assert_eq!(questions, 1 + u32::from(REPETITIONS));
    assert!(talk.client.is_settled());
}

#[test]
fn a_file_that_is_gone_is_closed_and_forgotten() {
    let mut talk = Talk::ready(&pushing());
    talk.changed("one");
    talk.publishes(Some(1), &[1]);
    talk.said();
    talk.client.gone(Path::new(FILE));
    assert_eq!(talk.methods(), ["textDocument/didClose"]);
    assert_eq!(talk.lines(), Vec::<u64>::new());
    talk.client.gone(Path::new(FILE));
    assert_eq!(talk.methods(), Vec::<String>::new());
}

#[test]
fn leave_is_taken_in_two_steps() {
    let mut talk = Talk::ready(&pushing());
    talk.client.leave();
    let said = talk.said();
    assert_eq!(said[0]["method"], "shutdown");
    assert!(!talk.client.is_gone());
    talk.answers(said[0]["id"].as_u64().unwrap(), Ok(Value::Null));
    assert_eq!(talk.methods(), ["exit"]);
    assert!(talk.client.is_gone());

    let mut early = Talk::begin();
    early.client.leave();
    assert!(early.client.is_gone(), "one that has not answered yet is just ended");
}

#[test]
fn a_server_that_refuses_to_start_is_no_use() {
    let mut talk = Talk::begin();
    let outcome = Err(Failure { code: 1, message: "no licence".to_owned() });
    let why = talk.client.receive(Message::Response { id: 1, outcome }).unwrap_err();
    assert!(why.contains("no licence"), "{why}");
}

#[test]
fn answers_that_nobody_waits_for_and_nonsense_change_nothing() {
    let mut talk = Talk::ready(&pushing());
    talk.changed("one");
    talk.said();
    for id in [0, 1, 77, u64::MAX] {
        talk.answers(id, Ok(json!({"capabilities": {}})));
    }
    for params in [json!(null), json!([]), json!({"uri": 3}), json!({"uri": "untitled:1", "diagnostics": 7})]
    {
        talk.tells("textDocument/publishDiagnostics", params.clone());
        talk.tells("$/progress", params);
    }
    assert!(!talk.client.is_settled());
    assert_eq!((talk.methods(), talk.lines()), (Vec::new(), Vec::new()));
}
