//! Which commands certainly leave the input alone that they share with others.

use super::lookers::program_name;
use super::options::sorted;
use super::search;
use crate::shell::{Kind, Word};

/// Programs that never read it, unless they are asked to.
const DEAF: &[&str] = &[
    ":", "[", "basename", "break", "continue", "dirname", "echo", "exit", "expr", "false", "find", "ls",
    "printf", "pwd", "readlink", "realpath", "return", "seq", "sleep", "stat", "test", "true",
];

/// What `git` never reads it for, unless it is asked to.
const GIT: &[&str] = &[
    "blame",
    "diff",
    "diff-tree",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "show",
    "status",
];

/// Programs that read the files they are given and nothing else, if there is one, and their options without a value.
const READERS: &[(&str, &str)] = &[
    ("cat", "AbEenstTuv"),
    ("file", "bhLr"),
    ("head", "qv0123456789"),
    ("md5sum", "bt"),
    ("rev", ""),
    ("sha1sum", "bt"),
    ("sha256sum", "bt"),
    ("sort", "bdfghnruV"),
    ("tail", "qv0123456789"),
    ("wc", "cLlmw"),
];

/// Whether a command certainly reads nothing but files. `words`: program and arguments, of which none vanishes that is not
/// put in without quotes.
pub(crate) fn spares_input(kind: Kind, words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first().filter(|_| kind == Kind::Run) else { return true };
    // `-` is the input by another name.
    if rest.iter().any(|word| word.text == "-" || word.text.contains("stdin") || word.text.contains("/dev/"))
    {
        return false;
    }
    match program_name(program) {
        Some("git") => {
            let subcommand = rest.first().and_then(Word::known);
            let asks = rest.iter().any(|word| word.text == "--parseopt");
            subcommand.is_some_and(|subcommand| GIT.contains(&subcommand)) && !asks
        }
        Some("sed") => names_several(rest, &["-n", "-E", "-r", "-nE", "-En", "-nr", "-rn"]),
        Some("awk") => names_several(rest, &["-F:", "-F,", "-F\t", "-F=", "-F|"]),
        Some("jq") => names_several(rest, &["-r", "-c", "-e", "-s", "-S", "-rc", "-cr"]),
        Some(name @ ("grep" | "egrep" | "fgrep" | "rg")) => {
            let found = sorted(search::grammar(name), rest);
            let gives_pattern = ["e", "f", "regexp", "file", "files"];
            found.unclear.is_empty()
                && !found.given.iter().any(|given| gives_pattern.contains(&given.name))
                && found.operands.len() > 1
        }
        Some(name) if DEAF.contains(&name) => true,
        Some(name) => READERS.iter().any(|(reader, flags)| *reader == name && names_file(rest, flags)),
        None => false,
    }
}

/// Whether all options are some of these, and there is a file behind the script.
fn names_several(rest: &[Word], options: &[&str]) -> bool {
    let (given, operands): (Vec<&Word>, Vec<&Word>) =
        rest.iter().partition(|word| word.text.starts_with('-'));
    given.iter().all(|word| options.contains(&word.text.as_str()))
        && operands.len() > 1
        && operands.iter().all(|word| !word.splits)
}

/// Whether there is a word that is no option and not the value of one, and all options are clear.
fn names_file(rest: &[Word], flags: &str) -> bool {
    let mut words = rest.iter();
    let mut files = 0;
    while let Some(word) = words.next() {
        match word.text.strip_prefix('-') {
            Some("n" | "c") if flags.contains('0') => _ = words.next(),
            Some(letters) => {
                let counts = letters.strip_prefix(['n', 'c']).filter(|_| flags.contains('0'));
                let letters = counts.unwrap_or(letters);
                if letters.is_empty() || !letters.chars().all(|letter| flags.contains(letter)) {
                    return false;
                }
            }
            None if word.splits => {}
            None => files += 1,
        }
    }
    files > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spares(text: &str) -> bool {
        let word = |text: &str| match text.starts_with('$') {
            true => Word::unknown(text),
            false => Word::literal(text),
        };
        spares_input(Kind::Run, &text.split(' ').map(word).collect::<Vec<_>>())
    }

    // RULE-05
    #[test]
    fn who_reads_nothing_but_files_is_told_from_who_may_read_its_input() {
        for text in [
            "cat a",
            "head -n 3 a",
            "head -3 a",
            "tail -n5 a",
            "wc -l a",
            "grep -n x a",
            "grep -c -A 3 x a",
            "rg x a",
            "sed -n 1p a",
            "awk {print} a",
            "jq -r .a a",
            "git log -1",
            "echo $x",
            "ls",
        ] {
            assert!(spares(text), "{text}");
        }
        for text in [
            "cat",
            "cat -",
            "cat $x",
            "cat a -",
            "cat /dev/stdin",
            "head -n 3",
            "head -3",
            "head --lines 3",
            "sort -k 2",
            "sort -o a",
            "wc --files0-from=a",
            "grep x",
            "grep -A 3 x",
            "grep -f a b",
            "grep x $y",
            "rg x",
            "sed -n 1p",
            "sed -e 1p a",
            "awk -v a=b {print}",
            "jq .",
            "jq --arg a b .",
            "git cat-file --batch",
            "git rev-parse --parseopt",
            "git log --stdin",
            "git shortlog",
            "xargs cat",
            "python3 a",
            "strings -n 5",
        ] {
            assert!(!spares(text), "{text}");
        }
    }
}
