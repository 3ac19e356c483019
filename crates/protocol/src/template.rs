//! Selection of the lines of a text for a model by what the agent has.
//!
//! A line stays if every tool it names in backticks is there: what a text says about a tool is thereby its own
//! condition, and no line can mention a missing one. Conditions that the wording does not show stand in braces in front
//! (`{Bash}`, `{!Task}`, `{interactive}`; all must hold). An indented line carries on the line above: it is joined to it,
//! and goes when that line goes.

/// What conditions are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The names of its tools.
    pub tools: &'a [&'a str],
    /// Whether somebody can answer it.
    pub interactive: bool,
}

impl Facts<'_> {
    /// Whether it has a tool.
    #[must_use]
    pub fn has_tool(self, name: &str) -> bool {
        self.tools.contains(&name)
    }

    fn holds(self, condition: &str) -> bool {
        match condition.strip_prefix('!') {
            Some(negated) => !self.holds(negated),
            None if condition == "interactive" => self.interactive,
            None => self.has_tool(condition),
        }
    }
}

/// The text for an agent of which these facts hold.
#[must_use]
pub fn render(template: &str, facts: Facts<'_>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut head_stayed = false;
    for line in template.lines() {
        let (conditions, words) = split_conditions(line);
        let stays = conditions.split_whitespace().all(|condition| facts.holds(condition))
            && named_tools(words).all(|tool| facts.has_tool(tool));
        match words.strip_prefix("  ") {
            Some(continuation) if head_stayed && stays => {
                text.push(' ');
                text.push_str(continuation);
            }
            Some(_) => {}
            None => {
                head_stayed = stays;
                if stays {
                    push_line(&mut text, words);
                }
            }
        }
    }
    text.trim_end().to_owned()
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn split_conditions(line: &str) -> (&str, &str) {
    line.strip_prefix('{').and_then(|rest| rest.split_once('}')).unwrap_or(("", line))
}

/// The words in backticks that look like the name of a tool.
fn named_tools(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|word| {
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str, tools: &[&str]) -> String {
        render(template, Facts { tools, interactive: true })
    }

    #[test]
    fn a_line_needs_every_tool_it_names() {
        let template = "head\n- `Read` and `Edit`\n- `AGENTS.md`, `path:line`";
        assert_eq!(rendered(template, &["Read"]), "head\n- `AGENTS.md`, `path:line`");
        assert_eq!(rendered(template, &["Edit", "Read"]), template);
    }

    #[test]
    fn an_indented_line_carries_on_and_goes_with_its_head() {
        let template = "- `Read`.\n  Then `Edit`.\n  Done.";
        assert_eq!(rendered(template, &["Read", "Edit"]), "- `Read`. Then `Edit`. Done.");
        assert_eq!(rendered(template, &["Read"]), "- `Read`. Done.");
        assert_eq!(rendered(template, &["Edit"]), "");
    }

    #[test]
    fn conditions_in_braces_must_all_hold() {
        let template = "{Bash !Task interactive}text";
        assert_eq!(rendered(template, &["Bash"]), "text");
        assert_eq!(rendered(template, &["Bash", "Task"]), "");
        assert_eq!(rendered(template, &[]), "");
        assert_eq!(render(template, Facts { tools: &["Bash"], interactive: false }), "");
    }
}
