//! Whether a value can be a credential at all, or stands for one in an example.

use super::vault::OPENING;

/// Words that stand for a credential in examples and templates.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "replace",
    "redacted",
    "dummy",
    "fake",
    "sample",
    "your-",
    "your_",
    "yourkey",
    "yourtoken",
    "yoursecret",
    "yourpass",
    "mysecret",
    "mypassword",
    "insert",
    "xxxx",
    "****",
    "....",
    "todo",
    "foobar",
    "testtest",
    "notasecret",
    "not-a-secret",
];

/// Passwords so common that hiding them protects nobody and hides words from everybody.
const COMMON: &[&str] = &[
    "admin",
    "administrator",
    "default",
    "guest",
    "letmein",
    "none",
    "null",
    "pass",
    "passwd",
    "password",
    "password1",
    "postgres",
    "qwerty",
    "root",
    "secret",
    "test",
    "testing",
    "toor",
    "true",
    "undefined",
    "user",
    "username",
    "welcome",
];

/// Whether a value was put in place of a credential, or asks for one to be put there.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    COMMON.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || is_reference(value)
        || is_filler(value)
}

/// Whether a value names where the real one comes from: `${VAR}`, `$VAR`, `{{ x }}`, `<token>`, `%s`, `env.X`, or is a
/// mask.
fn is_reference(value: &str) -> bool {
    let begins =
        ["$", "{", "<", "%", "@{", "#{", "env.", "env:", "process.env", "os.environ", "vault:", "secrets."];
    begins.iter().any(|beginning| value.starts_with(beginning))
        || value.contains("${")
        || value.contains("{{")
        || value.contains(OPENING)
}

/// Whether a body has too little variety to be random (`xxxxxxxx`, `00000000`, `abababab`), or says EXAMPLE.
pub(super) fn is_filler(body: &str) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "bodies are short")]
    let most = (body.len() as f64).log2();
    entropy(body) < 2.0_f64.min(most * 0.7) || body.to_ascii_lowercase().contains("example")
}

/// Whether the value of something called a password, token, secret or key looks like one: a random string, neither
/// words nor a number nor a path.
pub(super) fn is_random(value: &str) -> bool {
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let others = value.bytes().any(|byte| byte.is_ascii_digit() || is_mark(byte));
    let least = if value.len() < 16 { 2.5 } else { 3.0 };
    value.len() >= 8 && letters && others && !is_words(value) && entropy(value) >= least
}

/// Characters of generated passwords that names and paths do not have.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'!' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'?' | b'~' | b'@')
}

/// Whether a value reads as words, names, numbers or a path: every piece is letters that may end in digits, or digits.
fn is_words(value: &str) -> bool {
    let is_word = |piece: &str| {
        piece.trim_end_matches(|c: char| c.is_ascii_digit()).bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    value.split(['_', '-', '.', '/', ':', '\\', '@', ',', '+']).all(is_word)
}

/// Bits of information in a character of the value, as far as the value itself tells.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    #[expect(clippy::cast_precision_loss, reason = "values are short")]
    let length = value.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    shares.map(|share| -share * share.log2()).sum()
}

/// Whether a value is so unlike anything else that it may be masked wherever it turns up.
pub(super) fn is_distinctive(value: &str) -> bool {
    value.len() >= 12 && is_random(value) && entropy(value) >= 3.0
}
