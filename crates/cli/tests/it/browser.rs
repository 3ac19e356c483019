//! A real browser, driven over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_testkit::Picture;

use crate::harness::{DEADLINE, eventually};

/// The browser reads commands from descriptor 3 and writes answers to descriptor 4.
const LAUNCH: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// How long a browser that was asked to go may be silent.
const FAREWELL: Duration = Duration::from_secs(5);

/// One window of a headless browser that reaches no network.
pub(crate) struct Browser {
    child: Child,
    stdin: ChildStdin,
    messages: mpsc::Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// What happened, in the browser's words.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = TempDir::new().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", LAUNCH])
            .arg(tiller_testenv::browser())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
            ])
            .args([
                "--remote-debugging-pipe",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--proxy-server=127.0.0.1:9",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in BufReader::new(stdout).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Self { child, stdin, messages, session: None, sent: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].take();
        let attached = browser.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.stdin.write_all(format!("{command}\0").as_bytes()).unwrap();
        self.stdin.flush().unwrap();
        loop {
            let mut message = self.messages.recv_timeout(DEADLINE).expect("the browser says nothing more");
            if message["id"] == self.sent {
                assert!(message.get("error").is_none(), "{method}: {message:#}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub(crate) fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", &json!({"url": format!("file://{}", file.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.messages.recv_timeout(DEADLINE).expect("the page is not loaded");
            self.events.push(message);
        }
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].take()
    }

    /// A window of this width, light or dark.
    pub(crate) fn look(&mut self, width: u32, scheme: &str) {
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        // The page hears of it on another way than what it is asked.
        let there =
            format!("innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches");
        eventually("the page has its new look", || self.eval(&there) == true);
    }

    /// What is in the window.
    pub(crate) fn screenshot(&mut self) -> Picture {
        let shot = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        Picture::from_base64_png(shot["data"].as_str().unwrap())
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// What the page has asked the browser to load since it was opened.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.told("Network.requestWillBeSent", "/params/request/url")
    }

    /// Errors, refused content and dialogs since the page was opened.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut all = self.told("Runtime.exceptionThrown", "/params/exceptionDetails/text");
        all.extend(self.told("Log.entryAdded", "/params/entry/text"));
        all.extend(self.told("Page.javascriptDialogOpening", "/params/message"));
        all
    }

    fn told(&self, method: &str, pointer: &str) -> Vec<String> {
        let events = self.events.iter().filter(|event| event["method"] == method);
        events.filter_map(|event| event.pointer(pointer)?.as_str().map(str::to_owned)).collect()
    }
}

impl Drop for Browser {
    /// Asks the browser to go, so that it takes its helpers along.
    fn drop(&mut self) {
        let close = json!({"id": 0, "method": "Browser.close"});
        let asked = self.stdin.write_all(format!("{close}\0").as_bytes());
        while asked.is_ok() && self.messages.recv_timeout(FAREWELL).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
