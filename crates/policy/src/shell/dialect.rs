//! What bash and plainer shells take for different things.

/// What means something else to plainer shells, which may run what bash takes for a text or a comparison.
const OF_BASH: &[&str] = &["$'", "$\"", "<(", ">(", "<<<", "&>", "|&", "=(", "+="];

/// Whether a script holds something, outside of texts, that only bash takes as bash does.
pub(super) fn is_for_bash(script: &str) -> bool {
    let mut rest = script;
    let mut before = '\n';
    while let Some(next) = rest.chars().next() {
        let is_word_start = before.is_ascii_whitespace() || ";&|(".contains(before);
        // Where texts begin and end is not followed any further there.
        if next == '#' && is_word_start || rest.starts_with("<<") {
            return mentions(rest);
        }
        if begins(rest, before) {
            return true;
        }
        let end = match next {
            '\'' => text_end(rest, '\''),
            '"' => text_end(rest, '"'),
            '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
            _ => next.len_utf8(),
        };
        let (taken, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        // Whole scripts can stand inside of a text.
        let holds_script = next == '"' && (taken.contains("$(") || taken.contains('`'));
        if holds_script && mentions(taken) {
            return true;
        }
        before = if next == '\\' { next } else { taken.chars().next_back().unwrap_or(before) };
        rest = after;
    }
    false
}

/// Whether such a thing begins here.
fn begins(rest: &str, before: char) -> bool {
    let computes = rest.starts_with("((") && before != '$';
    let compares =
        rest.strip_prefix("[[").is_some_and(|after| after.starts_with(|c: char| c.is_ascii_whitespace()));
    // The name of a file to plainer shells.
    let multiplies = rest.strip_prefix('{').filter(|_| before != '$').is_some_and(|after| {
        // Quotes may be a part of it, with anything in them.
        let line = after.split('\n').next().unwrap_or_default();
        let is_open = after.starts_with(|c: char| !c.is_ascii_whitespace() && c != '}');
        is_open && line.contains('}') && (line.contains(',') || line.contains(".."))
    });
    computes || compares || multiplies || OF_BASH.iter().any(|mark| rest.starts_with(mark))
}

/// Whether such a thing stands anywhere, inside of texts as well.
fn mentions(text: &str) -> bool {
    let mut before = ' ';
    text.char_indices().any(|(at, c)| {
        let begins = begins(&text[at..], before);
        before = c;
        begins
    })
}

/// The length of a text with both of its quotes; all of it if it has no end.
fn text_end(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !is_escaped;
        is_escaped = quote == '"' && *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + quote.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn what_only_bash_takes_as_bash_does_is_seen() {
        for script in [
            "echo $'a\\'; rm x #'",
            "[[ a < b ]]",
            "cat <(ls)",
            "cat <<< x",
            "ls &> out",
            "a=(x y)",
            "a+=b",
            "((x))",
            "cat {a,b}/c",
            "cat x{1..3}",
            "echo \"$(echo $'x')\"",
            "echo 'a' $'b'",
            "# don't\necho $'b'",
            "cat <<E\n'\nE\necho $'b'",
            "echo \\' $'b'",
            "cat {\"a b\",a.txt}",
            "cat {a\\ b,a.txt}",
            "cat \\${n.txt,a.txt}",
        ] {
            assert!(is_for_bash(script), "{script}");
        }
    }

    #[test]
    fn what_is_only_text_is_not() {
        for script in [
            "ls | grep '[.]rs$'",
            "grep \"x$\" f",
            "grep '^[[:space:]]*#' src/a",
            "grep [[:digit:]] src/a",
            "echo 'a+=b' \"=(\"",
            "echo $((1 + 2))",
            "{ ls; echo a,b; }",
            "find . -exec cat {} +",
            "echo ${x} a,b",
            "echo \"$(date) a\"",
            "cd src && ls",
        ] {
            assert!(!is_for_bash(script), "{script}");
        }
    }
}
