//! Bounds on what a service may send.

use std::io;

use futures::StreamExt;
use reqwest::Response;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use sse_stream::SseStream;

use super::HttpError;

/// Bytes that one answer or one event of a service may have.
pub(crate) const LARGEST: usize = 16 * 1024 * 1024;

/// Reads an answer, as far as it is not too long.
///
/// # Errors
/// When it is, or does not arrive whole.
pub(crate) async fn body(mut response: Response, at_most: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > at_most - body.len() {
            return Err(HttpError::TooLong(at_most));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The events of an answer, as far as none is too long.
pub(crate) fn events(response: Response, at_most: usize) -> BoxedSseResponse {
    let mut event = Event::default();
    let chunks = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        event.pass(&chunk);
        if event.length > at_most {
            return Err(io::Error::other(HttpError::TooLong(at_most)));
        }
        Ok(chunk)
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

/// How long the present event is so far.
#[derive(Default)]
struct Event {
    length: usize,
    /// Bytes of the present line.
    line: usize,
}

impl Event {
    /// An empty line ends an event.
    fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.length += 1;
            match byte {
                b'\n' if self.line == 0 => self.length = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_measured_by_itself() {
        let length = |text: &str| {
            let mut event = Event::default();
            event.pass(text.as_bytes());
            event.length
        };
        assert_eq!(length("data: 12\n\ndata: 3"), 7);
        assert_eq!(length("data: 12\r\n\r\ndata: 3"), 7);
        assert_eq!(length("data: 12\ndata: 3"), 16, "lines of one event belong together");
        assert_eq!(length("data: 12\r\ndata: 3"), 17);
    }
}
