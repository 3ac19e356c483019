//! Exit code 2 means that a hook objects, but shells and interpreters use it as well when they do not even begin.
//! A command that never ran has no opinion. In doubt it did run: a guard's objection must not get lost.

use std::collections::BTreeMap;
use std::path::Path;

use tiller_policy::{Permit, Script};
use tiller_protocol::id::CallId;
use tiller_sandbox::{Spawn, Spool, SpoolStart, Status, Stdin, Successor, spawn};

use super::process::Launch;

/// Where the shell that checks a command finds it.
const COMMAND_VAR: &str = "TILLER_HOOK_COMMAND";

/// Interpreters that exit with 2 when the script is not there.
const INTERPRETERS: [&str; 6] = ["python", "pypy", "perl", "sh", "dash", "Rscript"];
/// Their options after which the script may follow.
const OPTIONS: [&str; 4] = ["-u", "-B", "-q", "--quiet"];
/// What the shell complains of, behind the line it is in, when it does not understand a command.
const SHELL_COMPLAINTS: [&str; 2] = [": syntax error", ": unexpected EOF while looking for matching"];

/// Why a command that exited with 2 has not begun; nothing if it has.
pub(super) async fn reason(launch: &Launch, complaint: &str) -> Option<String> {
    if let Some(script) = missing_script(&launch.command, &launch.vars, &launch.cwd, complaint) {
        return Some(format!("the script {script} does not exist"));
    }
    let is_malformed = is_complaint_of_shell(complaint) && is_malformed(launch).await;
    is_malformed.then(|| "the shell does not understand the command".to_owned())
}

/// The script that an interpreter was told to run and did not find. Only a single command is looked at: after a `cd`
/// nobody knows where the script would be. The interpreter has to have named it.
fn missing_script(
    command: &str,
    vars: &BTreeMap<String, String>,
    cwd: &Path,
    complaint: &str,
) -> Option<String> {
    let in_shell = |name: &str| match name {
        "PWD" => cwd.to_str().map(str::to_owned),
        name => vars.get(name).cloned(),
    };
    let words = words(command, in_shell)?;
    let mut words =
        words.iter().map(String::as_str).skip_while(|word| is_assignment(word) || *word == "exec");
    let program = words.next()?.rsplit('/').next()?;
    let is_version = |rest: &str| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    if !INTERPRETERS.iter().any(|name| program.strip_prefix(name).is_some_and(is_version)) {
        return None;
    }
    let script = words.find(|word| !OPTIONS.contains(word)).filter(|word| !word.starts_with('-'))?;
    (complaint.contains(script) && !cwd.join(script).exists()).then(|| script.to_owned())
}

pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The words of a single command, variables put in; nothing for anything less simple.
pub(super) fn words(command: &str, value: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, Some(open)) if letter == open => quote = None,
            ('\\' | '`', None | Some('"')) => return None,
            ('$', None | Some('"')) => {
                let braced = letters.next_if_eq(&'{').is_some();
                let mut name = String::new();
                while let Some(part) = letters.next_if(|part| part.is_ascii_alphanumeric() || *part == '_') {
                    name.push(part);
                }
                if name.is_empty() || (braced && letters.next() != Some('}')) {
                    return None;
                }
                word.get_or_insert_default().push_str(&value(&name).unwrap_or_default());
            }
            (' ' | '\t', None) => words.extend(word.take()),
            (
                ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '\n' | '*' | '?' | '[' | '~' | '#',
                None,
            ) => {
                return None;
            }
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Whether the shell itself has complained. What stands before a mistake has run and may have objected.
fn is_complaint_of_shell(complaint: &str) -> bool {
    complaint.lines().any(|line| {
        let behind_line = line.split_once(": line ").map(|(_, rest)| rest);
        behind_line.is_some_and(|rest| {
            let told = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            SHELL_COMPLAINTS.iter().any(|start| told.starts_with(start))
        })
    })
}

/// Lets the shell read the command without running it.
async fn is_malformed(launch: &Launch) -> bool {
    let mut vars = BTreeMap::clone(&launch.vars);
    vars.insert(COMMAND_VAR.to_owned(), launch.command.clone());
    let script = Script { command: format!("\"$0\" -n -c \"${COMMAND_VAR}\""), cwd: launch.cwd.clone() };
    let spec = Spawn {
        call: &CallId::from("hook"),
        vars: &vars,
        stdin: Stdin::Closed,
        spool: Spool { dir: std::path::PathBuf::new(), start: SpoolStart::Never },
        extra: &[],
        successor: Successor::Unknown,
    };
    match spawn(&Permit::for_users_own_command(script), &spec).await {
        Ok(child) => {
            let (exit, _) = child.finish(std::future::pending::<()>()).await;
            matches!(exit.status, Status::Code(1..))
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars() -> BTreeMap<String, String> {
        [("DIR".to_owned(), "/nowhere at all".to_owned())].into()
    }

    #[test]
    fn a_script_that_is_not_there_is_found() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("here.py"), "").unwrap();
        for (command, complaint, found) in [
            ("python3 gone.py", "can't open file 'gone.py'", Some("gone.py")),
            (
                "/usr/bin/python3.12 -u \"$DIR/gone.py\" --x",
                "'/nowhere at all/gone.py'",
                Some("/nowhere at all/gone.py"),
            ),
            ("A=b exec perl '${DIR}'/gone.pl", "${DIR}/gone.pl", Some("${DIR}/gone.pl")),
            ("uv run --script ${DIR}/gone.py", "/nowhere at all/gone.py", None),
            ("uv run gone.py", "gone.py", None),
            ("python3 $UNSET/gone.py", "can't open file '/gone.py'", Some("/gone.py")),
            ("python3 gone.py", "no such rule", None),
            ("python3 \"$PWD/here.py\"", "here.py", None),
            ("python3 here.py", "here.py says no", None),
            ("python3 -c gone.py", "gone.py", None),
            ("python3 -m gone.py", "gone.py", None),
            ("cd sub && python3 gone.py", "gone.py", None),
            ("pythonic gone.py", "gone.py", None),
            ("./guard gone.py", "gone.py", None),
            ("python3 \"$(which gone.py)\"", "gone.py", None),
            ("python3 'gone.py", "gone.py", None),
        ] {
            let script = missing_script(command, &vars(), dir.path(), complaint);
            assert_eq!(script.as_deref(), found, "{command}");
        }
    }

    #[test]
    fn words_are_those_of_the_shell_or_none() {
        let value = |name: &str| vars().get(name).cloned();
        assert_eq!(words(" a  'b c'\"$DIR\"d '' ", value).unwrap(), ["a", "b c/nowhere at alld", ""]);
        for strange in ["a; b", "a | b", "a $(b)", "a `b`", "a \\b", "a > b", "a *", "${a:-b}", "'a", "a $"] {
            assert_eq!(words(strange, value), None, "{strange}");
        }
    }
}
