//! `BashOutput`: what a background command printed since the last look.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;

use crate::bash::report::{LIMIT, Shown};
use crate::cx::{ToolCx, View};
use crate::shells::ShellState;
use crate::tool::{Description, Done, Tool, ToolError};

/// Reads the output of a background command.
#[derive(Clone, Copy, Debug, Default)]
pub struct BashOutput;

/// What `BashOutput` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashOutputInput {
    /// The id of the command, e.g. bash_1.
    bash_id: String,
    /// Show only lines that match this regular expression; the others are gone.
    #[serde(default)]
    filter: Option<String>,
}

impl BashOutputInput {
    fn matcher(&self) -> Result<Option<RegexMatcher>, String> {
        let pattern = self.filter.as_deref().filter(|pattern| !pattern.is_empty());
        let matcher = pattern.map(RegexMatcher::new_line_matcher).transpose();
        matcher.map_err(|error| format!("The filter is not a valid regular expression: {error}"))
    }
}

impl Tool for BashOutput {
    const NAME: &'static str = "BashOutput";
    const RESULT_LIMIT: usize = LIMIT;
    type Input = BashOutputInput;

    fn describe(&self) -> Description {
        Description::new("Reads the output of a background command", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &BashOutputInput) -> bool {
        true
    }

    fn read_only(&self, _input: &BashOutputInput) -> bool {
        true
    }

    fn validate(&self, input: &BashOutputInput, _view: &View) -> Result<(), String> {
        input.matcher().map(drop)
    }

    fn access(&self, _input: &BashOutputInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: BashOutputInput, cx: ToolCx) -> Result<Done, ToolError> {
        let matcher = input.matcher().map_err(ToolError::Model)?;
        let Some((info, stdout, stderr)) = cx.shells.read(&input.bash_id) else {
            return Err(ToolError::Model(unknown(&input.bash_id, &cx)));
        };
        let mut shown = Shown::new(&stdout, &stderr, &cx.view, &cx.call);
        let remark = cx.shells.remark(&info, &shown.text());
        if let Some(matcher) = matcher {
            shown.stdout = matching_lines(&shown.stdout, &matcher);
            shown.stderr = matching_lines(&shown.stderr, &matcher);
        }
        let news = match shown.text() {
            text if text.is_empty() => "(no new output)".to_owned(),
            text => text,
        };
        let remark = remark.map(|remark| format!("\n{remark}")).unwrap_or_default();
        let text = format!("[{}: {}]\n{news}{remark}", info.id, info.state);
        Ok(Done::text(&text).with_detail(json!({
            "id": info.id,
            "command": info.command,
            "status": info.state.to_string(),
            "running": info.state == ShellState::Running,
            "stdout": shown.stdout,
            "stderr": shown.stderr,
        })))
    }
}

fn matching_lines(text: &str, matcher: &RegexMatcher) -> String {
    let matches = |line: &&str| matcher.is_match(line.as_bytes()).unwrap_or(false);
    text.lines().filter(matches).collect::<Vec<_>>().join("\n")
}

/// Says which commands there are instead.
pub(crate) fn unknown(id: &str, cx: &ToolCx) -> String {
    let known: Vec<String> =
        cx.shells.list().into_iter().map(|shell| format!("{} ({})", shell.id, shell.state)).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("There is no background command {id}. Known ones: {known}.")
}
