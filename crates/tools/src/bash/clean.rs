//! Terminal output as a reader would have seen it.

/// Decodes output; escape sequences are removed, lines that were overwritten show their last state.
pub(crate) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = without_escapes(&text);
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        push_line(&mut shown, line.strip_suffix('\r').unwrap_or(line));
        shown.push_str(end);
    }
    shown
}

/// Adds what is left of a line after its carriage returns and backspaces.
fn push_line(shown: &mut String, line: &str) {
    let last = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
    let start = shown.len();
    for c in last.chars() {
        match c {
            '\u{8}' if shown.len() > start => _ = shown.pop(),
            '\t' => shown.push(c),
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
}

fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    kept.push_str(rest);
    kept
}

/// What follows an escape sequence whose introducer was just passed.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_first(chars.as_str(), |c| ('@'..='~').contains(&c)),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str()),
        Some(' '..='/') => after_first(chars.as_str(), |c| ('0'..='~').contains(&c)),
        Some('\n' | '\r') | None => text,
        Some(_) => chars.as_str(),
    }
}

/// Skips up to and including the final character; a sequence never spans lines.
fn after_first(text: &str, is_final: impl Fn(char) -> bool) -> &str {
    match text.find(|c| is_final(c) || c == '\n') {
        Some(at) if text[at..].starts_with('\n') => &text[at..],
        Some(at) => &text[at + 1..],
        None => "",
    }
}

/// Skips a string that is ended by BEL or by ESC and a backslash.
fn after_string(text: &str) -> &str {
    match text.find(['\u{7}', '\u{1b}', '\n']) {
        Some(at) if text[at..].starts_with("\u{1b}\\") => &text[at + 2..],
        Some(at) if text[at..].starts_with('\u{7}') => &text[at + 1..],
        Some(at) => &text[at..],
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn output_reads_as_on_a_terminal() {
        for (printed, read) in [
            ("plain\ntext\n", "plain\ntext\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink"),
            (" 10%\r 55%\r100%\ndone\r\n", "100%\ndone\n"),
            ("working...\r\n", "working...\n"),
            ("spinner\r", "spinner"),
            ("N\u{8}NA\u{8}A\n", "NA\n"),
            ("bell\u{7}\u{0}\ttab", "bell\ttab"),
            ("cut\u{1b}[3", "cut"),
            ("\u{1b}(B\u{1b}=x", "x"),
            ("a\u{1b}]never ended\nb", "a\nb"),
        ] {
            assert_eq!(clean(printed.as_bytes()), read, "{printed:?}");
        }
        assert_eq!(clean(b"caf\xe9 \xff\n"), "caf\u{fffd} \u{fffd}\n");
    }

    proptest! {
        #[test]
        fn any_bytes_become_text_without_controls(bytes: Vec<u8>) {
            let text = clean(&bytes);
            prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        }
    }
}
