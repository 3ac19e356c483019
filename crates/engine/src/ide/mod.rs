//! What editors say: a socket per session, to which an editor sends what the user looks at and the problems it sees.
//!
//! What comes in is bounded and kept as data. What of it the model is told is decided when a prompt is submitted, by the
//! rules that hold then.

mod board;
mod connection;
mod message;
mod place;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use tiller_policy::{Access, Context, Decision, Request, decide};
use tiller_protocol::id::SessionId;
use tiller_steering::attachment::{Diagnostic, FileDiagnostics, SelectedLinesInIde};
use tiller_steering::source::{DiagnosticsProvider, Editor};
use tiller_tools::Vault;
use tokio::net::UnixListener;

use crate::policy::Standpoint;
use crate::services::Services;
use board::Board;
use place::Place;

/// The session's ear for editors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editors {
    board: Arc<Mutex<Board>>,
}

impl Editors {
    /// Makes the socket and listens until the session ends.
    ///
    /// # Errors
    /// When there can be no socket.
    pub(crate) fn listen(
        config_dir: &Path,
        session: SessionId,
        cwd: &Path,
        services: &Services,
    ) -> std::io::Result<Self> {
        let (place, listener) = Place::make(&config_dir.join("ide"), session, cwd)?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let editors = Self::default();
        let serving = connection::serve(listener, place, editors.clone());
        services.tasks.spawn(services.ended.clone().run_until_cancelled_owned(serving));
        Ok(editors)
    }

    /// What the user looks at, as far as the model may see it: what reading would have to be asked about is not told.
    pub(crate) fn looks(&self, policy: &Context, secrets: &Vault) -> Option<Editor> {
        let looks = self.board().looks().cloned()?;
        if !is_open(policy, file_of(&looks)) {
            return None;
        }
        Some(match looks {
            Editor::Selection(selection) => Editor::Selection(SelectedLinesInIde {
                content: secrets.mask(&selection.content).into_owned(),
                ..selection
            }),
            Editor::Opened(file) => Editor::Opened(file),
        })
    }

    /// Tells the problems that editors see.
    pub(crate) fn provider(&self, services: &Services) -> Arc<dyn DiagnosticsProvider> {
        Arc::new(Problems {
            editors: self.clone(),
            policy: services.policy.clone(),
            secrets: Arc::clone(&services.secrets),
        })
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn file_of(looks: &Editor) -> &Path {
    match looks {
        Editor::Selection(selection) => &selection.filename,
        Editor::Opened(file) => file,
    }
}

/// Whether a file may be read without a question. That the user looks at it is not a wish to show it.
fn is_open(policy: &Context, file: &Path) -> bool {
    let access = vec![Access::Read(policy.place(file))];
    let request = Request { tool: "Read".to_owned(), access, read_only: true };
    matches!(decide(&request, policy), Decision::Allow(..))
}

struct Problems {
    editors: Editors,
    policy: Standpoint,
    secrets: Arc<Vault>,
}

impl DiagnosticsProvider for Problems {
    fn diagnostics<'a>(&'a self, files: &'a [PathBuf]) -> BoxFuture<'a, Vec<FileDiagnostics>> {
        let policy = self.policy.now();
        let board = self.editors.board();
        let found = files.iter().filter(|file| is_open(&policy, file)).filter_map(|file| {
            // A message may quote the line.
            let masked = |problem: &Diagnostic| Diagnostic {
                message: self.secrets.mask(&problem.message).into_owned(),
                ..problem.clone()
            };
            let diagnostics = board.problems(file)?.iter().map(masked).collect();
            Some(FileDiagnostics { uri: file.display().to_string(), diagnostics })
        });
        ready(found.collect()).boxed()
    }
}
