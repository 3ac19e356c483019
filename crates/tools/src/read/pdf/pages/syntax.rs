//! The syntax of PDF, as far as it takes to follow references. Nothing here calls itself: a file may nest as deep as it
//! likes.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Open,
    Close,
    Name,
    Text,
    /// A number or a keyword.
    Word,
}

/// Reads one thing after the other.
#[derive(Clone)]
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A dictionary: its entries as they stand there.
pub(super) struct Dictionary<'a> {
    entries: Vec<(&'a [u8], &'a [u8])>,
    /// Where it ends in what it was read from.
    pub(super) end: usize,
}

impl<'a> Dictionary<'a> {
    /// The dictionary with which something begins.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut scanner = Scanner { bytes, at: 0 };
        let (kind, opening) = scanner.next()?;
        if kind != Kind::Open || &bytes[opening] != b"<<" {
            return None;
        }
        let mut entries = Vec::new();
        loop {
            match scanner.next()? {
                (Kind::Name, name) => entries.push((&bytes[name], &bytes[scanner.value()?])),
                (Kind::Close, _) => return Some(Self { entries, end: scanner.at }),
                _ => return None,
            }
        }
    }

    /// What stands under a name, such as `/Type`.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.entries.iter().find(|(key, _)| *key == name.as_bytes());
        found.map(|(_, value)| *value)
    }

    pub(super) fn is_of_type(&self, name: &str) -> bool {
        self.get("/Type") == Some(name.as_bytes())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.entries.iter().copied()
    }
}

impl Scanner<'_> {
    fn next(&mut self) -> Option<(Kind, Range<usize>)> {
        self.skip_blanks();
        let start = self.at;
        let first = *self.bytes.get(start)?;
        let is_double = self.bytes.get(start + 1) == Some(&first);
        let (kind, length) = match first {
            b'[' => (Kind::Open, 1),
            b']' => (Kind::Close, 1),
            b'<' if is_double => (Kind::Open, 2),
            b'>' if is_double => (Kind::Close, 2),
            b'(' => (Kind::Text, self.text_length()?),
            b'<' => (Kind::Text, 1 + self.bytes[start..].iter().position(|byte| *byte == b'>')?),
            b'/' => (Kind::Name, 1 + self.regular_length(start + 1)),
            b'>' | b')' | b'{' | b'}' => (Kind::Word, 1),
            _ => (Kind::Word, self.regular_length(start)),
        };
        self.at = start + length;
        Some((kind, start..self.at))
    }

    /// A whole value: what is opened is closed, and a reference has three words.
    fn value(&mut self) -> Option<Range<usize>> {
        let (kind, first) = self.next()?;
        match kind {
            Kind::Open => self.close(),
            Kind::Close => None,
            Kind::Word => {
                let mut ahead = self.clone();
                if let (Some((Kind::Word, _)), Some((Kind::Word, last))) = (ahead.next(), ahead.next())
                    && &self.bytes[last] == b"R"
                {
                    *self = ahead;
                }
                Some(())
            }
            Kind::Name | Kind::Text => Some(()),
        }?;
        Some(first.start..self.at)
    }

    /// Goes to where what was just opened is closed.
    fn close(&mut self) -> Option<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()?.0 {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                Kind::Name | Kind::Text | Kind::Word => {}
            }
        }
        Some(())
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'%' => {
                    let comment =
                        self.bytes[self.at..].iter().take_while(|byte| !matches!(byte, b'\n' | b'\r'));
                    self.at += comment.count();
                }
                byte if is_blank(*byte) => self.at += 1,
                _ => return,
            }
        }
    }

    /// The length of a text in parentheses, which may have others in it.
    fn text_length(&self) -> Option<usize> {
        let (mut depth, mut is_escaped) = (0_usize, false);
        for (length, byte) in (1..).zip(&self.bytes[self.at..]) {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(length);
            }
        }
        None
    }

    fn regular_length(&self, from: usize) -> usize {
        self.bytes[from..].iter().take_while(|byte| is_regular(**byte)).count()
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_regular(byte: u8) -> bool {
    !is_blank(byte) && !b"()<>[]{}/%".contains(&byte)
}

/// The objects that are referred to, in order.
pub(super) fn references(bytes: &[u8]) -> Vec<u32> {
    let mut scanner = Scanner { bytes, at: 0 };
    let (mut found, mut before) = (Vec::new(), [None, None]);
    while let Some((kind, range)) = scanner.next() {
        let word = &bytes[range];
        match before {
            [Some(object), Some(_)] if word == b"R" => found.push(object),
            _ => {}
        }
        before = [before[1], number(word).filter(|_| kind == Kind::Word)];
    }
    found
}

/// The object that a value refers to, if it does nothing else.
pub(super) fn reference(value: &[u8]) -> Option<u32> {
    match references(value)[..] {
        [object] if value.ends_with(b"R") && value.first().is_some_and(u8::is_ascii_digit) => Some(object),
        _ => None,
    }
}

/// A whole number.
pub(super) fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// All numbers with which something begins.
pub(super) fn numbers(bytes: &[u8]) -> Vec<u32> {
    let mut scanner = Scanner { bytes, at: 0 };
    std::iter::from_fn(|| scanner.next().and_then(|(_, range)| number(&bytes[range]))).collect()
}

/// A number and a generation that stand right before a place.
pub(super) fn label_before(bytes: &[u8], at: usize) -> Option<(u32, u32)> {
    // Numbers of objects have ten digits at most.
    let near = &bytes[at.saturating_sub(32)..at];
    let mut words = near.rsplit(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    let is_apart = near.last().is_some_and(|byte| is_blank(*byte));
    let (generation, object) = (number(words.next()?)?, words.next()?);
    let digits = object.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let is_whole = object.len() == digits || !is_regular(object[object.len() - digits - 1]);
    let object = number(&object[object.len() - digits..]).filter(|_| digits > 0)?;
    (is_apart && is_whole).then_some((object, generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_taken_as_they_stand_there() {
        let source =
            b" << /Type/Page /Parent 3 0 R % /Not 1 0 R\n/Box[0 0 1.5 -2] /S (a (b\\) [ >>) ] c) /H <3E3E>\n\
                       /D <</Deep [<< /X 1 0 R >>]>> /N 7 /Last null>> stream";
        let dictionary = Dictionary::read(source).unwrap();
        assert_eq!(&source[dictionary.end..], b" stream");
        for (name, value) in [
            ("/Type", "/Page"),
            ("/Parent", "3 0 R"),
            ("/Box", "[0 0 1.5 -2]"),
            ("/S", "(a (b\\) [ >>) ] c)"),
            ("/H", "<3E3E>"),
            ("/D", "<</Deep [<< /X 1 0 R >>]>>"),
            ("/N", "7"),
            ("/Last", "null"),
        ] {
            assert_eq!(dictionary.get(name), Some(value.as_bytes()), "{name}");
        }
        assert!(dictionary.is_of_type("/Page") && dictionary.get("/X").is_none());
        assert_eq!(references(source), [3, 1]);
        for broken in ["", "[]", "<</A", "<</A 1", "<</A [>", "<<1>>", "<</A>>", "<</A (x>>"] {
            assert!(Dictionary::read(broken.as_bytes()).is_none(), "{broken}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = [b"<</A ".as_slice(), &b"[".repeat(5_000_000)].concat();
        assert!(Dictionary::read(&deep).is_none());
        assert_eq!(references(&deep), Vec::<u32>::new());
    }

    #[test]
    fn references_and_labels_are_told_from_other_numbers() {
        assert_eq!(references(b"1 2 3 0 R 4 R (5 0 R) [6 0 R]"), [3, 6]);
        assert_eq!((reference(b"12 0 R"), reference(b"[1 0 R]"), reference(b"12")), (Some(12), None, None));
        assert_eq!(numbers(b"1 0 2 15 <<"), [1, 0, 2, 15]);
        let label = |text: &str| label_before(text.as_bytes(), text.len());
        assert_eq!(label("\n12 0 "), Some((12, 0)));
        assert_eq!(label("endobj\r3 1\n"), Some((3, 1)));
        assert_eq!(label(">>3 1 "), Some((3, 1)));
        for text in ["", "12 0", "x12 0 ", "12 x ", "12 ", "endobj ", "-1 0 "] {
            assert_eq!(label(text), None, "{text}");
        }
    }
}
