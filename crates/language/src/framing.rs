//! Messages on a pipe: a header with the length, an empty line, the body.
//!
//! Invariant: whatever bytes come in, memory is bounded and nothing panics.

use bytes::{Buf, BytesMut};

/// The longest body that is read.
pub(crate) const LONGEST_BODY: usize = 32 * 1024 * 1024;
/// Bytes that may stand before a length. Some servers greet in plain text.
const LONGEST_NOISE: usize = 64 * 1024;
const LENGTH: &str = "content-length:";

/// Why what a server writes cannot be read any further.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("it announced a message of {0} bytes")]
    TooLong(String),
    #[error("it writes something that is not the language server protocol")]
    Noise,
}

/// A body with its header.
pub(crate) fn frame(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Finds bodies in what comes.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: BytesMut,
    /// The length that a header has named.
    length: Option<usize>,
    /// Bytes of headers and noise since the last body.
    noise: usize,
}

impl Decoder {
    /// Takes bytes in.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next body, if all of it is there.
    pub(crate) fn next_body(&mut self) -> Result<Option<BytesMut>, Unreadable> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            // Where a header is complete, a body begins, in which there may be line ends.
            let is_end = matches!(&self.buffer[..end], b"" | b"\r");
            match self.length {
                Some(length) if is_end => return Ok(self.body(end + 1, length)),
                _ => self.take_line(end)?,
            }
        }
        match self.noise + self.buffer.len() > LONGEST_NOISE {
            true => Err(Unreadable::Noise),
            false => Ok(None),
        }
    }

    fn body(&mut self, start: usize, length: usize) -> Option<BytesMut> {
        if self.buffer.len() - start < length {
            return None;
        }
        self.buffer.advance(start);
        (self.length, self.noise) = (None, 0);
        Some(self.buffer.split_to(length))
    }

    fn take_line(&mut self, end: usize) -> Result<(), Unreadable> {
        let line = self.buffer.split_to(end + 1);
        self.noise += line.len();
        if self.noise > LONGEST_NOISE {
            return Err(Unreadable::Noise);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        let is_length = line.get(..LENGTH.len()).is_some_and(|name| name.eq_ignore_ascii_case(LENGTH));
        if is_length {
            let value = line[LENGTH.len()..].trim();
            let length = value.parse().ok().filter(|length| *length <= LONGEST_BODY);
            self.length = Some(length.ok_or_else(|| Unreadable::TooLong(value.chars().take(40).collect()))?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Option<Unreadable>) {
        let mut decoder = Decoder::default();
        let mut bodies = Vec::new();
        let mut rest = bytes;
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let cut = cuts.next().copied().unwrap_or(rest.len()).clamp(1, rest.len());
            decoder.push(&rest[..cut]);
            rest = &rest[cut..];
            loop {
                match decoder.next_body() {
                    Ok(Some(body)) => bodies.push(String::from_utf8_lossy(&body).into_owned()),
                    Ok(None) => break,
                    Err(error) => return (bodies, Some(error)),
                }
            }
        }
        (bodies, None)
    }

    #[test]
    fn headers_may_be_written_in_many_ways() {
        let text = "listening on stdio\n\r\ncontent-length:  2 \r\nContent-Type: x\r\n\r\n{}\
                    Content-Length: 3\n\n\n\n\nContent-Length: 0\r\n\r\n";
        assert_eq!(
            decode(text.as_bytes(), &[]),
            (vec!["{}".to_owned(), "\n\n\n".to_owned(), String::new()], None)
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused_before_it_takes_memory() {
        for length in ["99999999999", "-1", "many", ""] {
            let (bodies, error) = decode(format!("Content-Length: {length}\r\n\r\n").as_bytes(), &[]);
            assert_eq!((bodies.len(), error), (0, Some(Unreadable::TooLong(length.to_owned()))));
        }
        assert_eq!(decode(&vec![b'x'; 2 * LONGEST_NOISE], &[1000]).1, Some(Unreadable::Noise));
        assert_eq!(decode(&vec![b'\n'; 2 * LONGEST_NOISE], &[1000]).1, Some(Unreadable::Noise));
    }

    proptest! {
        #[test]
        fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000), cut in 1..100usize) {
            decode(&bytes, &[cut]);
        }

        #[test]
        fn garbage_that_looks_like_headers_is_survived(
            parts in prop::collection::vec("Content-Length: [0-9]{0,3}|\r\n|\n|[a-z\\PC]{0,5}", 0..40),
            cut in 1..20usize,
        ) {
            decode(parts.concat().as_bytes(), &[cut]);
        }

        #[test]
        fn bodies_come_out_as_they_went_in_however_they_are_cut(
            bodies in prop::collection::vec("[\\PC\r\n]{0,50}", 0..10),
            cuts in prop::collection::vec(1..70usize, 1..5),
        ) {
            let bytes: Vec<u8> = bodies.iter().flat_map(|body| frame(body)).collect();
            prop_assert_eq!(decode(&bytes, &cuts), (bodies, None));
        }
    }
}
