//! `tiller sandbox`: try how commands are confined.

use std::io;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tiller_config::Resolved;
use tiller_engine::policy;
use tiller_policy::{Context, Permit, Script};
use tiller_protocol::env::Env;
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
use tiller_sandbox::{
    Child, Confinement, Level, Network, Profile, Spawn, Spool, SpoolStart, Status, Stdin, StdinPipe,
    Successor, gaps, probe, spawn_confined, tidy_up,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::doctor::confinement::means;
use crate::exit::Exit;
use crate::scope::Scope;
use crate::{args, complain, explain, runtime, settings};

const AFTER_HELP: &str = "\
Examples:
  tiller sandbox run --profile read-only -- cargo test
  tiller sandbox run --profile workspace --network deny -- sh -c 'make && ./run'

Standard input and output of the command are pipes; it has no terminal. Its exit code is passed \
on, or 128 plus the signal number if a signal ended it; 125 means that it could not be started or \
confined.";

/// Try how commands are confined.
#[derive(Debug, Parser)]
#[command(name = "tiller sandbox", bin_name = "tiller sandbox", disable_help_subcommand = true)]
struct Sandbox {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a command under a profile
    Run(Run),
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
struct Run {
    /// How much the command may change
    #[arg(long, value_enum)]
    profile: ProfileArg,

    /// Whether it may use the network; never with read-only
    #[arg(long, value_enum)]
    network: Option<NetworkArg>,

    /// Use no stronger mechanism than this
    #[arg(long, value_enum)]
    level: Option<LevelArg>,

    /// Report on standard error how the command is confined
    #[arg(long)]
    verbose: bool,

    #[command(flatten)]
    scope: Scope,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileArg {
    /// Nothing real changes: what is written is thrown away
    ReadOnly,
    /// Working directories, temporary directories and named caches may change
    Workspace,
    /// Not confined, but everything it starts ends with it
    Full,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NetworkArg {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelArg {
    /// Landlock and a system call filter
    Landlock,
    /// Namespaces with throw-away layers
    Namespaces,
}

/// Runs `tiller sandbox`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let sandbox = match Sandbox::try_parse_from(words) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let Action::Run(run) = sandbox.action;
    let runtime = runtime()?;
    let exit = runtime.block_on(run.run(env));
    // A reader that has stopped reading must not keep the process.
    runtime.shutdown_background();
    exit.or_else(|error| {
        complain(&explain(&error));
        Ok(Exit::NotRun)
    })
}

impl Run {
    async fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let settings = self.scope.load_trusted(env)?;
        let dirs = settings::additional_dirs(&settings)?;
        let context = policy::context(env, &dirs, settings::rules(&settings)?, Mode::Default);
        let script = Script { command: quoted(&self.command), cwd: env.cwd.clone() };
        let permit = Permit::for_users_own_command(script).minding_rules(&context);
        let confinement = self.confinement(&settings, context, &permit, env)?;
        let env = settings::variables(&settings, env);
        let spec = Spawn {
            call: &CallId::from("sandbox"),
            vars: &env.vars,
            stdin: Stdin::Pipe,
            spool: Spool { dir: PathBuf::new(), start: SpoolStart::Never },
            extra: &[],
            successor: Successor::Unknown,
        };
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let mut child = spawn_confined(&permit, &spec, &confinement).await?;
        self.tell_level(&child, &confinement);
        child.take_stdin().map(feed).transpose()?;
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => Exit::Interrupted,
                _ = terminate.recv() => Exit::Terminated,
                _ = hang_up.recv() => Exit::Terminated,
            }
        };
        let (end, stopped) = child.relay(tokio::io::stdout(), tokio::io::stderr(), stop).await;
        tidy_up();
        if end.survivors > 0 {
            complain(&format!("warning: {} of its processes could not be ended", end.survivors));
        }
        Ok(stopped.unwrap_or_else(|| passed_on(end.status)))
    }

    /// As for a command of a session, apart from what options say.
    fn confinement(
        &self,
        settings: &Resolved,
        mut cx: Context,
        permit: &Permit,
        env: &Env,
    ) -> anyhow::Result<Confinement> {
        let profile = match self.profile {
            ProfileArg::ReadOnly => Profile::ReadOnly,
            ProfileArg::Workspace => Profile::Workspace,
            ProfileArg::Full => Profile::Full,
        };
        let choice = settings::sandbox(settings);
        cx.holding = choice.holding();
        let mut confinement = choice.hold(profile, permit, &cx, env).map_err(anyhow::Error::msg)?;
        match self.network {
            Some(NetworkArg::Allow) => confinement.network = Network::Allow,
            Some(NetworkArg::Deny) => confinement.network = Network::Deny,
            None => {}
        }
        if let Some(LevelArg::Landlock) = self.level {
            confinement.at_most = Level::Landlock;
        }
        Ok(confinement)
    }

    /// Says what holds the command, if that is less than could be or somebody wants to know.
    fn tell_level(&self, child: &Child, confinement: &Confinement) {
        let level = child.level();
        let full = confinement.profile == Profile::Full;
        if !self.verbose && (full || level == Level::Namespaces) {
            return;
        }
        let why_not_more = match (full, level) {
            (true, _) | (_, Level::Namespaces) => String::new(),
            (_, level) if level < probe().level => " because --level says so".to_owned(),
            _ => format!(", and nothing stronger because {}", probe().reasons.join("; ")),
        };
        complain(&format!("the command is confined by {}{why_not_more}", means(level)));
        for gap in gaps(confinement.profile, level, probe().landlock) {
            complain(&format!("gap: {gap}"));
        }
    }
}

/// The words as a shell command that runs exactly them.
fn quoted(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    quoted.join(" ")
}

/// Hands standard input on, in a thread of its own: reading may block for ever.
fn feed(pipe: StdinPipe) -> io::Result<()> {
    let mut pipe = std::fs::File::from(pipe.into_blocking_fd()?);
    std::thread::spawn(move || {
        // That the command does not read is its own affair.
        let _ = io::copy(&mut io::stdin().lock(), &mut pipe);
    });
    Ok(())
}

/// The command's end as our own.
fn passed_on(status: Status) -> Exit {
    match status {
        Status::Code(code) => Exit::OfCommand(u8::try_from(code).unwrap_or(u8::MAX)),
        Status::Signal(signal) => Exit::OfCommand(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        Status::NotRun(errno) => {
            complain(&format!("the shell could not be run: {}", io::Error::from_raw_os_error(errno)));
            Exit::NotRun
        }
        Status::Lost => {
            complain("the command attacked the process that supervises it; everything it started was ended");
            Exit::NotRun
        }
    }
}
