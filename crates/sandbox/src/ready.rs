//! Shells that are there before their script: after a command that others like it will follow, the next shell is
//! started at once, in namespaces and with mounts of its own, while the model is still thinking.
//!
//! Invariant: a shell that waits is used only for an order with the very same signature, which is worked out anew from
//! what holds at that moment, and if nothing was mounted or unmounted since before it was made: its view keeps what was
//! there then. Its supervisor sees to it that the paths still lead to what it has mounted. It ends with Tiller like any
//! other command, and by itself when nobody wants it for a while.
//!
//! Invariant: layers are given to somebody else only when nothing is left that has them mounted. Whoever needs a set that
//! a shell merely waits with takes it: what one command has fetched, the next one finds, wherever it runs.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use tiller_protocol::id::CallId;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::Stdin;
use crate::confine::footing;
use crate::confine::layer::{Lease, number};
use crate::confine::mounts::Watch;
use crate::confine::sockets;
use crate::custody::Go;
use crate::error::SandboxError;
use crate::launch::{Order, Started, Waiting};
use crate::priority;
use crate::program::{Program, mark};

/// Maximum number of waiting shells; the oldest is dropped first.
const MOST: usize = 4;
/// How long the namespaces of the command before may take to vanish.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Those that wait, or will in a moment.
static WAITING: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Held while one is being ordered.
static BUSY: Mutex<()> = Mutex::new(());
/// How much work was given to the worker that is not done.
static UNDONE: AtomicUsize = AtomicUsize::new(0);

struct Entry {
    order: Arc<Order>,
    /// Where its layers are.
    layers: Option<PathBuf>,
    ready: oneshot::Receiver<Ready>,
}

/// A shell that waits for a script.
#[derive(Debug)]
pub(crate) struct Ready {
    /// There until it is started or ended.
    waiting: Option<Waiting>,
    pub(crate) mark: String,
    signature: Vec<u8>,
    /// Notices what is mounted since before its view was made, if it has one of its own.
    mounts: Option<Watch>,
    /// The layers that are mounted in its view.
    lease: Option<Lease>,
}

/// Work for the background thread.
enum Work {
    Start(Start),
    /// Layers become free when the pipe ends.
    GiveBack {
        lease: Lease,
        former: OwnedFd,
    },
    /// Says that everything before it is done.
    Answer(Box<dyn FnOnce() + Send>),
}

/// What is needed to start the next shell.
struct Start {
    order: Arc<Order>,
    lease: Option<Lease>,
    /// The pipe whose end says that nothing of the command before is left.
    former: Option<OwnedFd>,
    answer: oneshot::Sender<Ready>,
}

/// Whether a shell for such an order may be started before its script is known.
pub(crate) fn may_wait(order: &Order) -> bool {
    order.program.may_wait() && order.steps.places() < footing::MOST
}

/// Whether there is no shell for such an order yet, or one with layers that were taken later: of commands that ran at
/// the same time one has a successor, and the first set of layers is the one that is used most.
pub(crate) fn is_wanted(order: &Order, lease: Option<&Lease>) -> bool {
    let mut waiting = lock(&WAITING);
    waiting.retain_mut(|entry| !entry.is_over());
    let mut others = waiting.iter().filter(|entry| entry.order.program == order.program);
    others.all(|entry| entry.layers.as_deref() > lease.map(Lease::dir))
}

/// Starts the next shell for such an order, elsewhere and after the command before has left its layers.
pub(crate) fn renew(order: Arc<Order>, lease: Option<Lease>, former: Option<OwnedFd>) {
    let (answer, ready) = oneshot::channel();
    let layers = lease.as_ref().map(|lease| lease.dir().to_owned());
    let mut waiting = lock(&WAITING);
    waiting.retain(|entry| entry.order.program != order.program);
    let work = Work::Start(Start { order: Arc::clone(&order), lease, former, answer });
    if give(work).is_ok() {
        waiting.push(Entry { order, layers, ready });
    }
    let excess = waiting.len().saturating_sub(MOST);
    waiting.drain(..excess);
}

impl Entry {
    /// Whether nobody is going to be there.
    fn is_over(&mut self) -> bool {
        self.ready.is_terminated()
            || self.ready.is_empty() && matches!(self.ready.try_recv(), Err(TryRecvError::Closed))
    }
}

/// A shell for this program, if one waits or is on its way.
pub(crate) async fn take(program: &Program) -> Option<Ready> {
    let entry = {
        let mut waiting = lock(&WAITING);
        let at = waiting.iter().position(|entry| entry.order.program == *program)?;
        waiting.remove(at)
    };
    entry.ready.await.ok()
}

/// Takes a set of layers below a directory from a shell that waits, if it comes before those that are free. The shell has
/// ended then.
pub(crate) async fn take_layers(dir: &Path) -> Option<Lease> {
    if Lease::next(dir) > 0 {
        settle().await;
    }
    let entry = {
        let mut waiting = lock(&WAITING);
        let set =
            |entry: &Entry| entry.layers.as_deref().filter(|set| set.parent() == Some(dir)).and_then(number);
        let sets = waiting.iter().enumerate().filter_map(|(at, entry)| Some((set(entry)?, at)));
        let (first, at) = sets.min()?;
        (first < Lease::next(dir)).then(|| waiting.remove(at))?
    };
    let mut ready = entry.ready.await.ok()?;
    let lease = ready.take_lease(dir)?;
    if ready.end().await {
        return Some(lease);
    }
    lease.abandon();
    None
}

/// Waits for layers that are just becoming free: whoever took others meanwhile would not find what is in them.
async fn settle() {
    // Work that is done can leave some behind: a shell that was started in vain gives its layers back.
    for _ in 0..2 {
        let (answer, done) = oneshot::channel();
        let answer = Box::new(move || _ = answer.send(()));
        if UNDONE.load(Ordering::Acquire) > 0 && give(Work::Answer(answer)).is_ok() {
            _ = done.await;
        }
    }
}

/// Ends all of them.
pub(crate) fn release() {
    lock(&WAITING).clear();
    // Whoever is just being ordered sees that nobody wants it.
    drop(lock(&BUSY));
}

/// Waits until those that were ended have left their layers: until then they may still make directories in them.
pub(crate) fn outwait() {
    let (tell, told) = channel();
    let answer = Box::new(move || _ = tell.send(()));
    if UNDONE.load(Ordering::Acquire) > 0 && give(Work::Answer(answer)).is_ok() {
        _ = told.recv_timeout(Duration::from_secs(1));
    }
}

impl Ready {
    /// Lets it run the script if it was made for such an order. If not, it is ended.
    pub(crate) async fn start(
        mut self,
        order: &Order,
        script: &[u8],
        looking: bool,
    ) -> Result<Started, SandboxError> {
        let go = Go { if_unchanged: true, looking };
        let is_stale = self.mounts.as_ref().is_some_and(Watch::has_changed);
        if is_stale || self.signature != order.signature()? {
            return Ok(if self.end().await { Started::Gone } else { Started::Stuck });
        }
        match self.waiting.take() {
            Some(waiting) => waiting.start(go, script, &order.steps).await,
            None => Ok(Started::Gone),
        }
    }

    /// Its layers, if they are below this directory. Whoever takes them waits for its end before using them otherwise.
    pub(crate) fn take_lease(&mut self, dir: &Path) -> Option<Lease> {
        self.lease.take_if(|lease| lease.is_below(dir))
    }

    /// Ends it. False if something of it may still be there.
    async fn end(mut self) -> bool {
        let Some(waiting) = self.waiting.take() else { return true };
        let is_gone = waiting.end().await;
        if let Some(lease) = self.lease.take().filter(|_| !is_gone) {
            lease.abandon();
        }
        is_gone
    }
}

/// Nobody wants it any more: its layers are free when it has left them.
impl Drop for Ready {
    fn drop(&mut self) {
        let (Some(waiting), Some(lease)) = (self.waiting.take(), self.lease.take()) else { return };
        let former = waiting.leave();
        let is_patient = rustix::io::ioctl_fionbio(&former, true).is_ok();
        let work = Work::GiveBack { lease, former };
        let unsent = if is_patient { give(work) } else { Err(work) };
        if let Err(Work::GiveBack { lease, .. }) = unsent {
            lease.abandon();
        }
    }
}

/// Sends work to the background thread; returns it if that fails.
fn give(work: Work) -> Result<(), Work> {
    let Some(worker) = worker() else { return Err(work) };
    UNDONE.fetch_add(1, Ordering::AcqRel);
    worker.send(work).map_err(|unsent| {
        UNDONE.fetch_sub(1, Ordering::AcqRel);
        unsent.0
    })
}

fn worker() -> Option<&'static Sender<Work>> {
    static WORKER: OnceLock<Option<Sender<Work>>> = OnceLock::new();
    let start = || {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new().name("readier".to_owned());
        thread.spawn(move || work(&receiver)).ok().map(|_| sender)
    };
    WORKER.get_or_init(start).as_ref()
}

fn work(orders: &Receiver<Work>) {
    priority::step_back_alone();
    for work in orders {
        match work {
            Work::GiveBack { lease, former } if !has_ended(&former) => lease.abandon(),
            Work::GiveBack { .. } => {}
            Work::Answer(answer) => answer(),
            Work::Start(start) => {
                if let Err(error) = start.carry_out() {
                    tracing::debug!("no shell waits for the next command: {error}");
                }
            }
        }
        UNDONE.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Start {
    fn carry_out(mut self) -> Result<(), SandboxError> {
        if self.former.as_ref().is_some_and(|former| !has_ended(former)) {
            self.lease.take().into_iter().for_each(Lease::abandon);
            return Ok(());
        }
        let _busy = lock(&BUSY);
        if self.answer.is_closed() {
            return Ok(());
        }
        let mut mounts = None;
        if self.order.steps.namespaces != 0 {
            mounts = Watch::from(&self.order.mounts)?;
            if mounts.is_none() {
                // The next command will need another view.
                return Ok(());
            }
        }
        if let Some(lease) = &self.lease {
            lease.make_ready(&self.order.layered);
        }
        let mark = mark(&CallId::from("ready"));
        let waiting = Some(Waiting::order(&self.order, &mark, None, Stdin::Closed)?);
        let signature = self.order.signature()?;
        // Dropped if nobody wants it any more.
        _ = self.answer.send(Ready { waiting, mark, signature, mounts, lease: self.lease });
        sockets::look_at_networks();
        Ok(())
    }
}

/// Reads to the end of a pipe. False if that does not come for a while.
fn has_ended(pipe: &OwnedFd) -> bool {
    let mut rest = [0; 64];
    loop {
        match rustix::io::read(pipe, &mut rest) {
            Ok(0) => return true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut waits = [PollFd::new(pipe, PollFlags::IN)];
                if let Ok(0) = poll(&mut waits, Some(&PATIENCE)) {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
