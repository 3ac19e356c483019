//! Where paths lead once a script has moved, copied or removed what they go through.

use std::path::Component;

use super::*;

/// The links of a project, and where they lead.
const LINKS: &[(&str, &str)] = &[
    ("/w/d/link", "/home/u/.netrc"),
    ("/w/other/cur", "/home/u"),
    ("/w/sub2/cur", "/w/plain"),
    ("/w/l3", "/w/sub2/cur"),
    ("/w/deep", "/w/a/b/c"),
    ("/w/here", "/w/plain"),
];

const FILES: &[&str] = &["/w/a.txt", "/w/evil.txt", "/w/plain/x.rs", "/w/d/x"];

/// Follows links as the kernel does.
fn resolved(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
        if let Some((_, target)) = LINKS.iter().find(|(link, _)| real == Path::new(link)) {
            real = resolved(Path::new(target));
        }
    }
    real
}

fn project(mode: Mode) -> Context {
    let links = |dir: &Path, names: &str| {
        let ending = names.trim_start_matches('*');
        let fits =
            |link: &Path| names == "**" || names.contains('/') || link.to_string_lossy().ends_with(ending);
        let all = LINKS.iter().map(|(link, _)| PathBuf::from(link));
        Some(all.filter(|link| link.starts_with(dir) && fits(link)).collect())
    };
    let is_dir = |path: &Path| !FILES.iter().any(|file| path == Path::new(file));
    let below = |dir: &Path| {
        let all = LINKS.iter().map(|(link, _)| link).chain(FILES);
        Some(all.filter_map(|path| Some(Path::new(path).strip_prefix(dir).ok()?.to_owned())).collect())
    };
    let resolver = Resolver::new(resolved).with_links(links).with_trees(is_dir, below);
    Context { resolver, ..cx(mode) }
}

fn all_are(expected: &str, mode: Mode, commands: &[&str]) {
    let cx = project(mode);
    for command in commands {
        assert_eq!(verdict(&bash(command), &cx), expected, "{command}");
    }
}

// PERM-03: whoever writes follows links wherever they have come to.
#[test]
fn nothing_is_written_through_what_was_moved_or_copied() {
    all_are(
        "ask",
        Mode::AcceptEdits,
        &[
            "mv d e && echo x > e/link",
            "mv d e; echo x >> e/link",
            "mv d/link e && echo x > e",
            "mv d/link e && cp a.txt e",
            "cp -r d/. . && echo x > link",
            "cp -r d e && echo x | tee e/link",
            "cp -r d e && cp a.txt e/link",
            "cp -r d e && mv a.txt e",
            "mv d e && mkdir -p e/link/x",
            "mv d e && cp a.txt e/sub/../link",
            "mv d x && mv x y && echo x > y/link",
            "for i in 1 2; do echo x > e/link; mv d e; done",
            "while true; do echo x > e/link; mv d e; done",
            "f() { echo x > e/link; }; mv d e; f",
            "{ sleep 1; echo x > e/link; } | mv d e",
            "echo <(sleep 1; echo x > e/link); mv d e",
            "mv d e <<END && echo x > e/link\nEND",
            "sh -c 'mv d e' && echo x > e/link",
            "mv other there && echo x > there/../f",
            "mv other there && echo x > there/cur/../f",
        ],
    );
    all_are(
        "allow",
        Mode::AcceptEdits,
        &[
            "echo x > e/link && mv d e",
            "mv plain lib && echo x > lib/new.rs",
            "mkdir -p out && mv a.txt out/ && echo x >> out/list",
            "cp -r plain app && echo x > app/README.md",
            "cp a.txt b.txt && echo x >> b.txt",
            "cp d/x y && echo x >> y",
            "cp -r d e && echo x > notes",
            "mkdir -p out && cp -r d out/d && touch done",
            "cp evil.txt l3/f",
            "for f in *.txt; do cp \"$f\" out/; echo x >> out/list; done",
            "for f in d/*.md; do mv \"$f\" plain/; done",
            "cd a && mv ../plain . && cp ../a.txt .",
            "cd plain && cp ../a.txt . && rm ../evil.txt",
        ],
    );
}

// PERM-03: a link that stays leads elsewhere when what it leads through is another thing now.
#[test]
fn links_lead_elsewhere_when_their_targets_are_exchanged() {
    all_are(
        "ask",
        Mode::AcceptEdits,
        &[
            "mv sub2 old && mv other sub2 && cp evil.txt l3/f",
            "mv sub2 old && mv other sub2 && rm -rf l3/dir",
            "mv sub2 old && mv other sub2 && echo x > l3/f",
            "mv sub2 old && mv other sub2 && cp -r plain l3",
            "mv sub2 old && cp -r other sub2 && touch l3/f",
            "mv sub2 old && mv other sub2 && cat l3/f",
            "mv sub2 old && mv other sub2 && cat < l3/f",
            "rm deep && mkdir deep && echo x > deep/../../x",
            "rm deep && mkdir deep && rm -r deep/../../x",
            "rm deep && mkdir deep && touch deep/x",
        ],
    );
    all_are("allow", Mode::AcceptEdits, &["mv plain old && cp a.txt l3/f", "rm a.txt && echo x > here/y"]);
}

// PERM-03, RULE-05: from a directory that was moved, `..` leads elsewhere.
#[test]
fn a_shell_that_is_carried_off_is_nobody_knows_where() {
    all_are(
        "ask",
        Mode::AcceptEdits,
        &[
            "cd a/b/c && mv ../c ../../../c && rm -rf ../../victim",
            "cd a/b/c && mv ../c ../../../c && cp ../evil.txt ../../outside/file",
            "cd a/b/c && mv ../c ../../../c && cat ../../outside/secret",
            "cd a/b/c && mv ../c ../../../c && cat < ../../outside/secret",
            "cd a/b/c && mv ../c ../../../c && echo x > ../../f",
            "cd a/b/c && mv ../c ../../../c && cd ../.. && rm -rf victim",
            "cd a/b/c && mv ../../b ../../../x && rm -rf ../../victim",
            "cd a/b/c && mv ../../b* ../../../x && rm -rf ../../victim",
            "cd a/b/c && mv /w/a/b/c /w/c && rm -rf ../../victim",
            "cd deep && mv /w/a/b/c /w/c && rm -rf ../../victim",
            "cd a/b/c && (cd /w && mv a/b/c c) && rm -rf ../../victim",
            "cd a/b/c && sh -c 'mv ../c ../../../c' && rm -rf ../../victim",
            "cd a/b/c && mv ../c ../../victim ../../../t",
            "cd a/b/c && for i in 1 2; do rm -rf ../../victim; mv ../c ../../../c; done",
        ],
    );
    all_are(
        "allow",
        Mode::AcceptEdits,
        &[
            "cd a && mv b c && rm -rf d/x",
            "cd a && mv *.txt ../plain",
            "cd a && cat x && cd .. && mv a n",
            "cd a && cp -r . ../n && rm -rf ../x",
            "cd a && mv x y && touch ../z",
        ],
    );
    let git = with(project(Mode::AcceptEdits), Behavior::Allow, &["Bash(git mv:*)"]);
    assert_eq!(verdict(&bash("cd a/b/c && git mv ../c ../../../c && rm -rf ../../victim"), &git), "ask");
    assert_eq!(verdict(&bash("git mv d e && echo x > e/link"), &git), "ask");
    assert_eq!(verdict(&bash("git mv plain/x.rs plain/y.rs && echo x > plain/z.rs"), &git), "allow");
}

// RULE-05: a pattern makes the shell list what lies behind a link, whoever gets the names.
#[test]
fn patterns_of_what_only_prints_are_judged_like_those_of_ls() {
    all_are(
        "ask",
        Mode::Default,
        &[
            "echo other/cur/*",
            "printf '%s\\n' other/cur/*",
            "echo other/c*/*",
            "echo */cur/*",
            "echo {src,other/cur}/*",
            "for f in other/cur/*; do echo \"$f\"; done",
            "x=(other/cur/*); echo \"${x[@]}\"",
            "p='other/cur/*'; echo $p",
            "p='*'; echo other/cur/$p",
            "p='*/*'; echo other/$p",
            "basename -a other/cur/*",
            "git rev-parse other/cur/*",
            "git check-ignore -v other/cur/*",
            "grep other/cur/* a.txt",
            "grep -e other/cur/* a.txt",
            "jq other/cur/* a.txt",
            "sed other/cur/* a.txt",
            "awk other/cur/* a.txt",
            "head -n other/cur/*",
            "git log -S other/cur/*",
            "date -d other/cur/*",
            "command -v other/cur/*",
            "trap 'echo x > other/cur/f' EXIT",
        ],
    );
    all_are(
        "allow",
        Mode::Default,
        &[
            "echo *",
            "echo plain/*",
            "echo l3/*",
            "echo 'other/cur/*'",
            "printf '%s\\n' src/*/*.rs",
            "for f in src/*.rs; do echo \"$f\"; done",
            "for f in src/*.rs; do echo $f; done",
            "for f in *.rs; do echo plain/$f; done",
            "p=x; echo other/$p",
        ],
    );
}

// RULE-05: names deep below what is moved are names right in a directory afterwards.
#[test]
fn odd_names_that_go_with_a_directory_are_reckoned_with() {
    let below =
        |path: &Path| Some(if path.ends_with("q") { vec!["k".into(), "k/-R".into()] } else { Vec::new() });
    let accepting = cx(Mode::AcceptEdits);
    let cx = Context { resolver: accepting.resolver.clone().with_trees(|_| true, below), ..accepting };
    for moves in ["mv q d2", "cp -r q d2", "mv q/* d2"] {
        assert_eq!(verdict(&bash(&format!("{moves}; cd d2/k && sort *")), &cx), "ask", "{moves}");
        assert_eq!(verdict(&bash(&moves.replace('q', "src")), &cx), "allow", "{moves}");
    }
    assert_eq!(verdict(&bash("cp -r src d2; wc -l *.txt"), &cx), "allow");
}
