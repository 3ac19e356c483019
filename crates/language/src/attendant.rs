//! Looks after one server: starts it, tells it of changes, hears it, starts it again once, and ends it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tiller_protocol::entry::{Level, Notice};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::Surroundings;
use crate::client::{Client, Terms};
use crate::connection::Connection;
use crate::document::{OnDisk, Stamp};
use crate::progress::Progress;
use crate::report::Reports;
use crate::server::NamedBy;

/// What an attendant is told to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// A file was written.
    Changed(PathBuf),
    /// Files may have been changed by somebody else.
    LookAround,
    /// Nobody waits any longer for what was ordered so far.
    StopWaiting,
}

/// Who looks after one server.
pub(crate) struct Attendant {
    pub(crate) terms: Terms,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    pub(crate) reports: Arc<Mutex<Reports>>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) ended: CancellationToken,
}

/// Why a connection is over.
enum Over {
    /// The session ends.
    Wanted,
    /// Something went wrong.
    Broken { why: String, was_ready: bool, open: Vec<PathBuf> },
}

impl Attendant {
    pub(crate) async fn attend(mut self) {
        let mut restarted = false;
        let mut open = Vec::new();
        loop {
            let Over::Broken { why, was_ready, open: files } = self.connect(open).await else { return };
            tracing::warn!(server = self.terms.server.program(), "the language server {why}");
            self.reports.lock().unwrap_or_else(PoisonError::into_inner).clear();
            if restarted || !was_ready {
                self.give_up(&why, was_ready || restarted);
                return;
            }
            restarted = true;
            open = files;
            self.update(|progress| *progress = Progress { taken: progress.taken, ..Progress::starting() });
        }
    }

    /// One life of the server, with these files open.
    async fn connect(&mut self, open: Vec<PathBuf>) -> Over {
        let mut client = Client::new(self.terms.clone(), Arc::clone(&self.reports));
        for path in &open {
            tell(&mut client, path).await;
        }
        let mut connection = match Connection::start(&self.terms.server, &self.surroundings).await {
            Ok(connection) => connection,
            Err(why) => return Over::Broken { why, was_ready: false, open },
        };
        match self.serve(&mut client, &mut connection).await {
            Ok(()) => {
                self.leave(client, connection).await;
                Over::Wanted
            }
            Err(why) => {
                connection.end(Duration::ZERO).await;
                let open = client.open_files().into_iter().map(|(path, _)| path).collect();
                Over::Broken { why, was_ready: client.is_ready(), open }
            }
        }
    }

    /// Until the session ends.
    ///
    /// # Errors
    /// Why it cannot go on.
    async fn serve(&mut self, client: &mut Client, connection: &mut Connection) -> Result<(), String> {
        let greeted_by = Instant::now() + self.surroundings.patience.greeting;
        loop {
            connection.send(client.take_outgoing())?;
            self.note(client);
            tokio::select! {
                () = self.ended.cancelled() => return Ok(()),
                order = self.orders.recv() => match order {
                    Some(order) => self.follow(order, client).await,
                    None => return Ok(()),
                },
                messages = connection.next() => {
                    messages?.into_iter().try_for_each(|message| client.receive(message))?;
                }
                () = sleep_until(greeted_by), if !client.is_ready() => {
                    return Err("did not answer in time".to_owned());
                }
            }
        }
    }

    async fn follow(&mut self, order: Order, client: &mut Client) {
        let changed = match order {
            Order::Changed(path) => vec![path],
            Order::LookAround => changed(client.open_files()).await,
            Order::StopWaiting => {
                client.stop_waiting();
                Vec::new()
            }
        };
        for path in &changed {
            tell(client, path).await;
        }
        // One who waits must not take what was just changed for settled.
        let is_settled = client.is_settled();
        self.update(|progress| {
            progress.taken += 1;
            progress.is_settled = is_settled;
            if !changed.is_empty() {
                progress.changed = Instant::now();
            }
        });
    }

    /// Lets those who wait know how far it is.
    fn note(&self, client: &mut Client) {
        let (is_settled, has_reported) = (client.is_settled(), client.has_reported());
        self.update(|progress| (progress.is_settled, progress.has_reported) = (is_settled, has_reported));
    }

    fn update(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_if_modified(|progress| {
            let before = *progress;
            change(progress);
            *progress != before
        });
    }

    /// Takes leave in the way of the protocol.
    async fn leave(&self, mut client: Client, mut connection: Connection) {
        // One that has not answered yet would not understand.
        let patience = if client.is_ready() { self.surroundings.patience.leaving } else { Duration::ZERO };
        client.leave();
        let farewell = async {
            while !client.is_gone() {
                connection.send(client.take_outgoing())?;
                connection.next().await?.into_iter().try_for_each(|message| client.receive(message))?;
            }
            Ok::<_, String>(())
        };
        let is_told = matches!(timeout(patience, farewell).await, Ok(Ok(())))
            && connection.send(client.take_outgoing()).is_ok();
        connection.end(if is_told { patience } else { Duration::ZERO }).await;
    }

    fn give_up(&self, why: &str, has_worked: bool) {
        self.update(|progress| *progress = progress.over());
        let server = &self.terms.server;
        // Many have a stand-in on their path that only says what would have to be installed.
        if server.named_by == NamedBy::Tiller && !has_worked {
            return;
        }
        let (language, program) = (&self.terms.language.name, server.program());
        let content = format!(
            "The language server {program} {why}. Problems in files of the language {language} are not reported any \
             more in this session."
        );
        (self.surroundings.tell)(Notice {
            subtype: "language_server".to_owned(),
            level: Level::Warning,
            content,
        });
    }
}

/// Tells a client what a file holds now.
async fn tell(client: &mut Client, path: &Path) {
    let file = path.to_owned();
    match tokio::task::spawn_blocking(move || OnDisk::read(&file)).await {
        Ok(Some(found)) => client.changed(path, found),
        _ => client.gone(path),
    }
}

/// Those of the files that are not what they were.
async fn changed(files: Vec<(PathBuf, Stamp)>) -> Vec<PathBuf> {
    let look = move || {
        let changed = files.into_iter().filter(|(path, stamp)| Stamp::of(path) != Some(*stamp));
        changed.map(|(path, _)| path).collect()
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}
