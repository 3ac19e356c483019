//! What programs that search are asked for, and where they look.

use super::effects;
use super::effects::Deed;
use super::lookers::{Looker, is_option, looker};
use super::options::{Grammar, Sorted, sorted};
use crate::shell::{Form, Word};

const GREP: Grammar = Grammar {
    flags: "0123456789EFGHILPRTUVZabchilnoqrsuvwxyz",
    valued: "ABCDXdefm",
    long: &[
        "basic-regexp",
        "binary",
        "byte-offset",
        "count",
        "dereference-recursive",
        "extended-regexp",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "ignore-case",
        "initial-tab",
        "invert-match",
        "line-buffered",
        "line-number",
        "line-regexp",
        "no-filename",
        "no-group-separator",
        "no-ignore-case",
        "no-messages",
        "null",
        "null-data",
        "only-matching",
        "perl-regexp",
        "quiet",
        "recursive",
        "silent",
        "text",
        "with-filename",
        "word-regexp",
    ],
    long_valued: &[
        "after-context",
        "before-context",
        "binary-files",
        "context",
        "devices",
        "directories",
        "exclude",
        "exclude-dir",
        "exclude-from",
        "file",
        "group-separator",
        "include",
        "label",
        "max-count",
        "regexp",
    ],
    long_optional: &["color", "colour"],
    ..Grammar::NONE
};

const RIPGREP: Grammar = Grammar {
    flags: ".0FHILNPSUVabchilnopqsuvwxz",
    valued: "ABCEMTdefgjmrt",
    long: &[
        "case-sensitive",
        "count",
        "count-matches",
        "debug",
        "files",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "follow",
        "heading",
        "hidden",
        "ignore-case",
        "invert-match",
        "json",
        "line-number",
        "line-regexp",
        "multiline",
        "multiline-dotall",
        "no-config",
        "no-filename",
        "no-heading",
        "no-ignore",
        "no-ignore-vcs",
        "no-line-number",
        "no-messages",
        "null",
        "only-matching",
        "pcre2",
        "pretty",
        "quiet",
        "search-zip",
        "smart-case",
        "stats",
        "text",
        "trim",
        "type-list",
        "unrestricted",
        "vimgrep",
        "with-filename",
        "word-regexp",
    ],
    long_valued: &[
        "after-context",
        "before-context",
        "color",
        "colors",
        "context",
        "context-separator",
        "encoding",
        "engine",
        "file",
        "glob",
        "iglob",
        "ignore-file",
        "max-columns",
        "max-count",
        "max-depth",
        "max-filesize",
        "path-separator",
        "pre",
        "pre-glob",
        "regexp",
        "replace",
        "sort",
        "sortr",
        "threads",
        "type",
        "type-add",
        "type-clear",
        "type-not",
    ],
    ..Grammar::NONE
};

const FD: Grammar = Grammar {
    flags: "01FHILUVaghilpqsu",
    valued: "CESXcdejotx",
    long: &[
        "absolute-path",
        "case-sensitive",
        "fixed-strings",
        "follow",
        "full-path",
        "glob",
        "hidden",
        "ignore-case",
        "list-details",
        "no-ignore",
        "no-ignore-vcs",
        "print0",
        "quiet",
        "unrestricted",
    ],
    long_valued: &[
        "and",
        "base-directory",
        "changed-before",
        "changed-within",
        "color",
        "exact-depth",
        "exclude",
        "exec",
        "exec-batch",
        "extension",
        "format",
        "ignore-file",
        "max-depth",
        "max-results",
        "min-depth",
        "owner",
        "path-separator",
        "search-path",
        "size",
        "threads",
        "type",
    ],
    ..Grammar::NONE
};

/// Options whose value is a file or a directory that is looked into.
const FILES: &[&str] = &["f", "file", "exclude-from", "ignore-file", "C", "base-directory", "search-path"];

pub(super) fn grammar(name: &str) -> &'static Grammar {
    match name {
        "rg" => &RIPGREP,
        "fd" => &FD,
        "grep" | "egrep" | "fgrep" => &GREP,
        _ => &Grammar::NONE,
    }
}

/// Where a search finds what it prints the names of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shell) enum Searched {
    /// In files.
    Files,
    /// In what lies below, unless there is an input.
    BelowUnlessFed,
    /// Perhaps in its input.
    Input,
}

/// Where `grep` or `rg` searches. `is_name`: whether what is put into a word is a name.
pub(in crate::shell) fn searched(
    name: &str,
    rest: &[Word],
    mut is_name: impl FnMut(&Word) -> bool,
) -> Searched {
    let found = sorted(grammar(name), rest);
    let lists_files = found.has(&["files"]);
    let patterns = usize::from(!lists_files && !found.has(&["e", "f", "regexp", "file"]));
    let is_open = |word: &Word| word.form == Form::Dynamic && word.certain().is_empty();
    let mut files = found.operands.iter().skip(patterns).chain(&found.unclear);
    if files.any(|word| word.text == "-" || is_open(word) && !is_name(word)) {
        return Searched::Input;
    }
    // A word that may vanish is neither a pattern nor a file for certain.
    let is_certain = |word: &&&Word| !word.splits && (word.form != Form::Literal || !word.may_be_option());
    let certain = found.operands.iter().chain(&found.unclear).filter(is_certain).count();
    match name {
        _ if lists_files || certain > patterns => Searched::Files,
        "rg" => Searched::BelowUnlessFed,
        _ if found.has(&["r", "R", "recursive", "dereference-recursive"]) => Searched::Files,
        _ => Searched::Input,
    }
}

/// Whether a search only looks where it is told to. `rest`: the words after the program.
pub(crate) fn looks(name: &str, rest: &[Word]) -> bool {
    let found = sorted(grammar(name), rest);
    if name.ends_with("grep") {
        return !found.unclear.iter().any(|word| may_follow(word));
    }
    let Some(Looker { options, .. }) = looker(name) else { return false };
    // What the shell puts in could be one of the options that do harm.
    let sneaks = |word: &&Word| !word.lead || word.splits;
    found.given.iter().all(|given| {
        let dashes = if given.name.len() == 1 { "-" } else { "--" };
        options.permit(&format!("{dashes}{}", given.name))
    }) && found.unclear.iter().all(|word| word.is_literal() && options.permit(&word.text))
        && !found.operands[..found.before_end].iter().any(sneaks)
}

/// Options by which `grep` goes wherever links below a directory lead.
const FOLLOWS: [&str; 2] = ["R", "dereference-recursive"];

/// Whether a word that is not understood may be such an option.
fn may_follow(word: &Word) -> bool {
    word.is_unclear_option()
        || ["-R", "--dereference-recursive"].iter().any(|option| is_option(&word.text, option))
}

impl Sorted<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name))
    }
}

/// What a search reads: everything after its pattern. Where it is not clear which word that is, all of them.
pub(crate) fn touches(name: &str, rest: &[Word]) -> Vec<(Deed, Word)> {
    let found = sorted(grammar(name), rest);
    // Letters mean other things to `fd`.
    let pattern_given = match name {
        "fd" => false,
        _ => found.has(&["e", "f", "regexp", "file", "files", "type-list"]),
    };
    let is_pattern = |at: usize| at == 0 && !pattern_given && found.unclear.is_empty();
    // Where another program puts in names, the first may be followed by others.
    let may_be_several = |word: &Word| word.form == Form::Found;
    let operands =
        found.operands.iter().enumerate().filter(|(at, word)| !is_pattern(*at) || may_be_several(word));
    let mut files: Vec<Word> = operands.map(|(_, word)| (*word).clone()).collect();
    let named = found.given.iter().filter(|given| FILES.contains(&given.name));
    files.extend(named.filter_map(|given| given.value.clone()));
    files.extend(found.unclear.iter().flat_map(|word| match word.splits {
        true => vec![(*word).clone()],
        false => effects::operands(std::slice::from_ref(*word)).collect(),
    }));
    let below = found.has(&["r", "R", "recursive", "dereference-recursive", "d", "directories"]);
    let recursive =
        matches!(name, "rg" | "ag") || name.ends_with("grep") && (below || !found.unclear.is_empty());
    let deed = match (name, recursive) {
        ("fd", _) => Deed::Look,
        _ if name.ends_with("grep") && found.has(&FOLLOWS) => Deed::ReadThrough,
        (_, true) => Deed::ReadBelow,
        (_, false) => Deed::Read,
    };
    if found.operands.len() <= usize::from(!pattern_given) && recursive {
        files.push(Word::literal("."));
    }
    files.into_iter().map(|word| (deed, word)).collect()
}
