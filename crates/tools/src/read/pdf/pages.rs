//! Some pages of a PDF as a document of their own: what they are drawn with is copied as it stands, the rest is left out.

mod objects;
mod syntax;

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use objects::Objects;
use syntax::{Dictionary, references};

/// Pages that are shown at once: as many as every model takes.
pub(super) const MOST_PAGES: usize = tiller_protocol::pdf::MOST_PAGES;
/// Bytes that a document of some pages may have. A request may have 32 MB; encoding adds a third and the conversation
/// needs room.
pub(super) const LARGEST: usize = 20 * 1024 * 1024;
/// Bytes of lists of pages that are read; they may be the same ones again and again.
const MOST_LISTED: usize = 64 * 1024 * 1024;
/// What pages have from the nodes above them.
const INHERITED: [&str; 4] = ["/Resources", "/MediaBox", "/CropBox", "/Rotate"];

/// Pages that were asked for, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::read) struct Pages(RangeInclusive<usize>);

impl std::fmt::Display for Pages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0.start(), self.0.end()) {
            (first, last) if first == last => write!(formatter, "{first}"),
            (first, last) => write!(formatter, "{first}-{last}"),
        }
    }
}

/// Some pages of a document.
#[derive(Debug)]
pub(super) struct Extract {
    pub(super) bytes: Vec<u8>,
    /// Pages of the whole document.
    pub(super) of: usize,
}

/// Why there are no pages.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPages {
    #[error("has no such pages: it has {of}.")]
    Outside { of: usize },
    #[error("is protected by a password and cannot be shown.")]
    Encrypted,
    #[error("cannot be taken apart: {0}.")]
    Broken(&'static str),
    #[error("cannot be taken apart: its objects are packed in an unusual way.")]
    Unusual,
    #[error("cannot be taken apart: it would take too much memory.")]
    TooLarge,
    #[error("has too much on these pages, more than 20 MB; name fewer.")]
    TooMuch,
}

impl NoPages {
    fn broken(what: &'static str) -> Self {
        Self::Broken(what)
    }
}

/// A page: its number as an object, and what it has from above or of its own.
struct Page<'o> {
    object: u32,
    attributes: Attributes<'o>,
}

/// The values of what is inherited.
type Attributes<'o> = [Option<&'o [u8]>; INHERITED.len()];

impl Pages {
    /// A page such as `3`, or a range such as `2-5`.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub(in crate::read) fn parse(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse()) else {
            return Err(format!(
                "pages has to be a page such as \"3\" or a range such as \"2-5\", not {text:?}."
            ));
        };
        if first == 0 || last < first {
            return Err(format!("pages are counted from 1, and a range goes up; {text:?} does not."));
        }
        if last - first >= MOST_PAGES {
            return Err(format!("pages may name {MOST_PAGES} at once; {text:?} are {}.", last - first + 1));
        }
        Ok(Self(first..=last))
    }

    /// These pages of a document.
    pub(super) fn of(&self, file: &[u8]) -> Result<Extract, NoPages> {
        let objects = Objects::read(file)?;
        let (pages, nodes) = page_tree(&objects)?;
        let wanted = pages.get(self.0.start() - 1..*self.0.end());
        let wanted = wanted.ok_or(NoPages::Outside { of: pages.len() })?;
        let version = file.get(..8).filter(|version| version.is_ascii()).unwrap_or(b"%PDF-1.7");
        Ok(Extract { bytes: assemble(&objects, wanted, &nodes, version)?, of: pages.len() })
    }
}

/// All pages in their order, and the objects that make up the tree.
fn page_tree<'o>(objects: &'o Objects<'_>) -> Result<(Vec<Page<'o>>, HashSet<u32>), NoPages> {
    let catalog = objects.catalog().ok_or(NoPages::broken("its catalog is missing"))?;
    let roots = catalog.get("/Pages").map(references).unwrap_or_default();
    let (mut pages, mut nodes, mut listed) = (Vec::new(), HashSet::new(), 0);
    let mut waiting: Vec<(u32, Attributes<'o>)> =
        roots.into_iter().map(|root| (root, Attributes::default())).collect();
    while let Some((object, from_above)) = waiting.pop() {
        if !nodes.insert(object) {
            continue;
        }
        let Some(node) = objects.dictionary(object) else { continue };
        let own = INHERITED.map(|name| node.get(name));
        let attributes = std::array::from_fn(|at| own[at].or(from_above[at]));
        let Some(kids) = node.get("/Kids").map(|kids| objects.resolved(kids)) else {
            pages.push(Page { object, attributes });
            continue;
        };
        listed += kids.len();
        if listed > MOST_LISTED {
            return Err(NoPages::TooLarge);
        }
        waiting.extend(references(kids).into_iter().rev().map(|kid| (kid, attributes)));
    }
    if pages.is_empty() {
        return Err(NoPages::broken("it has no pages"));
    }
    Ok((pages, nodes))
}

/// A document of these pages. References to other pages lead nowhere, which readers are used to.
fn assemble(
    objects: &Objects<'_>,
    pages: &[Page<'_>],
    nodes: &HashSet<u32>,
    version: &[u8],
) -> Result<Vec<u8>, NoPages> {
    let root = objects.free_number();
    let catalog = root.checked_add(1).ok_or(NoPages::broken("its objects have too large numbers"))?;
    let mut writer = Writer::new(version);
    let mut waiting = Vec::new();
    let layers = objects.catalog().and_then(|catalog| catalog.get("/OCProperties")).unwrap_or_default();
    waiting.extend(references(layers));
    let mut kids = Vec::new();
    for page in pages {
        let generation = objects.get(page.object).map_or(0, |found| found.generation);
        let body = page_body(objects, page, root);
        waiting.extend(references(&body));
        writer.put(page.object, generation, &body)?;
        kids.push(format!("{} {generation} R", page.object));
    }
    while let Some(number) = waiting.pop() {
        if nodes.contains(&number) || writer.has(number) {
            continue;
        }
        let Some(found) = objects.get(number) else { continue };
        // Content is no place to look for references.
        let dictionary = Dictionary::read(&found.body);
        waiting.extend(references(&found.body[..dictionary.map_or(found.body.len(), |whole| whole.end)]));
        writer.put(number, found.generation, &found.body)?;
    }
    let tree = format!("<</Type/Pages/Count {}/Kids[{}]>>", pages.len(), kids.join(" "));
    writer.put(root, 0, tree.as_bytes())?;
    let mut body = format!("<</Type/Catalog/Pages {root} 0 R").into_bytes();
    if !layers.is_empty() {
        body.extend([b"/OCProperties ", layers].concat());
    }
    body.extend(b">>");
    writer.put(catalog, 0, &body)?;
    Ok(writer.finish(catalog))
}

/// A page as it was, below another root and with what it had from above.
fn page_body(objects: &Objects<'_>, page: &Page<'_>, root: u32) -> Vec<u8> {
    let own = objects.dictionary(page.object);
    let is_rest = |name: &[u8]| name != b"/Parent" && !INHERITED.iter().any(|known| known.as_bytes() == name);
    let rest = own.iter().flat_map(Dictionary::entries).filter(|(name, _)| is_rest(name));
    let attributes = INHERITED.iter().zip(page.attributes);
    let attributes = attributes.filter_map(|(name, value)| Some((name.as_bytes(), value?)));
    let mut body = b"<<".to_vec();
    for (name, value) in rest.chain(attributes) {
        body.extend([name, b" ", value, b"\n"].concat());
    }
    body.extend(format!("/Parent {root} 0 R>>").into_bytes());
    body
}

/// Writes a document, object by object.
struct Writer {
    bytes: Vec<u8>,
    /// Where each object begins, and its generation.
    places: BTreeMap<u32, (usize, u32)>,
}

impl Writer {
    fn new(version: &[u8]) -> Self {
        // Bytes above 127 say that this is no text.
        Self { bytes: [version, b"\n%\xe2\xe3\xcf\xd3\n"].concat(), places: BTreeMap::new() }
    }

    fn has(&self, number: u32) -> bool {
        self.places.contains_key(&number)
    }

    fn put(&mut self, number: u32, generation: u32, body: &[u8]) -> Result<(), NoPages> {
        if self.bytes.len() + body.len() > LARGEST {
            return Err(NoPages::TooMuch);
        }
        self.places.insert(number, (self.bytes.len(), generation));
        self.bytes.extend(format!("{number} {generation} obj\n").into_bytes());
        self.bytes.extend(body.trim_ascii());
        self.bytes.extend(b"\nendobj\n");
        Ok(())
    }

    fn finish(mut self, catalog: u32) -> Vec<u8> {
        let table = self.bytes.len();
        self.bytes.extend(b"xref\n0 1\n0000000000 65535 f \n");
        for (number, (place, generation)) in &self.places {
            self.bytes.extend(format!("{number} 1\n{place:010} {generation:05} n \n").into_bytes());
        }
        let size = u64::from(catalog) + 1;
        let trailer = format!("trailer\n<</Size {size}/Root {catalog} 0 R>>\nstartxref\n{table}\n%%EOF\n");
        self.bytes.extend(trailer.into_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests;
