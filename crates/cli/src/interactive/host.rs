//! The world beside the session, as the front end sees it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tiller_config::config_dir;
use tiller_protocol::entry::Level;
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_tui::host::{Host, Later, Reply, Request};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::choices::{self, INSTRUCTIONS};
use super::look::Chosen;
use super::{editor, files, history, images, shell};
use crate::args::Args;
use crate::{agents, browser, config, doctor, hooks, permissions};

/// How long the command of the status line may take.
const STATUS_LIMIT: Duration = Duration::from_secs(2);

/// What the front end asks, done with real files and processes.
pub(super) struct World {
    /// What was typed to begin with: what counts for the session counts for what is told about it.
    args: Arc<Args>,
    env: Env,
    session: SessionId,
    /// The command that prints the status line.
    status_line: Option<String>,
    /// The output style that holds.
    style: Mutex<String>,
    tasks: TaskTracker,
    /// Stops command lines of the user's own that run now.
    stop: Mutex<CancellationToken>,
    /// Ends the run of the status line's command that newer facts have overtaken.
    overtaken: Mutex<CancellationToken>,
}

impl World {
    pub(super) fn new(args: &Args, env: Env, session: SessionId, chosen: Chosen) -> Arc<Self> {
        let Chosen { status_line, output_style } = chosen;
        Arc::new(Self {
            args: Arc::new(args.clone()),
            env,
            session,
            status_line,
            style: Mutex::new(output_style),
            tasks: TaskTracker::new(),
            stop: Mutex::new(CancellationToken::new()),
            overtaken: Mutex::new(CancellationToken::new()),
        })
    }

    /// Output styles: which there are, and what one asks for.
    fn style(&self, request: &Request) -> Option<Reply> {
        let mut current = self.style.lock().unwrap_or_else(PoisonError::into_inner);
        match request {
            Request::Styles => Some(Reply::Styles(choices::styles(&self.args, &self.env, &current))),
            Request::Style(name) => Some(match choices::style(&self.args, &self.env, name) {
                Ok(style) => {
                    current.clone_from(&style.name);
                    Reply::Style(style)
                }
                Err(error) => told(Level::Warning, error.to_string()),
            }),
            _ => None,
        }
    }

    /// Stops what the user runs; what is begun afterwards is not meant.
    fn stop(&self) {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *stop).cancel();
    }

    /// Ends the last run of the status line's command; the token is for the next one.
    fn overtake(&self) -> CancellationToken {
        let mut overtaken = self.overtaken.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *overtaken).cancel();
        overtaken.clone()
    }

    /// Ends what is under way.
    pub(super) async fn end(&self) {
        self.stop();
        self.overtake();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Host for World {
    fn ask(&self, request: Request, replies: UnboundedSender<Reply>) {
        if let Some(reply) = self.style(&request) {
            // A front end that has ended needs no answer.
            let _ = replies.send(reply);
            return;
        }
        let (env, session, status_line) = (self.env.clone(), self.session, self.status_line.clone());
        let args = Arc::clone(&self.args);
        if request == Request::StopShell {
            return self.stop();
        }
        let stop = match request {
            Request::StatusLine(_) => self.overtake(),
            _ => self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        self.tasks.spawn(async move {
            let reply = match (request, status_line) {
                (Request::Shell(command), _) => Some(shell::run(&command, &env, &stop).await),
                (Request::StatusLine(facts), Some(command)) => {
                    stop.run_until_cancelled(status(&command, &facts, &env)).await.flatten()
                }
                (Request::Report { title, words }, _) => Some(report(title, &words, args, &env).await),
                (request, _) => answer(request, &env, session).await,
            };
            if let Some(reply) = reply {
                // A front end that has ended needs no answer.
                let _ = replies.send(reply);
            }
        });
    }

    fn edit(&self, text: String) -> Later<Result<String, String>> {
        let env = self.env.clone();
        Box::pin(async move { editor::edit_text(&env, &text).await })
    }

    fn edit_file(&self, path: PathBuf) -> Later<Result<String, String>> {
        let env = self.env.clone();
        Box::pin(async move {
            editor::edit(&env, &path).await?;
            fs_err::read_to_string(&path).map_err(|error| error.to_string())
        })
    }

    fn sleep(&self) {
        // The whole job, as the terminal would do it. If that is not possible, nothing happens.
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    }
}

async fn answer(request: Request, env: &Env, session: SessionId) -> Option<Reply> {
    match request {
        Request::Files => Some(Reply::Files(files::list(&env.cwd).await)),
        Request::Remember(past) => {
            let kept = history::append(&config_dir(env), &past);
            kept.err().map(|error| told(Level::Warning, format!("the history could not be saved: {error}")))
        }
        Request::Sessions(words) => Some(Reply::Sessions(choices::other_sessions(env, &words, session))),
        Request::Memory => Some(Reply::Memory(choices::instruction_files(env))),
        Request::Note(text) => Some(note(&text, &env.cwd)),
        Request::LoadImage(image) => {
            let block = tokio::task::spawn_blocking(move || images::load(&image.path)).await;
            let block = block.unwrap_or_else(|error| Err(error.to_string()));
            Some(Reply::Image { number: image.number, block })
        }
        Request::ReadClipboard => Some(match images::from_clipboard().await {
            Some(path) => Reply::Clipboard(path),
            None => told(Level::Info, "The clipboard has no readable image.".to_owned()),
        }),
        Request::Run { words, done } => Some(match printed(&words, env).await {
            Ok(_) => told(Level::Info, done),
            Err((level, problem)) => told(level, problem),
        }),
        Request::Keep { key, value } => {
            let words = ["config", "set", &key, &value, "--user"].map(str::to_owned);
            printed(&words, env).await.err().map(|(level, problem)| told(level, problem))
        }
        Request::Visit(url) => {
            browser::open(env, &url);
            None
        }
        // Done above, or not at all.
        Request::Styles
        | Request::Style(_)
        | Request::StatusLine(_)
        | Request::Report { .. }
        | Request::Shell(_)
        | Request::StopShell => None,
    }
}

/// What is told about this session, or what another command of the program prints.
async fn report(title: &'static str, words: &[String], args: Arc<Args>, env: &Env) -> Reply {
    let (asked, here) = (words.to_vec(), env.clone());
    let own = tokio::task::spawn_blocking(move || of_session(&asked, &args, &here)).await;
    match own {
        Ok(Some(Ok(text))) => Reply::Report { title, text },
        Ok(Some(Err(error))) => told(Level::Warning, format!("{error:#}")),
        Err(error) => told(Level::Error, error.to_string()),
        Ok(None) => match printed(words, env).await {
            Ok(text) => Reply::Report { title, text },
            Err((level, problem)) => told(level, problem),
        },
    }
}

/// What counts in this session is made of its own options, and of how far its project is trusted.
fn of_session(words: &[String], args: &Args, env: &Env) -> Option<anyhow::Result<String>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["permissions", "list"] => Some(permissions::of_session(args, env)),
        ["hooks", "list"] => Some(hooks::of_session(args, env)),
        ["agents", "list"] => Some(agents::of_session(args, env)),
        ["config", "list", "--provenance"] => Some(config::of_session(None, args, env)),
        ["config", "get", key] => Some(config::of_session(Some(key), args, env)),
        ["doctor"] => Some(doctor::of_session(args, env)),
        _ => None,
    }
}

fn told(level: Level, text: String) -> Reply {
    Reply::Told(level, text)
}

/// What the user's command makes of the facts; nothing if it fails.
async fn status(command: &str, facts: &str, env: &Env) -> Option<Reply> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(&env.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input is fine.
        let _ = stdin.write_all(facts.as_bytes()).await;
    }
    let output = tokio::time::timeout(STATUS_LIMIT, child.wait_with_output()).await.ok()?.ok()?;
    Some(Reply::StatusLine(String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Adds a line to the project's instructions.
fn note(text: &str, dir: &Path) -> Reply {
    let path = dir.join(INSTRUCTIONS);
    let before = match fs_err::read_to_string(&path) {
        Ok(before) => before,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return told(Level::Error, format!("the note could not be saved: {error}")),
    };
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let line = format!("{gap}- {}\n", text.trim().replace('\n', "\n  "));
    let file = fs_err::OpenOptions::new().create(true).append(true).open(&path);
    match file.and_then(|mut file| file.write_all(line.as_bytes())) {
        Ok(()) => Reply::Noted { file: INSTRUCTIONS.to_owned(), text: text.trim().to_owned() },
        Err(error) => told(Level::Error, format!("the note could not be saved: {error}")),
    }
}

/// What another command of this program prints, or what is wrong.
async fn printed(words: &[String], env: &Env) -> Result<String, (Level, String)> {
    let program = std::env::current_exe()
        .map_err(|_| (Level::Error, "Tiller's own program could not be found".to_owned()))?;
    let output = Command::new(program).args(words).current_dir(&env.cwd).stdin(Stdio::null()).output().await;
    let output = output.map_err(|error| {
        (Level::Error, format!("tiller {} could not be started: {error}", words.join(" ")))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let all = [output.stdout, output.stderr].concat();
    Err((Level::Warning, String::from_utf8_lossy(&all).trim().to_owned()))
}
