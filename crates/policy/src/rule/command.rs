//! Rules for commands: exact, by prefix (`git log:*`), or with `*` for any text.

use std::cell::OnceCell;
use std::path::Path;

use super::Reading;
use crate::glob::Glob;
use crate::shell::{
    Command, Kind, Runs, Word, analyse, git_deed, git_subcommand, harmless_assignment, is_known_program,
    is_option, is_own_name, possible_commands, possible_subcommands, program_name, runs,
    takes_script_from_input,
};

/// Whether a rule speaks of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    /// It does not.
    No,
    /// It may, depending on what the shell puts in.
    Perhaps,
    /// It does.
    Yes,
}

/// The content of a rule, split.
struct Wanted {
    words: Vec<String>,
    open: bool,
    /// What texts are compared with where a word has a `*`. Made when first needed: a command is compared many times.
    globs: OnceCell<Globs>,
}

/// The patterns of a rule.
struct Globs {
    /// As it is written.
    plain: Vec<Glob>,
    /// With the directory of its program written in another way, if there is one.
    shorter: Vec<Glob>,
}

impl Wanted {
    fn new(content: &str) -> Self {
        let (prefix, open) = opened(content);
        Self::of(prefix.split_whitespace().map(str::to_owned).collect(), open)
    }

    fn of(words: Vec<String>, open: bool) -> Self {
        Self { words, open, globs: OnceCell::new() }
    }

    /// The same with its quotes taken as the shell takes them, if there are any.
    fn unquoted(content: &str) -> Option<Self> {
        let (prefix, open) = opened(content);
        let analysis = prefix.contains(['"', '\'', '\\']).then(|| analyse(prefix, Path::new("/")))?;
        let [command] = analysis.commands.as_slice() else { return None };
        let assigned = if command.layers.len() == 1 { command.assignments_before(0) } else { Vec::new() };
        let words = assigned.iter().chain(&command.layers.first()?.words).map(|word| word.text.clone());
        Some(Self::of(words.collect(), open))
    }

    fn has_wildcard(&self) -> bool {
        self.words.iter().any(|word| word.contains('*'))
    }

    /// Whether an allow rule covers these words.
    fn covers(&self, given: &[Word]) -> bool {
        let literal: Option<Vec<&str>> = given.iter().map(Word::known).collect();
        if self.has_wildcard() {
            return literal.is_some_and(|words| self.matches_text(&words.join(" ")));
        }
        let begins = given.len() >= self.words.len()
            && given.iter().zip(&self.words).all(|(given, wanted)| given.known() == Some(wanted));
        begins && (self.open || given.len() == self.words.len())
    }

    /// Whether a rule against a command speaks of the one that these words begin.
    fn touches(&self, given: &[Word]) -> Match {
        if self.has_wildcard() {
            let texts: Vec<&str> = given.iter().map(|word| word.text.as_str()).collect();
            return if self.matches_plain(&texts) { Match::Yes } else { Match::No };
        }
        if given.len() < self.words.len() && !given.iter().any(|word| word.splits) {
            return Match::No;
        }
        let mut result = Match::Yes;
        for (at, wanted) in self.words.iter().enumerate() {
            let found = match given.get(at) {
                Some(word) if word.text == *wanted => Match::Yes,
                Some(word) if at == 0 && word.is_literal() => same_program(&word.text, wanted),
                // What the shell puts in could be what is wanted, several words of it perhaps.
                Some(word) if at > 0 && !word.is_literal() && word.splits => return Match::Perhaps,
                Some(word) if at > 0 && !word.is_literal() => Match::Perhaps,
                _ => Match::No,
            };
            if found == Match::No {
                return found;
            }
            result = result.min(found);
        }
        if self.open || given.len() == self.words.len() { result } else { Match::No }
    }

    /// What the name of the program begins with, whatever stands for the rest of it.
    fn head(&self) -> &str {
        let name = self.words.first().map_or("", |word| base_name(word));
        name.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default()
    }

    fn globs(&self) -> &Globs {
        self.globs.get_or_init(|| {
            let plain = self.words.join(" ");
            // What is only a `*` then would fit everything.
            let shorter = plain.strip_prefix("./").filter(|rest| !rest.starts_with(['*', '?']));
            Globs {
                plain: self.matchers(&plain),
                shorter: shorter.map_or_else(Vec::new, |text| self.matchers(text)),
            }
        })
    }

    fn matchers(&self, pattern: &str) -> Vec<Glob> {
        let more = self.open.then(|| format!("{pattern} *"));
        let glob = |pattern: &str| Glob::new(pattern, false).ok();
        [Some(pattern), more.as_deref()].into_iter().flatten().filter_map(glob).collect()
    }

    fn matches_text(&self, text: &str) -> bool {
        self.globs().plain.iter().any(|glob| glob.is_match(text))
    }

    fn matches_plain(&self, given: &[&str]) -> bool {
        if self.has_wildcard() {
            return self.matches_readings(given);
        }
        given.len() >= self.words.len()
            && given.iter().zip(&self.words).enumerate().all(|(at, (given, wanted))| {
                given == wanted || (at == 0 && same_program(given, wanted) == Match::Yes)
            })
            && (self.open || given.len() == self.words.len())
    }

    /// Compares with `*`, the program's directory written in one way or another.
    fn matches_readings(&self, given: &[&str]) -> bool {
        let Some((program, rest)) = given.split_first().filter(|_| !self.words.is_empty()) else {
            return false;
        };
        let clean = normal(program).join("/");
        let programs = [program, clean.as_str(), base_name(program)];
        let texts = programs.map(|program| [&[program], rest].concat().join(" "));
        let Globs { plain, shorter } = self.globs();
        plain.iter().chain(shorter).any(|glob| texts.iter().any(|text| glob.is_match(text)))
    }
}

/// What a rule's content says up to the sign that more may follow, and whether there is one.
fn opened(content: &str) -> (&str, bool) {
    match content.strip_suffix(":*").or_else(|| content.strip_suffix(" *")) {
        Some(prefix) => (prefix, true),
        None => (content, false),
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The parts of a path that say where something is, however it is reached.
fn normal(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts
}

/// Whether two ways of naming a program mean the same. Where one tells more of its directory than the other, they may.
fn same_program(given: &str, wanted: &str) -> Match {
    if base_name(given) != base_name(wanted) || given.is_empty() {
        return Match::No;
    }
    let (given, wanted) = (normal(given), normal(wanted));
    let same = given.ends_with(&wanted) || wanted.ends_with(&given);
    if same { Match::Yes } else { Match::Perhaps }
}

/// Whether an allow rule covers a command: its own words or those of a wrapper that it may stand for.
pub(crate) fn covers(content: &str, command: &Command) -> bool {
    if command.kind != Kind::Run {
        return false;
    }
    let wanted = Wanted::new(content);
    for (depth, layer) in command.layers.iter().enumerate() {
        let is_last = depth + 1 == command.layers.len();
        let enough = is_last || layer.covers_inner || wanted.words.len() > layer.own;
        if enough
            && variants(&layer.words, &command.assignments_before(depth), Reading::Covers)
                .iter()
                .any(|words| wanted.covers(words))
        {
            return true;
        }
        if !layer.inner_suffices {
            return false;
        }
    }
    false
}

/// Whether a deny or ask rule touches a command in any of its layers.
pub(crate) fn touches(content: &str, command: &Command) -> Match {
    if begins(content, &command.text) {
        return Match::Yes;
    }
    let readings = [Some(Wanted::new(content)), Wanted::unquoted(content)];
    readings.into_iter().flatten().map(|wanted| touched(&wanted, command)).max().unwrap_or(Match::No)
}

fn touched(wanted: &Wanted, command: &Command) -> Match {
    let layers = command.layers.iter().enumerate();
    let layers = layers.map(|(depth, layer)| {
        let mut spelt = command.assignments_before(depth);
        spelt.extend(layer.words.iter().filter(|_| !command.assignments.is_empty()).cloned());
        touches_words(wanted, &layer.words).max(wanted.touches(&spelt))
    });
    let variables = command.variables_for_programs().map(|value| &value.text);
    // A program that runs words may run what it reads as well.
    let fed = command.fed.iter().filter(|_| runs_input(command.words()));
    let texts = variables.chain(fed).map(|text| hides(wanted, text));
    let texts = texts.map(|hides| if hides { Match::Yes } else { Match::No });
    layers.chain(texts).max().unwrap_or(Match::No)
}

fn runs_input(words: &[Word]) -> bool {
    let name = words.first().and_then(program_name).map(base_name);
    let rest = words.get(1..).unwrap_or_default();
    match name {
        // What it reads may be for a variable that programs obey.
        Some("read") => !rest.iter().all(|word| word.text.starts_with('-') || is_own_name(&word.text)),
        Some("awk" | "gawk" | "mawk" | "sed" | "gsed") => takes_script_from_input(rest),
        name => !words.is_empty() && !name.is_some_and(is_known_program),
    }
}

fn touches_words(wanted: &Wanted, words: &[Word]) -> Match {
    let Some(first) = words.first() else { return Match::No };
    let found = variants(words, &[], Reading::Touches).iter().map(|words| wanted.touches(words)).max();
    // A program whose name the shell puts together could be any.
    let found = found.unwrap_or(Match::No).max(if first.is_literal() { Match::No } else { Match::Perhaps });
    let name = program_name(first).map(base_name);
    let runs = name.map_or(Runs::Words, |name| runs(name, &words[1..]));
    let found = found.max(if renames(wanted, name, &words[1..]) { Match::Perhaps } else { Match::No });
    if found == Match::Yes || runs == Runs::Nothing {
        return found;
    }
    let unseen = if runs == Runs::Unseen { Match::Perhaps } else { Match::No };
    found.max(among_words(wanted, name, words)).max(unseen)
}

/// Whether a command is among the words of a program that runs some of them.
fn among_words(wanted: &Wanted, name: Option<&str>, words: &[Word]) -> Match {
    let later = (1..words.len()).map(|at| wanted.touches(&words[at..])).max().unwrap_or(Match::No);
    let marks = |c: char| c.is_whitespace() || "=\"'`$(![".contains(c);
    let texts = || words.iter().map(|word| word.text.as_str());
    let marked = texts().filter(|text| text.contains(marks));
    let marked = marked.flat_map(|text| std::iter::once(text).chain(ends_of_cluster(text)));
    if marked.into_iter().any(|text| hides(wanted, text)) {
        return Match::Yes;
    }
    // What begins in the word of an option may go on in the next ones.
    let all: Vec<&str> = texts().collect();
    // Comparing is dear where a rule has wildcards, and nearly no end of an option can be the program.
    let head = wanted.head();
    let may_be = |end: &&str| end.contains(head) || end.contains(['\\', '"', '\'']);
    let attached = (1..all.len()).any(|at| {
        let behind = &all[at + 1..];
        let fits = |end| wanted.matches_plain(&[end]) || wanted.matches_plain(&[&[end], behind].concat());
        letters_of_cluster(all[at]) > LONGEST_CLUSTER || ends_of_cluster(all[at]).filter(may_be).any(fits)
    });
    let found = match attached {
        true if name.is_some_and(is_known_program) => Match::Yes,
        true => Match::Perhaps,
        false if is_scattered(wanted, &words[1..]) => Match::Perhaps,
        false => Match::No,
    };
    later.max(found)
}

/// Whether all words of a command are there, though others stand between them.
fn is_scattered(wanted: &Wanted, words: &[Word]) -> bool {
    let mut given = words.iter().map(|word| word.text.as_str());
    wanted.words.len() > 1 && wanted.words.iter().all(|wanted| given.any(|given| base_name(given) == wanted))
}

/// Whether a program is given another name, under which no rule would know it.
fn renames(wanted: &Wanted, name: Option<&str>, words: &[Word]) -> bool {
    let Some(program) = wanted.words.first() else { return false };
    let moves = name.is_some_and(|name| ["cp", "install", "link", "ln", "mv"].contains(&name));
    // A bare name is more likely that of a file which only has the same one.
    let is_program = |text: &str| program.contains('/') || text.contains('/');
    let bare = base_name(program);
    let named = |word: &Word| base_name(&word.text) == bare && is_program(&word.text);
    moves && !bare.is_empty() && words.iter().any(named)
}

/// How many letters a cluster of options may have before nobody looks for its end.
const LONGEST_CLUSTER: usize = 64;

/// What may be the value at the end of a cluster of short options: it follows the last letter at once.
fn ends_of_cluster(text: &str) -> impl Iterator<Item = &str> {
    let cluster = text.strip_prefix('-').unwrap_or_default();
    let last = letters_of_cluster(text).min(LONGEST_CLUSTER);
    (1..=last).filter_map(|at| cluster.get(at..)).filter(|end| !end.is_empty())
}

/// How many letters of a word may be short options.
fn letters_of_cluster(text: &str) -> usize {
    let cluster = text.strip_prefix('-').unwrap_or_default();
    cluster.bytes().take_while(u8::is_ascii_alphanumeric).count()
}

/// Whether a text holds the command, be it with quotes and escapes inside of its words, `%` among them in addresses of git.
/// Lists of words are commands to many languages.
fn hides(wanted: &Wanted, text: &str) -> bool {
    let holds = |text: &str| possible_commands(text).iter().any(|words| wanted.matches_plain(words));
    holds(text)
        || holds(&text.replace(['"', '\'', '\\', '%'], ""))
        || holds(&text.replace(['"', '\'', ',', '[', ']'], " "))
}

/// Whether a deny or ask rule touches text that is not understood.
pub(crate) fn touches_text(content: &str, text: &str) -> bool {
    let readings = [Some(Wanted::new(content)), Wanted::unquoted(content)];
    spells(content, text) || readings.iter().flatten().any(|wanted| hides(wanted, text))
}

/// Whether a text begins with what a rule says, letter by letter.
fn begins(content: &str, text: &str) -> bool {
    let (prefix, open) = opened(content.trim());
    let rest = text.trim().strip_prefix(prefix.trim_end());
    rest.is_some_and(|rest| rest.is_empty() || open && rest.starts_with(char::is_whitespace))
}

/// Whether what a rule says stands in a text, letter by letter.
fn spells(content: &str, text: &str) -> bool {
    let (prefix, open) = opened(content.trim());
    let goes_on = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let is_apart = |at: usize| !text[..at].ends_with(goes_on);
    let ends = |rest: &str| match open {
        true => !rest.starts_with(goes_on),
        false => rest.trim_start_matches([' ', '\t']).chars().next().is_none_or(|c| "\n;&|)".contains(c)),
    };
    !prefix.is_empty()
        && text.match_indices(prefix).any(|(at, _)| is_apart(at) && ends(&text[at + prefix.len()..]))
}

/// Whether a rule is exactly the whole text.
pub(crate) fn is_whole_text(content: &str, text: &str) -> bool {
    content.trim() == text.trim()
}

/// The same command line in other spellings: without the program's directory, without options before a subcommand.
fn variants(words: &[Word], before: &[Word], reading: Reading) -> Vec<Vec<Word>> {
    let mut all = vec![words.to_vec()];
    if !before.is_empty() {
        all.push(before.iter().chain(words).cloned().collect());
    }
    let Some((first, rest)) = words.split_first() else { return all };
    let Some(name) = program_name(first) else { return all };
    let name = if reading == Reading::Touches { base_name(name) } else { name };
    let named = Word::literal(name);
    if reading == Reading::Covers {
        all.push(std::iter::once(&named).chain(rest).cloned().collect());
    }
    if let Some(subcommand) = name.strip_prefix("git-").filter(|_| reading == Reading::Touches) {
        let start = [Word::literal("git"), Word::literal(subcommand)];
        let whole: Vec<Word> = start.iter().chain(rest).cloned().collect();
        all.extend(variants(&whole, &[], reading));
    }
    if name == "git" {
        let found = match reading {
            Reading::Touches => possible_subcommands(rest),
            Reading::Covers => git_subcommand(rest).into_iter().collect(),
        };
        for (subcommand, rest) in found {
            let start = [named.clone(), subcommand.clone()];
            all.push(start.iter().chain(rest).cloned().collect());
            let done = git_deed(&subcommand.text, rest).filter(|_| reading == Reading::Touches);
            all.extend(done.map(|(deed, rest)| {
                let start = [named.clone(), Word::literal(deed)];
                start.iter().chain(rest).cloned().collect()
            }));
        }
    }
    all
}

impl Command {
    /// The values that programs are given and may run.
    fn variables_for_programs(&self) -> impl Iterator<Item = &Word> {
        let exports = self.words().split_first().is_some_and(|(word, rest)| {
            word.text == "export" || rest.iter().any(|word| is_option(&word.text, "-x"))
        });
        let given = self.kind == Kind::Run || self.kind == Kind::Declare && exports;
        let assignments = self.assignments.iter().filter(move |_| given);
        assignments.filter(|assignment| !harmless_assignment(assignment)).map(|assignment| &assignment.value)
    }

    /// The assignments in front of the outermost layer, as words.
    fn assignments_before(&self, depth: usize) -> Vec<Word> {
        let words = self.assignments.iter().map(|assignment| Word {
            text: format!("{}={}", assignment.name, assignment.value.text),
            form: assignment.value.form,
            ..Word::literal("")
        });
        if depth == 0 { words.collect() } else { Vec::new() }
    }
}

/// Whether a rule's own text spells out the assignments of a command, so that they are meant.
pub(crate) fn spells_assignments(content: &str, command: &Command) -> bool {
    command.assignments.iter().all(|assignment| {
        content
            .split_whitespace()
            .any(|word| word == format!("{}={}", assignment.name, assignment.value.text))
    })
}
