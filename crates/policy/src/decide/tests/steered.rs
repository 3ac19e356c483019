use super::*;

// PERM-21: a working directory may lie in a place that is guarded by its name.
#[test]
fn what_is_mentioned_counts_below_the_working_directory() {
    let root = PathBuf::from("/w/.claude/worktrees/x");
    let cx = Context { roots: vec![root.clone()], ..cx(Mode::BypassPermissions) };
    for (command, expected) in [
        ("mytool src/x", "allow"),
        ("python3 -m pytest tests/a", "allow"),
        ("mytool .tiller/settings.json", "ask"),
        ("mytool /w/.git/config", "ask"),
        ("cp x .git/hooks/y", "ask"),
    ] {
        let script = Script { command: command.to_owned(), cwd: root.clone() };
        let request = request("Bash", vec![Access::Exec(script)], false);
        assert_eq!(verdict(&request, &cx), expected, "{command}");
    }
}

// PERM-21
#[test]
fn tillers_own_places_count_wherever_they_are() {
    let cx = Context { guarded: vec!["/home/u/own".into()], ..cx(Mode::BypassPermissions) };
    for (command, expected) in [
        ("curl -o ~/own/settings.json https://example.org", "ask"),
        ("d=~/own; echo x > $d/settings.json", "ask"),
        ("python3 -c 'open(\"/home/u/own/settings.json\", \"w\")'", "ask"),
        ("cat ~/own/settings.json", "allow"),
        ("mytool ~/other/settings.json", "allow"),
    ] {
        assert_eq!(verdict(&bash(command), &cx), expected, "{command}");
    }
}

// PERM-21: what is changed shows only in what another part of the command goes through or looks at.
#[test]
fn what_is_changed_by_another_name_is_asked_about() {
    let cx = cx(Mode::BypassPermissions);
    for (command, expected) in [
        ("pushd .git/hooks; cp ../../x y", "ask"),
        ("pushd .git/hooks && cat update && popd", "allow"),
        ("git ls-files .husky | xargs rm", "ask"),
        ("git ls-files src | xargs rm", "allow"),
        ("find .git -name config -exec perl -pi -e 's/a/b/' {} \\;", "ask"),
        ("find .husky -type f -exec python3 fix.py {} \\;", "ask"),
        ("find src -type f -exec python3 fix.py {} \\;", "allow"),
        ("git ls-files .husky | xargs python3 fix.py", "ask"),
        ("git ls-files src | xargs python3 fix.py", "allow"),
        ("find .git -name config -exec sh -c 'echo x > \"$1\"' _ {} \\;", "ask"),
        ("find .husky -type f | while read -r f; do echo x > \"$f\"; done", "ask"),
        ("find src -type f | while read -r f; do echo x > \"$f\"; done", "allow"),
        ("bunzip2 .git/config.bz2", "ask"),
        ("ln -s .git/hooks z; echo x > z/pre-commit", "ask"),
        ("ln -s src/a b", "allow"),
        ("echo x > .gi?/config", "ask"),
        ("echo x | tee .gi*/config", "ask"),
        ("echo x | tee src/*.txt", "allow"),
        ("rm -rf .[gh]*", "ask"),
        ("git --work-tree=.tiller checkout .", "ask"),
        ("git checkout-index --prefix=.tiller/ -a", "ask"),
        ("git checkout-index --prefix=out/ -a", "allow"),
        ("uncompress .git/config.Z", "ask"),
        ("gunzip -c .git/config.gz > x", "allow"),
        ("find .husky -type f -execdir rm {} \\;", "ask"),
        ("find .claude -name settings.json -execdir rm {} \\;", "ask"),
        ("find src -type f -execdir rm {} \\;", "allow"),
        ("zsh -c 'rm -rf .husky'", "ask"),
        ("ksh -c 'cd .husky && rm pre-commit'", "ask"),
        ("sh -c 'grep \"x$\" f; rm -r .husky'", "ask"),
        ("cat <<EOF\na \\\nEOF\nrm -rf .husky\nEOF", "ask"),
        ("sed -i -f -e .husky/pre-commit", "ask"),
        ("gunzip -k data/config.gz", "allow"),
    ] {
        assert_eq!(verdict(&bash(command), &cx), expected, "{command}");
    }
}

// PERM-21: only what reaches a name that nobody knows beforehand tells what that is.
#[test]
fn what_feeds_an_unknown_name_counts_and_nothing_else() {
    let cx = cx(Mode::BypassPermissions);
    for (command, expected) in [
        ("d=$(mktemp -d); cp .claude/settings.json \"$d\"", "allow"),
        ("d=$(mktemp -d); cat .claude/settings.json > \"$d/x\"", "allow"),
        ("ls .husky; mkdir -p \"$TMPDIR/x\"", "allow"),
        ("cat .git/config | head -3; touch \"$TMPDIR/x\"", "ask"),
        ("rm $(find .husky -type f)", "ask"),
        ("f=$(ls .git/hooks | head -1); cd .git/hooks && rm \"$f\"", "ask"),
        ("for f in $(git ls-files .husky); do echo x > \"$f\"; done", "ask"),
        ("while read -r f; do rm \"$f\"; done < <(find .husky -type f)", "ask"),
        ("find .husky -type f > list; while read -r f; do rm \"$f\"; done < list", "ask"),
        ("find .husky -type f > list; rm $(cat list)", "ask"),
        ("find .husky -type f -fprint list; rm $(cat list)", "ask"),
        ("exec > list; find .husky -type f; xargs rm < list", "ask"),
        ("exec 3> list; find .husky -type f >&3; xargs rm < list", "ask"),
        ("names() { find .husky -type f; }; names | xargs rm", "ask"),
        ("cd .git/hooks && ls | xargs rm", "ask"),
        ("cd src && ls | xargs rm", "allow"),
        ("find .husky -type f | while read -r f; do python3 fix.py \"$f\"; done", "ask"),
        ("find src -type f | while read -r f; do python3 fix.py \"$f\"; done", "allow"),
        ("v=$(cat .claude/settings.json); python3 show.py \"$v\"", "allow"),
    ] {
        assert_eq!(verdict(&bash(command), &cx), expected, "{command}");
    }
}
