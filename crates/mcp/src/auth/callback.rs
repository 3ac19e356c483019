//! The port at which the user's browser comes back.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

/// Bytes of a request that are read.
const REQUEST: usize = 16 * 1024;
/// How long one request may take; browsers open connections that they never use.
const PATIENCE: Duration = Duration::from_secs(5);

const DONE: &str = "Signed in. You can close this page and go back to Tiller.";
const NOTHING: &str = "There is nothing here.";

/// Waits for a request for the page, answers it, and gives its whole address.
pub(super) async fn wait(listener: &TcpListener, page: &str) -> io::Result<String> {
    let port = listener.local_addr()?.port();
    loop {
        let (mut stream, _) = listener.accept().await?;
        let Ok(Ok(Some(target))) = timeout(PATIENCE, target(&mut stream)).await else { continue };
        let is_it = target.split('?').next() == Some(page) && target.contains('?');
        let _ = timeout(PATIENCE, answer(&mut stream, is_it)).await;
        if is_it {
            return Ok(format!("http://127.0.0.1:{port}{target}"));
        }
    }
}

/// What a service says when it refuses.
pub(super) fn refusal(back: &str) -> Option<String> {
    let url = Url::parse(back).ok()?;
    let said =
        |wanted: &str| url.query_pairs().find(|(key, _)| key == wanted).map(|(_, value)| value.into_owned());
    said("error").map(|error| said("error_description").unwrap_or(error))
}

/// What a browser asks for.
async fn target(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut request = Vec::new();
    let mut chunk = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
        match stream.read(&mut chunk).await? {
            0 => break,
            length => request.extend_from_slice(&chunk[..length]),
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    Ok(match (words.next(), words.next()) {
        (Some("GET"), Some(target)) if target.starts_with('/') => Some(target.to_owned()),
        _ => None,
    })
}

async fn answer(stream: &mut TcpStream, is_it: bool) -> io::Result<()> {
    let (status, text) = if is_it { ("200 OK", DONE) } else { ("404 Not Found", NOTHING) };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(port: u16, target: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
    }

    #[tokio::test]
    async fn only_the_page_with_an_answer_counts() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let visits = async {
            get(port, "/favicon.ico").await;
            get(port, "/callback").await;
            get(port, "/callback?code=1&state=2").await;
        };
        let (back, ()) = tokio::join!(wait(&listener, "/callback"), visits);
        assert_eq!(back.unwrap(), format!("http://127.0.0.1:{port}/callback?code=1&state=2"));
    }

    #[test]
    fn a_refusal_is_known() {
        assert_eq!(
            refusal("http://127.0.0.1/callback?error=access_denied").as_deref(),
            Some("access_denied")
        );
        assert_eq!(refusal("http://127.0.0.1/callback?code=1"), None);
    }
}
