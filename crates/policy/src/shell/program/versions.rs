//! Programs that tell their version, or something else about themselves, when that is all they are asked.

use crate::shell::Word;

/// Those that take other programs or their options from files of the project even then (gradle, mvn, pnpm, valgrind, yarn
/// and the like) are none of them. What a project chooses by a toolchain file is judged elsewhere.
const VERSIONED: &[&str] = &[
    "awk", "curl", "env", "gawk", "mawk", "nice", "nohup", "rsync", "sed", "stdbuf", "tar", "timeout",
    "wget", "xargs", "bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "g++", "gcc", "gh", "git",
    "go", "java", "javac", "kubectl", "make", "node", "perl", "php", "pip", "pip3", "python", "python3",
    "ruby", "rustc", "rustup", "swift", "tsc", "uv", "zsh",
];

/// Further programs that may be asked for their version. Of some, help comes through a pager of somebody's choice.
const ONLY_VERSIONED: &[&str] = &[
    "ar",
    "as",
    "bat",
    "bc",
    "black",
    "delta",
    "ffmpeg",
    "find",
    "fish",
    "fzf",
    "gdb",
    "gem",
    "ghc",
    "gzip",
    "hadolint",
    "hyperfine",
    "jq",
    "ld",
    "lua",
    "luajit",
    "meson",
    "mypy",
    "mysql",
    "ninja",
    "npm",
    "npx",
    "pandoc",
    "protoc",
    "psql",
    "redis-cli",
    "ruff",
    "rustfmt",
    "shellcheck",
    "sqlite3",
    "strace",
    "tmux",
    "unzip",
    "yq",
    "zstd",
];

/// Other ways to ask, with the programs that take them for that. What is asked are all words of the call.
const ASKED: &[(&[&str], &[&str])] = &[
    (
        &["-V"],
        &[
            "cargo",
            "curl",
            "mypy",
            "mysql",
            "psql",
            "python",
            "python3",
            "ruff",
            "rustc",
            "rustfmt",
            "shellcheck",
            "ssh",
            "strace",
            "tmux",
            "wget",
        ],
    ),
    (
        &["-v"],
        &[
            "bun",
            "gem",
            "git",
            "lua",
            "luajit",
            "make",
            "node",
            "npm",
            "perl",
            "php",
            "redis-cli",
            "ruby",
            "tsc",
        ],
    ),
    (&["-version"], &["ffmpeg", "java", "javac", "sqlite3"]),
    (&["version"], &["go", "openssl", "zig"]),
    (&["-vV"], &["cargo", "rustc"]),
    (&["-Vv"], &["cargo", "rustc"]),
    (&["--version", "--verbose"], &["cargo", "rustc"]),
    (&["--print", "cfg"], &["rustc"]),
    (&["--print", "sysroot"], &["rustc"]),
    (&["--print", "target-list"], &["rustc"]),
    (&["--print=cfg"], &["rustc"]),
    (&["--print=sysroot"], &["rustc"]),
    (&["--print=target-list"], &["rustc"]),
    (&["toolchain", "list"], &["rustup"]),
    (&["version", "--client"], &["kubectl"]),
];

/// Whether the words ask for nothing but a version or help.
pub(crate) fn asks_for_version(name: &str, rest: &[Word]) -> bool {
    let Some(asked) = rest.iter().map(Word::known).collect::<Option<Vec<_>>>() else { return false };
    match asked.as_slice() {
        ["--help"] => VERSIONED.contains(&name),
        ["--version"] => VERSIONED.contains(&name) || ONLY_VERSIONED.contains(&name),
        ["--explain", code] => name == "rustc" && is_error_code(code),
        asked => ASKED.iter().any(|(words, programs)| *words == asked && programs.contains(&name)),
    }
}

/// Whether a text is the number of an error of the compiler, and no file.
fn is_error_code(text: &str) -> bool {
    let digits = text.strip_prefix('E');
    digits.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
