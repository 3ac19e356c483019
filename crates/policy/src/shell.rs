//! A cautious reading of shell commands: what is not plainly understood is neither read-only nor covered by an allow
//! rule, and a deny rule counts wherever its command could stand.

/// Characters that make a line more than one plain command.
const SPECIAL: &[char] = &[
    ';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '[', ']', '*', '?', '~', '#', '!', '\\', '\n',
    '\r', '"', '\'', '=',
];

/// Programs that only look, whatever their arguments.
const LOOKERS: &[&str] = &[
    "basename", "cat", "cmp", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo", "false", "file",
    "grep", "head", "id", "ls", "nl", "pwd", "readlink", "realpath", "stat", "tail", "true", "uname", "wc",
    "which", "whoami",
];

/// `git` subcommands that only look.
const GIT_LOOKERS: &[&str] = &["blame", "diff", "log", "ls-files", "rev-parse", "shortlog", "show", "status"];

/// Options of otherwise harmless programs that write or run something.
const HARMFUL_OPTIONS: &[&str] =
    &["--output", "-o", "--ext-diff", "--textconv", "--set", "-s", "--open-files-in-pager", "-O"];

/// The words of a single plain command, or nothing if the line is anything more.
fn plain_words(command: &str) -> Option<Vec<&str>> {
    if command.contains(SPECIAL) {
        return None;
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    (!words.is_empty()).then_some(words)
}

/// Whether a command certainly changes nothing.
#[must_use]
pub fn is_read_only(command: &str) -> bool {
    let Some(words) = plain_words(command) else { return false };
    let (program, rest) = match words.split_first() {
        Some((&"git", rest)) => match rest.split_first() {
            Some((sub, rest)) if GIT_LOOKERS.contains(sub) => ("git", rest),
            _ => return false,
        },
        Some((program, rest)) if LOOKERS.contains(program) => (*program, rest),
        _ => return false,
    };
    let option_harms = |word: &&str| {
        HARMFUL_OPTIONS.iter().any(|bad| *word == *bad || (bad.starts_with("--") && word.starts_with(bad)))
    };
    match program {
        "git" | "diff" => !rest.iter().any(option_harms),
        "date" => {
            rest.iter().all(|word| word.starts_with('+') || matches!(*word, "-u" | "--utc" | "-R" | "-I"))
        }
        "file" => !rest.contains(&"-C"),
        _ => true,
    }
}

/// Whether a `Bash(...)` rule speaks of a command. An allow rule has to match the whole, plainly understood line; a
/// deny rule matches if any part of the line begins like it.
pub(crate) fn matches_rule(rule: &str, command: &str, any_part: bool) -> bool {
    if any_part {
        return command == rule || parts(command).any(|part| matches_words(rule, part));
    }
    command.trim() == rule || (plain_words(command).is_some() && matches_words(rule, command))
}

fn matches_words(rule: &str, command: &str) -> bool {
    let (prefix, open) = match rule.strip_suffix(":*").or_else(|| rule.strip_suffix(" *")) {
        Some(prefix) => (prefix, true),
        None => (rule, false),
    };
    let wanted: Vec<&str> = prefix.split_whitespace().collect();
    let given: Vec<&str> = command.split_whitespace().collect();
    if open { given.starts_with(&wanted) } else { given == wanted }
}

/// Every place of a line where a command could begin: after separators, substitutions, quotes and other words.
fn parts(command: &str) -> impl Iterator<Item = &str> {
    let starts = command.char_indices().filter_map(|(at, c)| {
        let breaks = c.is_whitespace() || SPECIAL.contains(&c) || c == '/';
        breaks.then_some(at + c.len_utf8())
    });
    std::iter::once(0).chain(starts).filter_map(|at| {
        let rest = command[at..].trim_start();
        let end = rest.find([';', '&', '|', '\n', ')', '`', '"', '\'']).unwrap_or(rest.len());
        let part = rest[..end].trim();
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_lookers_are_read_only() {
        for command in
            ["ls", "ls -la src", "git status", "git log --oneline -5", "cat a.rs", "grep -rn x src"]
        {
            assert!(is_read_only(command), "{command}");
        }
        for command in [
            "",
            "rm x",
            "ls > f",
            "ls; rm x",
            "ls && rm x",
            "cat $(rm x)",
            "git diff --output=f",
            "git push",
            "find . -delete",
            "X=1 ls",
            "git log --output f",
            "date -s tomorrow",
            "date -s2020",
            "date 01010000",
            "echo `rm x`",
            "ls\nrm x",
            "git -c core.pager=x log",
        ] {
            assert!(!is_read_only(command), "{command}");
        }
    }

    #[test]
    fn allow_rules_cover_one_plain_command() {
        assert!(matches_rule("git log:*", "git log -n 3", false));
        assert!(matches_rule("cargo test", "cargo test", false));
        assert!(!matches_rule("cargo test", "cargo test --all", false));
        assert!(!matches_rule("git log:*", "git log && rm -rf x", false));
        assert!(!matches_rule("git:*", "gitx", false));
        assert!(!matches_rule("echo:*", "echo $(rm x)", false));
    }

    #[test]
    fn deny_rules_touch_any_part() {
        for command in [
            "rm x",
            "ls && rm x",
            "ls;rm x",
            "echo $(rm x)",
            "env rm x",
            "bash -c 'rm x'",
            "/bin/rm x",
            "ls\nrm x",
        ] {
            assert!(matches_rule("rm:*", command, true), "{command}");
        }
        assert!(!matches_rule("rm:*", "farm x", true));
    }
}
