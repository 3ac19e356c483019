//! Text for people at a terminal.

use std::io::Write;

/// Columns that lines keep to.
pub(crate) const WIDTH: usize = 80;

/// Prints a line.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A head, and beside it a text whose further lines are indented by as much.
pub(crate) fn hanging(head: &str, text: &str) -> String {
    let indent = head.chars().count();
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        lines.extend(broken(paragraph, WIDTH.saturating_sub(indent)));
    }
    let lines = lines.join(&format!("\n{}", " ".repeat(indent)));
    format!("{head}{lines}").trim_end().to_owned()
}

/// Breaks a line between words. A word that is too long stays whole, so that it can be copied.
fn broken(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if used > 0 && used + length > width {
            lines.push(String::new());
            used = 0;
        }
        used += word.chars().count();
        if let Some(last) = lines.last_mut() {
            last.push_str(word);
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_hangs_beside_its_head_and_keeps_to_the_width() {
        let words = "word ".repeat(40);
        let text = hanging("ask    ", &words);
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("       word")), "{text}");
    }

    #[test]
    fn long_words_stay_whole_and_line_breaks_stay() {
        let path = "/x".repeat(60);
        assert_eq!(hanging("a ", &format!("see {path} there")), format!("a see\n  {path}\n  there"));
        assert_eq!(hanging("- ", "one\n  two"), "- one\n    two");
        assert_eq!(hanging("head", ""), "head");
    }
}
