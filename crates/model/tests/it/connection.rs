//! Connections: kept while useful, given up at once when not.

use std::time::Duration;

use futures::StreamExt;
use tiller_model::{Model, ModelEvent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::harness::{answer, ask, client_with};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(30);

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn event(json: &str) -> String {
    chunk(&format!("data: {json}\n\n"))
}

fn start() -> String {
    event(
        r#"{"type":"message_start","message":{"id":"m","model":"x","content":[],"usage":{"input_tokens":1}}}"#,
    )
}

fn stop() -> String {
    event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#)
        + &event(r#"{"type":"message_stop"}"#)
}

/// Reads one request, which ends with its body's closing bracket.
async fn read_request(socket: &mut TcpStream) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"]}") {
        assert!(socket.read_buf(&mut seen).await.unwrap() > 0, "the client went away");
    }
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    let (listener, url) = listen().await;
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        socket.write_all((HEAD.to_owned() + &start()).as_bytes()).await.unwrap();
        let end = timeout(PATIENCE, socket.read(&mut [0; 16])).await.unwrap();
        assert!(matches!(end, Ok(0) | Err(_)), "the client hung up");
    };
    let client = client_with(&[("ANTHROPIC_BASE_URL", &url)]);
    let reader = async {
        let mut stream = client.stream(ask("go"));
        assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Started { .. }))));
        drop(stream);
    };
    futures::join!(server, reader);
}

#[tokio::test]
async fn dropping_the_stream_ends_a_pause() {
    let (listener, url) = listen().await;
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        let busy = "HTTP/1.1 529 Overloaded\r\nretry-after: 500\r\ncontent-length: 0\r\n\r\n";
        socket.write_all(busy.as_bytes()).await.unwrap();
        socket
    };
    let client = client_with(&[("ANTHROPIC_BASE_URL", &url)]);
    let mut stream = client.stream(ask("go"));
    let (first, _socket) = futures::join!(stream.next(), server);
    assert!(matches!(first, Some(Ok(ModelEvent::Retrying { delay, .. })) if delay.as_secs() == 500));
    drop(stream);
    // Whoever still waited would ask again when the pause is over.
    tokio::time::pause();
    for wait in [Duration::from_secs(501), Duration::from_secs(1), Duration::from_secs(1)] {
        let again = timeout(wait, listener.accept()).await;
        assert!(again.is_err(), "nothing is left that could ask again");
    }
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let (listener, url) = listen().await;
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            timeout(PATIENCE, read_request(&mut socket)).await.unwrap();
            socket.write_all((HEAD.to_owned() + &start() + &stop()).as_bytes()).await.unwrap();
            socket.flush().await.unwrap();
            socket.write_all(b"0\r\n\r\n").await.unwrap();
        }
    };
    let client = client_with(&[("ANTHROPIC_BASE_URL", &url)]);
    let reader = async {
        for _ in 0..3 {
            assert_eq!(answer(&client, ask("go")).await.outline(), ["started", "finished end_turn"]);
        }
    };
    futures::join!(server, reader);
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_asked_for_again_in_one_piece() {
    let (listener, url) = listen().await;
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let html = "<html>Sign in</html>";
        let page = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{html}", html.len());
        for _ in 0..2 {
            read_request(&mut socket).await;
            socket.write_all(page.as_bytes()).await.unwrap();
        }
    };
    let client = client_with(&[("ANTHROPIC_BASE_URL", &url)]);
    let (answer, ()) = futures::join!(answer(&client, ask("go")), server);
    assert_eq!(answer.outline(), ["abandoned broken", "error protocol"]);
}
