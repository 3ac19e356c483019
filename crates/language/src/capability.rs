//! What client and server can do, as they tell each other when they begin.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::server::Server;
use crate::uri;

/// The first thing that a server is told.
pub(crate) struct Greeting<'a> {
    pub(crate) server: &'a Server,
    pub(crate) folders: &'a [PathBuf],
}

impl Greeting<'_> {
    /// The parameters of `initialize`.
    pub(crate) fn params(&self) -> Value {
        let root = self.folders.first();
        let mut params = json!({
            // A confined server cannot see our process and would think that we have died. It ends with us anyway.
            "processId": null,
            "clientInfo": {"name": "tiller", "version": env!("CARGO_PKG_VERSION")},
            "rootPath": root,
            "rootUri": root.and_then(|root| uri::of(root)),
            "workspaceFolders": self.folders(),
            "capabilities": capabilities(),
        });
        if !self.server.initialization_options.is_empty() {
            params["initializationOptions"] = Value::Object(self.server.initialization_options.clone());
        }
        params
    }

    /// The working directories as the protocol has them.
    pub(crate) fn folders(&self) -> Value {
        let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = |folder: &PathBuf| json!({"uri": uri::of(folder), "name": name(folder)});
        self.folders.iter().map(folder).collect()
    }
}

/// Watching files is left to servers: they do it themselves if the client does not offer it.
fn capabilities() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-32", "utf-16"]},
        "textDocument": {
            "synchronization": {"didSave": true},
            "publishDiagnostics": {"versionSupport": true},
            "diagnostic": {"relatedDocumentSupport": true},
        },
        "workspace": {
            "configuration": true,
            "workspaceFolders": true,
            "diagnostics": {"refreshSupport": true},
        },
        "window": {"workDoneProgress": true},
        // Of rust-analyzer: it says whether it still looks at the project, also between two kinds of work.
        "experimental": {"serverStatusNotification": true},
    })
}

/// What a server offers, as far as it matters here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    /// It wants to know of changes.
    pub(crate) change: bool,
    pub(crate) save: Save,
    /// It can be asked for problems.
    pub(crate) pull: Option<Pull>,
}

/// What a server wants to know when a file is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Save {
    #[default]
    Unwanted,
    Plain,
    WithText,
}

/// How a server is asked for problems.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pull {
    pub(crate) identifier: Option<String>,
    /// A change in one file can make problems in another.
    pub(crate) between_files: bool,
}

impl Offers {
    pub(crate) fn read(capabilities: &Value) -> Self {
        let sync = &capabilities["textDocumentSync"];
        let kind = sync.as_u64().or_else(|| sync["change"].as_u64()).unwrap_or_default();
        let save = match &sync["save"] {
            Value::Object(save) if save.get("includeText") == Some(&json!(true)) => Save::WithText,
            Value::Object(_) | Value::Bool(true) => Save::Plain,
            // The short form says nothing of saving; servers of that age want to know.
            _ if sync.is_u64() && kind > 0 => Save::Plain,
            _ => Save::Unwanted,
        };
        let pull = capabilities["diagnosticProvider"].as_object().map(|provider| Pull {
            identifier: provider.get("identifier").and_then(Value::as_str).map(str::to_owned),
            between_files: provider.get("interFileDependencies") == Some(&json!(true)),
        });
        Self { change: kind > 0, save, pull }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_read_in_all_their_forms() {
        let offers = |change, save, pull| Offers { change, save, pull };
        for (capabilities, wanted) in [
            (json!({}), offers(false, Save::Unwanted, None)),
            (json!({"textDocumentSync": 1}), offers(true, Save::Plain, None)),
            (json!({"textDocumentSync": 0}), offers(false, Save::Unwanted, None)),
            (json!({"textDocumentSync": {"change": 2}}), offers(true, Save::Unwanted, None)),
            (json!({"textDocumentSync": {"change": 2, "save": true}}), offers(true, Save::Plain, None)),
            (
                json!({"textDocumentSync": {"save": {"includeText": true}}}),
                offers(false, Save::WithText, None),
            ),
            (
                json!({"diagnosticProvider": {"identifier": "x", "interFileDependencies": true}}),
                offers(
                    false,
                    Save::Unwanted,
                    Some(Pull { identifier: Some("x".to_owned()), between_files: true }),
                ),
            ),
        ] {
            assert_eq!(Offers::read(&capabilities), wanted, "{capabilities}");
        }
    }
}
