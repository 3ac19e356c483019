//! `Glob`: finds files by name.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::search::{Filter, LeftOut, Scope, Stop, split_base, walk};
use crate::tool::{Description, Done, Tool, ToolError};
use crate::workspace::{self, FileError};

/// Files named at most.
const LIMIT: usize = 100;

/// Finds files by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

/// What `Glob` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct GlobInput {
    /// The pattern.
    pattern: String,
    /// The directory to start from instead of the working directory.
    path: Option<String>,
    /// Search what ignore files exclude, too.
    include_ignored: Option<bool>,
}

/// The newest files so far.
#[derive(Default)]
struct Newest {
    files: BinaryHeap<(Reverse<SystemTime>, PathBuf)>,
    total: usize,
}

impl Tool for Glob {
    const NAME: &'static str = "Glob";
    type Input = GlobInput;

    fn describe(&self) -> Description {
        Description::new("Finds files by name", include_str!("prompt.md"))
    }

    fn parallel(&self, _: &GlobInput) -> bool {
        true
    }

    fn read_only(&self, _: &GlobInput) -> bool {
        true
    }

    fn access(&self, input: &GlobInput, view: &View) -> Vec<Access> {
        vec![Access::Read(workspace::place(view, &base(input, view).to_string_lossy()))]
    }

    async fn run(&self, input: GlobInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, move |cx| glob(&input, cx)).await
    }
}

/// The directory that the walk starts from, as written: whatever the pattern names plainly belongs to it.
fn base(input: &GlobInput, view: &View) -> PathBuf {
    let (named, _) = split_base(&input.pattern);
    let start = view.absolute(input.path.as_deref().unwrap_or_default(), &view.home);
    if named.starts_with("~/") { view.absolute(named, &view.home) } else { start.join(named) }
}

fn glob(input: &GlobInput, cx: &ToolCx) -> Result<Done, ToolError> {
    let base = workspace::resolve_links(&base(input, &cx.view));
    cx.permit.read(&base)?;
    if !base.is_dir() {
        let error = if base.exists() {
            format!("{} is not a directory; path has to name one.", base.display())
        } else {
            FileError::Missing.explain(&base, &cx.view)
        };
        return Err(ToolError::Model(error));
    }
    let (named, rest) = split_base(&input.pattern);
    // Below a directory that the pattern names, the rest holds for that directory alone.
    let rest = if named.is_empty() { rest.to_owned() } else { format!("./{rest}") };
    let filter = Filter::one(&rest).map_err(ToolError::Model)?;
    let newest = Mutex::new(Newest::default());
    let scope = Scope::new(cx, base.clone(), input.include_ignored.unwrap_or(false));
    let left_out = walk(&scope, &Stop::new(cx), &|entry| {
        if entry.path().strip_prefix(&base).is_ok_and(|relative| filter.wants(relative)) {
            let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
            let mut newest = newest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            newest.add(modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path());
        }
    });
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let newest = newest.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(report(input, &cx.view, &base, newest, &left_out))
}

impl Newest {
    fn add(&mut self, modified: SystemTime, path: &Path) {
        self.total += 1;
        self.files.push((Reverse(modified), path.to_owned()));
        if self.files.len() > LIMIT {
            self.files.pop();
        }
    }
}

fn report(input: &GlobInput, view: &View, base: &Path, newest: Newest, left_out: &LeftOut) -> Done {
    let total = newest.total;
    let files: Vec<PathBuf> = newest.files.into_sorted_vec().into_iter().map(|(_, path)| path).collect();
    let mut lines: Vec<String> = files.iter().map(|path| workspace::shown(view, path).into_owned()).collect();
    if lines.is_empty() && !left_out.stopped {
        lines.push(format!("No files match {} in {}.", input.pattern, base.display()));
    }
    if total > files.len() {
        lines.push(format!(
            "[The {} newest of {total} files. For the others narrow the pattern or path.]",
            files.len()
        ));
    }
    lines.extend(left_out.notes().iter().map(|note| format!("[{note}]")));
    let detail = json!({
        "filenames": files.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "numFiles": total,
        "truncated": total > files.len() || left_out.stopped,
        "numIgnored": left_out.ignored,
    });
    Done::text(&lines.join("\n")).with_detail(detail)
}

#[cfg(test)]
mod tests;
