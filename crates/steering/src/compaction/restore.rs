//! What comes back after a conversation was folded, in its order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tiller_protocol::effect::{Effect, Todo};
use tiller_protocol::entry::Attachment;
use tiller_protocol::state::Files;

use super::estimate::Size;
use crate::attachment::{
    CompactFileReference, File, FileContent, InvokedSkill, InvokedSkills, TaskStatus, TodoAfterCompaction,
    attach,
};
use crate::source::{Shown, Unseen};

/// Files that come back.
const MOST_FILES: usize = 6;
/// Tokens of one of them.
const FILE_TOKENS: u64 = 4_000;
/// Tokens of all of them.
const ALL_FILES_TOKENS: u64 = 20_000;
const SOURCE: &str = "compaction";
const WHY: &str = "the conversation was folded";

/// The files to look at again, most recently seen first. Plans and instruction files come back in other ways.
#[must_use]
pub fn files_to_restore(files: &Files, elsewhere: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let seen: Vec<&PathBuf> = files.iter().map(|seen| &seen.path).collect();
    let wanted = seen.into_iter().rev().filter(|path| !elsewhere.contains(*path));
    wanted.take(MOST_FILES).cloned().collect()
}

/// A file that was looked at again.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// What it shows now.
    pub shown: Result<Shown, Unseen>,
}

/// What comes back besides files.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// The todo list.
    pub todos: Vec<Todo>,
    /// The plan and plan mode, see [`plan_after_compaction`](crate::source::plan_after_compaction).
    pub plan: Vec<Attachment>,
    /// Skills that were used.
    pub skills: Vec<InvokedSkill>,
    /// Background tasks that are running.
    pub tasks: Vec<TaskStatus>,
}

/// The attachments that follow a summary: files (given most recent first, shown in the order in which they were read),
/// the todo list, the plan, plan mode, skills, tasks. Files share this much room.
#[must_use]
pub fn restore(files: Vec<Candidate>, restored: &Restored, room: u64) -> Vec<Attachment> {
    let mut room = room.min(ALL_FILES_TOKENS);
    let files = files.into_iter().take(MOST_FILES).filter_map(|file| self::file(file, &mut room));
    let mut attachments: Vec<Attachment> = files.collect();
    attachments.reverse();
    if !restored.todos.is_empty() {
        attachments.push(attach(&TodoAfterCompaction::new(restored.todos.clone()), SOURCE, WHY));
    }
    attachments.extend(restored.plan.iter().cloned());
    if !restored.skills.is_empty() {
        attachments.push(attach(&InvokedSkills { skills: restored.skills.clone() }, SOURCE, WHY));
    }
    attachments.extend(restored.tasks.iter().map(|task| attach(task, SOURCE, WHY)));
    attachments
}

/// A file as it is now, or a reference to it if it takes too much room. What cannot be seen any more is left out.
fn file(file: Candidate, room: &mut u64) -> Option<Attachment> {
    let shown = match file.shown {
        Ok(shown) => shown,
        Err(Unseen::TooLarge(_)) => return Some(reference(&file.path)),
        Err(_) => return None,
    };
    let tokens = Size::of_blocks(&shown.content).tokens();
    if tokens > FILE_TOKENS || tokens > *room {
        return Some(reference(&file.path));
    }
    *room -= tokens;
    let content = match shown.text {
        Some(text) => FileContent::Text { text, shown: shown.content },
        None => FileContent::Blocks { shown: shown.content },
    };
    let restored =
        File { filename: file.path, content, truncated: shown.truncated, offset: None, limit: None };
    let effects = shown.seen.map(Effect::FileSeen).into_iter().collect();
    Some(Attachment { effects, ..attach(&restored, SOURCE, WHY) })
}

fn reference(path: &Path) -> Attachment {
    attach(&CompactFileReference { filename: path.to_owned() }, SOURCE, WHY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiller_protocol::block::RawBlock;
    use tiller_protocol::effect::{FileSeen, Fingerprint, TodoStatus};

    use super::*;
    use crate::attachment::PlanFileReference;

    fn seen(path: &str) -> FileSeen {
        FileSeen { path: path.into(), fingerprint: Fingerprint("f".to_owned()), mtime_ms: 1, lines: None }
    }

    fn candidate(path: &str, characters: usize) -> Candidate {
        let text = "x".repeat(characters);
        let shown = Shown {
            path: path.into(),
            content: vec![RawBlock::text(&text)],
            text: Some(text),
            truncated: false,
            seen: Some(seen(path)),
        };
        Candidate { path: path.into(), shown: Ok(shown) }
    }

    fn kinds(attachments: &[Attachment]) -> Vec<&str> {
        attachments.iter().map(Attachment::kind).collect()
    }

    #[test]
    fn the_most_recent_files_are_looked_at_again() {
        let effects: Vec<Effect> =
            (0..9).map(|number| Effect::FileSeen(seen(&format!("/p/{number}")))).collect();
        let files = Files::default().after(&effects);
        let elsewhere = BTreeSet::from([PathBuf::from("/p/8")]);
        let wanted = files_to_restore(&files, &elsewhere);
        assert_eq!(wanted, ["/p/7", "/p/6", "/p/5", "/p/4", "/p/3", "/p/2"].map(PathBuf::from));
    }

    #[test]
    fn what_comes_back_has_its_order() {
        let task = TaskStatus {
            task_id: "bash_1".to_owned(),
            task_type: "bash".to_owned(),
            status: "running".to_owned(),
            description: "make".to_owned(),
            delta_summary: None,
            how_to_read: String::new(),
        };
        let skill = InvokedSkill { name: "s".to_owned(), path: "/s".into(), content: "c".to_owned() };
        let restored = Restored {
            todos: vec![Todo {
                content: "Test".to_owned(),
                status: TodoStatus::Pending,
                active_form: "Testing".to_owned(),
            }],
            plan: vec![attach(
                &PlanFileReference { plan_file_path: "/plan.md".into(), plan_content: "1.".to_owned() },
                SOURCE,
                WHY,
            )],
            skills: vec![skill],
            tasks: vec![task],
        };
        let gone = Candidate { path: "/p/gone".into(), shown: Err(Unseen::Missing) };
        let attachments =
            restore(vec![candidate("/p/new", 4), gone, candidate("/p/old", 4)], &restored, u64::MAX);
        assert_eq!(
            kinds(&attachments),
            ["file", "file", "todo", "plan_file_reference", "invoked_skills", "task_status"]
        );
        assert_eq!(attachments[0].attachment["filename"], "/p/old", "the newest stands last");
        assert_eq!(attachments[0].effects, [Effect::FileSeen(seen("/p/old"))]);
        assert!(restore(Vec::new(), &Restored::default(), u64::MAX).is_empty());
    }

    #[test]
    fn large_files_are_referred_to() {
        let large = candidate("/p/large", 16_001);
        let larger = Candidate { path: "/p/larger".into(), shown: Err(Unseen::TooLarge("/p/larger".into())) };
        let attachments = restore(vec![large, larger], &Restored::default(), u64::MAX);
        assert_eq!(kinds(&attachments), ["compact_file_reference", "compact_file_reference"]);
        assert!(attachments.iter().all(|one| one.effects.is_empty()), "they were not seen");
    }

    proptest! {
        #[test]
        fn files_keep_to_their_room(sizes in prop::collection::vec(0_usize..20_000, 0..9)) {
            let files = sizes.iter().enumerate().map(|(at, size)| candidate(&format!("/p/{at}"), *size));
            let attachments = restore(files.collect(), &Restored::default(), u64::MAX);
            prop_assert_eq!(attachments.len(), sizes.len().min(MOST_FILES));
            let shown = attachments.iter().filter(|one| one.kind() == "file");
            let tokens: Vec<u64> = shown
                .map(|one| one.attachment["content"]["text"].as_str().unwrap().len().div_ceil(4) as u64)
                .collect();
            prop_assert!(tokens.iter().all(|tokens| *tokens <= FILE_TOKENS));
            prop_assert!(tokens.iter().sum::<u64>() <= ALL_FILES_TOKENS);
        }
    }
}
