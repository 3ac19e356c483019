//! Servers of the Model Context Protocol for tests.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program, to be run with Python, that is a server and behaves as its arguments say, also badly.
pub fn mcp_server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mcp_server.py")
}

/// A service over HTTP that demands a sign-in, and gives it to everybody. It ends with this.
pub struct McpService {
    child: Child,
    port: u16,
}

impl McpService {
    /// Starts one on a free port.
    ///
    /// # Panics
    ///
    /// When Python cannot be run.
    pub fn start() -> Self {
        Self::behaving(&[])
    }

    /// Starts one that behaves as these words say.
    ///
    /// # Panics
    ///
    /// When Python cannot be run.
    pub fn behaving(how: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mcp_service.py");
        let mut command = Command::new("python3");
        command.arg(script).args(how).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 should be there");
        let mut line = String::new();
        let output = child.stdout.take().expect("the output was asked for");
        BufReader::new(output).read_line(&mut line).expect("the service should say its port");
        let port = line.trim().parse().expect("the service should say its port");
        Self { child, port }
    }

    /// Where it is spoken to as before 2025.
    pub fn sse_url(&self) -> String {
        format!("http://127.0.0.1:{}/sse", self.port)
    }

    /// What whoever is signed in shows.
    pub fn authorization() -> &'static str {
        "Bearer token-for-tests"
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for McpService {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends when its input does.
        let _ = self.child.wait();
    }
}
