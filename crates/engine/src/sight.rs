//! Files as the session may see them. What attachments show goes through the tools and rules of the session; so what is
//! denied to calls is denied to mentions, too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tiller_mcp::reading;
use tiller_policy::{Access, Context, Decision, Permit, Request, approve, decide};
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_protocol::effect::{Effect, LineRange};
use tiller_protocol::id::{CallId, SessionId};
use tiller_steering::attachment::Memory;
use tiller_steering::source::{Listing, Resource, Shown, Sight, Unread, Unseen};
use tiller_steering::user_context::instructions::{InstructionFile, Places, find_in};
use tiller_tools::{Done, Host, Input, Read, Registry, ToolCx, ToolError, View, resolve_links};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::executor::Line;
use crate::host::CallHost;
use crate::mailbox::Inbox;
use crate::policy::resolved;
use crate::services::Services;
use crate::store::recall;

const READ: &str = "Read";
/// A file that cannot be shown although it is allowed is too large if it is larger than this.
const LARGE: u64 = 256 * 1024;

/// What sources see of files.
pub(crate) struct FileSight {
    pub(crate) services: Services,
    /// The session, as seen from the directory in which it was started.
    pub(crate) view: View,
    pub(crate) config_dir: PathBuf,
    pub(crate) session: SessionId,
    pub(crate) inbox: Inbox,
}

/// Whether a file may be read; the user or the project has named it, so nobody is asked.
pub(crate) fn may_read(policy: &Context, path: &Path) -> bool {
    permit(policy, path).is_ok()
}

fn permit(policy: &Context, path: &Path) -> Result<Permit, Unseen> {
    permitted(&reading_of(policy, path), policy)
}

fn reading_of(policy: &Context, path: &Path) -> Request {
    let access = vec![Access::Read(policy.place(path))];
    Request { tool: READ.to_owned(), access, read_only: true }
}

/// Whether nobody has to be asked. A file that others have written asks nobody, and is no yes of the user's.
fn free(request: &Request, policy: &Context) -> Result<(), Unseen> {
    match decide(request, policy) {
        Decision::Allow(..) => Ok(()),
        Decision::Deny(reason) => Err(Unseen::Denied(reason.explain())),
        Decision::Ask(reason) => Err(Unseen::Unasked(reason.explain())),
    }
}

fn permitted(request: &Request, policy: &Context) -> Result<Permit, Unseen> {
    match approve(request, policy) {
        Decision::Allow(permit, _) => Ok(permit),
        Decision::Deny(reason) | Decision::Ask(reason) => Err(Unseen::Denied(reason.explain())),
    }
}

impl FileSight {
    fn policy(&self) -> Arc<Context> {
        self.services.policy.now()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.view.absolute(&path.to_string_lossy(), &self.view.home)
    }

    async fn read(&self, path: &Path, lines: Option<LineRange>) -> Result<Shown, Unseen> {
        let written = self.absolute(path);
        let path = resolve_links(&written);
        let at = path.clone();
        let metadata = blocking(move || fs_err::metadata(&at)).await?.map_err(unseen)?;
        if metadata.is_dir() {
            return Err(Unseen::Directory);
        }
        let permit = permit(&self.policy(), &written)?;
        let input = match lines {
            Some(LineRange { first, last }) => {
                json!({"file_path": path, "offset": first, "limit": last - first + 1})
            }
            None => json!({"file_path": path}),
        };
        match self.run(input, permit).await {
            Ok(done) => Ok(shown(path, done)),
            Err(_) if metadata.len() > LARGE && lines.is_none() && self.has_lines(&path).await => {
                Err(Unseen::TooLarge(path))
            }
            Err(error) => Err(Unseen::Unreadable(error.to_string())),
        }
    }

    /// Whether a file is such that parts of it can be read.
    async fn has_lines(&self, path: &Path) -> bool {
        let Ok(permit) = permit(&self.policy(), path) else { return false };
        self.run(json!({"file_path": path, "offset": 1, "limit": 1}), permit).await.is_ok()
    }

    /// Reads with the tool itself, so that a mentioned file looks like one that was read.
    async fn run(&self, input: Value, permit: Permit) -> Result<Done, ToolError> {
        let registry = Registry::default().with(Read);
        let prepared = registry
            .prepare(READ, Input::Json(&input))
            .map_err(|error| ToolError::Model(error.to_string()))?;
        let call = ToolUse { id: CallId::from("mention"), name: READ.to_owned(), input };
        // Nobody listens: reading has nothing to tell.
        let (news, _) = mpsc::unbounded_channel();
        let line = Line { call: call.id.clone(), news };
        let cancel = CancellationToken::new();
        let _stops_when_nobody_waits = cancel.clone().drop_guard();
        let cx = ToolCx {
            call: call.id.clone(),
            view: self.view.clone(),
            permit,
            cancel,
            host: Arc::new(CallHost::new(call, line, self.services.clone())) as Arc<dyn Host>,
            env: self.services.env.clone(),
            shells: Arc::clone(&self.services.shells),
        };
        prepared.run(cx).await
    }

    /// What a server calls one of its resources.
    fn title(&self, server: &str, uri: &str) -> String {
        let seen = self.services.mcp.as_ref().map(|servers| servers.seen()).unwrap_or_default();
        let of_server = seen.into_iter().find(|seen| seen.name == server);
        let named =
            of_server.and_then(|seen| seen.offer.resources.iter().find(|one| one.uri == uri).cloned());
        named.map_or_else(|| uri.to_owned(), |resource| resource.name)
    }

    async fn names(&self, path: &Path, at_most: usize) -> Result<Listing, Unseen> {
        let written = self.absolute(path);
        let permit = permit(&self.policy(), &written)?;
        let path = resolve_links(&written);
        blocking(move || names_in(path, &permit, at_most)).await?
    }
}

impl Sight for FileSight {
    fn show<'a>(&'a self, path: &'a Path, lines: Option<LineRange>) -> BoxFuture<'a, Result<Shown, Unseen>> {
        self.read(path, lines).boxed()
    }

    fn is_free(&self, path: &Path) -> Result<(), Unseen> {
        let policy = self.policy();
        let written = self.absolute(path);
        // What is not there need not be spoken of.
        if !resolve_links(&written).exists() {
            return Err(Unseen::Missing);
        }
        free(&reading_of(&policy, &written), &policy)
    }

    fn is_free_resource(&self, server: &str, uri: &str) -> Result<(), Unseen> {
        free(&reading(server, uri), &self.policy())
    }

    fn list<'a>(&'a self, path: &'a Path, at_most: usize) -> BoxFuture<'a, Result<Listing, Unseen>> {
        self.names(path, at_most).boxed()
    }

    fn resource<'a>(&'a self, server: &'a str, uri: &'a str) -> BoxFuture<'a, Result<Resource, Unseen>> {
        async move {
            let servers = self.services.mcp.as_ref().ok_or(Unseen::Missing)?;
            permitted(&reading(server, uri), &self.policy())?;
            let cancel = CancellationToken::new();
            let _stops_when_nobody_waits = cancel.clone().drop_guard();
            let content = servers.read(server, uri, &cancel).await.map_err(Unseen::Unreadable)?;
            let masked = content.into_iter().map(|block| match block.as_text() {
                Some(text) => RawBlock::text(&self.services.secrets.mask(&text)),
                None => block,
            });
            Ok(Resource { name: self.title(server, uri), content: masked.collect() })
        }
        .boxed()
    }

    fn modified<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<i64, Unseen>> {
        let path = path.to_owned();
        async move {
            let metadata = blocking(move || fs_err::symlink_metadata(&path)).await?.map_err(unseen)?;
            let modified = metadata.modified().map_err(unseen)?;
            let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        }
        .boxed()
    }

    fn memories(&self, at_most: usize) -> BoxFuture<'_, Vec<Memory>> {
        let (config_dir, project, session) =
            (self.config_dir.clone(), resolved(&self.view.cwd), self.session);
        async move {
            let recalled = blocking(move || recall(&config_dir, &project, session, at_most));
            recalled.await.unwrap_or_default()
        }
        .boxed()
    }

    fn unread<'a>(&'a self, after: Option<&'a str>) -> BoxFuture<'a, Unread> {
        let (inbox, after) = (self.inbox.clone(), after.map(str::to_owned));
        async move {
            // Nearly always, and not worth another thread at every step.
            if !inbox.exists() {
                return Unread::default();
            }
            let unread = blocking(move || inbox.unread(after.as_deref()));
            unread.await.unwrap_or_default()
        }
        .boxed()
    }

    fn instructions<'a>(&'a self, dir: &'a Path) -> BoxFuture<'a, Vec<InstructionFile>> {
        let (dir, policy) = (dir.to_owned(), self.policy());
        let (config_dir, home) = (self.config_dir.clone(), self.view.home.clone());
        async move {
            let found = blocking(move || {
                let places = Places {
                    config_dir: &config_dir,
                    home: &home,
                    working_directory: &dir,
                    may_read: &|path| may_read(&policy, path),
                };
                find_in(&dir, places)
            });
            found.await.unwrap_or_default()
        }
        .boxed()
    }
}

/// Does what may wait for a disk beside the session.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unseen> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Unseen::Unreadable(error.to_string()))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err needs")]
fn unseen(error: std::io::Error) -> Unseen {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Unseen::Missing,
        _ => Unseen::Unreadable(error.to_string()),
    }
}

fn shown(path: PathBuf, done: Done) -> Shown {
    let seen = done.effects.into_iter().find_map(|effect| match effect {
        Effect::FileSeen(seen) => Some(seen),
        _ => None,
    });
    let file = &done.detail["file"];
    let text = (done.detail["type"] == "text").then(|| file["content"].as_str().map(str::to_owned)).flatten();
    let number = |field: &str| file[field].as_u64().unwrap_or_default();
    let last = (number("startLine") + number("numLines")).saturating_sub(1);
    Shown { path, content: done.content, text, truncated: last < number("totalLines"), seen }
}

/// The names in a directory, without those that may not be seen.
fn names_in(path: PathBuf, permit: &Permit, at_most: usize) -> Result<Listing, Unseen> {
    let mut names = Vec::new();
    let mut hidden = 0;
    for entry in fs_err::read_dir(&path).map_err(unseen)? {
        let Ok(entry) = entry else { continue };
        if permit.excludes(&entry.path()).is_some() {
            hidden += 1;
            continue;
        }
        let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    let left_out = hidden + names.len().saturating_sub(at_most);
    names.truncate(at_most);
    Ok(Listing { path, names, left_out })
}
