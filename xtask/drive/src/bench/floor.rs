//! The floor: a client that does the work and nothing else. No parsing, no runtime, no log; HTTP by hand over one
//! connection, one body that grows in place.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use anyhow::{Context, bail};

/// How a chunked answer ends.
const END: &[u8] = b"\r\n0\r\n\r\n";

/// `floor once SIZE`: one request and its answer. `floor steps FILE COMMAND`: a request for each size in the file, with
/// the command between them.
pub(super) fn run(options: &[&str]) -> anyhow::Result<()> {
    let url = std::env::var_os("ANTHROPIC_BASE_URL").and_then(|url| url.into_string().ok());
    let url = url.context("ANTHROPIC_BASE_URL is not set")?;
    let mut client = Client::connect(&url)?;
    match options {
        ["once", size] => client.ask(size.parse()?),
        ["steps", sizes, command] => {
            let sizes = fs_err::read_to_string(sizes)?;
            for (at, size) in sizes.lines().enumerate() {
                if at > 0 {
                    Command::new("/bin/sh").args(["-c", command]).status()?;
                }
                client.ask(size.parse()?)?;
            }
            Ok(())
        }
        _ => bail!("floor does not know {options:?}"),
    }
}

struct Client {
    stream: TcpStream,
    host: String,
    /// The body, without what closes it.
    body: Vec<u8>,
    answer: Box<[u8]>,
}

impl Client {
    fn connect(url: &str) -> anyhow::Result<Self> {
        let host = url.strip_prefix("http://").context("only http addresses are spoken to")?.to_owned();
        let stream = TcpStream::connect(&host)?;
        stream.set_nodelay(true)?;
        let body = br#"{"model":"floor","stream":true,"padding":""#.to_vec();
        Ok(Self { stream, host, body, answer: vec![0; 64 * 1024].into() })
    }

    fn ask(&mut self, size: usize) -> anyhow::Result<()> {
        self.body.resize(self.body.len().max(size - 2), b'x');
        let length = self.body.len() + 2;
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n",
            self.host
        );
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(&self.body)?;
        self.stream.write_all(b"\"}")?;
        self.read_to_end()
    }

    /// Looks at nothing but the last bytes.
    fn read_to_end(&mut self) -> anyhow::Result<()> {
        let mut tail = Vec::with_capacity(2 * END.len());
        loop {
            let count = self.stream.read(&mut self.answer)?;
            if count == 0 {
                bail!("the server hung up");
            }
            let new = &self.answer[count.saturating_sub(END.len())..count];
            tail.extend_from_slice(new);
            tail.drain(..tail.len().saturating_sub(END.len()));
            if tail == END {
                return Ok(());
            }
        }
    }
}
