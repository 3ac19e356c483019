//! Which variables may be set without a thought: those that no program takes orders from.

use super::program::lookers::is_option;
use super::{Assignment, Command, Kind, Word};

/// Variables that only change how something looks or how much is said.
const HARMLESS: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NO_COLOR",
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// Variables that name a program to run, and the names that are harmless.
const PROGRAMS: &[&str] = &["PAGER", "GIT_PAGER"];

/// Whether setting a variable for programs is harmless.
pub(crate) fn harmless_assignment(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let flag = matches!(name, "GIT_TERMINAL_PROMPT" | "PYTHONDONTWRITEBYTECODE");
    // Anything else makes `git status` write what it has found out.
    let spares = name == "GIT_OPTIONAL_LOCKS" && assignment.value.known() == Some("0");
    let is_locale = name.starts_with("LANG") || name.starts_with("LC_") || name == "TERM";
    // With a slash it would name a file that is loaded; in some languages, a backslash can be half a character.
    let is_odd = assignment.value.known().is_none_or(|value| {
        let end = value.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_plain = matches!(value, "" | "C" | "POSIX") || matches!(end.as_str(), "utf-8" | "utf8");
        value.contains('/') || name != "TERM" && !is_plain
    });
    (HARMLESS.contains(&name) || name.starts_with("LC_")) && !(is_locale && is_odd)
        || (PROGRAMS.contains(&name) && matches!(assignment.value.known(), Some("cat" | "")))
        || spares
        || (flag && matches!(assignment.value.known(), Some("0" | "1")))
}

/// Endings of names whose value some program, or the shell itself, runs. Such variables are often there already, so that a
/// plain assignment changes what programs get.
const ORDERS: &[&str] = &[
    "ASKPASS",
    "BROWSER",
    "COMMAND",
    "EDITOR",
    "ENV",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFLAGS",
    "PAGER",
    "PS0",
    "PS1",
    "PS4",
    "SHELL",
    "SSH",
    "VISUAL",
    "WRAPPER",
];

/// Whether programs take orders from a variable.
pub(crate) fn gives_orders(name: &str) -> bool {
    ORDERS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a command makes a variable one that programs are given.
pub(crate) fn exports(command: &Command, name: &str) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let is_meant = |word: &Word| word.text == name || !word.is_literal();
    match command.kind {
        Kind::Declare => {
            (program.text == "export" || rest.iter().any(|word| is_option(&word.text, "-x")))
                && rest.iter().any(is_meant)
        }
        Kind::Run => {
            program.text == "set"
                && rest.iter().any(|word| is_option(&word.text, "-a") || word.text == "allexport")
        }
        _ => false,
    }
}

/// Whether setting a variable of the shell is harmless: programs do not see it, and the shell does not obey it.
pub(crate) fn harmless_variable(assignment: &Assignment) -> bool {
    is_own_name(&assignment.name) || harmless_assignment(assignment)
}

/// Names in capitals that scripts use for themselves, and that no program takes orders from.
const CUSTOMARY: &[&str] = &[
    "AFTER",
    "ALL",
    "AUTHOR",
    "BAD",
    "BASE",
    "BASELINE",
    "BEFORE",
    "BRANCH",
    "BYTES",
    "CHANGED",
    "CHANGES",
    "CODE",
    "COLS",
    "COLUMN",
    "COMMIT",
    "COMMITS",
    "CONTENT",
    "COUNT",
    "COUNTER",
    "CTX",
    "CURRENT",
    "DATE",
    "DEPS",
    "DEST",
    "DIFF",
    "DIR",
    "DIRS",
    "DOCS",
    "END",
    "END_LINE",
    "ERR",
    "ERRORS",
    "EXPECTED",
    "EXT",
    "FAILED",
    "FIELD",
    "FILE",
    "FILES",
    "FIRST",
    "FLAG",
    "FOO",
    "FOUND",
    "FROM",
    "FUNC",
    "HASH",
    "HEAD",
    "HITS",
    "ID",
    "IDX",
    "INDEX",
    "INPUT",
    "ITEM",
    "ITEMS",
    "KEY",
    "KEYS",
    "LAST",
    "LAST_COMMIT",
    "LATEST",
    "LEN",
    "LEVEL",
    "LIMIT",
    "LINE",
    "LIST",
    "LN",
    "LOG",
    "MATCH",
    "MATCHES",
    "MAX",
    "MERGE_BASE",
    "METHOD",
    "MIN",
    "MISSING",
    "MODULE",
    "MSG",
    "NAME",
    "NAMES",
    "NEW",
    "NEXT",
    "NODE_V",
    "NOW",
    "NUM",
    "NUMBER",
    "OFFSET",
    "OK",
    "OLD",
    "ORIGIN",
    "OUT",
    "OUTPUT",
    "PACKAGE",
    "PARENT",
    "PART",
    "PASSED",
    "PATHS",
    "PATTERN",
    "PATTERNS",
    "PKG",
    "PREFIX",
    "PREV",
    "QUERY",
    "RANGE",
    "RC",
    "REF",
    "RES",
    "RESULT",
    "REV",
    "ROOT",
    "SECOND",
    "SECTION",
    "SERVICE",
    "SHA",
    "SIZE",
    "SOURCE",
    "SOURCES",
    "SRC",
    "START",
    "START_LINE",
    "STATUS",
    "STEP",
    "SUBDIR",
    "SUFFIX",
    "SUM",
    "TAG",
    "TARGET_FILE",
    "TEST",
    "TESTS",
    "TEST_FILE",
    "TEST_FILES",
    "TEXT",
    "TMP_COUNT",
    "TO",
    "TODAY",
    "TODOS",
    "TOTAL",
    "TOTAL_LINES",
    "TYPE",
    "UNIQUE",
    "UPSTREAM",
    "VALUE",
    "VALUES",
    "VAR",
    "VERSION",
    "WARNINGS",
    "WHAT",
    "WIDTH",
    "WORD",
    "WORDS",
];

/// Names that scripts use for themselves.
pub(crate) fn is_own_name(name: &str) -> bool {
    if name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic()) || CUSTOMARY.contains(&name) {
        return true;
    }
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with("npm_")
        && !name.ends_with("_proxy")
        && !matches!(name, "path" | "fpath" | "cdpath" | "prompt")
}

/// Whether `export`, `local`, `unset` and the like do no harm.
pub(crate) fn harmless_declaration(words: &[Word], assignments: &[Assignment]) -> bool {
    let Some(keyword) = words.first().and_then(Word::known) else { return false };
    // Alone they show all variables.
    if words.len() == 1 && assignments.is_empty() {
        return false;
    }
    let names_only = words[1..].iter().all(|word| word.known().is_some_and(is_own_name));
    match keyword {
        "export" => names_only && assignments.iter().all(harmless_assignment),
        "local" | "readonly" | "declare" | "typeset" | "unset" => {
            names_only && assignments.iter().all(harmless_variable)
        }
        _ => false,
    }
}
