//! Tiller: the coding agent you can steer.

mod agents;
mod args;
mod browser;
mod config;
mod demo;
mod doctor;
mod exit;
mod extensions;
mod headless;
mod hooks;
mod inspect;
mod interactive;
mod logging;
mod mcp;
mod message;
mod permissions;
mod plans;
mod plugin;
mod recipes;
mod replay;
mod rewind;
mod sandbox;
mod scope;
mod sessions;
mod settings;
mod setup;
mod steering;
mod subcommand;
mod text;
mod trust;
mod world;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;

use args::{Args, InputFormat, OutputFormat, Parsed};
use exit::Exit;
use headless::{Asked, Piped, SessionFacts, Terms};
use setup::Parts;
use tiller_engine::Session;
use tiller_protocol::env::Env;

fn main() -> ExitCode {
    let exit = match run() {
        Ok(exit) => exit,
        // Whoever read the output has seen enough.
        Err(error) if is_broken_pipe(&error) => Exit::Failure,
        Err(error) => {
            complain_in_red(&explain(&error));
            Exit::Failure
        }
    };
    exit.into()
}

fn run() -> anyhow::Result<Exit> {
    // Commands run as the same user; they must not find the credentials in this process.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // Forked while the process is small, so that commands start fast later.
    tiller_sandbox::prepare()?;
    let words = with_help_as_option(words()?);
    let env = world::env()?;
    if let Some(main) = words.get(1).and_then(|name| subcommand::find(name)) {
        return main(&words[1..], &env);
    }
    let format = args::wanted_format(&words);
    let Parsed { args, warnings } = match args::parse(words) {
        Ok(parsed) => parsed,
        Err((error, exit)) => {
            match error.kind() {
                // SDKs expect the number first, without the program's name.
                ErrorKind::DisplayVersion => writeln!(std::io::stdout(), "{}", args::VERSION)?,
                ErrorKind::DisplayHelp => error.print()?,
                _ => {
                    headless::never_started(format, env.fresh(), &args::problem(&error))?;
                    error.print()?;
                }
            }
            return Ok(exit);
        }
    };
    for warning in warnings {
        complain(&warning);
    }
    if let Some(log) = logging::start(&args, &env, &tiller_config::config_dir(&env))?
        && (args.verbose || args.debug_file.is_none())
    {
        complain(&format!("the debug log goes to {}", log.display()));
    }
    let prints_at_the_end = args.print && args.output_format != OutputFormat::StreamJson;
    let runtime = if prints_at_the_end { single_runtime()? } else { runtime()? };
    runtime.block_on(start(args, env))
}

/// What was typed. A name that is not UTF-8 would have to be changed to go on with it, and then be another name.
fn words() -> anyhow::Result<Vec<String>> {
    let word = |word: OsString| {
        word.into_string().map_err(|word| {
            anyhow::anyhow!(
                "the argument {} is not UTF-8, and nothing else can be given here; a link with another name leads to the \
                 same file",
                word.display()
            )
        })
    };
    std::env::args_os().map(word).collect()
}

/// `tiller help` and `tiller help COMMAND` mean `--help`; as a prompt the word would cost money.
fn with_help_as_option(mut words: Vec<String>) -> Vec<String> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".to_owned());
    }
    words
}

async fn start(args: Args, env: Env) -> anyhow::Result<Exit> {
    let streaming = args.input_format == InputFormat::StreamJson;
    if !args.print && !streaming && interactive::is_possible(&args) {
        return Box::pin(interactive::run(args, env)).await;
    }
    if !args.print && !streaming {
        anyhow::bail!(
            "say what to do with -p \"...\", or try `tiller demo`; `tiller --help` lists the options"
        );
    }
    let begun = match asked(&args, streaming).await {
        Ok(asked) => open(&args, &env).map(|opened| (asked, opened)),
        Err(error) => Err(error),
    };
    match begun {
        Ok((asked, (session, facts, terms))) => {
            let job = headless::Job::new(&args, asked, env.flag("CLAUDE_CODE_SDK_READS_SESSION_STATE"));
            Box::pin(headless::run(job, session, facts, terms)).await
        }
        Err(error) => {
            headless::never_started(args.output_format, env.fresh(), &explain(&error))?;
            Err(error)
        }
    }
}

fn open(args: &Args, env: &Env) -> anyhow::Result<(Session, SessionFacts, Terms)> {
    let Parts { setup, facts, terms } = setup::build(args, env)?;
    Ok((Session::start(setup)?, facts, terms))
}

/// The prompt from the command line and from standard input, where messages come from when they are streamed.
async fn asked(args: &Args, streaming: bool) -> anyhow::Result<Asked> {
    if streaming && args.output_format != OutputFormat::StreamJson {
        anyhow::bail!("--input-format stream-json needs --output-format stream-json");
    }
    if streaming {
        return Ok(Asked { prompt: args.prompt.clone(), warning: None });
    }
    let Piped { text, warning } = headless::piped_text(args.prompt.is_some()).await?;
    let prompt = match (args.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()), text) {
        (Some(prompt), None) => prompt.to_owned(),
        (None, Some(piped)) => piped,
        (Some(prompt), Some(piped)) => format!("{prompt}\n\n{piped}"),
        (None, None) => anyhow::bail!("there is no prompt; give one after -p or on standard input"),
    };
    Ok(Asked { prompt: Some(prompt), warning })
}

/// One worker besides the main thread, which prints: a session waits far more than it computes, and with a second worker
/// every piece of a streamed answer would cross from thread to thread.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Who prints when all is done needs no thread for it, and a session is faster without waking one at everything it does.
fn single_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// An error with its causes, as far as it does not name them itself.
fn explain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        told if told.contains(&cause) => text,
        told => format!("{told}: {cause}"),
    })
}

/// Says why it ends, on a terminal in red; `anstream` knows where colours are wanted.
fn complain_in_red(text: &str) {
    let _ = writeln!(anstream::stderr(), "\x1b[31mtiller: {text}\x1b[0m");
}

/// Says something on standard error. That nobody reads it is no reason to fail.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "tiller: {text}");
}
