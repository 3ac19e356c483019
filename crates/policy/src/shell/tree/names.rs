//! What kind of names come through a pipeline.

use crate::shell::program::name_ends::{Ends, has_option, of_listed};
use crate::shell::program::wrapper::PutIn;
use crate::shell::{Command, Dirs, Form, Listing, Word, prints_commit_lines, prints_commits};

/// What is printed that others take for names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    kind: Kind,
    /// What each ends with.
    ends: Ends,
    /// Whether there is one at most.
    one: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Anything at all.
    #[default]
    Any,
    /// Files below what a lister was given.
    Listed,
    /// The same, never taken for options.
    Found,
    /// Commits of the repository.
    Commits,
    /// Lines that begin with one.
    CommitLines,
}

/// Long options of listers that leave names as they are.
const PLAIN: &[&str] = &[
    "--cached",
    "--exclude",
    "--exclude-dir",
    "--exclude-standard",
    "--extension",
    "--files",
    "--files-with-matches",
    "--glob",
    "--hidden",
    "--iglob",
    "--include",
    "--modified",
    "--no-ignore",
    "--others",
    "--type",
];

impl Names {
    /// Nothing that is known.
    pub(super) const ANY: Self = Self { kind: Kind::Any, ends: Ends::Line, one: false };

    /// What a command prints that has no input.
    pub(super) fn listed_by(words: &[Word]) -> Self {
        Self { kind: Kind::listed_by(words), ends: of_listed(words), one: false }
    }

    /// What is left of them after a further command of the pipeline.
    pub(super) fn passed_by(self, command: &Command) -> Self {
        let words = command.words();
        let is_put_in = |word: &&Word| word.form == Form::Found && word.text == "{}";
        // Of the files that it searches, which are no others, it prints names.
        if words.iter().filter(is_put_in).count() == 1 && words.last().is_some_and(|last| is_put_in(&last)) {
            // Without names, `rg` searches here, and so does `grep` that walks: they print other names then.
            let searches =
                words[0].text == "grep" && !words[1..].iter().any(is_walking) && operands(&words[1..]) == 2;
            let lists = searches && Kind::listed_by(words) == Kind::Listed && of_listed(words) == self.ends;
            return if lists { Self { one: false, ..self } } else { Self::ANY };
        }
        let Some((program, rest)) = words.split_first() else { return Self::ANY };
        if self.kind == Kind::CommitLines && takes_first_field(words) {
            return Self { kind: Kind::Commits, ..self };
        }
        let (letters, operands) = match program.text.as_str() {
            // The pattern.
            "grep" => ("EFGPivwx", usize::from(!gives_pattern(rest))),
            "head" | "tail" => ("n", 0),
            "sort" => ("Vbdfghnru", 0),
            "uniq" => ("diu", 0),
            _ => return Self::ANY,
        };
        let valued = match program.text.as_str() {
            "grep" => "-e",
            "head" | "tail" => "-n",
            _ => "",
        };
        let rest = others_than(rest, valued);
        let others = rest.iter().filter(|word| !word.text.starts_with('-'));
        // A word that comes apart, or that stands for several, is a file to read.
        let passes =
            words.iter().all(|word| word.is_single() && word.text != "-" && !word.text.starts_with("--"))
                && !(program.text == "grep" && gives_context(&rest))
                && has_only(&rest, letters)
                && others.count() <= operands
                && rest.iter().all(|word| word.lead);
        // Lines that hold several names are other lines afterwards.
        let ends = if self.ends == Ends::Line { Ends::Line } else { Ends::Unclear };
        if passes { Self { one: self.one || is_one_line(words), ends, ..self } } else { Self::ANY }
    }

    /// How they are put into a command.
    pub(super) fn put_in(self) -> PutIn {
        PutIn { name: self.as_word(), ends: self.ends }
    }

    /// The word that stands for such a name.
    fn as_word(self) -> Word {
        match self.kind {
            Kind::Any | Kind::CommitLines => Word::put_in("{}", Form::Dynamic, true),
            Kind::Listed => Word::put_in("{}", Form::Found, true),
            Kind::Found => Word::put_in("{}", Form::Found, false),
            Kind::Commits => Word::commit(""),
        }
    }

    /// What one of them is, if they are of a kind that is known.
    pub(super) fn listing(self, dirs: &Dirs) -> Option<Listing> {
        match self.kind {
            Kind::Any | Kind::CommitLines => None,
            Kind::Listed | Kind::Found => Some(Listing::Names { dirs: dirs.clone(), one: true }),
            Kind::Commits => Some(Listing::Commits),
        }
    }

    /// What the first of the words on a line is.
    pub(super) fn first_field(self) -> Option<Listing> {
        matches!(self.kind, Kind::Commits | Kind::CommitLines).then_some(Listing::Commits)
    }

    pub(super) fn ends(self) -> Option<Ends> {
        (self.kind != Kind::Any).then_some(self.ends)
    }

    pub(super) fn is_one(self) -> bool {
        self.one
    }
}

impl Kind {
    fn listed_by(words: &[Word]) -> Self {
        let Some((program, rest)) = words.split_first() else { return Self::Any };
        let before_end: Vec<&str> =
            rest.iter().map(|word| word.text.as_str()).take_while(|text| *text != "--").collect();
        let has = |options: &[&str]| before_end.iter().any(|text| options.contains(text));
        let names_only = |valued: &str| has_option(rest, &["--files-with-matches"], 'l', valued);
        let shows = ["-printf", "-ls", "-exec", "-execdir", "-ok", "-okdir"];
        let lists = match program.text.as_str() {
            "find" => return if has(&shows) { Self::Any } else { Self::Found },
            // Links are shown with where they lead, and `..` is a name as well.
            "ls" => {
                !rest.iter().any(|word| word.text == "--")
                    && has_only(rest, "1SUdhrtX")
                    && (names_here(rest) || names_given(rest))
            }
            "fd" => has_only(rest, "0EFHIadegijpstu"),
            "git" if prints_commits(words) => return Self::Commits,
            "git" if prints_commit_lines(words) => return Self::CommitLines,
            "git" => match rest.first().map(|word| word.text.as_str()) {
                Some("ls-files") => names_below(&rest[1..]),
                Some("grep") => names_only("e") && names_searched(&rest[1..]),
                Some("diff") => has(&["--name-only"]) && names_changed(&rest[1..]),
                _ => false,
            },
            "rg" => {
                // The name of a kind of files may follow at once.
                let rest: Vec<Word> =
                    rest.iter().filter(|word| !word.text.starts_with("-t")).cloned().collect();
                (has_option(&rest, &["--files"], 'l', "egjt") || names_only("egjt"))
                    && has_only(&rest, "0EFHSeghijlstuwx")
            }
            "grep" => names_only("e") && has_only(rest, "EFGPZehilrsvwx"),
            "printf" => prints_each(rest),
            _ => false,
        };
        if lists { Self::Listed } else { Self::Any }
    }
}

/// Whether a filter leaves the first word of each line and nothing else.
fn takes_first_field(words: &[Word]) -> bool {
    let texts: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    matches!(
        texts.as_deref(),
        Some(
            ["cut", "-d ", "-f1"]
                | ["cut", "-d", " ", "-f1"]
                | ["cut", "-d", " ", "-f", "1"]
                | ["cut", "-f1", "-d "]
                | ["awk", "{print $1}" | "{ print $1 }"]
        )
    )
}

/// How many words are no options.
fn operands(rest: &[Word]) -> usize {
    rest.iter().filter(|word| !word.text.starts_with('-')).count()
}

/// Whether `head` or `tail` leaves a single line.
fn is_one_line(words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    matches!(texts[..], ["head" | "tail", "-1" | "-n1"] | ["head" | "tail", "-n", "1"])
}

/// Whether all options are of these letters, with digits at most behind them, or long and plain.
fn has_only(rest: &[Word], letters: &str) -> bool {
    rest.iter().filter(|word| word.text.starts_with('-')).all(|word| match word.text.strip_prefix("--") {
        Some("") => true,
        Some(_) => PLAIN.contains(&word.text.split('=').next().unwrap_or_default()),
        None => word.text[1..].chars().all(|c| letters.contains(c) || c.is_ascii_digit()),
    })
}

/// Whether `ls` prints names as they are to be read from here: of what a directory holds, it leaves out which one that is.
fn names_here(rest: &[Word]) -> bool {
    let is_operand = |word: &Word| !(word.text.len() > 1 && word.text.starts_with('-'));
    let itself =
        |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('d');
    !rest.iter().any(is_operand) || rest.iter().any(itself)
}

/// Whether `ls` is given nothing but patterns: it prints the names that they fit, unless these are directories, which is
/// seen where it is judged.
fn names_given(rest: &[Word]) -> bool {
    let given = || rest.iter().filter(|word| !word.text.starts_with('-'));
    given().all(|word| word.form == Form::Pattern && !word.tilde)
}

/// Whether `printf` prints words one by one that are the names of files below where it runs.
fn prints_each(rest: &[Word]) -> bool {
    let Some((format, names)) = rest.split_first() else { return false };
    matches!(format.known(), Some("%s\\n" | "%s\\0"))
        && names.iter().all(|word| word.form == Form::Pattern && is_below(word))
}

/// Whether `git grep` searches in the files that are on disk below where it runs.
fn names_searched(rest: &[Word]) -> bool {
    let end = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
    let given = rest[..end].iter().filter(|word| !word.text.starts_with('-'));
    has_only(rest, "EFGIPhilwz")
        && given.count() <= 1
        && rest[end..].iter().all(|word| word.form <= Form::Pattern && is_below(word))
}

/// Whether a word leads to something below where a command runs.
fn is_below(word: &Word) -> bool {
    // A pattern for hidden names may fit `..` as well.
    let leads_up = |part: &str| part.starts_with('.') && part.contains(['*', '?', '[']);
    !word.tilde
        && !word.text.starts_with(['/', ':', '~'])
        && !word.text.contains(['{', '('])
        && !word.text.contains("..")
        && !word.text.split('/').any(leads_up)
}

/// Whether `grep` is told to search in all that lies below.
fn is_walking(word: &Word) -> bool {
    let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| letters.contains(['r', 'R'])) || word.text.contains("recursive")
}

/// Whether `grep` is told to show lines around those that it finds, with a line of signs between them.
fn gives_context(rest: &[Word]) -> bool {
    rest.iter().any(|word| word.text.starts_with('-') && word.text.contains(|c: char| c.is_ascii_digit()))
}

/// Whether an option of `grep` holds its pattern.
fn gives_pattern(rest: &[Word]) -> bool {
    rest.iter().any(|word| word.text == "-e")
}

/// The words without an option that takes the next one.
fn others_than(rest: &[Word], option: &str) -> Vec<Word> {
    let mut others = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if word.text == option {
            words.next();
        } else {
            others.push(word.clone());
        }
    }
    others
}

/// Whether `git diff` is asked for nothing but names, and of nothing outside of the directory it runs in. What a revision
/// holds is not on disk, where names that come apart would be seen.
fn names_changed(rest: &[Word]) -> bool {
    const OPTIONS: &[&str] = &["--", "--cached", "--diff-filter", "--name-only", "--staged", "-z"];
    let is_inside = |word: &Word| {
        !word.text.starts_with(['/', ':', '~']) && !word.text.split('/').any(|part| part == "..")
    };
    let is_plain = rest.iter().all(|word| {
        word.known().is_some()
            && match word.text.starts_with('-') {
                true => OPTIONS.contains(&word.text.split('=').next().unwrap_or_default()),
                false => is_inside(word),
            }
    });
    is_plain && (are_on_disk(rest) || rest.iter().any(|word| word.text == "-z"))
}

/// Whether all that `git diff` names is on disk, or stands in the index.
pub(in crate::shell) fn are_on_disk(rest: &[Word]) -> bool {
    let has = |option: &str| rest.iter().any(|word| word.text == option);
    let mut revisions =
        rest.iter().take_while(|word| word.text != "--").filter(|word| !word.text.starts_with('-'));
    match (revisions.next(), revisions.next()) {
        (None, _) => true,
        (Some(one), None) => {
            is_single(&one.text) && !has("--cached") && !has("--staged") && leaves_out_deleted(rest)
        }
        _ => false,
    }
}

/// Whether a revision is one commit: some signs behind it make it two.
fn is_single(revision: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_.-~^@{}".contains(c);
    !revision.contains("..")
        && !revision.contains("^@")
        && !revision.contains("^-")
        && revision.chars().all(is_plain)
}

/// Whether what was deleted is not among the names.
fn leaves_out_deleted(rest: &[Word]) -> bool {
    let mut filters = rest.iter().filter_map(|word| word.text.strip_prefix("--diff-filter="));
    let is_without = |filter: &str| match filter.chars().any(char::is_uppercase) {
        true => !filter.contains(['D', '*']),
        false => filter.contains('d') && !filter.contains('*'),
    };
    filters.next().is_some_and(is_without) && filters.next().is_none()
}

/// Whether `git ls-files` is asked for nothing but files below the directory it runs in that are on disk.
fn names_below(rest: &[Word]) -> bool {
    has_only(rest, "cmoz") && rest.iter().all(|word| word.form <= Form::Pattern && is_below(word))
}
