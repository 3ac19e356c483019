//! What "always allow" offers: a rule general enough to be of use again, never the literal command.

use std::path::Path;

use tiller_protocol::mode::Mode;
use tiller_protocol::permission::{Behavior, Destination, RuleValue, Update};

use crate::access::{Access, Request};
use crate::context::Context;
use crate::decide::{analyse, judge};
use crate::path::is_guarded;
use crate::shell::{Command, Kind, Word, only_looks, program_name};
use crate::update::apply;

/// Programs whose first operand says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rustup",
    "swift",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Subcommands that need one more word to say what is done.
const WITH_A_NAME: &[&str] = &["run", "run-script", "compose", "tool", "exec", "dlx", "x"];

/// Programs that can do anything: a rule for them would allow everything.
const TOO_MIGHTY: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "busybox",
    "chmod",
    "chown",
    "dash",
    "dd",
    "deno",
    "doas",
    "env",
    "eval",
    "exec",
    "fish",
    "ksh",
    "lua",
    "mkfs",
    "node",
    "npx",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "powershell",
    "pwsh",
    "python",
    "python3",
    "rm",
    "ruby",
    "sh",
    "shred",
    "source",
    "ssh",
    "su",
    "sudo",
    "xargs",
    "zsh",
    ".",
    "kill",
    "pkill",
    "curl",
    "wget",
    "at",
    "chroot",
    "crontab",
    "csh",
    "dlv",
    "ed",
    "emacs",
    "ex",
    "expect",
    "find",
    "flock",
    "fd",
    "gdb",
    "gawk",
    "gsed",
    "ipython",
    "irb",
    "iex",
    "lldb",
    "ltrace",
    "mawk",
    "nano",
    "nix-shell",
    "nsenter",
    "nvim",
    "osascript",
    "pypy",
    "rsync",
    "scp",
    "screen",
    "script",
    "sed",
    "socat",
    "strace",
    "systemd-run",
    "tclsh",
    "tcsh",
    "tmux",
    "ts-node",
    "tsx",
    "unshare",
    "vi",
    "vim",
    "watch",
];

/// Interpreters that are fine to allow for one script file.
const INTERPRETERS: &[&str] = &[
    "bash", "deno", "lua", "node", "nodejs", "perl", "php", "pypy", "python", "ruby", "sh", "ts-node", "tsx",
];

/// Subcommands that run anything in a box, which may have all of this machine inside.
const BOXES: &[(&str, &[&str])] = &[("docker", &["exec", "run"]), ("kubectl", &["debug", "exec", "run"])];

/// The name without the version that some systems put behind it.
fn unversioned(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

/// What to offer for a call that is asked about, all of it together. Empty if nothing general can be offered that would
/// have spared the question.
#[must_use]
pub fn suggest(request: &Request, cx: &Context) -> Vec<Update> {
    let updates = general_updates(request, cx);
    let spares = apply(cx, &updates).is_ok_and(|after| judge(request, &after).verdict == Behavior::Allow);
    if spares { updates } else { Vec::new() }
}

/// What changes of permissions would allow of what was not allowed by itself before.
#[must_use]
pub fn newly_covered<'a>(updates: &[Update], earlier: &'a [Request], cx: &Context) -> Vec<&'a Request> {
    let Ok(after) = apply(cx, updates) else { return Vec::new() };
    let allows = |cx: &Context, request: &Request| judge(request, cx).verdict == Behavior::Allow;
    earlier.iter().filter(|request| !allows(cx, request) && allows(&after, request)).collect()
}

fn general_updates(request: &Request, cx: &Context) -> Vec<Update> {
    let mut rules = Vec::new();
    let mut updates = Vec::new();
    for access in &request.access {
        match access {
            Access::Exec(_) => match command_rules(request, cx) {
                Some(found) => rules.extend(found),
                None => return Vec::new(),
            },
            Access::Net(host) => rules.push(rule(&request.tool, Some(format!("domain:{host}")))),
            Access::Read(place) => {
                rules.extend(directory(&place.real, cx).map(|dir| rule("Read", Some(dir))));
            }
            Access::Server(_) => {}
            Access::Write(place) if is_guarded(&place.real) => return Vec::new(),
            Access::Write(place) if cx.is_inside(&place.real) => updates.push(accept_edits()),
            Access::Write(place) => {
                let dirs = place.real.parent().filter(|dir| dir.parent().is_some()).map(Path::to_path_buf);
                updates.extend(dirs.map(|dir| Update::AddDirectories {
                    directories: vec![dir],
                    destination: Destination::Session,
                }));
                updates.push(accept_edits());
            }
        }
    }
    if request.access.is_empty() {
        rules.push(rule(&request.tool, None));
    }
    if !rules.is_empty() {
        rules.dedup();
        let destination = Destination::LocalSettings;
        updates.insert(0, Update::AddRules { rules, behavior: Behavior::Allow, destination });
    }
    updates
}

fn rule(tool: &str, content: Option<String>) -> RuleValue {
    RuleValue { tool_name: tool.to_owned(), rule_content: content }
}

fn accept_edits() -> Update {
    Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session }
}

/// A pattern for everything beside a file that lies outside.
fn directory(path: &Path, cx: &Context) -> Option<String> {
    let dir = path.parent().filter(|dir| dir.parent().is_some() && !cx.is_inside(path))?;
    (dir != cx.home).then(|| format!("/{}/**", dir.display()))
}

/// A rule for every command that is asked about. `None` if one of them should not be allowed for good.
fn command_rules(request: &Request, cx: &Context) -> Option<Vec<RuleValue>> {
    let analysis = analyse(request)?;
    if analysis.opaque.is_some() || request.types() {
        return None;
    }
    let judgement = judge(request, cx);
    let covered = |command: &Command| {
        let mut parts = judgement.parts.iter().filter(|part| part.what == command.text);
        only_looks(command) || parts.all(|part| part.verdict == Behavior::Allow)
    };
    let mut rules: Vec<RuleValue> = Vec::new();
    for command in analysis.commands.iter().filter(|command| command.kind == Kind::Run && !covered(command)) {
        let found = rule(&request.tool, Some(general(command)?));
        if !rules.contains(&found) {
            rules.push(found);
        }
    }
    (!rules.is_empty()).then_some(rules)
}

fn general(command: &Command) -> Option<String> {
    if !command.is_plainly_wrapped() {
        return None;
    }
    let words: Option<Vec<&str>> = command.words().iter().map(Word::known).collect();
    let name = command.words().first().and_then(program_name)?;
    let operand = |at: usize| {
        let word = words.as_ref().and_then(|words| words.get(at).copied());
        word.filter(|word| !word.starts_with('-') && !word.contains(char::is_whitespace))
    };
    if WITH_SUBCOMMANDS.contains(&name) {
        let subcommand = operand(1)?;
        if BOXES.iter().any(|(program, runs)| *program == name && runs.contains(&subcommand)) {
            return None;
        }
        if !WITH_A_NAME.contains(&subcommand) {
            return Some(format!("{name} {subcommand}:*"));
        }
        let target =
            operand(2).filter(|target| !is_too_mighty(target) && !matches!(*target, "exec" | "run"))?;
        return Some(format!("{name} {subcommand} {target}:*"));
    }
    if INTERPRETERS.contains(&unversioned(name)) {
        return operand(1).filter(|file| file.contains('.')).map(|file| format!("{name} {file}:*"));
    }
    (!is_too_mighty(name)).then(|| format!("{name}:*"))
}

fn is_too_mighty(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    [name, unversioned(name)].iter().any(|name| TOO_MIGHTY.contains(name) || INTERPRETERS.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Script;
    use crate::decide::{Decision, decide};

    fn cx() -> Context {
        Context { roots: vec!["/w".into()], home: "/home/u".into(), ..Context::default() }
    }

    fn bash(command: &str) -> Request {
        let script = Script { command: command.to_owned(), cwd: "/w".into() };
        Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false }
    }

    fn rules(request: &Request) -> Vec<String> {
        let updates = suggest(request, &cx());
        let rules = updates.iter().filter_map(|update| match update {
            Update::AddRules { rules, .. } => Some(rules),
            _ => None,
        });
        rules.flatten().map(|rule| rule.rule_content.clone().unwrap_or_default()).collect()
    }

    // RULE-04
    #[test]
    fn a_suggestion_is_general_and_covers_the_call() {
        let cases: [(&str, &[&str]); 11] = [
            ("python3.12 tools/gen.py a", &["python3.12 tools/gen.py:*"]),
            ("uv run pytest -x", &["uv run pytest:*"]),
            ("docker compose up -d", &["docker compose up:*"]),
            ("cargo test --lib parser::tests", &["cargo test:*"]),
            ("npm run build -- --prod", &["npm run build:*"]),
            ("cd sub && make all 2>&1 | tail -5", &["make all:*"]),
            ("timeout 60 pytest -x tests/a.py", &["pytest:*"]),
            ("git add -A && git commit -m 'x y'", &["git add:*", "git commit:*"]),
            ("python3 tools/gen.py a b", &["python3 tools/gen.py:*"]),
            ("RUST_LOG=debug cargo run --bin x", &[]),
            ("tsc --noEmit; ls", &["tsc:*"]),
        ];
        for (command, expected) in cases {
            assert_eq!(rules(&bash(command)), expected, "{command}");
            if !expected.is_empty() {
                let allowed = apply(&cx(), &suggest(&bash(command), &cx())).unwrap();
                assert!(matches!(decide(&bash(command), &allowed), Decision::Allow(..)), "{command}");
            }
        }
    }

    // RULE-04
    #[test]
    fn nothing_is_suggested_for_what_could_do_anything() {
        for command in [
            "rm -rf build",
            "sudo make install",
            "python3 -c 'x'",
            "bash -c 'make'; sh x",
            "curl x | sh",
            "$X y",
            "echo 'unterminated",
            "ls | xargs rm",
            "node -e 1",
            "eval \"$X\"",
            "python3.12 -c x",
            "nodejs -e 1",
            "pypy3 -c x",
            "tsx -e 1",
            "vim x",
            "gdb -p 1",
            "watch make",
            "script -c make",
            "flock x make",
            "tclsh",
            "docker run alpine",
            "docker exec box ls",
            "uv run python",
            "uv run python3.12 -c x",
            "poetry run python -c x",
            "bundle exec ruby -e 1",
            "kubectl exec pod",
            "npm exec node",
            "find . -delete",
            "sed -i s/a/b/ f",
        ] {
            assert_eq!(rules(&bash(command)), [""; 0], "{command}");
        }
    }

    // RULE-04
    #[test]
    fn nothing_is_suggested_that_would_not_have_spared_the_question() {
        for command in ["make all > /etc/motd", "make all &", "make all; cp x .git/config"] {
            assert_eq!(suggest(&bash(command), &cx()), [], "{command}");
        }
        let mut always = cx();
        always.rules.ask.push("Bash(make:*)".parse().unwrap());
        assert_eq!(suggest(&bash("make all"), &always), []);
    }

    // RULE-04
    #[test]
    fn what_a_suggestion_would_cover_is_told_from_what_was_asked_before() {
        let earlier: Vec<Request> =
            ["make all", "make clean", "ls", "make all install", "make all > /etc/motd"].map(bash).into();
        let updates = suggest(&bash("make all -j4"), &cx());
        let covered: Vec<String> =
            newly_covered(&updates, &earlier, &cx()).into_iter().map(Request::describe).collect();
        assert_eq!(covered, ["make all", "make all install"]);
        let write = |path: &str| Request {
            tool: "Write".to_owned(),
            access: vec![Access::Write(path.into())],
            read_only: false,
        };
        let earlier = [write("/w/a"), write("/w/.git/config"), write("/x/b")];
        let covered: Vec<String> = newly_covered(&suggest(&write("/w/c"), &cx()), &earlier, &cx())
            .into_iter()
            .map(Request::describe)
            .collect();
        assert_eq!(covered, ["Write /w/a"]);
    }

    #[test]
    fn files_and_hosts_get_suggestions_of_their_kind() {
        let request =
            |tool: &str, access| Request { tool: tool.to_owned(), access: vec![access], read_only: false };
        let edit = suggest(&request("Edit", Access::Write("/w/a".into())), &cx());
        assert_eq!(edit, [accept_edits()]);
        assert_eq!(suggest(&request("Edit", Access::Write("/w/.git/config".into())), &cx()), []);
        assert_eq!(rules(&request("Read", Access::Read("/data/x/y.txt".into()))), ["//data/x/**"]);
        assert_eq!(rules(&request("Read", Access::Read("/home/u/x".into()))), [""; 0]);
        assert_eq!(rules(&request("WebFetch", Access::Net("a.org".into()))), ["domain:a.org"]);
    }
}
