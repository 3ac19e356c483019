//! The language servers of a session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tiller_policy::Permit;
use tiller_protocol::entry::Notice;
use tiller_sandbox::Confinement;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::attendant::{Attendant, Order};
use crate::client::Terms;
use crate::problem::FileProblems;
use crate::progress::{Progress, Waits, is_late};
use crate::report::Reports;
use crate::server::Language;

/// Says how a server is held; on failure, why it must not run. It is asked beside the runtime and may take its time.
pub type Hold = Arc<dyn Fn(Permit) -> Result<(Permit, Confinement), String> + Send + Sync>;

/// Tells the user something.
pub type Tell = Arc<dyn Fn(Notice) + Send + Sync>;

/// What servers find around them.
pub struct Surroundings {
    /// The directories that are worked in, links resolved; servers run in the first one.
    pub folders: Vec<PathBuf>,
    /// The environment.
    pub vars: Arc<BTreeMap<String, String>>,
    /// How servers are held.
    pub hold: Hold,
    /// Where news for the user go.
    pub tell: Tell,
    /// How long servers may take.
    pub patience: Patience,
}

/// How long servers may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For their first answer. Nobody waits for it, but one that takes longer is ended.
    pub greeting: Duration,
    /// For each step of their end.
    pub leaving: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { greeting: Duration::from_secs(60), leaving: Duration::from_millis(500) }
    }
}

impl Surroundings {
    pub(crate) fn root(&self) -> &Path {
        self.folders.first().map_or(Path::new("/"), PathBuf::as_path)
    }
}

/// The language servers of a session. Those are started whose files are written; all end with this.
pub struct Languages {
    languages: Vec<Arc<Language>>,
    surroundings: Arc<Surroundings>,
    /// By language; nothing where no program is installed.
    attended: Mutex<BTreeMap<String, Option<Attended>>>,
    tasks: TaskTracker,
    ended: CancellationToken,
    _ends_with_this: DropGuard,
}

/// A server that is looked after.
struct Attended {
    orders: mpsc::UnboundedSender<Order>,
    /// How many orders were given.
    given: u64,
    progress: watch::Receiver<Progress>,
    reports: Arc<Mutex<Reports>>,
}

impl Attended {
    /// Gives an order. A server that was given up takes none, and is settled for good.
    fn order(&mut self, order: Order) {
        self.given += 1;
        _ = self.orders.send(order);
    }
}

impl Languages {
    /// Nothing is started yet.
    #[must_use]
    pub fn new(languages: Vec<Language>, surroundings: Surroundings) -> Self {
        let ended = CancellationToken::new();
        Self {
            languages: languages.into_iter().map(Arc::new).collect(),
            surroundings: Arc::new(surroundings),
            attended: Mutex::default(),
            tasks: TaskTracker::new(),
            _ends_with_this: ended.clone().drop_guard(),
            ended,
        }
    }

    /// A file was written. Starts the server of its language if it does not run yet. Must be called within a runtime;
    /// returns at once.
    pub fn touched(&self, path: &Path) {
        let Some(language) = self.languages.iter().find(|language| language.has(path)) else { return };
        if self.ended.is_cancelled() {
            return;
        }
        let mut attended = self.attended();
        let attended = attended.entry(language.name.clone()).or_insert_with(|| self.start(language));
        if let Some(attended) = attended {
            attended.order(Order::Changed(path.to_owned()));
        }
    }

    /// Waits until the servers have reported on what was changed, or until there is no more time. What comes later is
    /// there the next time. A server that was waited for in vain is waited for again once it has said something.
    pub async fn settle(&self, waits: Waits) {
        let asked = Instant::now();
        let running: Vec<_> = {
            let mut attended = self.attended();
            let running = attended.iter_mut().filter_map(|(name, one)| Some((name.clone(), one.as_mut()?)));
            running
                .map(|(name, one)| {
                    one.order(Order::LookAround);
                    (name, one.given, one.progress.clone())
                })
                .collect()
        };
        let waiting = running.into_iter().map(|(name, given, progress)| async move {
            is_late(progress, given, asked, waits).await.then_some(name)
        });
        let late: Vec<String> = join_all(waiting).await.into_iter().flatten().collect();
        let mut attended = self.attended();
        for name in late {
            if let Some(Some(one)) = attended.get_mut(&name) {
                one.order(Order::StopWaiting);
            }
        }
    }

    /// The problems in these files, as far as servers have reported them.
    #[must_use]
    pub fn problems(&self, files: &[PathBuf]) -> Vec<FileProblems> {
        let attended = self.attended();
        let of = |path: &PathBuf| {
            let running = attended.values().flatten();
            let problems: Vec<_> = running.flat_map(|one| lock(&one.reports).of(path)).collect();
            (!problems.is_empty()).then(|| FileProblems { path: path.clone(), problems })
        };
        files.iter().filter_map(of).collect()
    }

    /// Ends all servers.
    pub async fn end(&self) {
        self.ended.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn start(&self, language: &Arc<Language>) -> Option<Attended> {
        let server = language.installed(&self.surroundings.vars)?.clone();
        let (orders, taken_by_attendant) = mpsc::unbounded_channel();
        let (progress, progress_now) = watch::channel(Progress::starting());
        let reports = Arc::<Mutex<Reports>>::default();
        let attendant = Attendant {
            terms: Terms {
                language: Arc::clone(language),
                server,
                folders: self.surroundings.folders.clone(),
            },
            surroundings: Arc::clone(&self.surroundings),
            orders: taken_by_attendant,
            reports: Arc::clone(&reports),
            progress,
            ended: self.ended.clone(),
        };
        self.tasks.spawn(attendant.attend());
        Some(Attended { orders, given: 0, progress: progress_now, reports })
    }

    fn attended(&self) -> MutexGuard<'_, BTreeMap<String, Option<Attended>>> {
        lock(&self.attended)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
