use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;
use crate::still;

struct Project {
    dir: tempfile::TempDir,
    guarded: Arc<Guarded>,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Self { dir, guarded: Arc::default() };
        project.write(".tiller/settings.json", "{}");
        project.write(".claude/agents/a.md", "a");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("project").join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    fn scope(&self) -> Scope {
        let mut env = still::env(BTreeMap::new(), self.dir.path());
        env.cwd = self.path("");
        Scope { env, roots: vec![self.path("")] }
    }

    fn watch(&self) -> Watch {
        self.guarded.watch(self.scope())
    }
}

// PERM-21
#[test]
fn what_is_changed_made_or_removed_is_found_once() {
    let project = Project::new();
    let watch = project.watch();
    project.write(".tiller/settings.json", "{ }");
    project.write(".husky/pre-commit", "evil");
    fs_err::remove_file(project.path(".claude/agents/a.md")).unwrap();
    project.write("src/main.rs", "fn main() {}");
    let names = [".claude/agents/a.md", ".tiller/settings.json", ".husky/pre-commit"];
    assert_eq!(watch.end(), names.map(|name| project.path(name)));
    assert_eq!(project.guarded.changed(), Vec::<PathBuf>::new());
}

#[test]
fn the_same_content_is_no_change_and_what_the_user_changes_between_calls_neither() {
    let project = Project::new();
    let watch = project.watch();
    fs_err::remove_file(project.path(".tiller/settings.json")).unwrap();
    project.write(".tiller/settings.json", "{}");
    assert_eq!(watch.end(), Vec::<PathBuf>::new());
    project.write(".tiller/settings.json", "{\"model\": \"m\"}");
    let watch = project.watch();
    let files = [project.path(".tiller/settings.local.json")];
    project.guarded.change(&files, || project.write(".tiller/settings.local.json", "{}"));
    assert_eq!(watch.end(), Vec::<PathBuf>::new());
}

// PERM-21
#[test]
fn what_goes_on_is_watched_across_calls() {
    let project = Project::new();
    let call = CallId::from("c");
    let watch = project.watch();
    project.guarded.may_last(&call);
    assert_eq!(watch.end(), Vec::<PathBuf>::new());
    project.write(".mcp.json", "{}");
    assert_eq!(project.watch().end(), [project.path(".mcp.json")]);
    assert!(project.guarded.has_ended(&call).is_some() && project.guarded.has_ended(&call).is_none());
}

impl Project {
    fn with_repository() -> Self {
        let project = Self::new();
        let git =
            Command::new("git").args(["init", "-q", "--template="]).current_dir(project.path("")).output();
        assert!(git.unwrap().status.success());
        project.write(".git/hooks/pre-commit", "mine");
        project
    }

    fn link(&self, to: &str, name: &str) {
        symlink(to, self.path(name)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs_err::rename(self.path(from), self.path(to)).unwrap();
    }
}

// PERM-21: git follows the link.
#[test]
fn a_repository_that_becomes_a_link_hides_nothing_then_and_later() {
    let project = Project::with_repository();
    let watch = project.watch();
    project.rename(".git", "kept");
    project.link("kept", ".git");
    assert!(watch.end().contains(&project.path(".git")));
    for (name, content) in [("kept/hooks/pre-commit", "evil"), ("kept/config", "[alias]\nx = !evil\n")] {
        let watch = project.watch();
        project.write(name, content);
        assert!(watch.end().contains(&project.path(name)), "{name}");
    }
}

// PERM-21: a file that names a directory does the same.
#[test]
fn a_repository_that_a_file_names_is_looked_into() {
    let project = Project::with_repository();
    project.rename(".git", "kept");
    project.write(".git", "gitdir: kept\n");
    let watch = project.watch();
    project.write("kept/hooks/pre-commit", "evil");
    assert_eq!(watch.end(), [project.path("kept/hooks/pre-commit")]);
}

// PERM-21
#[test]
fn what_lies_behind_links_counts_and_so_does_where_they_lead() {
    let project = Project::with_repository();
    project.write("shared/pre-push", "mine");
    project.link("shared", ".husky");
    let watch = project.watch();
    project.write("shared/pre-push", "evil");
    assert_eq!(watch.end(), [project.path(".husky/pre-push")]);
    project.write("elsewhere/pre-push", "evil");
    let watch = project.watch();
    fs_err::remove_file(project.path(".husky")).unwrap();
    project.link("elsewhere", ".husky");
    assert_eq!(watch.end(), [project.path(".husky")]);
    let watch = project.watch();
    project.rename(".tiller/settings.json", "settings.json");
    project.link("../settings.json", ".tiller/settings.json");
    assert_eq!(
        watch.end(),
        [project.path(".tiller/settings.json")],
        "it says the same, but somebody else may change it"
    );
    project.link("..", ".claude/round");
    let watch = project.watch();
    assert_eq!(watch.end(), Vec::<PathBuf>::new());
}

// PERM-21: agents may work in different directories at the same time.
#[test]
fn another_agents_directories_do_not_replace_those_that_are_watched() {
    let project = Project::new();
    let others = |name: &str| Scope { roots: vec![project.path(name)], ..project.scope() };
    project.write("other/.husky/a", "a");
    let first = project.watch();
    project.write(".mcp.json", "{}");
    let second = project.guarded.watch(others("other"));
    project.write("other/.husky/a", "b");
    let mut changed = second.end();
    changed.extend(first.end());
    assert_eq!(changed, [project.path("other/.husky/a"), project.path(".mcp.json")]);
    let third = project.guarded.watch(others("other"));
    project.write(".mcp.json", "{ }");
    assert_eq!(third.end(), Vec::<PathBuf>::new(), "nobody else works there any more");
}

// PERM-21
#[test]
fn what_begins_as_a_background_command_ends_hides_nothing_of_it() {
    let project = Project::new();
    let call = CallId::from("c");
    let watch = project.watch();
    project.guarded.may_last(&call);
    drop(watch);
    project.write(".mcp.json", "{}");
    let ended = project.guarded.has_ended(&call).unwrap();
    let next = project.watch();
    assert_eq!(ended.end(), [project.path(".mcp.json")]);
    assert_eq!(next.end(), Vec::<PathBuf>::new());
}

// PERM-21
#[test]
fn what_somebody_else_changes_is_news_although_the_user_changes_it_as_well() {
    let project = Project::new();
    let watch = project.watch();
    let files = [".tiller/settings.json", ".tiller/settings.local.json"].map(|name| project.path(name));
    project.write(".tiller/settings.json", "{\"hooks\": {}}");
    project.guarded.change(&files, || project.write(".tiller/settings.local.json", "{}"));
    assert_eq!(watch.end(), files[..1]);
}

// PERM-21
#[test]
fn what_decides_for_the_user_counts_and_the_state_of_another_agent_does_not() {
    let project = Project::new();
    let home = project.dir.path();
    let write = |name: &str, content: &str| {
        fs_err::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs_err::write(home.join(name), content).unwrap();
    };
    write(".claude.json", "{\"started\": 1, \"projects\": {\"/w\": {\"history\": []}}}");
    let own = [
        ".tiller/mcp.json",
        ".tiller/output-styles/a.md",
        ".tiller/plugins/a/hooks/hooks.json",
        ".tiller/trust.json",
    ];
    let watch = project.watch();
    own.iter().for_each(|name| write(name, "{}"));
    write(".claude.json", "{\"started\": 2, \"projects\": {\"/w\": {\"history\": [1]}}}");
    write(".tiller/history.jsonl", "{}");
    assert_eq!(watch.end(), own.map(|name| home.join(name)));
    let watch = project.watch();
    write(".claude.json", "{\"started\": 2, \"mcpServers\": {\"x\": {\"command\": \"evil\"}}}");
    assert_eq!(watch.end(), [home.join(".claude.json")]);
}

// PERM-21: a working directory may be the one in which Tiller and other agents keep their state.
#[test]
fn the_state_of_agents_is_no_news_in_the_home_directory_and_what_decides_is() {
    let project = Project::new();
    let home = project.dir.path();
    let write = |name: &str| {
        fs_err::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs_err::write(home.join(name), "{}").unwrap();
    };
    let mut scope = Scope { roots: vec![home.to_owned()], ..project.scope() };
    scope.env.cwd = home.to_owned();
    let watch = project.guarded.watch(scope.clone());
    let state = [".tiller/projects/p/s.jsonl", ".tiller/history.jsonl", ".claude/projects/p/s.jsonl"];
    state.iter().for_each(|name| write(name));
    let deciding = [
        ".claude/agents/a.md",
        ".claude/settings.local.json",
        ".husky/pre-push",
        ".tiller/settings.json",
        ".tiller/settings.local.json",
    ];
    deciding.iter().for_each(|name| write(name));
    let sorted = |mut paths: Vec<PathBuf>| {
        paths.sort();
        paths
    };
    assert_eq!(sorted(watch.end()), deciding.map(|name| home.join(name)));
    let first = project.watch();
    let joining = project.guarded.watch(scope);
    state.iter().for_each(|name| fs_err::write(home.join(name), "more").unwrap());
    fs_err::write(home.join(".husky/pre-push"), "evil").unwrap();
    assert_eq!(joining.end(), [home.join(".husky/pre-push")]);
    drop(first);
}

// PERM-21
#[test]
fn state_in_a_directory_of_the_project_is_no_news() {
    let project = Project::new();
    let mut scope = project.scope();
    let vars = BTreeMap::from([("TILLER_CONFIG_DIR".to_owned(), ".tiller/own".to_owned())]);
    scope.env.vars = Arc::new(vars);
    let watch = project.guarded.watch(scope);
    project.write(".tiller/own/projects/p/s.jsonl", "{}");
    project.write(".tiller/own/settings.json", "{}");
    project.write(".tiller/hooks/a", "a");
    assert_eq!(watch.end(), [".tiller/hooks/a", ".tiller/own/settings.json"].map(|name| project.path(name)));
}

// PERM-21: what a call writes with permission is not taken for the work of a command that goes on beside it.
#[test]
fn what_was_permitted_is_no_news_beside_what_is_watched() {
    let project = Project::new();
    let watch = project.watch();
    let names = [".claude/agents/a.md", ".tiller/settings.json", ".mcp.json", "src/main.rs"];
    let files = names.map(|name| project.path(name));
    project.write(".tiller/settings.json", "changed before");
    let before = project.guarded.before(&files);
    names.iter().for_each(|name| project.write(name, "permitted"));
    project.guarded.accept(before);
    project.write("src/main.rs", "nobody cares");
    assert_eq!(watch.end(), files[1..2]);
    let watch = project.watch();
    project.write(".mcp.json", "evil");
    assert!(!project.guarded.is_idle());
    assert_eq!(watch.end(), files[2..3]);
    assert!(project.guarded.is_idle());
}

// PERM-21: ordinary work with git is no news.
#[test]
fn what_a_branch_follows_is_not_spoken_of() {
    let project = Project::with_repository();
    let git = |args: &[&str]| {
        let ran = Command::new("git").args(args).current_dir(project.path("")).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    let watch = project.watch();
    git(&["config", "branch.main.remote", "origin"]);
    git(&["config", "branch.main.merge", "refs/heads/main"]);
    assert_eq!(watch.end(), Vec::<PathBuf>::new());
    let watch = project.watch();
    git(&["config", "alias.st", "!evil"]);
    assert_eq!(watch.end(), [project.path(".git/config")]);
}

// PERM-21: nobody waits for what is never written.
#[test]
fn a_pipe_in_the_place_of_a_file_is_seen_and_not_waited_for() {
    let project = Project::new();
    let watch = project.watch();
    fs_err::remove_file(project.path(".tiller/settings.json")).unwrap();
    assert!(Command::new("mkfifo").arg(project.path(".tiller/settings.json")).status().unwrap().success());
    assert_eq!(watch.end(), [project.path(".tiller/settings.json")]);
}

#[test]
fn of_what_is_too_much_nothing_is_made_up() {
    let project = Project::new();
    (0..1_100).for_each(|at| project.write(&format!(".husky/{at:04}"), "a"));
    let watch = project.watch();
    fs_err::remove_file(project.path(".husky/0001")).unwrap();
    project.write(".husky/0000", "b");
    assert_eq!(watch.end(), ["0000", "0001"].map(|name| project.path(".husky").join(name)));
}
