//! Masks: what stands in texts in place of credentials, `[secret:github-token:5f3a9c21]`.

use std::ops::Range;

/// How a mask begins.
pub const OPENING: &str = "[secret:";
/// Hexadecimal digits at the end of a mask. They are random: a mask of an earlier run never means another credential.
pub const DIGITS: usize = 8;
/// A mask is not longer.
const LONGEST: usize = 60;

/// A text that looks like a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask<'a> {
    /// Where it stands.
    pub span: Range<usize>,
    /// What it says that the credential looks like.
    pub kind: &'a str,
}

/// The masks in a text, in order.
pub fn masks_in(text: &str) -> impl Iterator<Item = Mask<'_>> {
    text.match_indices(OPENING).filter_map(|(start, _)| {
        let length = text.as_bytes()[start..].iter().take(LONGEST).position(|byte| *byte == b']')? + 1;
        let (kind, digits) = text[start + OPENING.len()..start + length - 1].split_once(':')?;
        let named = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let counted = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        (named && counted).then_some(Mask { span: start..start + length, kind })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_mask_is_found() {
        let text = "a=[secret:github-token:5f3a9c21] [secret:x:5f3a9c2] [secret::5f3a9c21] [secret:a b:5f3a9c21] \
                    [secret:[secret:password:0123abcd]ü]";
        let found: Vec<_> = masks_in(text).map(|mask| (&text[mask.span], mask.kind)).collect();
        assert_eq!(
            found,
            [("[secret:github-token:5f3a9c21]", "github-token"), ("[secret:password:0123abcd]", "password")]
        );
    }
}
