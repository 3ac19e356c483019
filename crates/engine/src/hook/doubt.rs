//! What looks wrong about configured hooks before any of them runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tiller_config::{Hook, HookEvent};

use super::matcher::Matcher;
use super::not_started::{is_assignment, words};
use super::{HookSettings, PROJECT_VARS};

/// Programs that are given a script to run.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "python", "python3", "perl", "ruby", "node", "bun"];
/// What the shell does itself.
const BUILT_IN: &[&str] = &["echo", "exit", "test", "[", "true", "false", "printf", "cd", "exec", ":"];

/// Where hooks would run.
#[derive(Clone, Copy, Debug)]
pub struct HookPlace<'a> {
    /// The directory Tiller is started in.
    pub project_dir: &'a Path,
    /// Its variables.
    pub vars: &'a BTreeMap<String, String>,
    /// The names of all tools.
    pub tools: &'a [&'a str],
}

impl HookPlace<'_> {
    /// What is doubtful about hooks, each with the file it stands in: programs that are not there or cannot be run, and
    /// matchers that match nothing.
    #[must_use]
    pub fn doubts(&self, settings: &HookSettings) -> Vec<String> {
        let mut doubts = Vec::new();
        for (event, groups) in settings {
            for group in groups {
                let commands = group.value.hooks.iter().filter_map(|hook| match hook {
                    Hook::Command { command, .. } => self.of_command(command),
                    Hook::Prompt { .. } => None,
                });
                let all = self.of_matcher(*event, &group.value.matcher).into_iter().chain(commands);
                doubts.extend(all.map(|what| format!("{}: {}: {what}", group.origin, event.name())));
            }
        }
        doubts
    }

    fn of_matcher(&self, event: HookEvent, text: &str) -> Option<String> {
        let known: &[&str] = match event {
            HookEvent::PreToolUse
            | HookEvent::PostToolUse
            | HookEvent::PostToolUseFailure
            | HookEvent::PermissionRequest => self.tools,
            HookEvent::SessionStart => &["startup", "resume", "clear", "compact"],
            HookEvent::PreCompact => &["manual", "auto"],
            _ => return None,
        };
        // Tools of servers come and go.
        if text.contains("mcp") || known.iter().any(|name| Matcher::new(text).matches(Some(name))) {
            return None;
        }
        Some(format!("the matcher \"{text}\" matches nothing; there is {}", known.join(", ")))
    }

    /// Only a single command is looked at, whose program and script can be told for sure.
    fn of_command(&self, command: &str) -> Option<String> {
        let value = |name: &str| match name {
            name if PROJECT_VARS.contains(&name) || name == "PWD" => {
                self.project_dir.to_str().map(str::to_owned)
            }
            name => self.vars.get(name).cloned(),
        };
        let words = words(command, value)?;
        let mut words = words.iter().map(String::as_str).skip_while(|word| is_assignment(word));
        let program = words.next().filter(|program| !BUILT_IN.contains(program))?;
        let path = match self.program(program) {
            Ok(path) => path,
            Err(problem) => return Some(problem),
        };
        let name = path.file_name()?.to_str()?;
        let script = words.next().filter(|_| INTERPRETERS.contains(&name))?;
        let is_path = script.contains('/') && !script.starts_with('-');
        let is_missing = is_path && !self.project_dir.join(script).exists();
        is_missing.then(|| format!("the script {script} does not exist"))
    }

    /// The file that is run for a name.
    fn program(&self, name: &str) -> Result<PathBuf, String> {
        let can_run = |path: &Path| access(path, Access::EXEC_OK).is_ok() && path.is_file();
        if name.contains('/') {
            let path = self.project_dir.join(name);
            return match (path.exists(), can_run(&path)) {
                (false, _) => Err(format!("{name} does not exist")),
                (true, false) => Err(format!("{name} cannot be run; chmod +x makes it a program")),
                (true, true) => Ok(path),
            };
        }
        let dirs = self.vars.get("PATH").into_iter().flat_map(std::env::split_paths);
        let found = dirs.map(|dir| dir.join(name)).find(|path| can_run(path));
        found.ok_or_else(|| format!("there is no program {name} in PATH"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_and_matchers_that_are_not_there_are_doubted() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("plain.sh"), "").unwrap();
        fs_err::write(dir.path().join("fine.sh"), "").unwrap();
        fs_err::set_permissions(dir.path().join("fine.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        let vars = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let tools = ["Bash", "Edit"];
        let place = HookPlace { project_dir: dir.path(), vars: &vars, tools: &tools };
        for (command, told) in [
            ("\"$TILLER_PROJECT_DIR\"/gone.sh --now", Some("does not exist")),
            ("./gone.sh", Some("does not exist")),
            ("./plain.sh", Some("chmod +x")),
            ("X=1 ./fine.sh", None),
            ("sh ./gone.sh", Some("the script ./gone.sh does not exist")),
            ("sh ./plain.sh", None),
            ("sh -c 'exit 2'", None),
            ("no-such-program-anywhere -x", Some("no program no-such-program-anywhere")),
            ("echo fine", None),
            ("cd /tmp && ./gone.sh", None),
            ("grep -q x", None),
        ] {
            let doubt = place.of_command(command);
            assert_eq!(doubt.is_some(), told.is_some(), "{command}: {doubt:?}");
            assert!(doubt.unwrap_or_default().contains(told.unwrap_or_default()), "{command}");
        }
        for (event, matcher, dead) in [
            (HookEvent::PreToolUse, "Bsh", true),
            (HookEvent::PreToolUse, "Bsh|Edit", false),
            (HookEvent::PreToolUse, "^Ba", false),
            (HookEvent::PreToolUse, "^Wri", true),
            (HookEvent::PreToolUse, "mcp__.*", false),
            (HookEvent::PreToolUse, "", false),
            (HookEvent::SessionStart, "start", true),
            (HookEvent::SessionStart, "startup", false),
            (HookEvent::Stop, "anything", false),
        ] {
            assert_eq!(place.of_matcher(event, matcher).is_some(), dead, "{event:?} {matcher}");
        }
    }
}
