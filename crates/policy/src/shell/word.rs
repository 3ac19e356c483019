//! Words as a program would receive them, as far as that can be known without running anything.

use std::ops::Range;

use tree_sitter::Node;

use super::expansion::parameter;
use super::quotes::{decode_ansi, unescape_double};
use super::{alternatives, ends};

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text without its quotes; expansions stay as they were written.
    pub(crate) text: String,
    /// How far the text is what the program will get.
    pub(crate) form: Form,
    /// Whether an unquoted expansion could turn it into several words.
    pub(crate) splits: bool,
    /// Whether its first character is what it seems.
    pub(crate) lead: bool,
    /// Whether it begins with an unquoted `~`.
    pub(crate) tilde: bool,
    /// Where the shell put something into the text that it had first. See [`Word::known_gaps`].
    pub(crate) gaps: Option<Gaps>,
}

/// The places of a word where the shell puts something in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Of the whole text.
    length: usize,
    /// Whether something without quotes is a pattern for file names.
    pub(crate) globs: bool,
    pub(crate) all: Vec<Gap>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) at: Range<usize>,
    pub(crate) quoted: bool,
}

/// How much is known about a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Exactly the text.
    Literal,
    /// A pattern for file names, or braces that multiply it.
    Pattern,
    /// The name of something below a place that is judged elsewhere, as in `find … -exec`.
    Found,
    /// Anything at all.
    Dynamic,
}

impl Word {
    /// A word that stands for itself.
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            form: Form::Literal,
            splits: false,
            lead: true,
            tilde: false,
            gaps: None,
        }
    }

    /// A name that another program will put in.
    pub(crate) fn put_in(text: &str, form: Form, may_be_option: bool) -> Self {
        Self { form, splits: may_be_option, lead: !may_be_option, ..Self::literal(text) }
    }

    /// A word of which nobody can tell what it will be.
    pub(crate) fn unknown(text: &str) -> Self {
        Self::put_in(text, Form::Dynamic, true)
    }

    /// A number of which nobody can tell which one it is, in the shape of braces that count.
    pub(crate) fn number(number: Number) -> Self {
        Self { form: Form::Pattern, lead: false, ..Self::literal(number.shape()) }
    }

    pub(crate) fn as_number(&self) -> Option<Number> {
        let mut all = [Number::Any, Number::Count].into_iter();
        all.find(|number| self.form == Form::Pattern && self.text == number.shape())
    }

    /// Where the shell puts something in, if that is all that is not known about the word. A word that was made of a part of
    /// another has none.
    pub(crate) fn known_gaps(&self) -> Option<&Gaps> {
        self.gaps.as_ref().filter(|gaps| self.form == Form::Dynamic && gaps.length == self.text.len())
    }

    /// A commit that will be put in, with what stands behind it.
    pub(crate) fn commit(behind: &str) -> Self {
        Self::unknown(&format!("$(git rev-parse HEAD){behind}"))
    }

    /// A word for which the shell puts in the name of a file.
    pub(crate) fn found(text: &str) -> Self {
        Self::put_in(text, Form::Found, false)
    }

    /// Whether the shell puts in the names of files for it, and not another program.
    pub(crate) fn is_found_by_shell(&self) -> bool {
        self.form == Form::Found && self.text.starts_with(['$', '`'])
    }

    pub(crate) fn is_literal(&self) -> bool {
        self.form == Form::Literal
    }

    /// The text, if it is certain.
    pub(crate) fn known(&self) -> Option<&str> {
        self.is_literal().then_some(self.text.as_str())
    }

    /// What it certainly begins with: what stands before anything that the shell puts in.
    pub(crate) fn certain(&self) -> &str {
        let put_in: &[char] = match self.form {
            Form::Literal => &[],
            Form::Pattern => &['*', '?', '[', '(', '{'],
            Form::Found | Form::Dynamic => &['$', '`', '*', '?', '[', '(', '{', '<', '>'],
        };
        let end = if self.lead { self.text.find(put_in).unwrap_or(self.text.len()) } else { 0 };
        &self.text[..end]
    }

    /// Whether it is an option of which nobody can tell which one it is, or begins a cluster that goes on in an unknown way.
    pub(crate) fn is_unclear_option(&self) -> bool {
        let certain = self.certain();
        let is_named = certain.starts_with("--") && certain.contains('=');
        !self.is_literal() && certain.starts_with('-') && !is_named
    }

    /// The parameter that it begins with, and what stands behind that.
    pub(crate) fn beginning(&self) -> Option<(&str, &str)> {
        let first = self.known_gaps()?.all.first().filter(|gap| gap.at.start == 0)?;
        let (name, operation) = parameter(&self.text[first.at.clone()])?;
        operation.is_empty().then_some((name, &self.text[first.at.end..]))
    }

    /// The parameter that it is, and nothing else.
    pub(crate) fn parameter(&self) -> Option<&str> {
        self.beginning().filter(|(_, behind)| behind.is_empty()).map(|(name, _)| name)
    }

    /// Whether it certainly stays one word.
    pub(crate) fn is_single(&self) -> bool {
        !self.splits && self.form != Form::Pattern
    }

    /// Whether a program could take it for an option.
    pub(crate) fn may_be_option(&self) -> bool {
        !self.lead || self.splits || (self.text.len() > 1 && self.text.starts_with('-'))
    }
}

/// Kinds of numbers that nobody knows beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Any,
    /// One that is not negative.
    Count,
}

impl Number {
    /// No script would write this for anything else.
    fn shape(self) -> &'static str {
        match self {
            Self::Any => "{-0..9}",
            Self::Count => "{00..9}",
        }
    }
}

/// Builds words from nodes of the tree.
pub(crate) struct Reader<'a> {
    source: &'a str,
    word: Word,
    unquoted: String,
    /// Where a brace opened, and whether something follows that makes it multiply the word.
    brace: Option<bool>,
    /// Whether something in it is a pattern for file names.
    globs: bool,
    /// Whether there is a brace or comma in it that means nothing to the shell.
    plain_brace: bool,
    /// Where the shell puts something in; nothing if it puts in more than that.
    gaps: Option<Vec<Gap>>,
    /// Where a name begins that would go on with the letters behind it.
    open_name: Option<usize>,
    /// The last pipe to a command.
    pipe: Option<&'a str>,
    /// Whether it stays a word when nothing is left in it.
    has_quotes: bool,
}

impl<'a> Reader<'a> {
    /// Reads a node as a word. `None` if it holds something that is not understood.
    pub(crate) fn read(source: &'a str, node: Node<'_>) -> Option<Word> {
        Some(Self::of(source, node)?.into_word())
    }

    /// Reads a node as the words that its braces make of it. `None` if it holds something that is not understood.
    pub(crate) fn read_all(source: &'a str, node: Node<'_>) -> Option<Vec<Word>> {
        let reader = Self::of(source, node)?;
        let spread = reader.spread();
        Some(spread.unwrap_or_else(|| vec![reader.into_word()]))
    }

    fn of(source: &'a str, node: Node<'_>) -> Option<Self> {
        let mut reader = Self {
            source,
            word: Word::literal(""),
            unquoted: String::new(),
            brace: None,
            globs: false,
            plain_brace: false,
            gaps: Some(Vec::new()),
            open_name: None,
            pipe: None,
            has_quotes: false,
        };
        reader.add(node)?;
        reader.finish_unquoted();
        Some(reader)
    }

    /// The words that braces make, if they are few, and nothing else in the word is put in by the shell.
    fn spread(&self) -> Option<Vec<Word>> {
        let Word { text, form, .. } = &self.word;
        if self.brace != Some(true) || self.plain_brace || *form == Form::Dynamic || text.contains("..") {
            return None;
        }
        let globs = |text: &str| self.globs && text.contains(['*', '?', '[', '(']);
        let word = |text: String| Word {
            form: if globs(&text) { Form::Pattern } else { Form::Literal },
            splits: false,
            lead: !text.starts_with(['*', '?', '[']) || !globs(&text),
            tilde: text.starts_with('~') && (self.word.tilde || self.word.text.starts_with('{')),
            text,
            gaps: None,
        };
        Some(
            alternatives(text)?
                .into_iter()
                .filter(|text| self.has_quotes || !text.is_empty())
                .map(word)
                .collect(),
        )
    }

    fn into_word(self) -> Word {
        let mut reader = self;
        if reader.brace == Some(true) {
            reader.word.form = reader.word.form.max(Form::Pattern);
            reader.word.lead &= !reader.word.text.starts_with('{');
        }
        // Nobody can tell the two kinds of braces apart afterwards.
        let is_mixed = reader.brace == Some(true) && reader.plain_brace;
        // A pipe is one only by itself.
        if is_mixed || reader.pipe.is_some_and(|pipe| pipe != reader.word.text) {
            reader.word.form = Form::Dynamic;
        }
        // What is put in can make a pattern fit several names.
        let multiplies = reader.globs || reader.brace == Some(true);
        reader.word.splits |= multiplies && reader.word.form == Form::Dynamic;
        let gaps = reader.gaps.filter(|gaps| !gaps.is_empty() && reader.brace != Some(true));
        reader.word.gaps = gaps.map(|all| Gaps { length: reader.word.text.len(), globs: reader.globs, all });
        reader.word
    }

    fn text(&self, node: Node<'_>) -> Option<&'a str> {
        self.source.get(node.byte_range())
    }

    fn add(&mut self, node: Node<'_>) -> Option<()> {
        let text = self.text(node)?;
        match node.kind() {
            "word" | "extglob_pattern" | "variable_name" => self.bare(text),
            "number" if node.named_child_count() == 0 => self.bare(text),
            "raw_string" => self.quoted(text.strip_prefix('\'')?.strip_suffix('\'')?),
            "ansi_c_string" => match decode_ansi(text.strip_prefix("$'")?.strip_suffix('\'')?) {
                Some(decoded) => self.quoted(&decoded),
                None => self.expansion(text, Quotes::Given),
            },
            "string" => self.string(node)?,
            // What it says in another language is not known.
            "translated_string" => {
                self.add(node.named_child(0)?)?;
                self.word.form = Form::Dynamic;
                self.word.lead = false;
                self.gaps = None;
            }
            "command_name" | "concatenation" => self.children(node)?,
            "brace_expression" => self.bare(text),
            "simple_expansion" if is_number(text) => self.number(text),
            "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion" => {
                self.expansion(text, Quotes::None);
            }
            // The name of a pipe to a command that is judged by itself.
            "process_substitution" => {
                self.quoted(text);
                self.word.form = self.word.form.max(Form::Found);
                self.gaps = None;
                self.pipe = Some(text);
            }
            "$" | "=" | "==" | "=~" => self.quoted(text),
            _ => return None,
        }
        Some(())
    }

    fn children(&mut self, node: Node<'_>) -> Option<()> {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        let mut before = "";
        for child in node.children(&mut cursor) {
            // Inside one word nothing may lie between its pieces.
            if child.start_byte() != end {
                return None;
            }
            // A dollar in front of a text is part of its quotes.
            if before == "$" && matches!(child.kind(), "string" | "raw_string") {
                return None;
            }
            before = child.kind();
            end = child.end_byte();
            self.add(child)?;
        }
        (end == node.end_byte()).then_some(())
    }

    /// A double-quoted string: what lies between its expansions is literal, white space included.
    fn string(&mut self, node: Node<'_>) -> Option<()> {
        let open = self.text(node)?.find('"')? + 1 + node.start_byte();
        let close = node.end_byte().checked_sub(1)?;
        let mut at = open;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if child.kind() == "string_content" {
                continue;
            }
            let start = ends::start(child, self.source);
            self.quoted(&unescape_double(self.source.get(at..start)?));
            let text = self.source.get(start..child.end_byte())?;
            match child.kind() {
                "simple_expansion" if is_number(text) => self.number(text),
                "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion" => {
                    let may_be_many = text == "$@" || text.starts_with("${") && text.contains('@');
                    self.expansion(text, Quotes::Given);
                    self.word.splits |= may_be_many;
                }
                _ => return None,
            }
            at = child.end_byte();
        }
        self.quoted(&unescape_double(self.source.get(at..close)?));
        Some(())
    }

    fn expansion(&mut self, text: &str, quotes: Quotes) {
        self.finish_unquoted();
        self.word.lead &= !self.word.text.is_empty();
        self.gap(text, quotes);
        let at = self.word.text.len();
        self.put(text);
        self.open_name = (!text.starts_with("${") && text.ends_with(is_of_name)).then_some(at);
        self.word.form = Form::Dynamic;
        self.word.splits |= quotes == Quotes::None;
    }

    fn put(&mut self, text: &str) {
        if let Some(at) = self.open_name.take_if(|_| !text.is_empty())
            && text.starts_with(is_of_name)
        {
            self.word.text.insert(at + 1, '{');
            self.word.text.push('}');
            let last = self.gaps.as_mut().and_then(|gaps| gaps.last_mut());
            last.into_iter().for_each(|gap| gap.at.end = self.word.text.len());
        }
        self.word.text.push_str(text);
    }

    fn gap(&mut self, text: &str, quotes: Quotes) {
        let at = self.word.text.len();
        let gap = Gap { at: at..at + text.len(), quoted: quotes == Quotes::Given };
        self.gaps.iter_mut().for_each(|gaps| gaps.push(gap.clone()));
    }

    /// An expansion that is always one word of digits.
    fn number(&mut self, text: &str) {
        self.finish_unquoted();
        self.gap(text, Quotes::Given);
        self.quoted(text);
        self.word.form = Form::Dynamic;
    }

    fn quoted(&mut self, text: &str) {
        self.has_quotes = true;
        self.finish_unquoted();
        self.plain_brace |= text.contains(['{', '}', ',']);
        self.put(text);
    }

    fn bare(&mut self, raw: &str) {
        if self.word.text.is_empty() && self.unquoted.is_empty() && raw.starts_with('~') {
            self.word.tilde = true;
        }
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('\n') | None => {}
                    Some(escaped) => {
                        self.finish_unquoted();
                        self.plain_brace |= matches!(escaped, '{' | '}' | ',');
                        self.put(escaped.encode_utf8(&mut [0; 4]));
                    }
                },
                '~' if self.may_be_home() => {
                    self.unquoted.push(c);
                    self.word.form = Form::Dynamic;
                    self.gaps = None;
                }
                _ => self.unquoted.push(c),
            }
        }
    }

    /// Whether a `~` at this place is a home as well: in what looks like an assignment, wherever it stands.
    fn may_be_home(&self) -> bool {
        let follows = |sign: char| self.unquoted.ends_with(sign);
        let name = self.word.text.chars().chain(self.unquoted.chars());
        follows(':') || follows('=') && !name.take(1).any(|first| first == '-')
    }

    /// Notes what unquoted text means to the shell: patterns and braces.
    fn finish_unquoted(&mut self) {
        let unquoted = std::mem::take(&mut self.unquoted);
        for (at, c) in unquoted.char_indices() {
            let multiplies = c == ',' || unquoted[at..].starts_with("..");
            match self.brace {
                None if c == '{' => self.brace = Some(false),
                Some(false) if multiplies => self.brace = Some(true),
                _ => {}
            }
        }
        if let Some(at) = unquoted.find(['*', '?', '[', '(']) {
            self.word.lead &= at > 0 || !self.word.text.is_empty();
            self.word.form = self.word.form.max(Form::Pattern);
            self.globs = true;
        }
        self.put(&unquoted);
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether an expansion stands in quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Given,
    None,
}

/// Whether an expansion is a number: of arguments, of the last status, of the shell.
fn is_number(text: &str) -> bool {
    matches!(text, "$#" | "$?" | "$$")
}
