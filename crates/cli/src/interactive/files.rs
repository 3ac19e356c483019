//! The files of a project, for mentions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tiller_tui::menu::Candidate;
use tokio::process::Command;

/// Paths that are offered at most.
const MOST: usize = 20_000;
/// Directories that are looked into at most where there is no repository.
const MOST_DIRECTORIES: usize = 2_000;

/// Files and directories below a directory, directories with a slash at their end.
pub(super) async fn list(dir: &Path) -> Vec<Candidate> {
    let files = match tracked(dir).await {
        Some(files) => files,
        None => {
            let dir = dir.to_owned();
            tokio::task::spawn_blocking(move || walked(&dir)).await.unwrap_or_default()
        }
    };
    let mut paths: BTreeSet<String> = BTreeSet::new();
    for file in files.into_iter().take(MOST) {
        for (at, _) in file.match_indices('/') {
            paths.insert(file[..=at].to_owned());
        }
        paths.insert(file);
    }
    paths.into_iter().map(Candidate::plain).collect()
}

/// What git knows of, and what it does not ignore.
async fn tracked(dir: &Path) -> Option<Vec<String>> {
    let listed = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(dir)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    if !listed.status.success() {
        return None;
    }
    let paths = listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Where there is no repository: everything that is not hidden, widest first.
fn walked(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut waiting: std::collections::VecDeque<PathBuf> = [root.to_owned()].into();
    let mut looked_into = 0;
    while let Some(dir) = waiting.pop_front() {
        looked_into += 1;
        if looked_into > MOST_DIRECTORIES || files.len() >= MOST {
            break;
        }
        let Ok(entries) = fs_err::read_dir(&dir) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else { continue };
            match entry.path().strip_prefix(root) {
                _ if is_hidden => {}
                Ok(_) if kind.is_dir() => waiting.push_back(entry.path()),
                Ok(path) => files.push(path.to_string_lossy().into_owned()),
                Err(_) => {}
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_and_their_directories_are_found_without_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(dir.path().join("src/deep")).unwrap();
        fs_err::write(dir.path().join("src/deep/a.rs"), "").unwrap();
        fs_err::write(dir.path().join("b.txt"), "").unwrap();
        fs_err::write(dir.path().join(".hidden"), "").unwrap();
        let found: Vec<String> = list(dir.path()).await.into_iter().map(|found| found.text).collect();
        assert_eq!(found, ["b.txt", "src/", "src/deep/", "src/deep/a.rs"]);
    }
}
