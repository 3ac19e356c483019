//! How much may be attached. Sources keep their own limits; this is for one that does not.

use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::Attachment;

use crate::attachment::catalog::{Mute, find};

/// Bytes of text of one attachment.
const TEXT: usize = 512 * 1024;
/// Bytes of text of one run.
const TEXT_IN_ALL: usize = 2 * 1024 * 1024;
/// Bytes of images and documents of one run; the provider takes no request above 32 MB.
const MEDIA_IN_ALL: usize = 28 * 1024 * 1024;

/// What was admitted so far.
#[derive(Debug, Default)]
pub(super) struct Bound {
    text: usize,
    media: usize,
}

impl Bound {
    /// Whether there is room for one more. What the user said is never left out.
    pub(super) fn admits(&mut self, attachment: &Attachment) -> bool {
        let (texts, media): (Vec<_>, Vec<_>) =
            attachment.rendered.iter().partition(|block| block.as_text().is_some());
        let size = |blocks: &[&RawBlock]| blocks.iter().map(|block| block.json().len()).sum::<usize>();
        let (text, media) = (size(&texts), size(&media));
        let is_users = find(attachment.kind()).is_some_and(|row| row.mute == Mute::UsersWords);
        let fits = text <= TEXT && self.text + text <= TEXT_IN_ALL && self.media + media <= MEDIA_IN_ALL;
        if fits || is_users {
            self.text += text;
            self.media += media;
            return true;
        }
        let (kind, source) = (attachment.kind(), &attachment.source);
        tracing::warn!(label = %source, kind, text, media, "an attachment is left out: it is too large");
        false
    }
}
