//! What was kept from the model: credentials that were masked, by where they stood. What was none is found out here.

use serde::Serialize;

use super::Place;
use crate::block::RawBlock;
use crate::entry::{Attachment, Body, CallResult, Entry};
use crate::mask::masks_in;

/// Credentials of a kind that were masked in the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MaskTotal {
    /// The tool whose results they stood in, or the kind of the attachment.
    #[serde(rename = "in")]
    pub found_in: String,
    /// The file that was read or written, where the result names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What they look like, e.g. `github-token`.
    pub kind: String,
    /// How often one was masked.
    pub count: u64,
    /// Where this was first told to the model.
    #[serde(flatten)]
    pub first: Place,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Masks(pub(super) Vec<MaskTotal>);

impl Masks {
    /// Counts what is masked in what an entry tells the model at a place.
    pub(super) fn apply(&mut self, entry: &Entry, place: Place) {
        match &entry.body {
            Body::Result(result) => self.result(result, place),
            Body::Attachment(attachment) => self.attachment(attachment, place),
            _ => {}
        }
    }

    fn result(&mut self, result: &CallResult, place: Place) {
        let named = [&result.detail["filePath"], &result.detail["file"]["filePath"]];
        let file = named.into_iter().find_map(|path| path.as_str());
        let Some(counted) = result.detail["masked"].as_array() else {
            return self.texts(&result.content, &result.tool, file, place);
        };
        for masked in counted {
            if let (Some(kind), Some(count)) = (masked["kind"].as_str(), masked["count"].as_u64()) {
                self.add(&result.tool, file, kind, count, place);
            }
        }
    }

    fn attachment(&mut self, attachment: &Attachment, place: Place) {
        let file = attachment.attachment["filename"].as_str();
        self.texts(&attachment.rendered, attachment.kind(), file, place);
    }

    /// What nobody has counted tells itself.
    fn texts(&mut self, blocks: &[RawBlock], found_in: &str, file: Option<&str>, place: Place) {
        for text in blocks.iter().filter_map(RawBlock::as_text) {
            masks_in(&text).for_each(|mask| self.add(found_in, file, mask.kind, 1, place));
        }
    }

    fn add(&mut self, found_in: &str, file: Option<&str>, kind: &str, count: u64, first: Place) {
        let same = |total: &&mut MaskTotal| {
            total.found_in == found_in && total.file.as_deref() == file && total.kind == kind
        };
        match self.0.iter_mut().find(same) {
            Some(total) => total.count += count,
            None => self.0.push(MaskTotal {
                found_in: found_in.to_owned(),
                file: file.map(str::to_owned),
                kind: kind.to_owned(),
                count,
                first,
            }),
        }
    }
}
