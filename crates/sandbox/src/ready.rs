//! Shells that are there before their script: after a command that others like it will follow, the next shell is
//! started at once, in namespaces and with mounts of its own, while the model is still thinking.
//!
//! Invariant: a shell that waits is used only for an order with the very same signature, which is worked out anew from
//! what holds at that moment; and its supervisor sees to it that the paths still lead to what it has mounted. It ends
//! with Tiller like any other command, and by itself when nobody wants it for a while.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use tiller_protocol::id::CallId;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::Stdin;
use crate::confine::footing;
use crate::confine::layer::Lease;
use crate::custody::RUN_IF_UNCHANGED;
use crate::error::SandboxError;
use crate::launch::{Launched, Order, Waiting};
use crate::program::{Program, mark};

/// So many wait at most; the oldest goes first.
const MOST: usize = 4;
/// How long the namespaces of the command before may take to vanish.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Those that wait, or will in a moment.
static WAITING: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Held while one is being ordered.
static BUSY: Mutex<()> = Mutex::new(());

struct Entry {
    order: Arc<Order>,
    /// Where its layers are.
    layers: Option<PathBuf>,
    ready: oneshot::Receiver<Ready>,
}

/// A shell that waits for a script.
#[derive(Debug)]
pub(crate) struct Ready {
    waiting: Waiting,
    pub(crate) mark: String,
    signature: Vec<u8>,
    /// The layers that are mounted in its view.
    pub(crate) lease: Option<Lease>,
}

/// What is needed to start the next shell.
struct Work {
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
    let work = Work { order: Arc::clone(&order), lease, former, answer };
    if worker().is_some_and(|worker| worker.send(work).is_ok()) {
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

/// Ends all of them.
pub(crate) fn release() {
    lock(&WAITING).clear();
    // Whoever is just being ordered sees that nobody wants it.
    drop(lock(&BUSY));
}

impl Ready {
    /// Lets it run the script if it was made for such an order. If not, it has ended when this returns.
    pub(crate) async fn start(self, order: &Order, script: &[u8]) -> Result<Option<Launched>, SandboxError> {
        if self.signature != order.signature()? {
            self.waiting.end().await;
            return Ok(None);
        }
        self.waiting.start(RUN_IF_UNCHANGED, script, &order.steps).await
    }
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
    for work in orders {
        if let Some(former) = &work.former {
            await_end(former);
        }
        let _busy = lock(&BUSY);
        if !work.answer.is_closed()
            && let Err(error) = work.carry_out()
        {
            tracing::debug!("no shell waits for the next command: {error}");
        }
    }
}

impl Work {
    fn carry_out(self) -> Result<(), SandboxError> {
        if let Some(lease) = &self.lease {
            lease.make_ready(&self.order.layered);
        }
        let mark = mark(&CallId::from("ready"));
        let waiting = Waiting::order(&self.order, &mark, None, Stdin::Closed)?;
        let signature = self.order.signature()?;
        // Dropped if nobody wants it any more.
        _ = self.answer.send(Ready { waiting, mark, signature, lease: self.lease });
        Ok(())
    }
}

/// Reads to the end of a pipe.
fn await_end(pipe: &OwnedFd) {
    let mut rest = [0; 64];
    loop {
        match rustix::io::read(pipe, &mut rest) {
            Ok(1..) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut waits = [PollFd::new(pipe, PollFlags::IN)];
                if let Ok(0) = poll(&mut waits, Some(&PATIENCE)) {
                    return;
                }
            }
            _ => return,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
