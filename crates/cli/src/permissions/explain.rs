//! `tiller permissions explain`: what would be decided about a call, and why.

use clap::Args;
use tiller_config::{Layer, Origin};
use tiller_policy::{Rule, Rules};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;

use super::batch;
use super::input;
use super::judge::Judge;
use super::told::Told;
use crate::exit::Exit;
use crate::scope::Scope;
use crate::{complain, settings, text};

const AFTER_HELP: &str = "\
Examples:
  tiller permissions explain Bash 'git status && rm x'
  tiller permissions explain --mode plan Edit src/main.rs
  tiller permissions explain --deny 'Read(.env)' --json Bash '{\"command\":\"cat .env\"}'
  echo '{\"tool\":\"Bash\",\"input\":{\"command\":\"make\"}}' | tiller permissions explain --batch

With --allow, --ask or --deny, rules from settings are ignored. The exit code is 0 whatever the \
decision, and 1 if the question is invalid.";

/// Show what would be decided about a call, and why
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Explain {
    /// The tool to call
    #[arg(required_unless_present = "batch")]
    tool: Option<String>,

    /// Its input: a JSON object, - to read one from standard input, or simply a command, file or address
    #[arg(required_unless_present = "batch", allow_hyphen_values = true)]
    input: Option<String>,

    /// The permission mode to assume [default: that of a new session]
    #[arg(long)]
    mode: Option<Mode>,

    /// Rule for calls that need no question
    #[arg(long, value_name = "RULE")]
    allow: Vec<Rule>,

    /// Rule for calls that are always asked about
    #[arg(long, value_name = "RULE")]
    ask: Vec<Rule>,

    /// Rule for calls that are refused
    #[arg(long, value_name = "RULE")]
    deny: Vec<Rule>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Judge many calls: one JSON object per line of standard input, one decision per line of output
    #[arg(long, conflicts_with_all = ["tool", "input"])]
    batch: bool,

    #[command(flatten)]
    scope: Scope,
}

impl Explain {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let settings = self.scope.load(env)?;
        let rules = Rules { allow: self.allow, ask: self.ask, deny: self.deny };
        let rules = given(&rules).then_some(rules);
        rules.iter().for_each(doubt);
        let judge = Judge::new(env, &settings, rules, self.mode)?;
        let (Some(tool), Some(input)) = (self.tool, self.input) else {
            return batch::run(&judge);
        };
        let input = input::typed(&tool, &input)?;
        let told = Told::new(&judge.explain(&tool, &input, None, None)?);
        text::print(&if self.json { serde_json::to_string(&told)? } else { told.to_text() })?;
        Ok(Exit::Success)
    }
}

/// Whether any rule was named.
pub(super) fn given(rules: &Rules) -> bool {
    !(rules.allow.is_empty() && rules.ask.is_empty() && rules.deny.is_empty())
}

/// Says what is strange about rules on the command line.
fn doubt(rules: &Rules) {
    let tools = tiller_tools::built_in().names();
    let option = Origin { layer: Layer::CommandLine, file: None };
    for rule in rules.allow.iter().chain(&rules.ask).chain(&rules.deny) {
        if let Some(doubt) = settings::doubt(rule, &option, &tools) {
            complain(&format!("warning: {doubt}"));
        }
    }
}
