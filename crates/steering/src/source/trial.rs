//! A made-up world for sources to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, pending, ready};
use serde_json::json;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::{Effect, FileSeen, Fingerprint, LineRange};
use tiller_protocol::entry::{Body, Entry};
use tokio_util::sync::CancellationToken;

use super::{Cx, Facts, Listing, Observation, Prompt, Resource, Shown, Sight, Source, Unread, Unseen};
use crate::attachment::{Chat, Memory};
use crate::past::Past;
use crate::user_context::instructions::InstructionFile;

/// Files by path, and what is known.
#[derive(Clone, Default)]
pub(crate) struct Trial {
    pub(crate) facts: Facts,
    pub(crate) memories: Vec<Memory>,
    /// Names of notes and their senders, oldest first.
    pub(crate) notes: Vec<(&'static str, &'static str)>,
    pub(super) files: BTreeMap<PathBuf, Content>,
    /// Changes of each path so far, as its time stamp.
    pub(super) clock: i64,
}

#[derive(Clone)]
pub(super) enum Content {
    Text(String, i64),
    Image,
    TooLarge,
    Denied,
    Hanging,
    Resource(String),
}

impl Trial {
    fn put(mut self, path: &str, content: Content) -> Self {
        self.files.insert(path.into(), content);
        self
    }

    /// A file, or new content for one.
    pub(crate) fn file(mut self, path: &str, text: &str) -> Self {
        self.clock += 1;
        let at = self.clock;
        self.put(path, Content::Text(text.to_owned(), at))
    }

    pub(crate) fn image(self, path: &str) -> Self {
        self.put(path, Content::Image)
    }

    pub(crate) fn too_large(self, path: &str) -> Self {
        self.put(path, Content::TooLarge)
    }

    pub(crate) fn denied(self, path: &str) -> Self {
        self.put(path, Content::Denied)
    }

    pub(crate) fn hanging(self, path: &str) -> Self {
        self.put(path, Content::Hanging)
    }

    pub(crate) fn resource(self, address: &str, text: &str) -> Self {
        self.put(address, Content::Resource(text.to_owned()))
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        self.files.remove(Path::new(path));
        self
    }

    /// The model has seen a file as it is now.
    pub(crate) fn seen(mut self, path: &str) -> Self {
        let shown = self.look(Path::new(path), None).unwrap();
        self.facts.files = Arc::new(self.facts.files.after([&Effect::FileSeen(shown.seen.unwrap())]));
        self
    }

    /// The model has seen some lines of a file.
    pub(crate) fn seen_lines(mut self, path: &str, first: u64, last: u64) -> Self {
        let shown = self.look(Path::new(path), Some(LineRange { first, last })).unwrap();
        self.facts.files = Arc::new(self.facts.files.after([&Effect::FileSeen(shown.seen.unwrap())]));
        self
    }

    /// What an observation changes is changed.
    pub(crate) fn after(mut self, observation: &Observation) -> Self {
        let attached = observation.attachments.iter().flat_map(|attachment| &attachment.effects);
        self.facts.files = Arc::new(self.facts.files.after(attached.chain(&observation.effects)));
        self
    }

    pub(crate) fn prompted(&self, text: &str) -> Facts {
        Facts { prompt: Some(Prompt { text: text.to_owned(), ..Prompt::default() }), ..self.facts.clone() }
    }

    fn look(&self, path: &Path, lines: Option<LineRange>) -> Result<Shown, Unseen> {
        let path = Path::new("/p").join(path);
        let (text, mtime_ms) = match self.files.get(&path) {
            Some(Content::Text(text, at)) => (text, *at),
            Some(Content::Image) => {
                let image = json!({"type": "image", "source": {}});
                return Ok(Shown {
                    content: vec![RawBlock::from_value(&image)],
                    text: None,
                    truncated: false,
                    seen: None,
                    path,
                });
            }
            Some(Content::TooLarge) => return Err(Unseen::TooLarge(path)),
            Some(Content::Denied) => {
                let name = path.file_name().unwrap().to_string_lossy();
                return Err(Unseen::Denied(format!("the rule Read({name}) forbids it")));
            }
            Some(Content::Hanging | Content::Resource(_)) => return Err(Unseen::Missing),
            None if self.files.keys().any(|file| file.starts_with(&path)) => return Err(Unseen::Directory),
            None => return Err(Unseen::Missing),
        };
        let range = lines.unwrap_or(LineRange { first: 1, last: u64::MAX });
        let wanted = |line: &(u64, &str)| range.first <= line.0 && line.0 <= range.last;
        let part: Vec<(u64, &str)> = (1..).zip(text.lines()).filter(wanted).collect();
        let numbered: Vec<String> = part.iter().map(|(number, line)| format!("{number:>6}→{line}")).collect();
        Ok(Shown {
            content: vec![RawBlock::text(&numbered.join("\n"))],
            text: Some(part.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n")),
            truncated: false,
            seen: Some(seen(&path, text, mtime_ms, lines)),
            path,
        })
    }
}

fn seen(path: &Path, text: &str, mtime_ms: i64, lines: Option<LineRange>) -> FileSeen {
    FileSeen {
        path: path.to_owned(),
        fingerprint: Fingerprint(text.to_owned()),
        mtime_ms,
        lines: lines.map(Into::into),
    }
}

impl Sight for Trial {
    fn show<'a>(&'a self, path: &'a Path, lines: Option<LineRange>) -> BoxFuture<'a, Result<Shown, Unseen>> {
        match self.files.get(&Path::new("/p").join(path)) {
            Some(Content::Hanging) => pending().boxed(),
            _ => ready(self.look(path, lines)).boxed(),
        }
    }

    fn list<'a>(&'a self, path: &'a Path, at_most: usize) -> BoxFuture<'a, Result<Listing, Unseen>> {
        let path: PathBuf = Path::new("/p").join(path).components().collect();
        let below = self.files.keys().filter_map(|file| file.strip_prefix(&path).ok());
        let all: Vec<String> = below.map(|name| name.display().to_string()).collect();
        let left_out = all.len().saturating_sub(at_most);
        let names = all.into_iter().take(at_most).collect();
        ready(Ok(Listing { path, names, left_out })).boxed()
    }

    fn modified<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<i64, Unseen>> {
        let modified = match self.files.get(path) {
            Some(Content::Text(_, at)) => Ok(*at),
            Some(_) => Ok(-1),
            None => Err(Unseen::Missing),
        };
        ready(modified).boxed()
    }

    fn instructions<'a>(&'a self, dir: &'a Path) -> BoxFuture<'a, Vec<InstructionFile>> {
        let path = dir.join("AGENTS.md");
        let found = match self.files.get(&path) {
            Some(Content::Text(text, _)) => {
                vec![InstructionFile { real: path.clone(), path, text: text.clone() }]
            }
            _ => Vec::new(),
        };
        ready(found).boxed()
    }

    fn memories(&self, at_most: usize) -> BoxFuture<'_, Vec<Memory>> {
        ready(self.memories.iter().take(at_most).cloned().collect()).boxed()
    }

    fn unread<'a>(&'a self, after: Option<&'a str>) -> BoxFuture<'a, Unread> {
        let mut new = self.notes.iter().filter(|(name, _)| after.is_none_or(|after| *name > after));
        let mut senders: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, sender) in new.clone() {
            *senders.entry(sender).or_default() += 1;
        }
        let chat = |(name, unread_count): (&str, u64)| Chat { name: name.to_owned(), unread_count };
        let newest = new.next_back().map(|(name, _)| (*name).to_owned()).unwrap_or_default();
        let how_to_read = "Ask.".to_owned();
        ready(Unread { chats: senders.into_iter().map(chat).collect(), how_to_read, newest }).boxed()
    }

    fn resource<'a>(&'a self, server: &'a str, uri: &'a str) -> BoxFuture<'a, Result<Resource, Unseen>> {
        let resource = match self.files.get(Path::new(&format!("{server}:{uri}"))) {
            Some(Content::Resource(text)) => {
                let content = if text.is_empty() { Vec::new() } else { vec![RawBlock::text(text)] };
                Ok(Resource { name: uri.to_owned(), content })
            }
            _ => Err(Unseen::Missing),
        };
        ready(resource).boxed()
    }
}

/// One more entry of the conversation.
pub(crate) fn remember(past: &mut Past, body: Body) {
    let (id, at) = Default::default();
    past.push(&Entry { seq: 1, id, parent: None, at, agent: None, body });
}

/// What a source says to these facts.
pub(crate) async fn observe<S: Source>(source: &S, facts: &Facts, sight: &dyn Sight) -> Observation {
    let budget = CancellationToken::new();
    source.observe(&Cx { facts, files: &facts.files, sight, budget: &budget }).await.unwrap()
}

/// The same for a source that does not look at files.
pub(crate) async fn observed<S: Source>(source: &S, facts: &Facts) -> Observation {
    observe(source, facts, &Trial::default()).await
}
