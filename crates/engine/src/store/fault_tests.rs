//! Whatever happens to the bytes of a log: loading never fails, and never loses more than the record that was hit.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tempfile::TempDir;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{AssistantBlock, Body, CallResult, Cause, Entry, Outcome, TurnEnd, UserMessage};
use tiller_protocol::id::{CallId, EntryId, MessageId, SessionId};
use tiller_protocol::line::{self, Envelope};
use tiller_protocol::mode::Mode;

use super::{Damage, Loaded, LogWriter, Mark, StoreError, load, load_after};

struct Log {
    dir: TempDir,
    bytes: Vec<u8>,
    ids: Vec<EntryId>,
}

fn body(seq: u64) -> Body {
    let call = CallId(format!("call_{}", seq / 6));
    let said = |block| {
        Body::Assistant(AssistantBlock {
            message_id: MessageId(format!("msg_{}", seq / 6)),
            model: "m".to_owned(),
            block,
            invalid_input: None,
            api_error: None,
            aborted: false,
        })
    };
    match seq % 6 {
        1 if seq == 1 => Body::Effect(Effect::SetMode { mode: Mode::Plan }),
        1 | 2 => Body::User(UserMessage::prompt("fix \"it\"\nplease – {\"type\":\"user\"}")),
        3 => said(RawBlock::text("I will")),
        4 => said(RawBlock::from_value(
            &serde_json::json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}),
        )),
        5 => Body::Result(CallResult {
            call: CallId(format!("call_{}", seq / 6)),
            tool: "Bash".to_owned(),
            content: vec![RawBlock::text("a\nb")],
            is_error: false,
            cause: Cause::Call,
            detail: serde_json::Value::Null,
            effects: Vec::new(),
        }),
        _ => Body::TurnEnded(TurnEnd { outcome: Outcome::Success, marker: None, steps: 1 }),
    }
}

impl Log {
    fn new(records: u64) -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("log");
        let mut writer = LogWriter::open(&path, "x").unwrap();
        let mut ids = Vec::new();
        for seq in 1..=records {
            let id = EntryId(uuid::Uuid::from_u128(u128::from(seq)));
            let entry =
                Entry { seq, id, parent: None, at: Timestamp::UNIX_EPOCH, agent: None, body: body(seq) };
            let session = SessionId::default();
            let envelope =
                Envelope { session, cwd: Path::new("/w"), version: "0", git_branch: None, slug: None };
            writer.append(&line::write(&entry, &envelope).unwrap()).unwrap();
            ids.push(id);
        }
        let bytes = fs_err::read(&path).unwrap();
        Self { dir, bytes, ids }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn load(&self, bytes: &[u8]) -> (Vec<EntryId>, Loaded) {
        fs_err::write(self.path(), bytes).unwrap();
        let mut ids = Vec::new();
        let loaded = load(&self.path(), |entry| ids.push(entry.id)).unwrap();
        (ids, loaded)
    }

    /// Where each line begins, and the end.
    fn starts(&self) -> Vec<usize> {
        let ends = self.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).collect()
    }

    /// The places before each record and behind the last one, each found from the one before.
    fn places(&self) -> Vec<Mark> {
        let mut places = vec![Mark::default()];
        for (n, start) in self.starts().into_iter().enumerate().skip(1) {
            fs_err::write(self.path(), &self.bytes[..start]).unwrap();
            let mut taken = Vec::new();
            let loaded = load_after(&self.path(), &places[n - 1], |entry| taken.push(entry)).unwrap();
            assert_eq!(taken.iter().map(|entry| entry.id).collect::<Vec<_>>(), self.ids[n - 1..n]);
            assert_eq!((&loaded.damage[..], loaded.length), (&[][..], start as u64));
            places.push(Mark {
                seq: taken[0].seq,
                offset: loaded.length,
                lines: n as u64,
                hash: loaded.hash,
            });
        }
        places
    }

    /// Cut behind so many records, all of them are there, and whoever reads them finds the place.
    fn check_whole(&self, records: usize, place: &Mark) {
        let (ids, loaded) = self.load(&self.bytes[..self.starts()[records]]);
        assert_eq!(ids, self.ids[..records]);
        assert_eq!(
            (loaded.damage, loaded.length, loaded.hash),
            (Vec::new(), place.offset, place.hash.clone())
        );
    }

    /// The next run goes on at a place, whatever stands behind it, and the chain holds.
    fn check_goes_on(&self, place: &Mark) {
        let mut writer = LogWriter::open(&self.path(), "x").unwrap();
        writer.continue_at(place.offset, place.hash.clone()).unwrap();
        writer.append(r#"{"type":"new","uuid":"00000000-0000-0000-0000-00000000ffff","timestamp":"2026-01-01T00:00:00Z","seq":9999}"#).unwrap();
        let mut entries = 0;
        let again = load_after(&self.path(), place, |_| entries += 1).unwrap();
        assert_eq!((again.damage, again.proven, entries), (Vec::new(), 1, 1), "at {}", place.offset);
    }
}

// LOG-03 LOG-04: a log of 500 records, cut at every byte. What stands before the record that is cut is the same for all
// cuts of it, and is read once.
#[test]
fn a_cut_loses_only_the_record_that_is_cut() {
    let log = Log::new(500);
    let (starts, places) = (log.starts(), log.places());
    assert_eq!(starts.len(), 501);
    let mut cuts = 0;
    for (record, place) in starts.windows(2).zip(&places) {
        fs_err::write(log.path(), &log.bytes[..record[1]]).unwrap();
        let file = fs_err::File::options().write(true).open(log.path()).unwrap();
        for end in (record[0] + 1..record[1]).rev() {
            file.set_len(end as u64).unwrap();
            let mut taken = 0;
            let loaded = load_after(&log.path(), place, |_| taken += 1).unwrap();
            let torn = Damage::TornTail { bytes: (end - record[0]) as u64 };
            assert_eq!((taken, &loaded.damage[..]), (0, &[torn][..]), "cut at {end}");
            assert_eq!((loaded.length, &loaded.hash), (place.offset, &place.hash), "cut at {end}");
            cuts += 1;
        }
        log.check_goes_on(place);
    }
    assert_eq!(cuts, log.bytes.len() - 500, "and behind each record");
    (0..=500).step_by(25).for_each(|records| log.check_whole(records, &places[records]));
}

// LOG-03: whichever bit of a log flips, at most the record it is in is lost, and it is noticed.
#[test]
fn a_flipped_bit_loses_only_the_record_it_is_in() {
    let log = Log::new(8);
    let starts = log.starts();
    for at in 0..log.bytes.len() {
        let mut bytes = log.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let hit = starts.iter().rposition(|start| *start <= at).unwrap();
        let (ids, loaded) = log.load(&bytes);
        let lost: Vec<usize> = (0..8).filter(|n| !ids.contains(&log.ids[*n])).collect();
        let line = String::from_utf8_lossy(&bytes[starts[hit]..starts[hit + 1]]).into_owned();
        assert!(lost.is_empty() || lost == [hit], "byte {at} lost {lost:?}: {line}");
        assert!(!loaded.damage.is_empty(), "byte {at} was not noticed: {line}");
        let others: Vec<_> = ids.iter().filter(|id| log.ids.contains(id)).collect();
        assert!(others.is_sorted(), "byte {at} changed the order");
    }
}

// A record that is there twice counts once, wherever the second one stands.
#[test]
fn repeated_records_count_once() {
    let log = Log::new(20);
    let starts = log.starts();
    let line = |n: usize| &log.bytes[starts[n]..starts[n + 1]];
    for n in 0..20 {
        for behind in [n, (n + 5).min(19), 19] {
            let mut bytes = log.bytes[..starts[behind + 1]].to_vec();
            bytes.extend(line(n));
            bytes.extend(&log.bytes[starts[behind + 1]..]);
            let (ids, loaded) = log.load(&bytes);
            assert_eq!(ids, log.ids, "{n} behind {behind}");
            assert_eq!(loaded.damage, [Damage::Repeated { line: behind as u64 + 2 }]);
        }
    }
}

// The same for several in a row, as when a program copies the end of a file once more.
#[test]
fn a_repeated_end_counts_once() {
    let log = Log::new(20);
    let starts = log.starts();
    for (from, start) in starts.iter().take(20).enumerate() {
        let mut bytes = log.bytes.clone();
        bytes.extend(&log.bytes[*start..]);
        let (ids, loaded) = log.load(&bytes);
        assert_eq!(ids, log.ids, "from {from}");
        assert_eq!(loaded.damage.len(), 20 - from);
    }
}

// A record half written and then repeated in the same line is still there.
#[test]
fn a_record_behind_half_of_itself_is_found() {
    let log = Log::new(10);
    let starts = log.starts();
    for n in 0..10 {
        for half in [1, 20, (starts[n + 1] - starts[n]) / 2, starts[n + 1] - starts[n] - 1] {
            let mut bytes = log.bytes[..starts[n] + half].to_vec();
            bytes.extend(&log.bytes[starts[n]..]);
            let (ids, loaded) = log.load(&bytes);
            assert_eq!(ids, log.ids, "{half} bytes of {n}");
            assert_eq!(loaded.damage.len(), 1);
        }
    }
}

// Lines of versions that wrote no hash are entries like others; new ones continue behind them.
#[test]
fn lines_without_a_hash_count() {
    let log = Log::new(6);
    let text = String::from_utf8(log.bytes.clone()).unwrap();
    let old: String =
        text.lines().map(|line| format!("{}}}\n", line.split_once(",\"hash\":").unwrap().0)).collect();
    let (ids, loaded) = log.load(old.as_bytes());
    assert_eq!((ids, loaded.unhashed, loaded.damage.len()), (log.ids.clone(), 6, 0));
    let behind = Mark { seq: 6, offset: loaded.length, lines: 6, hash: loaded.hash };
    log.check_goes_on(&behind);
    assert_eq!(load(&log.path(), |_| {}).unwrap().damage, []);
}

// LOG-06
#[test]
fn a_second_writer_is_kept_out() {
    let log = Log::new(1);
    let first = LogWriter::open(&log.path(), "x").unwrap();
    assert!(matches!(LogWriter::open(&log.path(), "x"), Err(StoreError::Busy(_))));
    drop(first);
    LogWriter::open(&log.path(), "x").unwrap();
}

// LOG-03: a log whose lines end in the way of another system is read as it was written.
#[test]
fn other_ends_of_lines_lose_nothing() {
    let log = Log::new(12);
    let text = String::from_utf8(log.bytes.clone()).unwrap().replace('\n', "\r\n");
    fs_err::write(log.path(), text).unwrap();
    let mut ids = Vec::new();
    let loaded = load(&log.path(), |entry| ids.push(entry.id)).unwrap();
    assert_eq!((ids, loaded.damage, loaded.proven), (log.ids, Vec::new(), 12));
}
