//! Keeps what a session is about to change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiller_policy::Access;
use tiller_protocol::env::Env;
use tiller_protocol::id::SnapshotId;
use tiller_protocol::mcp::PREFIX;
use tiller_protocol::rewind::FileDifference;
use tiller_snapshot::{Kind, Node, Ready, Restored, SnapshotError, Store, Summary, Unknown};
use tiller_tools::{PreparedCall, View};

use super::rewind::{Returning, make_ready};
use super::{RewindError, open_snapshots, tidy};

/// Tools whose calls let others change something.
const DELEGATING: [&str; 2] = ["Agent", "Task"];
/// Lets a user keep nothing.
const DISABLED: &str = "TILLER_DISABLE_SNAPSHOTS";

/// What came of keeping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is kept.
    Snapshot(SnapshotId),
    /// It cannot be kept, for a reason that was not told yet.
    Impossible(String),
    /// It cannot be kept, as was said before.
    Nothing,
}

/// Bytes of a file up to which its text is shown before it goes back.
const COMPARED: u64 = 1 << 20;
/// The same for all files together.
const COMPARED_IN_ALL: usize = 8 << 20;

/// What bringing a snapshot back would change.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    pub(crate) files: Vec<FileDifference>,
    /// What would get another name, because it is not kept and something else comes back in its place.
    pub(crate) aside: Vec<Unknown>,
    /// What would be left as it is, because it is not kept.
    pub(crate) unknown: Vec<Unknown>,
}

/// Takes snapshots for a session.
pub(crate) struct Keeper {
    config_dir: PathBuf,
    project: PathBuf,
    /// What the session has last kept before it was opened.
    last: Option<SnapshotId>,
    env: Env,
    state: Mutex<Keeping>,
    /// Something is about to be kept ahead: whatever has changed by then is in it.
    is_ahead: AtomicBool,
}

/// How keeping goes.
#[derive(Default)]
struct Keeping {
    /// Opened when it is first needed: most sessions only look.
    store: Option<Box<Store>>,
    /// Why nothing is kept in this session.
    off: Option<String>,
    /// The last attempt failed, and the user was told so.
    is_failing: bool,
    /// What was kept first since somebody last asked what had changed.
    since: Option<SnapshotId>,
    /// Files that calls were permitted to change by name since then.
    permitted: BTreeSet<PathBuf>,
}

impl Keeper {
    pub(crate) fn new(config_dir: &Path, project: &Path, last: Option<SnapshotId>, env: &Env) -> Self {
        let off = env.flag(DISABLED).then(|| format!("none are kept while {DISABLED} is set"));
        Self {
            config_dir: config_dir.to_owned(),
            project: project.to_owned(),
            last,
            env: env.clone(),
            state: Mutex::new(Keeping { off, ..Keeping::default() }),
            is_ahead: AtomicBool::new(false),
        }
    }

    /// Whether a call may change files.
    pub(crate) fn concerns(tool: &str, call: &dyn PreparedCall, view: &View) -> bool {
        let changes = |access: &Access| matches!(access, Access::Write(_) | Access::Exec(_));
        // What a tool of a server does is not declared, and that it changes nothing is only what its server says.
        DELEGATING.contains(&tool)
            || tool.starts_with(PREFIX)
            || (!call.read_only() && call.access(view).iter().any(changes))
    }

    /// The files that a call changes by name. They are kept whatever ignore files say.
    pub(crate) fn needed(call: &dyn PreparedCall, view: &View) -> Vec<PathBuf> {
        let written = call.access(view).into_iter().filter_map(|access| match access {
            Access::Write(place) => Some(place.real().to_owned()),
            _ => None,
        });
        written.collect()
    }

    /// Keeps what the directories hold now.
    pub(crate) async fn keep(self: &Arc<Self>, roots: Vec<PathBuf>) -> Kept {
        self.keep_for(roots, Vec::new()).await
    }

    /// Keeps what the directories hold now, and from now on these files in any case.
    pub(crate) async fn keep_for(self: &Arc<Self>, roots: Vec<PathBuf>, needed: Vec<PathBuf>) -> Kept {
        let keeper = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || keeper.keep_now(&roots, &needed)).await;
        kept.unwrap_or_else(|error| Kept::Impossible(error.to_string()))
    }

    /// A call has changed something: that is kept beside the work, so that the next change need not wait for it.
    /// Once for all calls that end until it begins.
    pub(crate) async fn keep_ahead(self: Arc<Self>, roots: Vec<PathBuf>) {
        if !self.is_ahead.swap(true, Ordering::AcqRel) {
            beside(move || self.take_ahead(&roots)).await;
        }
    }

    fn take_ahead(&self, roots: &[PathBuf]) {
        let state = &mut *self.lock();
        // Whoever has kept something meanwhile is at work by now, and half of that is of no use to anybody.
        if !self.is_ahead.swap(false, Ordering::AcqRel) {
            return;
        }
        // Where nobody tells what has changed, the next change has to look at everything all the same.
        if let Some(store) = state.store.as_deref_mut().filter(|store| store.is_watching()) {
            look(store, roots);
        }
    }

    /// A turn begins: everything is looked at again, beside the work, because not every change is told. Sessions that have
    /// changed nothing so far need not.
    pub(crate) async fn look_ahead(self: Arc<Self>, roots: Vec<PathBuf>) {
        beside(move || {
            if let Some(store) = &mut self.lock().store {
                store.look_at_everything();
                look(store, &roots);
            }
        })
        .await;
    }

    fn keep_now(&self, roots: &[PathBuf], needed: &[PathBuf]) -> Kept {
        let mut state = self.lock();
        // Nothing is left to be kept ahead of this.
        self.is_ahead.store(false, Ordering::Release);
        let error = match self.take(&mut state, roots, needed) {
            Ok(snapshot) => {
                state.is_failing = false;
                return Kept::Snapshot(snapshot);
            }
            Err(RewindError::Off(_)) => return Kept::Nothing,
            Err(error) => error,
        };
        let is_news = !std::mem::replace(&mut state.is_failing, true);
        if matches!(&error, RewindError::Snapshot(error) if error.is_lasting()) {
            state.off = Some(error.to_string());
            return Kept::Impossible(format!("Changes of this session cannot be undone: {error}."));
        }
        match is_news {
            true => Kept::Impossible(format!(
                "What is changed now cannot be undone: {error}. This is tried again with the next change."
            )),
            false => Kept::Nothing,
        }
    }

    fn take(
        &self,
        state: &mut Keeping,
        roots: &[PathBuf],
        needed: &[PathBuf],
    ) -> Result<SnapshotId, RewindError> {
        if state.store.is_none() && state.off.is_none() {
            tidy::collect_if_due(&self.config_dir, &self.project, &self.env);
        }
        let store = self.opened(state)?;
        store.need(needed);
        let now = store.take(roots)?.id;
        state.since.get_or_insert_with(|| now.clone());
        state.permitted.extend(needed.iter().cloned());
        Ok(now)
    }

    /// Which of the files that count have changed up to a snapshot, since this was last asked and something was kept then.
    /// What calls were permitted to change by name is no news.
    pub(crate) async fn changed(
        self: &Arc<Self>,
        until: SnapshotId,
        counts: impl Fn(&Path) -> bool + Send + 'static,
    ) -> Vec<PathBuf> {
        let keeper = Arc::clone(self);
        let found = tokio::task::spawn_blocking(move || keeper.changed_now(&until, counts)).await;
        found.ok().flatten().unwrap_or_default()
    }

    fn changed_now(&self, until: &SnapshotId, counts: impl Fn(&Path) -> bool) -> Option<Vec<PathBuf>> {
        let mut state = self.lock();
        let (since, permitted) = (state.since.take()?, std::mem::take(&mut state.permitted));
        let diff = state.store.as_mut()?.diff(&since, until).ok()?;
        let is_directory = |node: &Option<Node>| matches!(node, Some(Node::Directory { .. }));
        let files = diff.changes.into_iter().filter(|change| {
            !is_directory(&change.before) && !is_directory(&change.after) && counts(&change.path)
        });
        Some(files.map(|change| change.path).filter(|path| !permitted.contains(path)).collect())
    }

    fn opened<'a>(&self, state: &'a mut Keeping) -> Result<&'a mut Store, RewindError> {
        if let Some(why) = &state.off {
            return Err(RewindError::Off(why.clone()));
        }
        match &mut state.store {
            Some(store) => Ok(store),
            none => {
                let mut store = open_snapshots(&self.config_dir, &self.project, &self.env)?.watching();
                self.last.iter().for_each(|last| store.follow(last));
                Ok(none.insert(Box::new(store)))
            }
        }
    }

    /// Makes sure that files can go back at all: where nothing is kept, nobody knows whether anything has changed.
    pub(crate) fn check(&self) -> Result<(), RewindError> {
        self.lock().off.clone().map_or(Ok(()), |why| Err(RewindError::Off(why)))
    }

    /// Finds the way back to what the first snapshot of each directory holds, and keeps what is there now. Nothing is
    /// changed yet.
    pub(crate) async fn make_ready(
        self: &Arc<Self>,
        to: Vec<SnapshotId>,
        returning: Option<Returning>,
    ) -> Result<Option<Ready>, RewindError> {
        let find = move |store: &mut Store| match store.join(&to)? {
            Some(to) => make_ready(store, &to, returning).map(Some),
            None => Ok(None),
        };
        self.with_store(find).await
    }

    /// Brings a snapshot back.
    pub(crate) async fn carry_out(self: &Arc<Self>, ready: Ready) -> Result<Restored, RewindError> {
        self.with_store(move |store| Ok(store.carry_out(ready))).await
    }

    /// What [`Keeper::make_ready`] would lead to, with the texts of files.
    pub(crate) async fn preview(
        self: &Arc<Self>,
        to: Vec<SnapshotId>,
        returning: Option<Returning>,
    ) -> Result<Preview, RewindError> {
        let compare = move |store: &mut Store| {
            let Some(to) = store.join(&to)? else { return Ok(Preview::default()) };
            let (diff, aside) = store.preview(|store| make_ready(store, &to, returning))?;
            let mut room = COMPARED_IN_ALL;
            let files = diff.summary().into_iter().flat_map(|change| differences(store, &change, &mut room));
            Ok(Preview { files: files.collect(), aside, unknown: diff.unknown })
        };
        self.with_store(compare).await
    }

    /// Works on the store where that holds nobody up.
    async fn with_store<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Store) -> Result<T, SnapshotError> + Send + 'static,
    ) -> Result<T, RewindError> {
        let keeper = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || Ok(act(keeper.opened(&mut keeper.lock())?)?)).await;
        done.unwrap_or_else(|error| Err(SnapshotError::Io(std::io::Error::other(error)).into()))
    }

    /// Writes down what was learned about files.
    pub(crate) fn save(&self) {
        if let Some(store) = &mut self.lock().store
            && let Err(error) = store.save()
        {
            tracing::warn!("{error}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Keeping> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works where that holds nobody up.
async fn beside(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::warn!("{error}");
    }
}

/// Keeps what is there, for the next one who does.
fn look(store: &mut Store, roots: &[PathBuf]) {
    if let Err(error) = store.take(roots) {
        tracing::debug!("looking ahead: {error}");
    }
}

/// What happens to the files of a change, with their texts as long as there is room for them.
fn differences(store: &mut Store, change: &Summary, room: &mut usize) -> Vec<FileDifference> {
    let mut texts = None;
    if matches!(change.kind, Kind::Added | Kind::Removed | Kind::Modified) {
        let most = COMPARED.min(*room as u64);
        let both = store.text(change.before.as_ref(), most).zip(store.text(change.after.as_ref(), most));
        texts = both.filter(|(before, after)| before.len() + after.len() <= *room);
        *room -= texts.as_ref().map_or(0, |(before, after)| before.len() + after.len());
    }
    let mut files = named(change);
    if let [only] = files.as_mut_slice() {
        only.texts = texts;
    }
    files
}

/// The files of a change by name; one that was renamed is one that goes and one that comes.
pub(crate) fn named(change: &Summary) -> Vec<FileDifference> {
    let file = |path: &Path, change| FileDifference { path: path.to_owned(), change, texts: None };
    match &change.kind {
        Kind::Added => vec![file(&change.path, "added")],
        Kind::Removed => vec![file(&change.path, "removed")],
        Kind::Modified => vec![file(&change.path, "modified")],
        Kind::Mode => vec![file(&change.path, "mode")],
        Kind::Renamed { from } => vec![file(from, "removed"), file(&change.path, "added")],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::still;

    fn files_below(dir: &Path) -> usize {
        let entries = fs_err::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
    }

    struct Scene {
        dir: tempfile::TempDir,
        keeper: Arc<Keeper>,
        roots: Vec<PathBuf>,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let (config, project) = (dir.path().join("config"), dir.path().join("project"));
            fs_err::create_dir(&project).unwrap();
            let env = still::env(BTreeMap::new(), dir.path());
            let keeper = Arc::new(Keeper::new(&config, &project, None, &env));
            let scene = Self { dir, keeper, roots: vec![project] };
            scene.write("before");
            scene
        }

        fn write(&self, content: &str) {
            fs_err::write(self.roots[0].join("file"), content).unwrap();
        }

        async fn keep(&self) {
            assert!(matches!(self.keeper.keep(self.roots.clone()).await, Kept::Snapshot(_)));
        }

        async fn keep_ahead(&self) {
            Arc::clone(&self.keeper).keep_ahead(self.roots.clone()).await;
        }

        fn kept(&self) -> usize {
            files_below(&self.dir.path().join("config"))
        }
    }

    // UNDO-01
    #[tokio::test]
    async fn what_a_call_has_changed_is_kept_once_before_the_next_one() {
        let scene = Scene::new();
        scene.keep_ahead().await;
        assert!(
            !scene.dir.path().join("config").exists(),
            "a session that has changed nothing keeps nothing"
        );
        scene.keep().await;
        let kept = scene.kept();
        scene.write("after");
        scene.keeper.is_ahead.store(true, Ordering::Release);
        scene.keep_ahead().await;
        assert_eq!(scene.kept(), kept, "somebody else is about to");
        scene.keeper.is_ahead.store(false, Ordering::Release);
        scene.keep_ahead().await;
        assert!(scene.kept() > kept);
        assert!(!scene.keeper.is_ahead.load(Ordering::Acquire));
    }

    // UNDO-01
    #[tokio::test]
    async fn what_is_about_to_be_kept_ahead_is_not_kept_while_the_next_call_works() {
        let scene = Scene::new();
        scene.keep().await;
        scene.keeper.is_ahead.store(true, Ordering::Release);
        scene.keep().await;
        let kept = scene.kept();
        scene.write("half of");
        scene.keeper.take_ahead(&scene.roots);
        assert_eq!(scene.kept(), kept);
    }

    // UNDO-01
    #[tokio::test]
    async fn nothing_is_kept_ahead_where_everything_has_to_be_looked_at_again() {
        let scene = Scene::new();
        scene.keep().await;
        let keeper = &scene.keeper;
        let unwatched = open_snapshots(&keeper.config_dir, &keeper.project, &keeper.env).unwrap();
        keeper.lock().store = Some(Box::new(unwatched));
        let kept = scene.kept();
        scene.write("after");
        scene.keep_ahead().await;
        assert_eq!(scene.kept(), kept);
    }
}
