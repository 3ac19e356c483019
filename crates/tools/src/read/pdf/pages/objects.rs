//! The objects of a PDF, found by looking through the file: its tables may be wrong, and are not needed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::NoPages;
use super::syntax::{Dictionary, label_before, number, numbers, reference};

/// Bytes that packed objects may become: a small file could become gigabytes.
const MOST_UNPACKED: u64 = 256 * 1024 * 1024;

/// Trailers that are looked at, each change of a document adds one, and how long they may be.
const MOST_TRAILERS: usize = 32;
const LONGEST_TRAILER: usize = 64 * 1024;

/// An object as it stands in the file.
pub(super) struct Found<'a> {
    pub(super) generation: u32,
    pub(super) body: Cow<'a, [u8]>,
}

/// All objects, those that stand last in the file for each number.
pub(super) struct Objects<'a> {
    found: HashMap<u32, Found<'a>>,
    catalog: Option<u32>,
    /// What may still be unpacked.
    room: u64,
}

impl<'a> Objects<'a> {
    pub(super) fn read(file: &'a [u8]) -> Result<Self, NoPages> {
        let mut objects = Self { found: HashMap::new(), catalog: None, room: MOST_UNPACKED };
        let mut at = 0;
        while let Some(word) = find(file, b"obj", at) {
            let begin = word + b"obj".len();
            at = match label_before(file, word) {
                Some((number, generation)) => {
                    let body = &file[begin..end_of_object(file, begin)?];
                    objects.add(number, generation, body)?;
                    begin + body.len()
                }
                None => begin,
            };
        }
        objects.look_at_trailers(file)?;
        Ok(objects)
    }

    pub(super) fn get(&self, number: u32) -> Option<&Found<'a>> {
        self.found.get(&number)
    }

    pub(super) fn dictionary(&self, number: u32) -> Option<Dictionary<'_>> {
        Dictionary::read(&self.get(number)?.body)
    }

    /// What a value is, if it is a reference: what that leads to.
    pub(super) fn resolved<'v>(&'v self, value: &'v [u8]) -> &'v [u8] {
        let target = reference(value).and_then(|number| self.get(number));
        target.map_or(value, |found| &found.body)
    }

    pub(super) fn catalog(&self) -> Option<Dictionary<'_>> {
        self.dictionary(self.catalog?)
    }

    /// A number above all that are taken.
    pub(super) fn free_number(&self) -> u32 {
        self.found.keys().max().map_or(1, |number| number.saturating_add(1))
    }

    fn add(&mut self, number: u32, generation: u32, body: &'a [u8]) -> Result<(), NoPages> {
        if let Some(dictionary) = Dictionary::read(body) {
            self.note_root(&dictionary)?;
            if dictionary.is_of_type("/ObjStm") {
                let content = content(body, &dictionary);
                return self.unpack(&dictionary, content.strip_suffix(b"endstream").unwrap_or(content));
            }
            if dictionary.is_of_type("/Catalog") && self.catalog.is_none() {
                self.catalog = Some(number);
            }
        }
        self.found.insert(number, Found { generation, body: Cow::Borrowed(body) });
        Ok(())
    }

    /// Trailers, and the tables that take their place, say where everything begins.
    fn note_root(&mut self, dictionary: &Dictionary<'_>) -> Result<(), NoPages> {
        if dictionary.get("/Encrypt").is_some() && dictionary.get("/Root").is_some() {
            return Err(NoPages::Encrypted);
        }
        if let Some(root) = dictionary.get("/Root").and_then(reference) {
            self.catalog = Some(root);
        }
        Ok(())
    }

    fn look_at_trailers(&mut self, file: &[u8]) -> Result<(), NoPages> {
        let word = b"trailer";
        let ends = std::iter::successors(find(file, word, 0), |at| find(file, word, at + 1));
        let mut ends: Vec<usize> = ends.map(|at| at + word.len()).collect();
        for at in ends.split_off(ends.len().saturating_sub(MOST_TRAILERS)) {
            let near = &file[at..file.len().min(at + LONGEST_TRAILER)];
            Dictionary::read(near).map_or(Ok(()), |trailer| self.note_root(&trailer))?;
        }
        Ok(())
    }

    /// Takes out what is packed together: numbers and places, then the objects.
    fn unpack(&mut self, dictionary: &Dictionary<'_>, packed: &[u8]) -> Result<(), NoPages> {
        let is_flate = match dictionary.get("/Filter").map(|filter| filter.trim_ascii()) {
            None => false,
            Some(b"/FlateDecode" | b"[/FlateDecode]" | b"[ /FlateDecode ]") => true,
            Some(_) => return Err(NoPages::Unusual),
        };
        if dictionary.get("/DecodeParms").is_some_and(|parameters| parameters != b"null") {
            return Err(NoPages::Unusual);
        }
        let mut unpacked = Vec::new();
        if is_flate {
            // What comes before damage can be used.
            _ = ZlibDecoder::new(packed).take(self.room + 1).read_to_end(&mut unpacked);
        } else {
            unpacked.extend_from_slice(packed);
        }
        self.room = self.room.checked_sub(unpacked.len() as u64).ok_or(NoPages::TooLarge)?;
        let whole_number = |name: &str| dictionary.get(name).and_then(number);
        let (Some(first), Some(count)) = (whole_number("/First"), whole_number("/N")) else {
            return Err(NoPages::broken("packed objects have no table"));
        };
        let (first, count) = (first as usize, count as usize);
        let table = numbers(unpacked.get(..first).unwrap_or_default());
        let places: Vec<(u32, usize)> = table
            .chunks_exact(2)
            .take(count)
            .map(|pair| (pair[0], first.saturating_add(pair[1] as usize)))
            .collect();
        for (at, (number, begin)) in places.iter().enumerate() {
            let end = places.get(at + 1).map_or(unpacked.len(), |(_, next)| *next);
            let body = unpacked.get(*begin..end).ok_or_else(|| NoPages::broken("packed objects overlap"))?;
            self.found.insert(*number, Found { generation: 0, body: Cow::Owned(body.to_vec()) });
        }
        Ok(())
    }
}

/// Where an object ends: before its `endobj`, and not within its content.
fn end_of_object(file: &[u8], begin: usize) -> Result<usize, NoPages> {
    let missing = || NoPages::broken("the end of an object is missing");
    let rest = &file[begin..];
    if !rest.trim_ascii_start().starts_with(b"<<") {
        return find(file, b"endobj", begin).ok_or_else(missing);
    }
    let dictionary = Dictionary::read(rest).ok_or_else(missing)?;
    let after = begin + dictionary.end;
    if !file[after..].trim_ascii_start().starts_with(b"stream") {
        return find(file, b"endobj", after).ok_or_else(missing);
    }
    let start = begin + (rest.len() - content(rest, &dictionary).len());
    // The length may stand elsewhere, or be wrong.
    let told = dictionary.get("/Length").and_then(number).map(|length| start.saturating_add(length as usize));
    let is_end =
        |end: &usize| file.get(*end..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"endstream"));
    let end = told.filter(is_end).or_else(|| find(file, b"endstream", start)).ok_or_else(missing)?;
    find(file, b"endstream", end).map(|word| word + b"endstream".len()).ok_or_else(missing)
}

/// What stands between `stream` and the end.
fn content<'b>(body: &'b [u8], dictionary: &Dictionary<'_>) -> &'b [u8] {
    let rest = body[dictionary.end..].trim_ascii_start();
    let rest = rest.strip_prefix(b"stream").unwrap_or_default();
    rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest)
}

fn find(bytes: &[u8], word: &[u8], from: usize) -> Option<usize> {
    let first = word.first()?;
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| byte == first)?;
        if bytes[at..].starts_with(word) {
            return Some(at);
        }
        at += 1;
    }
}
