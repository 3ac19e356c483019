//! `diagnostics`: problems that an editor or a language server has found.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("diagnostics.md");

/// New problems, by file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// The files.
    pub files: Vec<FileDiagnostics>,
    /// Whether they are new compared with what was told before.
    pub is_new: bool,
    /// How many more there are.
    #[serde(skip)]
    pub left_out: usize,
}

/// Problems of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiagnostics {
    /// The file.
    pub uri: String,
    /// Its problems.
    pub diagnostics: Vec<Diagnostic>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The line, counted from 1.
    pub line: u64,
    /// The column, counted from 1.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// Who says so, e.g. `rustc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It has to be mended.
    Error,
    /// It should be looked at.
    Warning,
    /// It is worth knowing.
    Info,
    /// It could be nicer.
    Hint,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Hint => "hint",
        }
    }
}

impl Kind for Diagnostics {
    const NAME: &'static str = "diagnostics";

    fn render(&self) -> Rendered {
        let mut lines = Vec::new();
        for file in &self.files {
            lines.push(format!("{}:", file.uri));
            lines.extend(file.diagnostics.iter().map(line));
        }
        if self.left_out > 0 {
            lines.push(format!("({} more are not listed)", self.left_out));
        }
        Rendered::reminder(&fill(TEXT, &[("problems", &lines.join("\n"))]))
    }
}

fn line(problem: &Diagnostic) -> String {
    let Diagnostic { severity, line, column, message, source } = problem;
    let source = source.as_ref().map(|source| format!(" [{source}]")).unwrap_or_default();
    format!("  {} at {line}:{column}: {message}{source}", severity.word())
}
