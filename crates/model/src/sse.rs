//! Server-sent events, parsed as the bytes arrive.
//!
//! Only what a model's stream needs: names and data. There is no reconnecting, since an answer cannot be resumed.

/// The longest line, and the most data of one event, that is accepted.
const LIMIT: usize = 16 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event, borrowed from the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event` field, empty if there was none.
    pub name: &'a str,
    /// The `data` lines, joined by line feeds.
    pub data: &'a str,
}

/// The bytes are not an acceptable stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line or event is longer than any that makes sense.
    #[error("an event is larger than {} MiB", LIMIT / 1024 / 1024)]
    TooLarge,
    /// The text is not UTF-8.
    #[error("an event is not valid UTF-8")]
    NotText,
}

/// Turns chunks of bytes, cut anywhere, into events.
#[derive(Debug)]
pub struct Parser {
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last line ended in a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    first_line: bool,
    limit: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Parser {
    fn with_limit(limit: usize) -> Self {
        Self {
            partial: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            first_line: true,
            limit,
        }
    }

    /// Takes the next bytes and hands on each event that they complete. An event that is not closed by an empty
    /// line when the stream ends never happened.
    ///
    /// # Errors
    /// When the bytes are not acceptable, or when `on_event` fails. The parser is of no use afterwards.
    pub fn feed<E: From<Fault>>(
        &mut self,
        chunk: &[u8],
        mut on_event: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = chunk;
        loop {
            if self.after_return && !rest.is_empty() {
                self.after_return = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return Ok(self.keep(rest)?);
            };
            self.after_return = rest[end] == b'\r';
            if self.partial.is_empty() {
                self.line(&rest[..end], &mut on_event)?;
            } else {
                self.keep(&rest[..end])?;
                let mut line = std::mem::take(&mut self.partial);
                self.line(&line, &mut on_event)?;
                line.clear();
                self.partial = line;
            }
            rest = &rest[end + 1..];
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.partial.len() + bytes.len() > self.limit {
            return Err(Fault::TooLarge);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    fn line<E: From<Fault>>(
        &mut self,
        mut line: &[u8],
        on_event: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(on_event);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => self.add_data(value)?,
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), Fault> {
        if self.data.len() + value.len() >= self.limit {
            return Err(Fault::TooLarge);
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        Ok(())
    }

    fn dispatch<E: From<Fault>>(
        &mut self,
        on_event: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.has_data) {
            let name = std::str::from_utf8(&self.name).map_err(|_| Fault::NotText)?;
            let data = std::str::from_utf8(&self.data).map_err(|_| Fault::NotText)?;
            on_event(Event { name, data })?;
        }
        self.name.clear();
        self.data.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};

    use super::*;

    type Events = Vec<(String, String)>;

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Events, Fault> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, |event| {
                events.push((event.name.to_owned(), event.data.to_owned()));
                Ok::<_, Fault>(())
            })?;
        }
        Ok(events)
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Events = expected.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
        assert_eq!(parse([text.as_bytes()]).unwrap(), expected, "{text:?}");
        for cut in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            assert_eq!(parse([left, right]).unwrap(), expected, "{text:?} cut at {cut}");
        }
        assert_eq!(parse(text.as_bytes().chunks(1)).unwrap(), expected, "{text:?} byte by byte");
    }

    #[test]
    fn events_are_parsed_wherever_they_are_cut() {
        check("event: a\ndata: 1\n\nevent: b\ndata: ä€\n\n", &[("a", "1"), ("b", "ä€")]);
        check("data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", &[("", "1"), ("", "2"), ("", "3")]);
        check("data: one\ndata:two\ndata\ndata:  x\n\n", &[("", "one\ntwo\n\n x")]);
        check(": comment\n\nid: 7\nretry: 3\nunknown\ndata: x\n\n", &[("", "x")]);
        check("\u{feff}data: x\n\n", &[("", "x")]);
        check("event: lost\n\ndata: x\n\n", &[("", "x")]);
        check("data\n\n", &[("", "")]);
        check("\r\n\r\n\n", &[]);
    }

    #[test]
    fn an_unfinished_event_never_happened() {
        check("data: 1\n\ndata: 2\n", &[("", "1")]);
        check("data: 1\n\ndata: 2", &[("", "1")]);
    }

    #[test]
    fn limits_hold_for_lines_and_events() {
        let feed = |bytes: &[u8]| Parser::with_limit(8).feed(bytes, |_| Ok::<_, Fault>(()));
        assert_eq!(feed(b"data: 0123456789abcdef"), Err(Fault::TooLarge));
        assert_eq!(feed(b"data: 012345678\n\n"), Err(Fault::TooLarge));
        assert_eq!(feed(b"data:0123\ndata:4567\n\n"), Err(Fault::TooLarge));
        assert_eq!(feed(b"data:0123\n\ndata:4567\n\n"), Ok(()));
    }

    #[test]
    fn bytes_that_are_not_text_are_a_fault() {
        assert_eq!(parse([b"data: \xff\n\n".as_slice()]), Err(Fault::NotText));
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        let field = prop::sample::select(vec!["data:", "data: ", "event: ", ":", "", "id: ", "data"]);
        let value = prop::sample::select(vec!["", "x", "ü€𝄞", "{\"a\":1}", "\u{feff}"]);
        let end = prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n"]);
        (field, value, end).prop_map(|(field, value, end)| format!("{field}{value}{end}").into_bytes())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            lines in prop::collection::vec(line(), 0..20),
            sizes in prop::collection::vec(1usize..9, 1..8),
        ) {
            let bytes = lines.concat();
            let mut chunks = Vec::new();
            let mut rest = bytes.as_slice();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, tail) = rest.split_at(rest.len().min(*size));
                chunks.push(chunk);
                rest = tail;
            }
            prop_assert_eq!(parse(chunks), parse([bytes.as_slice()]));
        }

        #[test]
        fn garbage_never_panics(chunks in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
            let _ = parse(chunks.iter().map(Vec::as_slice));
        }
    }
}
