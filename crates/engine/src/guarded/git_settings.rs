//! Which lines of git's settings decide something.

/// The lines without those that only say which branch of another repository a branch follows, or what is fetched: git
/// writes them with every `push -u` and `checkout --track`. `None` if a line may belong to the one before.
pub(super) fn deciding_lines(settings: &str) -> Option<String> {
    let mut section = "";
    let mut deciding = String::new();
    for line in settings.lines().map(str::trim) {
        if line.ends_with('\\') {
            return None;
        }
        if line.starts_with('[') {
            section = line;
        }
        if line.is_empty() || is_tracking(section, line) {
            continue;
        }
        if !line.starts_with('[') {
            deciding.push_str(section);
        }
        deciding.push_str(line);
        deciding.push('\n');
    }
    Some(deciding)
}

/// Whether a line, or the beginning of its section, is about nothing else.
fn is_tracking(section: &str, line: &str) -> bool {
    let keys: &[&str] = match () {
        () if is_about("branch", section) => &["remote", "merge", "rebase"],
        () if is_about("remote", section) => &["fetch"],
        () => return false,
    };
    if line == section {
        return true;
    }
    let Some((key, value)) = line.split_once('=') else { return false };
    // What is no name but an address leads elsewhere.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+:*".contains(c);
    let is_address = key.trim() == "remote" && value.contains([':', '/']);
    keys.contains(&key.trim()) && value.trim().chars().all(is_plain) && !is_address
}

/// Whether a section is that of one branch or repository, written as git writes it.
fn is_about(kind: &str, section: &str) -> bool {
    let name = section.strip_prefix('[').and_then(|rest| rest.strip_prefix(kind));
    let name = name.and_then(|rest| rest.strip_prefix(" \"")?.strip_suffix("\"]"));
    name.is_some_and(|name| !name.contains(['"', '\\', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = u\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

    #[test]
    fn what_a_branch_follows_decides_nothing() {
        let tracked = format!("{PLAIN}[branch \"a/b\"]\n\tremote = origin\n\tmerge = refs/heads/a/b\n");
        assert_eq!(deciding_lines(&tracked), deciding_lines(PLAIN));
        let fetched = PLAIN.replace("origin/*\n", "origin/*\n\tfetch = +refs/pull/*:refs/pull/*\n");
        assert_eq!(deciding_lines(&fetched), deciding_lines(PLAIN));
    }

    // PERM-21
    #[test]
    fn everything_else_does() {
        for more in [
            "[alias]\n\tst = !evil\n",
            "[core]\n\thooksPath = x\n",
            "[core] fsmonitor = evil\n",
            "[branch \"a\"]\n\tremote = ext::sh -c evil\n",
            "[branch \"a\"]\n\tremote = ../elsewhere\n",
            "[branch \"a\"] remote = origin\n",
            "[branch \"a\"]\n\tmergeOptions = -X x\n",
            "[branch \"a\"]\n[include]\n\tpath = x\n",
            "[branch \"a\\\"\"]\n\tremote = origin\n",
            "[remote \"origin\"]\n\turl = elsewhere\n",
            "[remote \"origin\"]\n\tuploadpack = evil\n",
            "[credential]\n\thelper = evil\n",
        ] {
            assert_ne!(deciding_lines(&format!("{PLAIN}{more}")), deciding_lines(PLAIN), "{more}");
        }
        assert_eq!(deciding_lines("[alias]\n\tst = \"!a \\\n[branch \\\"x\\\"]\n\tmerge = evil\"\n"), None);
    }
}
