//! Rules for commands: exact, by prefix (`git log:*`), or with `*` for any text.

use globset::GlobBuilder;

use super::Reading;
use crate::shell::{
    Command, Kind, Runs, Word, git_subcommand, harmless_assignment, is_known_program, is_option,
    possible_commands, possible_subcommands, program_name, runs,
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
struct Wanted<'a> {
    words: Vec<&'a str>,
    open: bool,
}

impl<'a> Wanted<'a> {
    fn new(content: &'a str) -> Self {
        let (prefix, open) = match content.strip_suffix(":*").or_else(|| content.strip_suffix(" *")) {
            Some(prefix) => (prefix, true),
            None => (content, false),
        };
        Self { words: prefix.split_whitespace().collect(), open }
    }

    fn has_wildcard(&self) -> bool {
        self.words.iter().any(|word| word.contains('*'))
    }

    fn compare(&self, given: &[&Word]) -> Match {
        if given.len() < self.words.len() && !given.iter().any(|word| word.splits) {
            return Match::No;
        }
        let mut result = Match::Yes;
        for (at, wanted) in self.words.iter().enumerate() {
            match given.get(at) {
                Some(word) if word.is_literal() && word.text == *wanted => {}
                Some(word) if !word.is_literal() && at > 0 => {
                    result = Match::Perhaps;
                    if word.splits {
                        return result;
                    }
                }
                _ => return Match::No,
            }
        }
        if self.open || given.len() == self.words.len() { result } else { Match::No }
    }

    fn matches_text(&self, text: &str) -> bool {
        let mut pattern = self.words.join(" ");
        let glob = |pattern: &str| GlobBuilder::new(pattern).literal_separator(false).build();
        let fits = |pattern: &str| glob(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(text));
        if !self.open {
            return fits(&pattern);
        }
        let exact = fits(&pattern);
        pattern.push_str(" *");
        exact || fits(&pattern)
    }

    fn matches_plain(&self, given: &[&str]) -> bool {
        if self.has_wildcard() {
            return self.matches_text(&given.join(" "));
        }
        given.len() >= self.words.len()
            && given.iter().zip(&self.words).enumerate().all(|(at, (given, wanted))| {
                given == wanted || (at == 0 && given.rsplit('/').next() == Some(*wanted))
            })
            && (self.open || given.len() == self.words.len())
    }
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
                .any(|words| covers_words(&wanted, words))
        {
            return true;
        }
        if !layer.inner_suffices {
            return false;
        }
    }
    false
}

fn covers_words(wanted: &Wanted<'_>, words: &[Word]) -> bool {
    if wanted.has_wildcard() {
        let literal: Option<Vec<&str>> = words.iter().map(Word::known).collect();
        return literal.is_some_and(|words| wanted.matches_text(&words.join(" ")));
    }
    wanted.compare(&words.iter().collect::<Vec<_>>()) == Match::Yes
}

/// Whether a deny or ask rule touches a command in any of its layers.
pub(crate) fn touches(content: &str, command: &Command) -> Match {
    let wanted = Wanted::new(content);
    let layers = command.layers.iter().map(|layer| touches_words(&wanted, &layer.words));
    let variables = command.variables_for_programs().map(|value| &value.text);
    // A program that runs words may run what it reads as well.
    let fed = command.fed.iter().filter(|_| runs_input(command.words()));
    let texts = variables.chain(fed).map(|text| hides(&wanted, text));
    layers.chain(texts.map(|hides| if hides { Match::Yes } else { Match::No })).max().unwrap_or(Match::No)
}

fn runs_input(words: &[Word]) -> bool {
    let name = words.first().and_then(program_name).map(|name| name.rsplit('/').next().unwrap_or(name));
    !words.is_empty() && !name.is_some_and(is_known_program)
}

fn touches_words(wanted: &Wanted<'_>, words: &[Word]) -> Match {
    let Some(first) = words.first() else { return Match::No };
    let found =
        variants(words, &[], Reading::Touches).iter().map(|words| compare_touching(wanted, words)).max();
    // A program whose name the shell puts together could be any.
    let found = found.unwrap_or(Match::No).max(if first.is_literal() { Match::No } else { Match::Perhaps });
    let name = program_name(first).map(|name| name.rsplit('/').next().unwrap_or(name));
    let runs = name.map_or(Runs::Words, |name| runs(name, &words[1..]));
    if found == Match::Yes || runs == Runs::Nothing {
        return found;
    }
    // Any of its words could be a command that it runs.
    let later = (1..words.len()).map(|at| compare_touching(wanted, &words[at..])).max().unwrap_or(Match::No);
    let marks = |c: char| c.is_whitespace() || "=\"'`$(!".contains(c);
    let texts = words.iter().map(|word| word.text.as_str()).filter(|text| text.contains(marks));
    // The value of an option may follow its letter at once.
    let hidden =
        texts.flat_map(|text| [Some(text), attached(text)]).flatten().any(|text| hides(wanted, text));
    let later = if hidden { Match::Yes } else { later };
    let unseen = if runs == Runs::Unseen { Match::Perhaps } else { Match::No };
    found.max(later).max(unseen)
}

/// What follows the letter of a short option.
fn attached(text: &str) -> Option<&str> {
    let value = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    value.char_indices().nth(1).map(|(at, _)| &value[at..])
}

/// Compares from the first word on, which may be written with its directory.
fn compare_touching(wanted: &Wanted<'_>, words: &[Word]) -> Match {
    if wanted.has_wildcard() {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        return if wanted.matches_plain(&texts) { Match::Yes } else { Match::No };
    }
    // One word more than is wanted shows that there are more.
    let words = &words[..words.len().min(wanted.words.len() + 1)];
    let bare =
        words.first().and_then(Word::known).and_then(|text| text.rsplit('/').next()).map(Word::literal);
    let given: Vec<&Word> = bare.iter().chain(words.iter().skip(usize::from(bare.is_some()))).collect();
    wanted.compare(&given)
}

/// Whether a text holds the command, be it with quotes and escapes inside of its words, `%` among them in addresses of git.
fn hides(wanted: &Wanted<'_>, text: &str) -> bool {
    let holds = |text: &str| possible_commands(text).iter().any(|words| wanted.matches_plain(words));
    holds(text) || holds(&text.replace(['"', '\'', '\\', '%'], ""))
}

/// Whether a deny or ask rule touches text that is not understood.
pub(crate) fn touches_text(content: &str, text: &str) -> bool {
    let wanted = Wanted::new(content);
    text.trim() == content || hides(&wanted, text)
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
    let name = if reading == Reading::Touches { name.rsplit('/').next().unwrap_or(name) } else { name };
    let named = Word::literal(name);
    all.push(std::iter::once(&named).chain(rest).cloned().collect());
    if name == "git" {
        let found = match reading {
            Reading::Touches => possible_subcommands(rest),
            Reading::Covers => git_subcommand(rest).into_iter().collect(),
        };
        all.extend(found.into_iter().map(|(subcommand, rest)| {
            let start = [named.clone(), subcommand.clone()];
            start.iter().chain(rest).cloned().collect()
        }));
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
