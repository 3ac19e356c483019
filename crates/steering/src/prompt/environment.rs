//! The environment block: the few facts every task needs.

use std::path::{Path, PathBuf};

use jiff::civil::Date;

use crate::reminder::neutralise;

/// Where the agent works, as of the beginning of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The working directory.
    pub working_directory: PathBuf,
    /// Further directories the agent may work in.
    pub additional_directories: Vec<PathBuf>,
    /// Whether the working directory lies in a git repository.
    pub git_repository: bool,
    /// The platform, e.g. `linux`.
    pub platform: String,
    /// Name and version of the operating system.
    pub os_version: String,
    /// Today.
    pub date: Date,
    /// The model that reads this.
    pub model: String,
}

impl Environment {
    pub(super) fn render(&self) -> String {
        let git = if self.git_repository { "yes" } else { "no" };
        let mut lines = vec![
            "<environment>".to_owned(),
            format!("Working directory: {}", shown(&self.working_directory)),
            format!("Git repository: {git}"),
            format!("Platform: {}", self.platform),
            format!("OS version: {}", self.os_version),
            format!("Date: {}", self.date),
            format!("Model: {}", self.model),
        ];
        lines.extend(
            self.additional_directories.iter().map(|dir| format!("Also a working directory: {}", shown(dir))),
        );
        lines.push("</environment>".to_owned());
        lines.join("\n")
    }
}

/// A path on one line: a directory's name can hold anything, and must not look like a line or tag of ours.
fn shown(path: &Path) -> String {
    let line: String = path.display().to_string().replace(char::is_control, "?");
    neutralise(&line).text.replace("</environment", "<\\/environment")
}
