//! Finding credentials: one pass looks for the words that betray them, and what stands there is then looked at closely.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::format::{FORMATS, Format};
use super::{assignment, aws, pem, token};

/// What sort of credential it is, as its mask says it.
pub(super) type Kind = &'static str;

/// A credential in a text. It never spans lines, so that masking leaves line numbers as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    sign: Sign,
}

/// What a credential is known by, the plainer sign first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Itself,
    Surroundings,
}

impl Finding {
    /// Known by its own looks.
    pub(super) fn by_itself(span: Range<usize>, kind: Kind) -> Self {
        Self { span, kind, sign: Sign::Itself }
    }

    /// Known by what stands around it.
    pub(super) fn by_surroundings(span: Range<usize>, kind: Kind) -> Self {
        Self { span, kind, sign: Sign::Surroundings }
    }
}

/// Sees a text and where a word of it begins and ends.
type Shape = fn(&str, Range<usize>) -> Vec<Finding>;

/// Looks at the place where a word was found.
#[derive(Clone, Copy)]
enum Look {
    Format(&'static Format),
    Shape(Shape),
}

/// Words besides the prefixes of formats, in small letters.
const SHAPES: &[(&[&str], Shape)] = &[
    (&["-----begin "], pem::from_begin),
    (&["-----end "], pem::from_end),
    (&["eyj"], token::jwt),
    (&["bearer "], token::bearer),
    (&["basic "], token::basic),
    (&["://"], token::address),
    (assignment::NAMES, assignment::value),
];

struct Finder {
    words: AhoCorasick,
    looks: Vec<Look>,
}

static FINDER: LazyLock<Finder> = LazyLock::new(Finder::new);

impl Finder {
    #[expect(clippy::expect_used, reason = "the words are constants, and few")]
    fn new() -> Self {
        let formats = FORMATS.iter().map(|format| (format.prefix, Look::Format(format)));
        let shapes =
            SHAPES.iter().flat_map(|(words, look)| words.iter().map(|word| (*word, Look::Shape(*look))));
        let (words, looks): (Vec<&str>, Vec<Look>) = formats.chain(shapes).unzip();
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(words)
            .expect("the words fit into an automaton");
        Self { words, looks }
    }
}

/// The credentials in a text, in order and apart from each other. Takes time in proportion to the text.
pub(super) fn find(text: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for word in FINDER.words.find_iter(text) {
        match FINDER.looks[word.pattern().as_usize()] {
            Look::Format(format) => {
                let finding = format.at(text, word.start());
                found.extend(
                    finding
                        .iter()
                        .filter(|finding| finding.kind == aws::ID)
                        .flat_map(|id| aws::beside(text, id)),
                );
                found.extend(finding);
            }
            Look::Shape(look) => found.extend(look(text, word.range())),
        }
    }
    apart(found)
}

/// Of findings that overlap, the one with the plainer sign stays, then the longer one.
fn apart(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|finding| (finding.sign, Reverse(finding.span.len()), finding.span.start));
    let mut taken = Spans::default();
    found.retain(|finding| taken.take(&finding.span));
    found.sort_by_key(|finding| finding.span.start);
    found
}

/// Stretches of a text that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Spans(BTreeMap<usize, usize>);

impl Spans {
    /// Takes a stretch unless part of it is taken.
    pub(super) fn take(&mut self, span: &Range<usize>) -> bool {
        let before = self.0.range(..span.end).next_back();
        let free = !span.is_empty() && before.is_none_or(|(_, end)| *end <= span.start);
        if free {
            self.0.insert(span.start, span.end);
        }
        free
    }
}
