//! Programs that only look, with the options that would make them do more. The one place for such knowledge.

use crate::shell::Word;

/// A program that only looks.
pub(crate) struct Looker {
    pub(crate) name: &'static str,
    pub(crate) options: Options,
    pub(crate) operands: Operands,
}

/// Which options leave it harmless.
pub(crate) enum Options {
    /// All of them.
    Any,
    /// All but these: `-x` also counts inside a cluster, `--long` also when abbreviated.
    Except(&'static [&'static str]),
    /// The same, but what the shell puts in is taken for names: whether those are options is judged elsewhere.
    Without(&'static [&'static str]),
    /// These only.
    Only(&'static [&'static str]),
}

/// What the words are that are no options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Text of any kind.
    Text,
    /// Files or directories to read.
    Paths,
    /// Files, or directories whose files are read.
    Inside,
    /// Files or directories of which names and sizes are shown.
    Places,
    /// A pattern or program, then files.
    PatternThenPaths,
    /// One file at most; a second one would be written.
    One,
    /// There must be none.
    None,
}

const fn any(name: &'static str, operands: Operands) -> Looker {
    Looker { name, options: Options::Any, operands }
}

const fn except(name: &'static str, bad: &'static [&'static str], operands: Operands) -> Looker {
    Looker { name, options: Options::Except(bad), operands }
}

const fn without(name: &'static str, bad: &'static [&'static str], operands: Operands) -> Looker {
    Looker { name, options: Options::Without(bad), operands }
}

const fn only(name: &'static str, good: &'static [&'static str], operands: Operands) -> Looker {
    Looker { name, options: Options::Only(good), operands }
}

use Operands::{Inside, None as NoOperands, One, Paths, PatternThenPaths, Places, Text};

/// They read the names of further files from a file.
const CHECKS: &[&str] = &["-c", "--check"];

const LOOKERS: &[Looker] = &[
    any(":", Text),
    any("arch", NoOperands),
    without("b2sum", CHECKS, Paths),
    except("base32", &["-o", "--output"], Paths),
    except("base64", &["-o", "--output"], Paths),
    any("basename", Text),
    any("break", Text),
    any("cal", Text),
    any("cat", Paths),
    without("cksum", CHECKS, Paths),
    any("clear", NoOperands),
    any("cmp", Paths),
    any("column", Paths),
    any("comm", Paths),
    any("continue", Text),
    any("cut", Paths),
    any("date", Text),
    any("df", Places),
    except("diff", &["--output"], Inside),
    any("dirname", Text),
    any("du", Places),
    any("echo", Text),
    any("egrep", PatternThenPaths),
    any("exit", Text),
    any("expand", Paths),
    any("expr", Text),
    any("factor", Text),
    any("false", Text),
    except(
        "fd",
        &[
            "-x",
            "-X",
            "-l",
            "-C",
            "-L",
            "--exec",
            "--exec-batch",
            "--follow",
            "--format",
            "--list-details",
            "--path-separator",
            "--base-directory",
            "--search-path",
        ],
        PatternThenPaths,
    ),
    any("fgrep", PatternThenPaths),
    except("file", &["-C", "-f", "-m", "--compile", "--files-from", "--magic-file"], Paths),
    any("fmt", Paths),
    any("fold", Paths),
    any("free", NoOperands),
    any("getconf", Text),
    any("grep", PatternThenPaths),
    any("groups", Text),
    any("head", Paths),
    any("help", Text),
    except("hexdump", &["-f"], Paths),
    only("hostname", &["-f", "-i", "-I", "-s", "-d"], NoOperands),
    except("iconv", &["-o", "--output"], Paths),
    any("id", Text),
    any("join", Paths),
    any("jq", PatternThenPaths),
    any("locale", Text),
    any("look", PatternThenPaths),
    any("ls", Places),
    except("lsblk", &["--sysroot"], NoOperands),
    except("lscpu", &["-s", "--sysroot"], NoOperands),
    without("md5sum", CHECKS, Paths),
    any("nl", Paths),
    any("nm", Paths),
    any("nproc", NoOperands),
    any("numfmt", Text),
    any("objdump", Paths),
    any("od", Paths),
    any("paste", Paths),
    except("pgrep", &["-F", "--pidfile"], Text),
    any("pidof", Text),
    any("pr", Paths),
    any("printf", Text),
    any("ps", Text),
    any("pstree", Text),
    any("pwd", NoOperands),
    any("readelf", Paths),
    any("readlink", Places),
    any("realpath", Places),
    any("return", Text),
    any("rev", Paths),
    except("rg", &["-L", "-z", "--follow", "--hostname-bin", "--pre", "--search-zip"], PatternThenPaths),
    any("seq", Text),
    without("sha1sum", CHECKS, Paths),
    without("sha224sum", CHECKS, Paths),
    without("sha256sum", CHECKS, Paths),
    without("sha384sum", CHECKS, Paths),
    without("sha512sum", CHECKS, Paths),
    any("shift", Text),
    except("shuf", &["-o", "--output", "--random-source"], Paths),
    any("size", Paths),
    any("sleep", Text),
    except(
        "sort",
        &["-o", "-T", "--output", "--temporary-directory", "--compress-program", "--files0-from"],
        Paths,
    ),
    any("stat", Places),
    any("strings", Paths),
    any("sum", Paths),
    any("tac", Paths),
    any("tail", Paths),
    any("tr", Text),
    except(
        "tree",
        &["-R", "-l", "-o", "--fromfile", "--fromtabfile", "--gitfile", "--hintro", "--houtro", "--infofile"],
        Places,
    ),
    any("true", Text),
    any("tsort", Paths),
    any("tty", NoOperands),
    any("type", Text),
    any("uname", NoOperands),
    any("unexpand", Paths),
    any("uniq", One),
    any("uptime", NoOperands),
    without("wc", &["--files0-from"], Paths),
    except("whereis", &["-B", "-M", "-S", "-f"], Text),
    any("which", Text),
    any("who", NoOperands),
    any("whoami", NoOperands),
    any("xxd", One),
    except("zcat", &["-S", "-r", "--recursive", "--suffix"], Paths),
];

/// Programs with their own kind of command line, known not to run the words they are given.
const KNOWN: &[&str] = &[
    "[", "awk", "cargo", "cd", "chmod", "chown", "cp", "find", "gh", "git", "install", "ln", "mkdir", "mv",
    "popd", "pushd", "read", "rm", "rmdir", "sed", "set", "tee", "test", "touch", "truncate", "unlink",
    "wait",
];

/// The entry of a program.
pub(crate) fn looker(name: &str) -> Option<&'static Looker> {
    LOOKERS.iter().find(|looker| looker.name == name)
}

/// Whether the program's words are known not to be commands in disguise.
pub(crate) fn is_known_program(name: &str) -> bool {
    looker(name).is_some() || KNOWN.contains(&name)
}

/// The name of a program, without the directories where systems keep their programs.
pub(crate) fn program_name(word: &Word) -> Option<&str> {
    let text = word.known()?;
    let bare = ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|dir| text.strip_prefix(dir));
    Some(bare.filter(|name| !name.contains('/')).unwrap_or(text))
}

impl Options {
    /// Whether an option word leaves the program harmless.
    pub(crate) fn permit(&self, word: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Except(bad) | Self::Without(bad) => !bad.iter().any(|bad| is_option(word, bad)),
            Self::Only(good) => {
                let long = word.split('=').next().unwrap_or(word);
                good.contains(&word)
                    || (long.starts_with("--") && good.contains(&long))
                    || is_cluster(word, good)
            }
        }
    }
}

/// Whether a word is a cluster of short options from a list.
fn is_cluster(word: &str, options: &[&str]) -> bool {
    let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    letters.chars().all(|letter| {
        options.iter().any(|option| option.strip_prefix('-') == Some(letter.to_string().as_str()))
    })
}

/// Whether a word is, contains or abbreviates an option.
pub(crate) fn is_option(word: &str, option: &str) -> bool {
    if let Some(name) = option.strip_prefix("--") {
        let given = word.strip_prefix("--").map(|given| given.split('=').next().unwrap_or(given));
        return given.is_some_and(|given| !given.is_empty() && name.starts_with(given));
    }
    let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    cluster.is_some_and(|letters| option.strip_prefix('-').is_some_and(|letter| letters.contains(letter)))
}
