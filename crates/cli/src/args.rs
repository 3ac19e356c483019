//! The command line: what the user typed, before it means anything.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use tiller_config::{ProjectTrust, Sources};
use tiller_model::Effort;
use tiller_protocol::id::SessionId;
use tiller_protocol::mode::Mode;
use tiller_tools::StructuredOutput;

use crate::exit::Exit;
use crate::subcommand::after_help;

/// Agent SDKs expect a version of at least 2; ours follows in parentheses.
pub(crate) const PROTOCOL_LEVEL: &str = "2.1.300";

/// What `--version` prints.
pub(crate) const VERSION: &str = concat!("2.1.300 (Tiller ", env!("CARGO_PKG_VERSION"), ")");

/// The coding agent you can steer.
#[derive(Clone, Debug, Parser)]
#[command(name = "tiller", version = VERSION, disable_version_flag = true, args_override_self = true)]
pub(crate) struct Args {
    /// What to do; text on standard input is added to it
    pub(crate) prompt: Option<String>,

    /// Do the task, print the answer and exit
    #[arg(short, long)]
    pub(crate) print: bool,

    /// How to print: text, one JSON object, or a stream of JSON lines
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,

    /// How to read: plain text, or JSON lines that may keep coming while the agent works
    #[arg(long, value_enum, default_value_t = InputFormat::Text)]
    pub(crate) input_format: InputFormat,

    /// At a terminal: line by line, without a live area, for screen readers
    #[arg(long)]
    pub(crate) plain: bool,

    /// Report progress on standard error
    #[arg(long)]
    pub(crate) verbose: bool,

    /// With stream-json: also print the model's raw streaming events
    #[arg(long)]
    pub(crate) include_partial_messages: bool,

    /// With stream-json: also report hooks that start and end
    #[arg(long)]
    pub(crate) include_hook_events: bool,

    /// With stream-json: print user messages back
    #[arg(long)]
    pub(crate) replay_user_messages: bool,

    /// The model: sonnet, opus, haiku, fable, opusplan, or a full id
    #[arg(long)]
    pub(crate) model: Option<String>,

    /// The model to switch to when the chosen one is overloaded
    #[arg(long)]
    pub(crate) fallback_model: Option<String>,

    /// How much effort the model spends
    #[arg(long, value_enum)]
    pub(crate) effort: Option<EffortArg>,

    /// Whether the model thinks before it answers; defaults to the model's own behaviour
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) thinking: Option<ThinkingArg>,

    /// Maximum thinking tokens, for models that accept a limit; 0 disables thinking
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32))]
    pub(crate) max_thinking_tokens: Option<u32>,

    /// Stop after N model requests
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,

    /// Return the result as JSON that matches this JSON schema
    #[arg(long, value_name = "SCHEMA", value_parser = result_form)]
    pub(crate) json_schema: Option<StructuredOutput>,

    /// Stop when this many dollars are spent
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) max_budget_usd: Option<f64>,

    /// Stop before more than N tokens are read and written, sub-agents included
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,

    /// Stop asking the model after this many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_time: Option<u64>,

    /// Additional agents, e.g. '{"reviewer": {"description": "Reviews changes", "prompt": "You review."}}'
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,

    /// A directory with a plugin to use in this run (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,

    /// How deep sub-agents may nest; 0 for no sub-agents
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=5))]
    pub(crate) agent_depth: Option<u32>,

    /// How many sub-agents may work at once
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_agents: Option<u32>,

    /// What happens without asking: default, acceptEdits, bypassPermissions, dontAsk or plan
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<Mode>,

    /// The same as --permission-mode bypassPermissions
    #[arg(long)]
    pub(crate) dangerously_skip_permissions: bool,

    /// With stream-json: let the host switch to bypassPermissions later
    #[arg(long)]
    pub(crate) allow_dangerously_skip_permissions: bool,

    /// What is allowed without asking, as rules, e.g. "Edit,Bash(cargo test:*)"
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,

    /// What is refused, as rules; a bare tool name also takes the tool away
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub(crate) disallowed_tools: Vec<String>,

    /// The tools to offer: a comma-separated list, "" for none, or default
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,

    /// Who answers permission questions: stdio (the host, over the JSON stream), or mcp__server__tool (a
    /// tool of an MCP server)
    #[arg(long, value_name = "TOOL")]
    pub(crate) permission_prompt_tool: Option<String>,

    /// Additional working directory (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Additional settings: a file, or an object such as '{"model": "opus"}'
    #[arg(long, value_name = "FILE-OR-JSON")]
    pub(crate) settings: Option<String>,

    /// The settings files to read: user, project, local; "" for none
    #[arg(long, value_name = "SOURCES")]
    pub(crate) setting_sources: Option<Sources>,

    /// Ignore the project's own settings
    #[arg(long)]
    pub(crate) no_project_settings: bool,

    /// Trust what the project's settings run or loosen, and remember it
    #[arg(long)]
    pub(crate) trust: bool,

    /// Additional MCP servers: a file, or an object with mcpServers (repeatable)
    #[arg(long, value_name = "FILE-OR-JSON")]
    pub(crate) mcp_config: Vec<String>,

    /// Use only the MCP servers of --mcp-config
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,

    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,

    /// Replace the system prompt with the text of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) system_prompt_file: Option<PathBuf>,

    /// Add to the end of the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,

    /// Add the text of a file to the end of the system prompt
    #[arg(long, value_name = "FILE")]
    pub(crate) append_system_prompt_file: Option<PathBuf>,

    /// Continue the latest session of this directory
    #[arg(short, long = "continue")]
    pub(crate) continue_latest: bool,

    /// Continue a session: by the beginning of its id, by its log (FILE.jsonl, FILE.jsonl.gz), or the latest
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,

    /// With --resume or --continue: work in a copy of the session
    #[arg(long)]
    pub(crate) fork_session: bool,

    /// The id of the new session
    #[arg(long, value_name = "UUID", value_parser = session_id)]
    pub(crate) session_id: Option<SessionId>,

    /// Keep no session on disk
    #[arg(long)]
    pub(crate) no_session_persistence: bool,

    /// Connect to nothing but this machine: a local model, no web
    #[arg(long)]
    pub(crate) offline: bool,

    /// Beta features of the provider to ask for
    #[arg(long, value_delimiter = ',')]
    pub(crate) betas: Vec<String>,

    /// Write a debug log
    #[arg(long)]
    pub(crate) debug: bool,

    /// Where the debug log goes
    #[arg(long, value_name = "FILE")]
    pub(crate) debug_file: Option<PathBuf>,

    /// Set when a person sits at a terminal: how far they trust the project.
    #[arg(skip)]
    pub(crate) at_terminal: Option<ProjectTrust>,

    /// Print the version
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The final answer.
    Text,
    /// One object with answer, usage and cost.
    Json,
    /// A line for each message.
    StreamJson,
}

/// How input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Standard input is part of the prompt.
    Text,
    /// A line for each message.
    StreamJson,
}

/// Whether the model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingArg {
    /// As much as it finds useful
    Adaptive,
    /// Not at all, or as little as the model allows
    Disabled,
}

/// How much effort the model spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl From<EffortArg> for Effort {
    fn from(effort: EffortArg) -> Self {
        match effort {
            EffortArg::Low => Self::Low,
            EffortArg::Medium => Self::Medium,
            EffortArg::High => Self::High,
            EffortArg::Xhigh => Self::XHigh,
            EffortArg::Max => Self::Max,
        }
    }
}

fn result_form(text: &str) -> Result<StructuredOutput, String> {
    let schema = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    StructuredOutput::new(schema).map_err(|problem| format!("it is no JSON schema: {problem}"))
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("expected a number of dollars greater than 0".to_owned()),
    }
}

/// Options that hosts pass to restrict or shape a run. Going on without one would do what the host has ruled out.
const NOT_TO_BE_IGNORED: [&str; 4] =
    ["--managed-settings", "--resume-session-at", "--resume-drops-turn", "--agent"];

/// Characters shown of a word that is left out.
const SHOWN_VALUE: usize = 60;

/// Arguments, with what had to be left out to understand them.
pub(crate) struct Parsed {
    pub(crate) args: Args,
    pub(crate) warnings: Vec<String>,
}

/// Parses the command line. SDKs pass options of newer versions: with stream-json input unknown ones are left out with
/// a warning.
pub(crate) fn parse(mut words: Vec<String>) -> Result<Parsed, (clap::Error, Exit)> {
    let tolerant = words.windows(2).any(|pair| pair[0] == "--input-format" && pair[1] == "stream-json")
        || words.iter().any(|word| word == "--input-format=stream-json");
    let mut warnings = Vec::new();
    loop {
        let command = Args::command().after_help(after_help());
        let parsed = command.try_get_matches_from(&words).and_then(|m| Args::from_arg_matches(&m));
        match parsed {
            Ok(args) => return Ok(Parsed { args, warnings }),
            Err(error) if tolerant && error.kind() == ErrorKind::UnknownArgument => {
                let Some((unknown, value)) = leave_out_unknown(&mut words, &error) else {
                    return Err((error, Exit::Usage));
                };
                let with_value = value.as_deref().map_or_else(String::new, taken_for_value);
                if NOT_TO_BE_IGNORED.contains(&unknown.as_str()) {
                    let text =
                        format!("{unknown} is not supported by this version of tiller; leave it out\n");
                    return Err((clap::Error::raw(ErrorKind::UnknownArgument, text), Exit::Failure));
                }
                warnings.push(format!("warning: unknown option {unknown} is ignored{with_value}"));
            }
            Err(error) => {
                let exit = exit_for(&error);
                return Err((error, exit));
            }
        }
    }
}

/// The output format as far as it can be told when the command line cannot be followed.
pub(crate) fn wanted_format(words: &[String]) -> OutputFormat {
    let words: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    let joined = words.iter().filter_map(|word| word.strip_prefix("--output-format="));
    let apart = words.windows(2).filter(|pair| pair[0] == "--output-format").map(|pair| pair[1]);
    let named = joined.chain(apart).last().and_then(|name| OutputFormat::from_str(name, false).ok());
    named.unwrap_or(OutputFormat::Text)
}

/// What is wrong with a command line, in one line.
pub(crate) fn problem(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// Takes an option out that is not known, with the word behind it, which is its value as far as can be told.
fn leave_out_unknown(words: &mut Vec<String>, error: &clap::Error) -> Option<(String, Option<String>)> {
    let name = match error.get(clap::error::ContextKind::InvalidArg) {
        Some(clap::error::ContextValue::String(name)) => name.clone(),
        _ => return None,
    };
    let option = name.split_once('=').map_or(name.as_str(), |(option, _)| option);
    let at = words.iter().position(|word| word == option || word.starts_with(&format!("{option}=")))?;
    let word = words.remove(at);
    let has_value = !word.contains('=') && words.get(at).is_some_and(|next| !next.starts_with('-'));
    let value = has_value.then(|| words.remove(at));
    Some((option.to_owned(), value))
}

/// Whoever meant a prompt has to learn that it was left out, too. It is not sent instead: hosts pass no prompt here, and the
/// value of an option would cost a turn that nobody wants.
fn taken_for_value(word: &str) -> String {
    let shown: String = word.chars().take(SHOWN_VALUE).collect();
    let more = if shown.len() < word.len() { "…" } else { "" };
    format!(", and so is {shown:?}{more}, taken for its value (a prompt stands first, or behind --)")
}

/// The code for a command line that cannot be followed.
pub(crate) fn exit_for(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Success,
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => Exit::Usage,
        _ => Exit::Failure,
    }
}

/// An id for a session, or what one looks like.
fn session_id(text: &str) -> Result<SessionId, &'static str> {
    text.parse().map_err(|_| "it has to be a UUID, such as 0196d5a2-7c1e-7b0a-9f43-2d1c5e8a6b70")
}
