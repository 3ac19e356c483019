//! The name of a session. Programs that let the user give it one add a line of their own to the log. Lists look for that
//! at the end of a log only, so it is said there again when the log has grown beyond it.

use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use tiller_protocol::id::SessionId;

/// Bytes of the end of a log that are looked at for a name.
const END: u64 = 16 * 1024;
/// Longer lines have none.
const LONGEST_LINE: usize = 4096;

/// The name at the end of a log.
pub(super) fn given_name(log: &Path) -> Option<String> {
    named_in(log, length(log)?.saturating_sub(END))
}

/// The last name in what follows a place in a log.
fn named_in(log: &Path, from: u64) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        custom_title: String,
    }
    let mut file = fs_err::File::open(log).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    let short = lines.filter(|line| line.len() < LONGEST_LINE);
    let named = short.filter_map(|line| serde_json::from_slice::<Named>(&line).ok());
    named.last().map(|named| named.custom_title)
}

fn length(log: &Path) -> Option<u64> {
    fs_err::metadata(log).ok().map(|metadata| metadata.len())
}

/// A name on its way past what is being appended.
#[derive(Debug)]
pub(crate) struct CarriedName {
    log: PathBuf,
    name: Option<String>,
    /// What was there when it was looked up.
    length: u64,
}

impl CarriedName {
    /// The name that a log has by now.
    pub(crate) fn of(log: &Path) -> Self {
        Self { name: given_name(log), length: length(log).unwrap_or_default(), log: log.to_owned() }
    }

    /// Says it again if lists would not find it much longer. Another program may have given a new one meanwhile.
    pub(crate) fn carry(self, session: SessionId) -> std::io::Result<()> {
        let near_end = length(&self.log).unwrap_or_default().saturating_sub(END / 2);
        if named_in(&self.log, near_end).is_some() {
            return Ok(());
        }
        let Some(name) = named_in(&self.log, self.length).or(self.name) else { return Ok(()) };
        let line = json!({"type": "custom-title", "customTitle": name, "sessionId": session});
        let mut file = fs_err::OpenOptions::new().append(true).open(&self.log)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}
