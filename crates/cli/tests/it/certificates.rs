//! Encrypted connections whose certificates only the user trusts, as behind the proxy of a company.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tiller_testkit::Reply;

use crate::harness::{World, result_text};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls");

/// An encrypted way to a port of this machine.
struct Relay {
    process: Child,
    url: String,
}

impl Relay {
    fn to(port: u16) -> Self {
        let mut process = Command::new(tiller_testenv::python())
            .arg(format!("{DATA}/relay.py"))
            .args([format!("{DATA}/server.pem"), format!("{DATA}/server.key"), port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, url: format!("https://localhost:{}", port.trim()) }
    }

    fn to_model(world: &World) -> Self {
        Self::to(world.server.url().rsplit(':').next().unwrap().parse().unwrap())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn trusting(world: World) -> World {
    world.var("NODE_EXTRA_CA_CERTS", &format!("{DATA}/authority.pem"))
}

#[test]
fn the_model_is_reached_if_its_certificate_is_trusted() {
    let world = World::new();
    let relay = Relay::to_model(&world);
    let world = world.var("ANTHROPIC_BASE_URL", &relay.url).var("TILLER_MAX_RETRIES", "0");
    let run = world.run(&["-p", "hi"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains("NODE_EXTRA_CA_CERTS"), "{}", run.stderr);
    world.server.reply(Reply::text("hello"));
    let world = trusting(world);
    assert_eq!(world.run(&["-p", "hi"]).ok().stdout, "hello\n");
    world.server.assert_clean();
}

#[test]
fn pages_are_read_with_the_certificates_that_the_model_is_reached_with() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = Relay::to(listener.local_addr().unwrap().port());
    let page = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        while lines.next().is_some_and(|line| !line.is_empty()) {}
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 5";
        write!(&stream, "{head}\r\n\r\nwords").unwrap();
    });
    let world = trusting(World::new());
    let call = json!({"url": format!("{}/page", relay.url), "prompt": "what does it say?"});
    world.server.reply(Reply::new().tool_with_id("w", "WebFetch", call));
    world.server.reply(Reply::text("It says: words."));
    world.server.reply(Reply::text("done"));
    world.run(&["-p", "go", "--allowedTools", "WebFetch(domain:localhost)"]).ok();
    let requests = world.server.messages();
    assert_eq!(result_text(requests[2].body(), "w"), "It says: words.");
    page.join().unwrap();
    world.server.assert_clean();
}

#[test]
fn certificates_that_cannot_be_read_are_named() {
    let world = World::new().var("ANTHROPIC_BASE_URL", "https://localhost:9");
    let run = world.var("NODE_EXTRA_CA_CERTS", "/nowhere/ca.pem").run(&["-p", "hi"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        run.stderr.contains("NODE_EXTRA_CA_CERTS") && run.stderr.contains("/nowhere/ca.pem"),
        "{}",
        run.stderr
    );
}
