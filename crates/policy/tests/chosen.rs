//! What the files of a project make of a line: which program is run, and with which options.

use std::path::Path;

use tiller_policy::{Access, Behavior, Context, Request, Resolver, Script, explain};

#[expect(clippy::unwrap_used, reason = "a broken file system has to fail loudly")]
fn decision(command: &str, cwd: &Path) -> Behavior {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let names_in = |dir: &Path| {
        let names = fs_err::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        Some(names.map(|name| name.file_name().into()).collect())
    };
    let cx = Context {
        roots: vec![cwd.to_path_buf()],
        home: "/home/u".into(),
        resolver: Resolver::new(resolve).with_names_in(names_in),
        ..Context::default()
    };
    let script = Script { command: command.to_owned(), cwd: cwd.to_path_buf() };
    let access = vec![Access::Exec(script)];
    explain(&Request { tool: "Bash".to_owned(), access, read_only: true }, &cx).decision
}

// RULE-01
#[test]
fn what_the_project_chooses_is_asked_about() {
    for (file, line) in [
        ("go.mod", "go version"),
        ("go.work", "go version"),
        ("rust-toolchain", "cargo --version"),
        ("rust-toolchain.toml", "rustc -V"),
    ] {
        let project = tempfile::tempdir().unwrap();
        let below = project.path().join("sub");
        fs_err::create_dir(&below).unwrap();
        assert_eq!(decision(line, &below), Behavior::Allow, "{line}");
        fs_err::write(project.path().join(file), "toolchain go1.99.0\n").unwrap();
        assert_eq!(decision(line, &below), Behavior::Ask, "{line} below {file}");
    }
}

// RULE-01
#[test]
fn a_pattern_that_fits_an_option_is_asked_about() {
    let lines = [
        "wc -l *",
        "wc [-a]*",
        "wc -l *-from=*",
        "md5sum ?*",
        "du -sh *",
        "for f in *; do wc -l \"$f\"; done",
        "f='*'; wc $f",
    ];
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.txt"), "").unwrap();
    for line in lines {
        assert_eq!(decision(line, project.path()), Behavior::Allow, "{line}");
    }
    fs_err::write(project.path().join("--files0-from=list"), "").unwrap();
    for line in lines {
        assert_eq!(decision(line, project.path()), Behavior::Ask, "{line}");
    }
    for line in ["wc -l ./*", "wc -- *", "wc *.txt"] {
        assert_eq!(decision(line, project.path()), Behavior::Allow, "{line}");
    }
}

// RULE-01
#[test]
fn a_link_is_found_by_every_name_that_a_program_gives_it() {
    let outside = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let (outside, project) = (outside.path().canonicalize().unwrap(), project.path().canonicalize().unwrap());
    fs_err::write(outside.join("secret"), "").unwrap();
    for name in ["a:b", "notes.gz", "old.Z"] {
        fs_err::os::unix::fs::symlink(&outside, project.join(name)).unwrap();
    }
    for line in [
        "git diff --no-index README.md a:b/secret",
        "git diff README.md a:b/secret",
        "zcat -f notes",
        "zcat old",
    ] {
        assert_eq!(decision(line, &project), Behavior::Ask, "{line}");
    }
    for line in ["git diff --no-index README.md b/secret", "zcat -f other", "git diff x:b c:d"] {
        assert_eq!(decision(line, &project), Behavior::Allow, "{line}");
    }
}
