//! Lists of rules in one text.

/// Splits a comma-separated list; commas and blanks inside parentheses belong to a rule.
#[must_use]
pub fn split_list(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' | '\n' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_split_outside_parentheses_only() {
        assert_eq!(split_list("Read,Bash(git log:*, -n) Edit"), ["Read", "Bash(git log:*, -n)", "Edit"]);
        assert!(split_list("").is_empty());
    }
}
