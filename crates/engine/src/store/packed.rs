//! Logs that were compressed to save room (`gzip`). They are listed, searched and read as they are; whoever goes on with
//! one unpacks it first.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::Value;
use tempfile::NamedTempFile;
use tiller_protocol::entry::Entry;
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_protocol::line::{self, Envelope};
use tiller_tools::Vault;

use super::{LogWriter, SessionPaths, StoreError, foreign, make_private};
use crate::journal::VERSION;

/// How the name of a compressed log ends.
const PACKED: &str = ".gz";
/// Bytes that are unpacked at once.
const PIECE: usize = 64 * 1024;

/// The session that a file in a directory of logs belongs to, by its name.
pub(super) fn named(name: &str) -> Option<SessionId> {
    name.strip_suffix(PACKED).unwrap_or(name).strip_suffix(".jsonl")?.parse().ok()
}

/// The bytes of a log.
pub(crate) fn open(log: &Path) -> std::io::Result<Box<dyn Read>> {
    let file = fs_err::File::open(log)?;
    Ok(if is_packed(log) { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

pub(super) fn is_packed(log: &Path) -> bool {
    log.as_os_str().as_encoded_bytes().ends_with(PACKED.as_bytes())
}

/// The log itself, which is unpacked if it is compressed, whether it is named as such or not.
///
/// # Errors
/// When it cannot be unpacked.
pub fn unpacked(log: &Path) -> Result<PathBuf, StoreError> {
    let plain = if is_packed(log) { log.with_extension("") } else { log.to_owned() };
    let packed = with_ending(&plain);
    if !plain.exists() && packed.is_file() && copy(&packed, &plain)? {
        fs_err::remove_file(packed)?;
    }
    Ok(plain)
}

/// The same, but what is unpacked is put into a directory, and the log stays as it is.
///
/// # Errors
/// When it cannot be unpacked.
pub(crate) fn unpacked_in(dir: &Path, log: &Path) -> Result<PathBuf, StoreError> {
    let packed = with_ending(log);
    if log.exists() || !packed.is_file() {
        return Ok(log.to_owned());
    }
    let plain = dir.join("unpacked.jsonl");
    copy(&packed, &plain)?;
    Ok(plain)
}

/// Whether there is a log, compressed or not.
pub(super) fn is_there(log: &Path) -> bool {
    log.is_file() || with_ending(log).is_file()
}

/// Makes a log that lies elsewhere, compressed or not, a session of a project. Its id is the one that its lines tell. Of a
/// conversation that another program has written down, what was said is taken over.
///
/// # Errors
/// When it is no log, there is a session with this id already, or it cannot be copied.
pub(crate) fn adopt(
    env: &Env,
    config_dir: &Path,
    project: &Path,
    file: &Path,
) -> Result<SessionId, StoreError> {
    let id = told_id(file)?;
    let log = SessionPaths::new(config_dir, project, id).log;
    let place = fs_err::canonicalize(file).ok();
    let is_it = |known: &Path| place.is_some() && fs_err::canonicalize(known).ok() == place;
    if is_it(&log) || is_it(&with_ending(&log)) {
        return Ok(id);
    }
    if is_there(&log) {
        return Err(StoreError::Exists(id.to_string()));
    }
    take_over(env, project, file, id, &log)?;
    Ok(id)
}

/// Puts a log that lies elsewhere where it can be read, as one of ours.
///
/// # Errors
/// When it cannot be copied.
pub(crate) fn take_over(
    env: &Env,
    project: &Path,
    file: &Path,
    id: SessionId,
    log: &Path,
) -> Result<(), StoreError> {
    match foreign::conversation(lines(file)?.collect()) {
        Some(said) => write(id, log, project, &foreign::entries(&said, project, &Vault::new(env))),
        None => copy(file, log).map(drop),
    }
}

fn write(id: SessionId, log: &Path, project: &Path, entries: &[Entry]) -> Result<(), StoreError> {
    let mut writer = LogWriter::open(log, &id.to_string())?;
    let envelope = Envelope { session: id, cwd: project, version: VERSION, git_branch: None, slug: None };
    entries.iter().try_for_each(|entry| writer.append(&line::write(entry, &envelope)?))
}

pub(super) fn with_ending(log: &Path) -> PathBuf {
    let mut name = OsString::from(log);
    name.push(PACKED);
    name.into()
}

/// The session that the first line with an id belongs to.
///
/// # Errors
/// When no line has one, or the file cannot be read.
pub(crate) fn told_id(file: &Path) -> Result<SessionId, StoreError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Line {
        session_id: SessionId,
    }
    let told = lines(file)?.find_map(|line| Line::deserialize(line).ok()).map(|line| line.session_id);
    told.ok_or_else(|| StoreError::NoLog(file.to_owned()))
}

/// What is JSON at the beginning of a file.
fn lines(file: &Path) -> Result<impl Iterator<Item = Value>, StoreError> {
    let reader = std::io::BufReader::new(open(file)?);
    Ok(serde_json::Deserializer::from_reader(reader).into_iter::<Value>().map_while(Result::ok))
}

/// Whether reading a log has failed because its compression is damaged.
pub(super) fn is_damage(log: &Path, error: &std::io::Error) -> bool {
    let is_of_content =
        matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof);
    is_packed(log) && is_of_content
}

/// Copies a log, unpacking it on the way. Says whether all of it could be read; what could is there in any case.
fn copy(from: &Path, to: &Path) -> Result<bool, StoreError> {
    let dir = to.parent().unwrap_or(Path::new("."));
    make_private(dir)?;
    let mut file = NamedTempFile::new_in(dir)?;
    let mut source = open(from)?;
    let mut piece = vec![0; PIECE];
    let is_whole = loop {
        match source.read(&mut piece) {
            Ok(0) => break true,
            Ok(length) => file.write_all(&piece[..length])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!("{} cannot be read to its end: {error}", from.display());
                break false;
            }
        }
    };
    file.as_file().sync_data()?;
    // When something was last said in it has not changed: the latest session stays the latest.
    file.as_file().set_modified(fs_err::metadata(from)?.modified()?)?;
    match file.persist_noclobber(to) {
        Ok(_) => Ok(is_whole),
        // Another process was quicker.
        Err(error) if to.exists() => {
            tracing::debug!("{error}");
            Ok(false)
        }
        Err(error) => Err(error.error.into()),
    }
}
