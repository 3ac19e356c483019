//! The state of the repository as the model is told it.

use std::path::Path;

/// How many characters of the status are told.
const STATUS_LIMIT: usize = 2_000;

/// What git said when the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The current branch; absent when none is checked out.
    pub branch: Option<String>,
    /// The branch that work is merged into, if it could be told.
    pub main_branch: Option<String>,
    /// The short status, empty for a clean tree; absent when git did not answer in time.
    pub status: Option<String>,
    /// The last commits, newest first: short hash and subject.
    pub commits: Vec<String>,
}

impl Snapshot {
    pub(super) fn render(&self) -> String {
        let mut lines = vec![
            "Taken when the conversation began; it is not updated.".to_owned(),
            format!("Branch: {}", self.branch.as_deref().unwrap_or("none (detached)")),
        ];
        lines.extend(self.main_branch.as_ref().map(|branch| format!("Main branch: {branch}")));
        lines.push(match self.status.as_deref().map(str::trim_end) {
            None => "Status: unknown, git took too long".to_owned(),
            Some("") => "Status: clean".to_owned(),
            Some(status) => format!("Status:\n{}", shortened(status)),
        });
        if !self.commits.is_empty() {
            lines.push("Last commits:".to_owned());
            lines.extend(self.commits.iter().cloned());
        }
        lines.join("\n")
    }
}

/// Whole lines within the limit, and how many more there were.
fn shortened(status: &str) -> String {
    let mut room = STATUS_LIMIT;
    let fitting = |line: &&str| {
        let needed = line.chars().count() + 1;
        let fits = needed <= room + 1;
        room = room.saturating_sub(needed);
        fits
    };
    let kept: Vec<&str> = status.lines().take_while(fitting).collect();
    match status.lines().count() - kept.len() {
        0 => kept.join("\n"),
        more => format!("{}\n({more} more lines)", kept.join("\n")),
    }
}

/// The nearest directory at or above this one that holds a repository, found without asking git.
#[must_use]
pub fn root(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|candidate| candidate.join(".git").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_status(status: &str) -> String {
        Snapshot { status: Some(status.to_owned()), ..Snapshot::default() }.render()
    }

    #[test]
    fn a_long_status_is_cut_between_lines() {
        let line = format!("?? {}\n", "é".repeat(96));
        let text = with_status(&line.repeat(30));
        assert_eq!(text.matches("?? ").count(), 20);
        assert!(text.ends_with("\n(10 more lines)"), "{text}");
        assert!(!with_status(&line.repeat(20)).contains("more lines"));
    }

    #[test]
    fn what_is_unknown_is_said_to_be_unknown() {
        assert!(with_status("").contains("Status: clean"));
        let nothing = Snapshot::default().render();
        assert!(nothing.contains("Branch: none (detached)\nStatus: unknown"), "{nothing}");
        assert!(!nothing.contains("Main branch") && !nothing.contains("commits"));
    }

    #[test]
    fn the_nearest_repository_counts() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("outer/inner/deep");
        fs_err::create_dir_all(&inner).unwrap();
        fs_err::create_dir_all(dir.path().join("outer/.git")).unwrap();
        assert_eq!(root(&inner), Some(dir.path().join("outer").as_path()));
        fs_err::write(dir.path().join("outer/inner/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(root(&inner), Some(dir.path().join("outer/inner").as_path()));
    }
}
