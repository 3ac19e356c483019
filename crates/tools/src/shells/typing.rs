//! What is typed into background commands. All of it together is judged as one script: a line that rules refuse must not
//! get through in pieces, as an alias or by way of a variable.

use std::collections::BTreeMap;

use tiller_policy::{NotPermitted, Permit, Script};
use tiller_sandbox::Confinement;
use tokio::io::AsyncWriteExt;

use super::{Shell, Shells, lock};

/// How much is typed into one command at most: each text is judged with all that came before.
const MOST: usize = 256 * 1024;

/// Why a background command could not be written to.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// No command has that name.
    #[error("There is no background command {0}.")]
    Unknown(String),
    /// It does not read any more.
    #[error("{0} does not read its input.")]
    Deaf(String),
    /// A command that is started now would be held more strictly.
    #[error(
        "{0} may do more than a command that would be started now, so nothing is typed into it. Start another one, or let \
         the user do it."
    )]
    Freer(String),
    /// Something else was typed after this was judged.
    #[error(
        "Something else was typed into {0} at the same time, so this was not. Look at BashOutput, then type it again."
    )]
    Overtaken(String),
    /// Too much was typed to be judged as a whole.
    #[error("{0} was given all the input that can be typed. Write a file and start a command that reads it.")]
    Full(String),
    /// The call may not run commands.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
}

impl Shells {
    /// What was typed into which command so far, and where that command started.
    #[must_use]
    pub fn typed(&self) -> BTreeMap<String, Script> {
        let book = lock(&self.book);
        book.shells.values().map(|shell| (lock(&shell.info).id.clone(), shell.script())).collect()
    }

    /// Writes to a command's standard input what the permit covers: all that was typed before, and this text. Not if
    /// the command is held less strictly than one that would be started now.
    ///
    /// # Errors
    /// When there is no such command, it does not read, it may do more, or something else was typed meanwhile.
    pub async fn type_into(
        &self,
        id: &str,
        text: &str,
        permit: &Permit,
        now: &Confinement,
    ) -> Result<(), ShellError> {
        let shell = self.find(id).ok_or_else(|| ShellError::Unknown(id.to_owned()))?;
        if !shell.held.confinement.is_within(now) {
            return Err(ShellError::Freer(id.to_owned()));
        }
        let deaf = || ShellError::Deaf(id.to_owned());
        let mut stdin = shell.stdin.lock().await;
        if stdin.is_none() {
            return Err(deaf());
        }
        shell.note(id, text, permit)?;
        // If not all of it arrives, nobody knows any more what the command has read: it gets nothing else.
        let mut pipe = stdin.take().ok_or_else(deaf)?;
        tokio::select! {
            written = pipe.write_all(text.as_bytes()) => written.map_err(|_| deaf())?,
            () = shell.ended.cancelled() => return Err(deaf()),
        }
        *stdin = Some(pipe);
        Ok(())
    }

    /// Lets a command find the end of its standard input.
    pub async fn end_input(&self, id: &str) {
        if let Some(shell) = self.find(id) {
            shell.stdin.lock().await.take();
        }
    }
}

impl Shell {
    fn script(&self) -> Script {
        Script { command: lock(&self.typed).clone(), cwd: self.held.cwd.clone() }
    }

    /// Keeps the text with what was typed before, if the permit is for just that.
    fn note(&self, id: &str, text: &str, permit: &Permit) -> Result<(), ShellError> {
        let mut typed = lock(&self.typed);
        if permit.script()?.command.strip_prefix(&*typed) != Some(text) {
            return Err(ShellError::Overtaken(id.to_owned()));
        }
        if typed.len() + text.len() > MOST {
            return Err(ShellError::Full(id.to_owned()));
        }
        typed.push_str(text);
        Ok(())
    }
}
