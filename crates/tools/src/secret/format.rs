//! Credentials that announce themselves by their first characters.

use super::find::{Finding, Kind};
use super::plausible::is_filler;

/// A credential with a fixed beginning.
pub(super) struct Format {
    pub(super) kind: Kind,
    pub(super) prefix: &'static str,
    /// Characters that follow the prefix.
    body: Body,
    /// How many of them there are, at least and at most.
    length: (usize, usize),
}

/// The characters of a credential.
#[derive(Clone, Copy)]
enum Body {
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `-` and `_`.
    Word,
    /// Letters, digits, `-`, `_` and `.`.
    Dotted,
    /// Small hexadecimal digits.
    Hex,
    /// Capital letters and the digits 2 to 7.
    Base32,
}

use Body::{Alphanumeric, Base32, Dotted, Hex, Word};

/// Longer than any credential of this sort.
const ANY: usize = 512;

const fn format(kind: Kind, prefix: &'static str, body: Body, least: usize, most: usize) -> Format {
    Format { kind, prefix, body, length: (least, most) }
}

/// What is known. Where one prefix begins with another, the longer one counts.
pub(super) const FORMATS: &[Format] = &[
    format("aws-access-key-id", "AKIA", Base32, 16, 16),
    format("aws-access-key-id", "ASIA", Base32, 16, 16),
    format("aws-api-key", "ABSK", Word, 80, ANY),
    format("github-token", "ghp_", Alphanumeric, 36, ANY),
    format("github-token", "gho_", Alphanumeric, 36, ANY),
    format("github-token", "ghu_", Alphanumeric, 36, ANY),
    format("github-token", "ghs_", Dotted, 36, ANY),
    format("github-token", "ghr_", Alphanumeric, 36, ANY),
    format("github-token", "github_pat_", Word, 50, ANY),
    format("gitlab-token", "glpat-", Dotted, 20, ANY),
    format("gitlab-token", "gldt-", Dotted, 20, ANY),
    format("gitlab-token", "glrt-", Dotted, 20, ANY),
    format("gitlab-token", "glcbt-", Word, 20, ANY),
    format("gitlab-token", "glptt-", Word, 20, ANY),
    format("gitlab-token", "glsoat-", Word, 20, ANY),
    format("slack-token", "xoxa-", Word, 10, ANY),
    format("slack-token", "xoxb-", Word, 10, ANY),
    format("slack-token", "xoxe-", Word, 10, ANY),
    format("slack-token", "xoxe.", Dotted, 20, ANY),
    format("slack-token", "xoxo-", Word, 10, ANY),
    format("slack-token", "xoxp-", Word, 10, ANY),
    format("slack-token", "xoxr-", Word, 10, ANY),
    format("slack-token", "xoxs-", Word, 10, ANY),
    format("slack-token", "xapp-", Word, 20, ANY),
    format("stripe-key", "sk_live_", Alphanumeric, 16, ANY),
    format("stripe-key", "rk_live_", Alphanumeric, 16, ANY),
    format("stripe-key", "whsec_", Alphanumeric, 32, ANY),
    format("anthropic-key", "sk-ant-", Word, 20, ANY),
    format("openai-key", "sk-proj-", Word, 20, ANY),
    format("openai-key", "sk-svcacct-", Word, 20, ANY),
    format("openai-key", "sk-admin-", Word, 20, ANY),
    format("openai-key", "sk-None-", Word, 20, ANY),
    format("openrouter-key", "sk-or-v1-", Hex, 64, 64),
    format("api-key", "sk-", Alphanumeric, 32, ANY),
    format("groq-key", "gsk_", Alphanumeric, 40, ANY),
    format("xai-key", "xai-", Alphanumeric, 60, ANY),
    format("google-api-key", "AIza", Word, 35, 35),
    format("google-oauth-secret", "GOCSPX-", Word, 28, 28),
    format("google-access-token", "ya29.", Dotted, 20, ANY),
    format("huggingface-token", "hf_", Alphanumeric, 34, ANY),
    format("npm-token", "npm_", Alphanumeric, 36, 36),
    format("pypi-token", "pypi-AgE", Word, 50, ANY),
    format("crates-io-token", "cio", Alphanumeric, 32, 32),
    format("docker-token", "dckr_pat_", Word, 20, ANY),
    format("digitalocean-token", "dop_v1_", Hex, 64, 64),
    format("digitalocean-token", "doo_v1_", Hex, 64, 64),
    format("sendgrid-key", "SG.", Dotted, 60, 70),
    format("shopify-token", "shpat_", Alphanumeric, 32, 32),
    format("shopify-token", "shpss_", Alphanumeric, 32, 32),
    format("databricks-token", "dapi", Hex, 32, 32),
    format("vault-token", "hvs.", Word, 24, ANY),
    format("linear-key", "lin_api_", Alphanumeric, 32, ANY),
    format("notion-token", "ntn_", Alphanumeric, 40, ANY),
    format("age-key", "AGE-SECRET-KEY-1", Alphanumeric, 58, 58),
];

impl Body {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
        }
    }
}

impl Format {
    /// The credential whose prefix stands at a position.
    pub(super) fn at(&self, text: &str, start: usize) -> Option<Finding> {
        let bytes = text.as_bytes();
        if !bytes[start..].starts_with(self.prefix.as_bytes()) || continues_a_word(bytes, start) {
            return None;
        }
        let from = start + self.prefix.len();
        let (least, most) = self.length;
        let count = bytes[from..].iter().take(most + 1).take_while(|byte| self.body.has(**byte)).count();
        // A full stop or a dash at the end belongs to the sentence around it.
        let body = text[from..from + count].trim_end_matches(['.', '-']);
        let fits = (least..=most).contains(&body.len());
        let ends = bytes.get(from + body.len()).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        (fits && ends && !is_filler(body)).then(|| Finding::by_itself(start..from + body.len(), self.kind))
    }
}

/// Whether a position is inside a word. The letter of an escaped line end or tab does not count.
pub(super) fn continues_a_word(bytes: &[u8], start: usize) -> bool {
    match bytes[..start] {
        [.., b'\\', b'n' | b'r' | b't'] => false,
        [.., before] => before.is_ascii_alphanumeric(),
        [] => false,
    }
}
