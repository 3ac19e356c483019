//! Whether a value can be a credential at all, or stands for one in an example.

use tiller_protocol::mask::OPENING;

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
    "opensesame",
    "open sesame",
    "null",
    "pass",
    "passwd",
    "password",
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

/// Changes from letter to digit or back that a random string has at least.
const MIXED: usize = 3;

/// Whether a value was put in place of a credential, or asks for one to be put there.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    COMMON.contains(&lower.trim_end_matches(|c: char| c.is_ascii_digit() || c == '!'))
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
    if value.contains(' ') {
        return value.len() >= 8 && value.split(' ').any(is_random_word);
    }
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let least = if value.len() < 16 { 2.5 } else { 3.0 };
    let mixed = alternations(value) >= MIXED || value.bytes().any(is_mark);
    value.len() >= 8 && letters && mixed && !is_words(value) && entropy(value) >= least
}

/// Whether one of several words is none: a sentence is no credential, a passphrase often has a word with digits in it.
fn is_random_word(word: &str) -> bool {
    let word = word.trim_end_matches(['!', '?', '.', ',', ':', ';', '%']);
    let odd = alternations(word) >= 2 || word.bytes().any(is_mark) && alternations(word) >= 1;
    word.len() >= 5 && odd && !is_words(word)
}

/// Characters of generated passwords that names, paths and expressions do not have.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'!' | b'#' | b'$' | b'%' | b'^' | b'~')
}

/// How often letters and digits take turns. In names such as `Aes128Gcm` they do so twice at most.
fn alternations(value: &str) -> usize {
    let bytes = value.as_bytes();
    let turns = bytes.windows(2).filter(|pair| match pair {
        [a, b] => {
            a.is_ascii_alphabetic() && b.is_ascii_digit() || a.is_ascii_digit() && b.is_ascii_alphabetic()
        }
        _ => false,
    });
    turns.count()
}

/// Whether a value reads as words, names, numbers or a path: every piece is letters that may end in digits, or a number.
fn is_words(value: &str) -> bool {
    let is_word = |piece: &str| {
        piece.trim_end_matches(|c: char| c.is_ascii_digit()).bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let pieces = value.split(['_', '-', '.', '/', ':', '\\', '@', ',', '+', '*']);
    pieces.into_iter().all(|piece| is_word(piece) || is_number(piece) || is_type_name(piece))
}

/// Short words in names of classes.
const TECHNICAL: &[&str] = &[
    "aes", "api", "des", "gcm", "hex", "hmac", "http", "jwt", "key", "rsa", "sha", "ssl", "tls", "url",
    "utf", "xml",
];

/// Whether this is a name as classes and types have: `Sha256HmacV2Signer`, `Utf8JsonWriter`. It begins with a capital,
/// numbers are short, and two thirds of its letters belong to what reads as words: of random names, one in a hundred does.
fn is_type_name(piece: &str) -> bool {
    if !piece.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    let (mut letters, mut readable) = (0, 0);
    let mut rest = piece;
    while !rest.is_empty() {
        let capitals = rest.bytes().take_while(u8::is_ascii_uppercase).count();
        let small = rest[capitals..].bytes().take_while(u8::is_ascii_lowercase).count();
        let digits = rest[capitals + small..].bytes().take_while(u8::is_ascii_digit).count();
        if capitals + small == 0 || capitals > 4 || digits > 4 {
            return false;
        }
        let before = if small > 0 { capitals.saturating_sub(1) } else { 0 };
        letters += capitals + small;
        readable += readable_letters(&rest[before..capitals + small]);
        rest = &rest[capitals + small + digits..];
    }
    readable * 3 >= letters * 2
}

fn readable_letters(word: &str) -> usize {
    let word = word.to_ascii_lowercase();
    let reads = word.len() >= 4 && word.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    if reads || TECHNICAL.contains(&word.as_str()) { word.len() } else { 0 }
}

/// Whether this is a number as programs write it: `4194304u32`, `0xC000006B`.
fn is_number(piece: &str) -> bool {
    match piece.strip_prefix("0x") {
        Some(digits) => digits.len() <= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => piece.trim_start_matches(|c: char| c.is_ascii_digit()).len() <= 4.min(piece.len() / 2),
    }
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
