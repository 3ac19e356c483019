//! `Grep`: searches file contents.

mod found;
mod matcher;
mod report;
mod sink;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::DirEntry;
use ignore::types::{Types, TypesBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tiller_policy::Access;

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::encoding::{Decoded, decode};
use crate::lenient::Integer;
use crate::search::{Filter, Scope, Stop, walk};
use crate::secret::{Vault, is_armoured};
use crate::tool::{Description, Done, Tool, ToolError};
use crate::workspace::{self, FileError};

use found::Found;
use sink::{Collector, Line, Outcome};

/// Entries shown when no limit is given.
const DEFAULT_LIMIT: usize = 250;
/// Entries kept in memory, whatever the limit.
const MOST_KEPT: usize = 20_000;

/// Searches file contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

/// What `Grep` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct GrepInput {
    /// The regular expression.
    pattern: String,
    /// The file or directory to search instead of the working directory.
    path: Option<String>,
    /// Only files whose path fits.
    glob: Option<String>,
    /// Only files of this type.
    r#type: Option<String>,
    /// What to show.
    output_mode: Option<OutputMode>,
    /// Lines after each match.
    #[serde(rename = "-A")]
    after: Option<Integer>,
    /// Lines before each match.
    #[serde(rename = "-B")]
    before: Option<Integer>,
    /// Lines around each match.
    #[serde(rename = "-C", alias = "context")]
    context: Option<Integer>,
    /// Show line numbers (default true).
    #[serde(rename = "-n")]
    line_numbers: Option<bool>,
    /// Ignore case.
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    /// Let matches span lines.
    multiline: Option<bool>,
    /// Show this many entries; 0 for all that fit.
    head_limit: Option<Integer>,
    /// Skip this many entries.
    offset: Option<Integer>,
    /// Search what ignore files exclude, too.
    include_ignored: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

/// The input with all defaults settled.
#[derive(Clone, Copy, Debug)]
struct Settings {
    mode: OutputMode,
    line_numbers: bool,
    before: usize,
    after: usize,
    multiline: bool,
    ignore_case: bool,
    offset: usize,
    limit: usize,
}

impl Tool for Grep {
    const NAME: &'static str = "Grep";
    type Input = GrepInput;

    fn describe(&self) -> Description {
        Description::new("Searches file contents", include_str!("prompt.md"))
    }

    fn parallel(&self, _: &GrepInput) -> bool {
        true
    }

    fn read_only(&self, _: &GrepInput) -> bool {
        true
    }

    fn access(&self, input: &GrepInput, view: &View) -> Vec<Access> {
        vec![Access::Read(workspace::place(view, input.path.as_deref().unwrap_or_default()))]
    }

    async fn run(&self, input: GrepInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, move |cx| grep(&input, cx)).await
    }
}

fn root(input: &GrepInput, view: &View) -> PathBuf {
    workspace::resolve(view, input.path.as_deref().unwrap_or_default())
}

fn grep(input: &GrepInput, cx: &ToolCx) -> Result<Done, ToolError> {
    let root = root(input, &cx.view);
    cx.permit.read(&root)?;
    if !root.exists() {
        return Err(ToolError::Model(FileError::Missing.explain(&root, &cx.view)));
    }
    workspace::searchable(&root).map_err(|error| ToolError::Model(error.explain(&root, &cx.view)))?;
    let settings = Settings::of(input);
    let search = Search {
        matcher: matcher::build(&input.pattern, settings).map_err(ToolError::Model)?,
        wanted: Wanted::of(input, &root).map_err(ToolError::Model)?,
        stop: Stop::new(cx),
        found: Mutex::new(Found::new(settings)),
        settings,
        secrets: Arc::clone(&cx.view.secrets),
    };
    let scope = Scope::new(cx, root.clone(), input.include_ignored.unwrap_or(false));
    let mut left_out = walk(&scope, &search.stop, &|entry| search.visit(entry));
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let found = search.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    left_out.stopped |= found.stopped;
    Ok(report::report(input, settings, &cx.view, &root, &found, &left_out))
}

impl Settings {
    fn of(input: &GrepInput) -> Self {
        let number = |given: Option<Integer>| given.map(|given| usize::try_from(given.0).unwrap_or(0));
        let around = number(input.context);
        Self {
            mode: input.output_mode.unwrap_or_default(),
            line_numbers: input.line_numbers.unwrap_or(true),
            before: number(input.before).or(around).unwrap_or(0),
            after: number(input.after).or(around).unwrap_or(0),
            multiline: input.multiline.unwrap_or(false),
            ignore_case: input.ignore_case.unwrap_or(false),
            offset: number(input.offset).unwrap_or(0),
            limit: number(input.head_limit)
                .map_or(DEFAULT_LIMIT, |limit| if limit == 0 { MOST_KEPT } else { limit }),
        }
    }

    /// Entries that have to be kept to show the wanted ones.
    fn kept(self) -> usize {
        self.offset.saturating_add(self.limit).min(MOST_KEPT)
    }
}

/// Which files are searched. A file named by itself always is.
struct Wanted {
    root: PathBuf,
    filter: Filter,
    types: Option<Types>,
}

impl Wanted {
    fn of(input: &GrepInput, root: &Path) -> Result<Self, String> {
        let filter = input.glob.as_deref().map_or(Ok(Filter::all()), Filter::list)?;
        let types = input.r#type.as_deref().map(types).transpose()?;
        Ok(Self { root: root.to_owned(), filter, types })
    }

    fn covers(&self, path: &Path) -> bool {
        path == self.root
            || (path.strip_prefix(&self.root).is_ok_and(|relative| self.filter.wants(relative))
                && self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist()))
    }
}

fn types(name: &str) -> Result<Types, String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|_| {
        format!("There is no file type {name}. Known are for example rust, py, js, ts, go, java, c, cpp, md, json; or use glob.")
    })
}

struct Search {
    matcher: grep_regex::RegexMatcher,
    wanted: Wanted,
    stop: Stop,
    found: Mutex<Found>,
    settings: Settings,
    secrets: Arc<Vault>,
}

/// The text of a file in which something was found.
fn whole(path: &Path) -> Option<Decoded> {
    let loaded = workspace::open(path).and_then(workspace::load).ok()?;
    decode(&loaded.bytes).ok()
}

impl Search {
    fn visit(&self, entry: &DirEntry) {
        if !self.wanted.covers(entry.path()) {
            return;
        }
        if entry.file_type().is_some_and(|kind| kind.is_symlink()) {
            return self.found().links += usize::from(!entry.path().is_dir());
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let mut searcher = matcher::searcher(self.settings);
        let hits = Collector::new(&self.matcher, self.settings, &self.secrets).search(
            &mut searcher,
            entry.path(),
            &self.stop,
        );
        self.found().add(entry.path(), self.concealed(entry.path(), hits));
    }

    /// Masks lines of a private key that are shown without its frame: they are known by the file.
    fn concealed(&self, path: &Path, outcome: Outcome) -> Outcome {
        let Outcome::Searched(mut hits) = outcome else { return outcome };
        let tells = |line: &Line| is_armoured(&line.text) || self.secrets.mentioned(&line.text).is_some();
        if hits.lines.iter().any(tells)
            && let Some(Decoded { text, .. }) = whole(path)
        {
            let masked = self.secrets.mask_file(&text, path);
            let (real, masked): (Vec<&str>, Vec<&str>) = (text.lines().collect(), masked.lines().collect());
            for line in &mut hits.lines {
                let at = usize::try_from(line.number).unwrap_or(usize::MAX).wrapping_sub(1);
                if let (Some(real), Some(masked)) = (real.get(at), masked.get(at))
                    && *real == line.text
                {
                    line.text = (*masked).to_owned();
                }
            }
        }
        Outcome::Searched(hits)
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
