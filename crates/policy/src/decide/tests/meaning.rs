//! Names on disk that mean something else to a program.

use super::*;

/// A project in which directories hold these names, and one called ` ` a link that leads out.
fn holding(names: Vec<(&'static str, &'static str)>) -> Context {
    let names_in = move |dir: &Path| {
        let here = names.iter().filter(|(of, _)| Path::new(of) == dir);
        Some(here.map(|(_, name)| PathBuf::from(name)).collect())
    };
    let links = |dir: &Path, names: &str| {
        let link = PathBuf::from("/w/ /link");
        Some(if names == "**" && link.starts_with(dir) { vec![link] } else { Vec::new() })
    };
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/ /link") => "/home/u/.netrc".into(),
        _ => crate::path::lexical(path),
    });
    Context { resolver: resolver.with_links(links).with_names_in(names_in), ..cx(Mode::Default) }
}

// RULE-05
#[test]
fn a_name_that_turns_a_test_round_leaves_no_links_unseen() {
    let cx = holding(vec![("/w", "!"), ("/w", " "), ("/w", "a.c")]);
    for command in [
        "find * -type f -exec cat {} +",
        "find ' ' ? -type f -exec cat {} +",
        "find . -name * -type f | xargs cat",
        "for f in *; do find ' ' \"$f\" -type f -exec cat {} +; done",
        "find ' ' $(ls) -type f -exec cat {} +",
        "d='!'; find ' ' $d -type f -exec cat {} +",
        "d=-not; find . \"$d\" -type f | xargs cat",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "find . -type f -exec cat {} +",
        "find *.c -type f -exec cat {} +",
        "find */ -type f -exec cat {} +",
        "d=' '; find \"$d\" -type f -exec cat {} +",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05: a variable keeps the names that it got elsewhere.
#[test]
fn names_are_looked_at_where_the_shell_lists_them() {
    for (name, command) in [
        ("-oEVIL", "cd sub && for f in *; do (cd .. && sort \"$f\"); done"),
        ("-C", "cd sub && for f in *; do (cd .. && file \"$f\"); done"),
        ("@x", "cd sub && for f in *; do (cd .. && strings \"$f\"); done"),
        ("!", "cd sub && for f in *; do (cd .. && find ' ' \"$f\" -type f -exec cat {} +); done"),
    ] {
        let cx = holding(vec![("/w/sub", name)]);
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
        let cx = holding(vec![("/w/sub", "a"), ("/w/other", name)]);
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}
