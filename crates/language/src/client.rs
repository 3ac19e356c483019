//! The conversation with one server, as a machine: what comes in changes state and leaves messages to be sent.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::capability::{Greeting, Offers, Save};
use crate::document::{Documents, OnDisk, Stamp};
use crate::message::{Failure, Knowledge, Message, answer, notification, request};
use crate::problem::Problem;
use crate::report::{Reports, Standing, Way};
use crate::server::{Language, Server};
use crate::uri;

/// Work that a server is known to be doing at once.
const MOST_WORK: usize = 64;
/// How often a question is repeated that the server has dropped.
const REPETITIONS: u8 = 3;
/// A server has dropped a question because something changed meanwhile.
const DROPPED: [i64; 2] = [-32_801, -32_802];

/// What a client knows from the beginning.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) language: Arc<Language>,
    pub(crate) server: Server,
    /// The directories that are worked in, the main one first.
    pub(crate) folders: Vec<PathBuf>,
}

/// One conversation.
pub(crate) struct Client {
    terms: Terms,
    folders: Value,
    reports: Arc<Mutex<Reports>>,
    phase: Phase,
    offers: Offers,
    last_id: u64,
    asked: HashMap<u64, Asked>,
    documents: Documents,
    /// Texts that wait until the server is ready.
    unsent: HashMap<PathBuf, String>,
    /// What the server says it is doing.
    working: HashSet<String>,
    /// The server says that it has not seen the whole project yet.
    looking: bool,
    /// Something was changed, and nobody has given up waiting for the reports.
    fresh: bool,
    /// The server has reported on all that was changed before anybody gave up waiting.
    reported: bool,
    /// The last wait was in vain, and the server has said nothing since.
    lagging: bool,
    outgoing: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    Ready,
    Leaving,
    Gone,
}

enum Asked {
    Initialize,
    Shutdown,
    Problems { path: PathBuf, version: i64, repetitions: u8 },
}

impl Client {
    /// Begins a conversation.
    pub(crate) fn new(terms: Terms, reports: Arc<Mutex<Reports>>) -> Self {
        let greeting = Greeting { server: &terms.server, folders: &terms.folders };
        let (params, folders) = (greeting.params(), greeting.folders());
        let mut client = Self {
            terms,
            folders,
            reports,
            phase: Phase::Greeting,
            offers: Offers::default(),
            last_id: 0,
            asked: HashMap::new(),
            documents: Documents::default(),
            unsent: HashMap::new(),
            working: HashSet::new(),
            looking: false,
            fresh: false,
            reported: false,
            lagging: false,
            outgoing: Vec::new(),
        };
        client.ask("initialize", &params, Asked::Initialize);
        client
    }

    /// What has to be sent.
    pub(crate) fn take_outgoing(&mut self) -> Vec<String> {
        std::mem::take(&mut self.outgoing)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether the server knows that it should end.
    pub(crate) fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// The open files with their stamps.
    pub(crate) fn open_files(&self) -> Vec<(PathBuf, Stamp)> {
        self.documents.iter().map(|(path, document)| (path.clone(), document.stamp)).collect()
    }

    /// Whether there is nothing worth waiting for.
    pub(crate) fn is_settled(&mut self) -> bool {
        let is_idle = self.working.is_empty() && !self.looking;
        let done = self.is_ready() && !self.documents.are_awaited() && is_idle;
        self.reported |= self.fresh && done;
        self.fresh = self.fresh && !done;
        self.lagging || !self.fresh
    }

    /// Whether reports have ever come as long as somebody wanted them.
    pub(crate) fn has_reported(&self) -> bool {
        self.reported
    }

    /// Nobody waits any longer. Until the server says something, nobody will.
    pub(crate) fn stop_waiting(&mut self) {
        if !self.is_settled() {
            self.lagging = true;
            self.fresh = false;
            self.documents.give_up();
        }
    }

    /// A file was written.
    pub(crate) fn changed(&mut self, path: &Path, OnDisk { text, stamp }: OnDisk) {
        let version = self.documents.changed(path, stamp);
        self.fresh = true;
        match self.phase {
            Phase::Greeting => _ = self.unsent.insert(path.to_owned(), text),
            Phase::Ready => self.send(path, version, &text),
            Phase::Leaving | Phase::Gone => {}
        }
        while let Some(surplus) = self.documents.take_surplus() {
            self.close(&surplus);
        }
    }

    /// A file is gone, or cannot be told any more.
    pub(crate) fn gone(&mut self, path: &Path) {
        if self.documents.close(path) {
            self.close(path);
        }
    }

    /// The server is not needed any more.
    pub(crate) fn leave(&mut self) {
        if self.phase == Phase::Ready {
            self.phase = Phase::Leaving;
            self.ask("shutdown", &Value::Null, Asked::Shutdown);
        } else {
            self.phase = Phase::Gone;
        }
    }

    /// Takes in what the server says.
    ///
    /// # Errors
    /// Why there is no use in going on.
    pub(crate) fn receive(&mut self, message: Message) -> Result<(), String> {
        match message {
            Message::Request { id, method, params } => self.on_request(&id, &method, &params),
            Message::Notification { method, params } => self.on_notification(&method, &params),
            Message::Response { id, outcome } => match self.asked.remove(&id) {
                Some(Asked::Initialize) => self.on_greeted(outcome)?,
                Some(Asked::Shutdown) => {
                    self.tell("exit", &Value::Null);
                    self.phase = Phase::Gone;
                }
                Some(Asked::Problems { path, version, repetitions }) => {
                    self.on_problems(path, version, repetitions, outcome);
                }
                None => tracing::debug!(id, "a language server answered what nobody had asked"),
            },
        }
        Ok(())
    }

    fn on_request(&mut self, id: &Value, method: &str, params: &Value) {
        let known = Knowledge { settings: &self.terms.server.settings, folders: &self.folders };
        let answer = answer(id, method, params, &known);
        self.outgoing.push(answer);
        if method == "workspace/diagnostic/refresh" && self.is_ready() {
            self.pull_all();
        }
    }

    fn on_notification(&mut self, method: &str, params: &Value) {
        match method {
            "textDocument/publishDiagnostics" => self.on_published(params),
            "$/progress" => {
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") if self.working.len() < MOST_WORK => _ = self.working.insert(token),
                    Some("end") => _ = self.working.remove(&token),
                    _ => {}
                }
            }
            "experimental/serverStatus" => self.looking = params["quiescent"] == false,
            _ => tracing::trace!(method, %params, "a language server says"),
        }
    }

    fn on_greeted(&mut self, outcome: Result<Value, Failure>) -> Result<(), String> {
        let result = outcome.map_err(|failure| format!("did not start: {}", failure.message))?;
        self.offers = Offers::read(&result["capabilities"]);
        self.phase = Phase::Ready;
        self.tell("initialized", &json!({}));
        if !self.terms.server.settings.is_empty() {
            let settings = json!({"settings": self.terms.server.settings});
            self.tell("workspace/didChangeConfiguration", &settings);
        }
        let open: Vec<(PathBuf, i64)> =
            self.documents.iter().map(|(path, document)| (path.clone(), document.version)).collect();
        for (path, version) in open {
            if let Some(text) = self.unsent.remove(&path) {
                self.open(&path, version, &text);
            }
        }
        self.unsent.clear();
        Ok(())
    }

    fn on_published(&mut self, params: &Value) {
        let Some(path) = params["uri"].as_str().and_then(uri::path) else { return };
        let pulls = self.offers.pull.is_some();
        let document = self.documents.get_mut(&path);
        let told = params["version"].as_i64();
        if let (Some(document), Some(told)) = (&document, told)
            && told < document.version
        {
            return;
        }
        let standing = if document.is_some() { Standing::Open } else { Standing::Elsewhere };
        if let Some(document) = document.filter(|_| !pulls) {
            document.awaited = false;
            self.lagging = false;
        }
        self.reports().put(path, Way::Pushed, Problem::read_all(&params["diagnostics"]), standing);
    }

    fn on_problems(&mut self, path: PathBuf, version: i64, repetitions: u8, outcome: Result<Value, Failure>) {
        let Some(document) = self.documents.get_mut(&path).filter(|document| document.version == version)
        else {
            return;
        };
        match outcome {
            Err(failure) if DROPPED.contains(&failure.code) && repetitions < REPETITIONS => {
                self.pull(&path, version, repetitions + 1);
                return;
            }
            Err(failure) => {
                document.awaited = false;
                tracing::debug!(code = failure.code, "no problems were told: {}", failure.message);
            }
            Ok(report) => {
                document.awaited = false;
                self.on_report(path, &report);
                let related = report["relatedDocuments"].as_object().into_iter().flatten();
                for (uri, report) in related {
                    if let Some(path) = uri::path(uri) {
                        self.on_report(path, report);
                    }
                }
            }
        }
        self.lagging = false;
    }

    fn on_report(&mut self, path: PathBuf, report: &Value) {
        if report["kind"] == "full" {
            let standing =
                if self.documents.get_mut(&path).is_some() { Standing::Open } else { Standing::Elsewhere };
            self.reports().put(path, Way::Pulled, Problem::read_all(&report["items"]), standing);
        }
    }

    fn send(&mut self, path: &Path, version: i64, text: &str) {
        if version == 1 {
            self.open(path, version, text);
            return;
        }
        let Some(uri) = uri::of(path) else { return };
        if self.offers.change {
            let document = json!({"uri": uri, "version": version});
            let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
            self.tell("textDocument/didChange", &params);
        }
        self.saved(path, version, &uri, text);
    }

    fn open(&mut self, path: &Path, version: i64, text: &str) {
        let Some(uri) = uri::of(path) else { return };
        let id = self.terms.language.id_of(path);
        let document = json!({"uri": uri, "languageId": id, "version": version, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": document}));
        self.saved(path, version, &uri, text);
    }

    /// The file is on disk already; some servers check only then.
    fn saved(&mut self, path: &Path, version: i64, uri: &str, text: &str) {
        let document = json!({"uri": uri});
        match self.offers.save {
            Save::Unwanted => {}
            Save::Plain => self.tell("textDocument/didSave", &json!({"textDocument": document})),
            Save::WithText => {
                self.tell("textDocument/didSave", &json!({"textDocument": document, "text": text}));
            }
        }
        match &self.offers.pull {
            Some(pull) if pull.between_files => self.pull_all(),
            Some(_) => self.pull(path, version, 0),
            None => {}
        }
    }

    fn close(&mut self, path: &Path) {
        self.unsent.remove(path);
        self.reports().forget(path);
        if let (Phase::Ready, Some(uri)) = (self.phase, uri::of(path)) {
            self.tell("textDocument/didClose", &json!({"textDocument": {"uri": uri}}));
        }
    }

    fn pull_all(&mut self) {
        let open: Vec<(PathBuf, i64)> =
            self.documents.iter().map(|(path, document)| (path.clone(), document.version)).collect();
        for (path, version) in open {
            self.pull(&path, version, 0);
        }
    }

    fn pull(&mut self, path: &Path, version: i64, repetitions: u8) {
        let (Some(uri), Some(pull)) = (uri::of(path), &self.offers.pull) else { return };
        let mut params = json!({"textDocument": {"uri": uri}});
        if let Some(identifier) = &pull.identifier {
            params["identifier"] = json!(identifier);
        }
        // What was asked before about this file is of no use any more.
        self.asked.retain(|_, asked| !matches!(asked, Asked::Problems { path: about, .. } if about == path));
        let asked = Asked::Problems { path: path.to_owned(), version, repetitions };
        self.ask("textDocument/diagnostic", &params, asked);
    }

    fn ask(&mut self, method: &str, params: &Value, asked: Asked) {
        self.last_id += 1;
        self.asked.insert(self.last_id, asked);
        self.outgoing.push(request(self.last_id, method, params));
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.outgoing.push(notification(method, params));
    }

    fn reports(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
