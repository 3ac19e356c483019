//! `tiller inspect`: what a session consisted of, from its log alone.

mod agents;
mod beside;
mod compaction;
mod event;
mod excerpt;
mod figures;
pub(crate) mod find;
mod fold;
mod head;
mod html;
mod report;
mod text;
mod text_tables;
mod timeline;
mod totals;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use tiller_engine::store;
use tiller_protocol::env::Env;

use crate::args;
use crate::exit::Exit;
use crate::text::print;
pub(crate) use excerpt::{short, visible};
pub(crate) use figures::size;
use find::Log;
use fold::Fold;
pub(crate) use fold::told;
use report::Report;

const AFTER_HELP: &str = "\
SESSION is the id of a session, the beginning of one, or `latest` for the latest session of this \
directory. The log is only read; a running session can be inspected, too.";

/// Show everything in a session: requests, calls, decisions, and every byte Tiller added.
#[derive(Debug, Parser)]
#[command(name = "tiller inspect", bin_name = "tiller inspect", after_help = AFTER_HELP)]
struct Inspect {
    /// The session
    session: String,

    /// Print JSON
    #[arg(long, conflicts_with = "html")]
    json: bool,

    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs `tiller inspect`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let inspect = match Inspect::try_parse_from(words) {
        Ok(inspect) => inspect,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let report = read(&find::find(&inspect.session, env)?)?;
    match &inspect.html {
        Some(file) => {
            write(&env.cwd.join(file), &html::page(&report, &env.fresh().simple().to_string()))?;
            print(&format!("{} is written", file.display()))?;
        }
        None if inspect.json => print(&serde_json::to_string_pretty(&report)?)?,
        None => print(&text::of(&report))?,
    }
    Ok(Exit::Success)
}

fn read(log: &Log) -> anyhow::Result<Report> {
    let mut fold = Fold::new(log.id, log.path.clone());
    let loaded = store::load(&log.path, |entry| fold.take(&entry))?;
    let mut report = fold.finish(&loaded.damage);
    report.agents = agents::of(log);
    Ok(report)
}

/// Writes a file at once, or not at all. Like the log it tells from, it is for its owner only.
pub(crate) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let dir = file.parent().filter(|dir| dir.is_dir());
    let dir =
        dir.with_context(|| format!("{} cannot be written: there is no such directory", file.display()))?;
    let failed = || format!("{} could not be written", file.display());
    let mut whole = tempfile::NamedTempFile::new_in(dir).with_context(failed)?;
    whole.write_all(text.as_bytes()).with_context(failed)?;
    whole.persist(file).with_context(failed)?;
    Ok(())
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
