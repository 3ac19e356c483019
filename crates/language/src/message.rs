//! What is said between Tiller and a language server: JSON-RPC.

use serde_json::{Map, Value, json};

const METHOD_NOT_FOUND: i64 = -32_601;

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// It wants an answer.
    Request { id: Value, method: String, params: Value },
    /// It tells something.
    Notification { method: String, params: Value },
    /// It answers a request of ours.
    Response { id: u64, outcome: Result<Value, Failure> },
}

/// Why a server did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl Message {
    /// Reads a body; nothing if it is no message. Our requests have numbers, so an answer to anything else is none.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let Value::Object(mut fields) = serde_json::from_slice(body).ok()? else { return None };
        let mut take = |name: &str| fields.remove(name).unwrap_or_default();
        match (take("method"), take("id")) {
            (Value::String(method), Value::Null) => {
                Some(Self::Notification { method, params: take("params") })
            }
            (Value::String(method), id) => Some(Self::Request { id, method, params: take("params") }),
            (Value::Null, id) => {
                let outcome = match take("error") {
                    Value::Null => Ok(take("result")),
                    error => Err(Failure {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    }),
                };
                Some(Self::Response { id: id.as_u64()?, outcome })
            }
            _ => None,
        }
    }
}

/// A request of ours.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Something we tell.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// What a server can ask about.
pub(crate) struct Knowledge<'a> {
    /// The configuration, by section.
    pub(crate) settings: &'a Map<String, Value>,
    /// The directories that are worked in.
    pub(crate) folders: &'a Value,
}

/// The answer to a request of a server. Nothing is changed on a server's behalf.
pub(crate) fn answer(id: &Value, method: &str, params: &Value, known: &Knowledge<'_>) -> String {
    let result = match method {
        "workspace/configuration" => {
            let items = params["items"].as_array().into_iter().flatten();
            items.map(|item| section(known.settings, item["section"].as_str().unwrap_or_default())).collect()
        }
        "workspace/workspaceFolders" => known.folders.clone(),
        "workspace/applyEdit" => json!({"applied": false, "failureReason": "edits are not accepted"}),
        "window/showDocument" => json!({"success": false}),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "window/showMessageRequest" => Value::Null,
        refresh if refresh.starts_with("workspace/") && refresh.ends_with("/refresh") => Value::Null,
        _ => {
            let error = json!({"code": METHOD_NOT_FOUND, "message": "Tiller does not offer this"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// What the settings say below a name with dots; all of them if there is none.
fn section(settings: &Map<String, Value>, name: &str) -> Value {
    if name.is_empty() {
        return Value::Object(settings.clone());
    }
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    match settings.get(first) {
        Some(found) if rest.is_empty() => found.clone(),
        Some(Value::Object(below)) => section(below, rest),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answered(method: &str, params: &Value) -> Value {
        let settings = json!({"python": {"analysis": {"mode": "strict"}}});
        let folders = json!([{"uri": "file:///p", "name": "p"}]);
        let known = Knowledge { settings: settings.as_object().unwrap(), folders: &folders };
        serde_json::from_str(&answer(&json!("x"), method, params, &known)).unwrap()
    }

    #[test]
    fn every_request_of_a_server_is_answered() {
        let items = json!({"items": [{"section": "python.analysis"}, {"section": "go"}, {}]});
        assert_eq!(
            answered("workspace/configuration", &items)["result"],
            json!([{"mode": "strict"}, null, {"python": {"analysis": {"mode": "strict"}}}])
        );
        assert_eq!(answered("workspace/workspaceFolders", &Value::Null)["result"][0]["name"], "p");
        assert_eq!(answered("workspace/applyEdit", &Value::Null)["result"]["applied"], false);
        for method in [
            "client/registerCapability",
            "window/workDoneProgress/create",
            "workspace/diagnostic/refresh",
            "workspace/semanticTokens/refresh",
        ] {
            let answer = answered(method, &Value::Null);
            assert!(
                answer.get("result").is_some_and(Value::is_null) && answer["id"] == "x",
                "{method}: {answer}"
            );
        }
        assert_eq!(answered("window/makeCoffee", &Value::Null)["error"]["code"], METHOD_NOT_FOUND);
    }

    #[test]
    fn messages_are_told_apart() {
        let parse = |value: Value| Message::parse(value.to_string().as_bytes());
        assert!(matches!(parse(json!({"id": 1, "method": "m"})), Some(Message::Request { .. })));
        assert!(matches!(parse(json!({"method": "m"})), Some(Message::Notification { .. })));
        assert_eq!(
            parse(json!({"id": 1, "result": 2})),
            Some(Message::Response { id: 1, outcome: Ok(json!(2)) })
        );
        let failed = parse(json!({"id": 1, "error": {"code": -1, "message": "no"}}));
        let failure = Failure { code: -1, message: "no".to_owned() };
        assert_eq!(failed, Some(Message::Response { id: 1, outcome: Err(failure) }));
        for nonsense in
            [json!({"id": "1", "result": 2}), json!({"id": null}), json!([]), json!({"method": 3})]
        {
            assert_eq!(parse(nonsense.clone()), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn any_body_is_survived(body in prop::collection::vec(any::<u8>(), 0..200)) {
            Message::parse(&body);
        }
    }
}
