//! Standard input: text for a prompt, or JSON lines.

use std::io::{BufRead, Read};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_tools::sendable_block;
use tokio::sync::mpsc;

use super::pipeline::feeds_standard_input;
use crate::complain;

/// How long a run that has its prompt waits for somebody to write to its standard input.
const FIRST_BYTE: Duration = Duration::from_secs(3);
/// Bytes of standard input that can be part of a prompt; a request may have no more than 32 MB.
const MAX_TEXT: u64 = 10 << 20;

const NOTHING_CAME: &str = "nothing arrived on standard input within 3 s, so the prompt is used without it; </dev/null \
     skips the wait, and slow input can be written to a file first";
const IS_FED: &str = "waiting for standard input, to which another command of the pipeline writes";
const NO_PROMPT_YET: &str = "waiting for the prompt on standard input";

/// One line: a JSON object, or what is wrong with it.
pub(crate) type Line = Result<Value, String>;

/// Lines from standard input, read by a thread of their own: reading may block for ever.
pub(crate) struct Lines(mpsc::UnboundedReceiver<Line>);

impl Lines {
    pub(crate) fn from_stdin() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for (number, line) in std::io::stdin().lock().lines().enumerate() {
                let line = match line {
                    Ok(line) if line.trim().is_empty() => continue,
                    Ok(line) => parse(&line, number + 1).map(with_sendable_images),
                    Err(error) => Err(format!("standard input could not be read: {error}")),
                };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }

    pub(crate) async fn next(&mut self) -> Option<Line> {
        self.0.recv().await
    }
}

fn parse(line: &str, number: usize) -> Line {
    let parsed = serde_json::from_str(line).or_else(|error| match with_whole_characters(line) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    });
    match parsed {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(format!("line {number} of standard input is not a JSON object")),
        Err(error) => Err(format!("line {number} of standard input is not JSON: {error}")),
    }
}

/// The line with a sign in the place of each half of a character; none if there are no halves. Hosts whose texts may hold
/// them, as in Python and JavaScript, write them down as they are: `"\ud83d"`.
fn with_whole_characters(line: &str) -> Option<String> {
    let mut mended = String::with_capacity(line.len());
    let (mut rest, mut found) = (line, false);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let pair = half(escape).zip(escape.get(ESCAPE..).and_then(half));
        let taken = match (half(escape), pair) {
            (_, Some((Half::First, Half::Second))) => 2 * ESCAPE,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                (rest, found) = (&escape[ESCAPE..], true);
                continue;
            }
            // Another escape, whose second character may be a backslash, too.
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&escape[..taken]);
        rest = &escape[taken..];
    }
    mended.push_str(rest);
    found.then_some(mended)
}

/// Bytes of an escape such as `\u00e9`.
const ESCAPE: usize = 6;

/// Half of a character beyond the first 65536.
#[derive(Clone, Copy)]
enum Half {
    First,
    Second,
}

/// The half that an escape at the beginning of the text stands for.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..ESCAPE - 2)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..0xdc00 => Some(Half::First),
        0xdc00..0xe000 => Some(Half::Second),
        _ => None,
    }
}

/// A message whose images the provider takes: one that it refuses would be refused in every later request too. Decoding
/// takes time, which this thread has.
fn with_sendable_images(mut frame: Value) -> Value {
    let content = frame.pointer_mut("/message/content").and_then(Value::as_array_mut);
    for block in content.into_iter().flatten().filter(|block| block["type"] == "image") {
        *block = sendable_block(RawBlock::from_value(block)).to_value();
    }
    frame
}

/// What came on standard input for the prompt.
#[derive(Debug, Default)]
pub(crate) struct Piped {
    /// All of it; nothing if it was empty.
    pub(crate) text: Option<String>,
    /// What the user should know about it.
    pub(crate) warning: Option<String>,
}

/// All of standard input as text; nothing if a run with a prompt gets nothing for a while, and nobody is known who is about
/// to say something.
pub(crate) async fn text(has_prompt: bool) -> anyhow::Result<Piped> {
    let (first, mut begun) = tokio::sync::oneshot::channel();
    let (whole, read) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let available = stdin.fill_buf().map(<[u8]>::len);
        let _ = first.send(());
        let mut bytes = Vec::new();
        let result = available.and_then(|_| stdin.take(MAX_TEXT + 1).read_to_end(&mut bytes)).map(|_| bytes);
        let _ = whole.send(result);
    });
    if tokio::time::timeout(FIRST_BYTE, &mut begun).await.is_err() {
        if has_prompt && !feeds_standard_input() {
            complain(NOTHING_CAME);
            return Ok(Piped { text: None, warning: Some(NOTHING_CAME.to_owned()) });
        }
        complain(if has_prompt { IS_FED } else { NO_PROMPT_YET });
    }
    let bytes = read.await?.context("standard input could not be read")?;
    if bytes.len() as u64 > MAX_TEXT {
        let megabytes = MAX_TEXT >> 20;
        bail!(
            "standard input has more than {megabytes} MB; put it into a file and name the file in the prompt"
        );
    }
    let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    Ok(Piped { text: Some(text).filter(|text| !text.is_empty()), warning: None })
}
