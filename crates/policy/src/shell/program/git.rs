//! What `git` can be asked without changing anything.

use super::lookers::is_option;
use super::options::{Given, Grammar, Sorted, sorted};
use super::runners::Runs;
use super::writers::values;
use super::{effects, revision};
use crate::shell::{Dirs, Word};

/// Subcommands that only look, whatever their operands.
const LOOKERS: &[&str] = &[
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "var",
    "version",
    "whatchanged",
];

/// Options that write a file or run a program, for any subcommand.
const HARMFUL: &[&str] = &[
    "--output",
    "--output-directory",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--open-files-in-pager",
    "--exec",
    "--upload-pack",
    "--show-signature",
    "--paginate",
    "--batch-command",
    // A program of the repository's choice shows it.
    "--help",
];

/// Subcommands with an option `--text`. To others it is short for one that runs a program.
const KNOW_TEXT: &[&str] = &["diff", "diff-files", "diff-index", "diff-tree", "grep", "log", "show"];

/// Long options that name a file whose content shows, be it in a message that it makes no sense.
const FILE_OPTIONS: &[&str] = &[
    "--contents",
    "--exclude-from",
    "--exclude-per-directory",
    "--ignore-revs-file",
    "--pathspec-from-file",
];

/// Settings that may be given for one command.
const SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "column.",
    "core.quotepath=",
    "diff.algorithm=",
    "diff.context=",
    "diff.mnemonicprefix=",
    "diff.noprefix=",
    "diff.renames=",
    "grep.column=",
    "grep.linenumber=",
    "grep.patterntype=",
    "log.",
    "status.",
];

/// Settings that would run something with another value.
const EXACT_SETTINGS: &[&str] = &["core.pager=", "core.pager=cat", "log.showsignature=false"];

/// Whether a call of `git` only looks. `rest`: the words after `git`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let Some((subcommand, rest)) = subcommand(rest) else { return false };
    let is_text = |word: &Word| word.known() == Some("--text") && KNOW_TEXT.contains(&subcommand);
    let is_harmful = rest.iter().any(|word| is_harmful(word) && !is_text(word));
    if is_harmful || sorts_by_signature(rest) || !named_files(subcommand, rest).is_empty() {
        return false;
    }
    match subcommand {
        "branch" => lists(rest, &BRANCHES),
        "tag" => lists(rest, &TAGS),
        "remote" => {
            matches!(
                known(rest).as_deref(),
                Some(
                    [] | ["-v" | "--verbose" | "show"] | ["get-url", _] | ["get-url", "--all" | "--push", _]
                )
            )
        }
        "bisect" => matches!(known(rest).as_deref(), Some(["log"])),
        "symbolic-ref" => matches!(
            known(rest).as_deref(),
            Some([name] | ["--short" | "-q", name] | ["-q", "--short", name] | ["--short", "-q", name]) if !name.starts_with('-')
        ),
        "stash" => matches!(rest.first().and_then(Word::known), Some("list" | "show")),
        "worktree" => matches!(known(rest).as_deref(), Some(["list", ..])),
        "notes" => matches!(rest.first().and_then(Word::known), Some("list" | "show")),
        "reflog" => {
            !matches!(
                rest.first().map(|word| word.text.as_str()),
                Some("expire" | "delete" | "drop" | "write")
            ) && rest.iter().all(Word::is_literal)
        }
        "config" => reads_config(rest),
        "submodule" => matches!(known(rest).as_deref(), Some([] | ["status", ..])),
        "apply" => examines_patch(rest),
        // Without options nothing is kept.
        "hash-object" => !rest.is_empty() && are_plain(rest),
        // It tells the address and does not go there.
        "ls-remote" => rest.first().and_then(Word::known) == Some("--get-url") && are_plain(&rest[1..]),
        "grep" => !rest.iter().any(|word| {
            is_option(&word.text, "-O") || word.text != "--" && is_option(&word.text, "--no-index")
        }),
        _ => LOOKERS.contains(&subcommand),
    }
}

/// Whether `git apply` is only asked what a patch would do.
pub(crate) fn examines_patch(rest: &[Word]) -> bool {
    const ASKS: &[&str] = &["--check", "--numstat", "--stat", "--summary"];
    let (options, files): (Vec<_>, Vec<_>) = rest.iter().partition(|word| word.text.starts_with('-'));
    let asks = |word: &&Word| word.known().is_some_and(|option| ASKS.contains(&option));
    !options.is_empty() && options.iter().all(asks) && files.iter().all(|file| file.is_literal())
}

fn are_plain(words: &[Word]) -> bool {
    words.iter().all(|word| word.is_literal() && !word.text.starts_with('-'))
}

/// The files whose names are the values of options.
pub(crate) fn named_files(subcommand: &str, rest: &[Word]) -> Vec<Word> {
    let named = rest.iter().enumerate().filter_map(|(at, word)| {
        let value = file_option(subcommand, &word.text)?;
        let attached = Word { text: value.to_owned(), lead: true, ..word.clone() };
        let next = || rest.get(at + 1).cloned().unwrap_or_else(|| attached.clone());
        Some(if value.is_empty() { next() } else { attached })
    });
    named.collect()
}

/// The files that a call is told to write, whatever options stand before the subcommand.
pub(crate) fn written(words: &[Word]) -> Vec<Word> {
    let found = possible_subcommands(words);
    let trees = values(words, &["--work-tree"]).into_iter();
    trees.chain(found.iter().flat_map(|(subcommand, rest)| written_by(&subcommand.text, rest))).collect()
}

/// The files that a subcommand is told to write, beside those that it tends anyway.
pub(crate) fn written_by(subcommand: &str, rest: &[Word]) -> Vec<Word> {
    let first = rest.first().map(|word| word.text.as_str());
    let operands = || effects::operands(rest);
    match (subcommand, first) {
        ("config", _) if !shows_settings(rest) => values(rest, &["-f", "--file"]),
        ("config", _) => Vec::new(),
        ("checkout-index", _) => values(rest, &["--prefix"]),
        ("apply" | "am", _) => values(rest, &["--directory"]),
        ("bugreport" | "diagnose", _) => values(rest, &["-o", "--output-directory"]),
        ("fast-export" | "fast-import", _) => values(rest, &["--export-marks"]),
        ("read-tree", _) => values(rest, &["--prefix"]),
        ("archive" | "format-patch", _) => values(rest, &["-o", "--output", "--output-directory"]),
        ("clone", _) => {
            let named = operands().skip(1).chain(values(rest, &["--separate-git-dir"]));
            named.chain(operands().last().as_ref().and_then(named_after)).collect()
        }
        ("init", _) => operands().chain(values(rest, &["--separate-git-dir"])).collect(),
        ("bundle", Some("create")) | ("worktree", Some("add")) => operands().skip(1).collect(),
        _ => values(rest, &["--output"]),
    }
}

/// The directory that a clone gets by the address it comes from.
fn named_after(address: &Word) -> Option<Word> {
    let whole = address.text.trim_end_matches('/');
    let whole = whole.strip_suffix("/.git").unwrap_or(whole);
    let last = whole.rsplit(['/', ':']).next()?;
    let name = [".git", ".bundle"].iter().find_map(|ending| last.strip_suffix(ending)).unwrap_or(last);
    (!name.is_empty()).then(|| Word { text: name.to_owned(), ..address.clone() })
}

/// The files that a subcommand reads where its options say so.
pub(crate) fn read_by(subcommand: &str, rest: &[Word]) -> Vec<Word> {
    match subcommand {
        "config" => values(rest, &["-f", "--file"]),
        "commit" => values(rest, &["-F", "-t", "--file", "--template"]),
        "merge" | "notes" | "tag" => values(rest, &["-F", "--file"]),
        "log" => {
            let attached = rest.iter().filter(|word| word.text.starts_with("-L"));
            let behind = rest.windows(2).filter(|pair| pair[0].text == "-L").map(|pair| &pair[1]);
            let lines = attached.chain(behind);
            let path = |word: &Word| {
                let (_, path) = word.text.rsplit_once(':')?;
                Some(Word { text: path.to_owned(), lead: true, ..word.clone() })
            };
            lines.filter_map(path).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether `git config` is asked for settings.
fn shows_settings(rest: &[Word]) -> bool {
    const SHOWS: &[&str] = &["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"];
    let mut options = rest.iter().take_while(|word| word.text != "--");
    matches!(rest.first().and_then(Word::known), Some("get" | "list"))
        || options.any(|word| word.known().is_some_and(|word| SHOWS.contains(&word)))
}

/// What follows in the word of an option that names a file.
fn file_option<'a>(subcommand: &str, word: &'a str) -> Option<&'a str> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        // This one is a pattern, and no abbreviation.
        let names_file = name != "exclude"
            && (FILE_OPTIONS.iter().any(|option| is_option(word, option))
                || subcommand == "grep" && name == "file");
        return names_file.then_some(value);
    }
    let letters = word.strip_prefix('-')?;
    // `valued`: letters after which the rest of the word is a text.
    let (letter, valued) = match subcommand {
        "ls-files" => ('X', "x"),
        "blame" | "annotate" => ('S', "L"),
        "grep" => ('f', "eABCmO"),
        "diff" | "diff-files" | "diff-index" | "diff-tree" | "log" | "range-diff" | "reflog" | "rev-list"
        | "shortlog" | "show" | "stash" | "whatchanged" => ('O', "SGLI"),
        _ => return None,
    };
    let (before, value) = letters.split_once(letter)?;
    (!before.contains(|before| valued.contains(before))).then_some(value)
}

/// The subcommand and what follows it, if the options before it are harmless.
pub(crate) fn subcommand(words: &[Word]) -> Option<(&str, &[Word])> {
    let mut at = 0;
    loop {
        let word = words.get(at)?.known()?;
        match word {
            // Each is taken from where the one before has led.
            "-C" if at > 0 && words[..at].iter().any(|before| before.text == "-C") => return None,
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => at += 1,
            "-C" => {
                words.get(at + 1).filter(|dir| dir.lead && dir.is_single())?;
                at += 2;
            }
            "-c" => {
                let setting = words.get(at + 1)?.known()?.to_ascii_lowercase();
                is_harmless_setting(&setting).then_some(())?;
                at += 2;
            }
            "--version" | "--help" if words.len() == at + 1 => return Some(("version", &[])),
            option if option.starts_with('-') => return None,
            subcommand => return Some((subcommand, &words[at + 1..])),
        }
    }
}

/// Whether a setting that is given for one command runs nothing.
fn is_harmless_setting(setting: &str) -> bool {
    let is_pager_off =
        setting.strip_prefix("pager.").and_then(|rest| rest.strip_suffix("=false")).is_some_and(is_word);
    let diverts = setting.contains("pager") || setting.starts_with("log.showsignature");
    EXACT_SETTINGS.contains(&setting)
        || is_pager_off
        || !diverts && SETTINGS.iter().any(|known| setting.starts_with(known))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// Where `git` goes by its options `-C` before it looks at anything.
pub(crate) fn directory(words: &[Word], dirs: &Dirs) -> Dirs {
    let mut now = dirs.clone();
    for (option, dir) in words.iter().zip(words.iter().skip(1)).filter(|(option, _)| option.text == "-C") {
        let plain = option.known().and(dir.known()).filter(|_| !dir.tilde);
        now = plain.and_then(|dir| Some(now?.iter().map(|from| from.join(dir)).collect()));
    }
    now
}

/// The subcommand as a word, and what follows it, if the options before it are harmless.
pub(crate) fn git_subcommand(words: &[Word]) -> Option<(&Word, &[Word])> {
    let (_, rest) = subcommand(words)?;
    let at = words.len().checked_sub(rest.len() + 1)?;
    Some((words.get(at)?, rest))
}

/// Options before the subcommand whose value stands in the next word.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--shallow-file",
    "--super-prefix",
    "--work-tree",
];

/// Options before the subcommand without a value, or with one after `=`.
const FLAGS: &[&str] = &[
    "--bare",
    "--exec-path",
    "--glob-pathspecs",
    "--icase-pathspecs",
    "--literal-pathspecs",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
    "-P",
    "-p",
];

/// Every word that may be the subcommand, whatever options stand before it, and what follows it. After an option that is
/// not known, the next word may be its value.
pub(crate) fn possible_subcommands(words: &[Word]) -> Vec<(&Word, &[Word])> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut doubtful = false;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if !text.starts_with('-') {
            found.push((word, &words[at + 1..]));
            if !std::mem::take(&mut doubtful) {
                break;
            }
        }
        doubtful =
            text.starts_with('-') && !text.contains('=') && !FLAGS.contains(&text) && !VALUED.contains(&text);
        at += if VALUED.contains(&text) { 2 } else { 1 };
    }
    found
}

/// What a subcommand does in the place of a better known one, and with which words.
pub(crate) fn git_deed<'a>(subcommand: &str, rest: &'a [Word]) -> Option<(&'static str, &'a [Word])> {
    let first = rest.first().map(|word| word.text.as_str());
    match (subcommand, first) {
        ("send-pack" | "http-push", _) => Some(("push", rest)),
        ("fetch-pack" | "http-fetch", _) => Some(("fetch", rest)),
        ("subtree", Some("push")) => Some(("push", &rest[1..])),
        ("subtree", Some("pull")) => Some(("pull", &rest[1..])),
        _ => None,
    }
}

/// Options that name a program for the other side.
const FAR_PROGRAMS: &[&str] = &["--upload-pack", "--receive-pack", "--exec"];

/// Subcommands whose words are names, messages and revisions.
const WORDY: &[&str] = &[
    "add",
    "branch",
    "checkout",
    "cherry-pick",
    "clean",
    "commit",
    "fetch",
    "init",
    "merge",
    "mv",
    "notes",
    "pull",
    "push",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "tag",
];

/// What a call of `git` makes of its words.
pub(crate) fn runs(rest: &[Word]) -> Runs {
    let Some((subcommand, after)) = possible_subcommands(rest).pop() else { return Runs::Words };
    let before = &rest[..rest.len() - after.len() - 1];
    let renames = |word: &Word| word.text.to_ascii_lowercase().starts_with("alias.");
    if before.iter().any(|word| renames(word) || word.text.starts_with("--config-env"))
        || subcommand.text == "config" && after.iter().any(renames)
    {
        return Runs::Unseen;
    }
    let is_set =
        before.iter().any(|word| word.text.starts_with("-c") || word.text.starts_with("--exec-path"));
    let names_program = |word: &Word| {
        word.text.contains("::")
            || word.text != "--" && FAR_PROGRAMS.iter().any(|option| is_option(&word.text, option))
    };
    let is_wordy = WORDY.contains(&subcommand.text.as_str()) && !after.iter().any(names_program);
    if !is_set && (is_wordy || looks(rest)) { Runs::Nothing } else { Runs::Words }
}

fn is_harmful(word: &Word) -> bool {
    // What the shell puts in could be an option; after a plain beginning it cannot.
    let sneaks = (!word.lead || word.splits) && !revision::is_told(word)
        || is_unclear_option(word)
        || !word.is_literal()
            && ["--format", "--pretty"].iter().any(|option| is_option(word.certain(), option));
    // A format that shows signatures runs the program that checks them.
    sneaks
        || ["%G", "%+G", "%-G", "% G", "(signature", "(*signature"]
            .iter()
            .any(|shows| word.text.contains(shows))
        || HARMFUL.iter().any(|bad| word.text != "--" && is_option(&word.text, bad))
}

/// Whether names are put in the order of their signatures, which a program checks.
fn sorts_by_signature(rest: &[Word]) -> bool {
    let is_harmless = |key: &Word| key.known().is_some_and(|key| !key.contains("signature"));
    !values(rest, &["--sort"]).iter().all(is_harmless)
}

/// Whether nobody can tell which option a word is. Of some the rest is a text whatever it is.
fn is_unclear_option(word: &Word) -> bool {
    word.is_unclear_option() && !["-S", "-G", "-n"].iter().any(|option| word.certain().starts_with(option))
}

fn known(words: &[Word]) -> Option<Vec<&str>> {
    words.iter().map(Word::known).collect()
}

/// Options of subcommands that list names, each with those that make a list of it.
const LISTS: Grammar = Grammar {
    long_valued: &["contains", "format", "merged", "no-contains", "no-merged", "points-at", "sort"],
    ..Grammar::NONE
};
const BRANCHES: Grammar = Grammar {
    flags: "arvil",
    long: &["all", "ignore-case", "list", "no-color", "no-column", "remotes", "show-current", "verbose"],
    long_optional: &["abbrev", "color", "column"],
    ..LISTS
};
const TAGS: Grammar = Grammar {
    flags: "il",
    optional: "n",
    long: &["ignore-case", "list", "no-column"],
    long_optional: &["color", "column"],
    ..LISTS
};
const LISTING: &[&str] = &["list", "l", "contains", "no-contains", "merged", "no-merged", "points-at"];

/// Whether a subcommand that can also create or delete is only asked for a list. What looks like an option that does so
/// may be the value of another.
fn lists(rest: &[Word], grammar: &Grammar) -> bool {
    let Sorted { given, operands, unclear, .. } = sorted(grammar, rest);
    let is_listing =
        given.iter().any(|given| LISTING.contains(&given.name) || grammar.optional.contains(given.name));
    // To `git`, a number that is too large for it may be the one that says that there is none.
    let is_count =
        |value: &Word| value.text.len() <= 4 && value.text.bytes().all(|byte| byte.is_ascii_digit());
    let counts = |given: &&Given<'_>| grammar.optional.contains(given.name);
    rest.iter().all(Word::is_literal)
        && unclear.is_empty()
        && given.iter().filter(counts).filter_map(|given| given.value.as_ref()).all(is_count)
        && (operands.is_empty() || is_listing)
}

fn reads_config(rest: &[Word]) -> bool {
    const READS: &[&str] =
        &["--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list", "--get-urlmatch"];
    const OPTIONS: &[&str] = &[
        "--global",
        "--local",
        "--system",
        "--worktree",
        "--show-origin",
        "--show-scope",
        "--all",
        "--name-only",
        "-z",
        "--null",
        "--bool",
        "--int",
        "--path",
        "--includes",
        "--type",
        "--default",
    ];
    let Some(words) = known(rest) else { return false };
    let mut others = words.iter().filter(|word| !OPTIONS.contains(word));
    let first = others.next();
    // The name of a setting alone asks what it is.
    let asks = first.is_some_and(|word| word.contains('.')) && others.next().is_none();
    (asks || first.is_some_and(|word| READS.contains(word)))
        && words.iter().filter(|word| word.starts_with('-')).all(|word| {
            let name = word.split('=').next().unwrap_or(word);
            READS.contains(&name) || OPTIONS.contains(&name)
        })
}
