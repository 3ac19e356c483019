//! The regular expression and the searcher that runs it.

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::Settings;

/// Memory one search may take: the longest line, or with `multiline` the largest file.
const HEAP: usize = 64 * 1024 * 1024;

pub(super) fn build(pattern: &str, settings: Settings) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(settings.ignore_case).multi_line(true).crlf(true);
    if settings.multiline {
        builder.dot_matches_new_line(true).line_terminator(None);
    }
    builder.build(pattern).map_err(|error| explain(pattern, &error.to_string()))
}

pub(super) fn searcher(settings: Settings) -> Searcher {
    let mut builder = SearcherBuilder::new();
    builder
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP))
        .line_number(true)
        .multi_line(settings.multiline);
    if settings.mode == super::OutputMode::Content {
        builder.before_context(settings.before).after_context(settings.after);
    }
    if !settings.multiline {
        builder.line_terminator(LineTerminator::crlf());
    }
    builder.build()
}

fn explain(pattern: &str, error: &str) -> String {
    let hint = if pattern.contains("(?=") || pattern.contains("(?!") || pattern.contains("(?<") {
        "Look-around is not supported; search for the plain part and look at the results."
    } else if error.contains("not allowed") {
        "To match across lines set multiline."
    } else if pattern.contains(['{', '}']) {
        "To search for a literal brace write \\{ or \\}."
    } else if pattern.contains(['(', '[', '*', '+', '?']) {
        "To search for one of ( ) [ ] * + ? . | ^ $ literally put \\ before it."
    } else {
        "Correct the expression."
    };
    format!("The regular expression is not valid: {}\n{hint}", error.trim_end())
}
