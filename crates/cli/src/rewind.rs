//! `tiller rewind`: back to an earlier prompt, in the conversation, in the files, or both.

use anyhow::{Context, bail};
use clap::Parser;
use serde_json::{Value, json};
use tiller_engine::undo::{Missing, Outline, Prompt, Rewind, Undone};
use tiller_protocol::env::Env;
use tiller_snapshot::{Aside, Diff, Hindrance, Left, Store, Unknown};

use crate::args;
use crate::exit::Exit;
use crate::inspect::{find, short, visible};
use crate::sessions::{changes_to_json, line, print_changes, snapshots_of};
use crate::text::print;

const AFTER_HELP: &str = "\
SESSION is the id of a session, the beginning of one, or `latest`; PROMPT is the number of a \
prompt in `tiller sessions show SESSION`, or the beginning of its id. Conversation and files \
return to their state just before that prompt. Nothing is lost: `tiller rewind SESSION --undo` \
undoes the last rewind, and `--branch NUMBER` continues any conversation that was left behind.";

/// What is said where nothing is brought back because there is no need to.
const NOTHING_CHANGED: &str = "the session has changed no files since";

/// Go back to before a prompt: in the conversation, in the files, or in both.
#[derive(Debug, Parser)]
#[command(name = "tiller rewind", bin_name = "tiller rewind", after_help = AFTER_HELP)]
struct Command {
    /// The session
    session: String,

    /// Go back to just before this prompt
    #[arg(long, value_name = "PROMPT", required_unless_present_any = ["undo", "branch"])]
    to: Option<String>,

    /// Continue a conversation that was left behind: its number in `tiller sessions show`
    #[arg(long, value_name = "NUMBER", conflicts_with = "to")]
    branch: Option<usize>,

    /// Restore only the files
    #[arg(long, conflicts_with_all = ["conversation", "both"])]
    files: bool,

    /// Restore only the conversation
    #[arg(long, conflicts_with = "both")]
    conversation: bool,

    /// Restore both (the default)
    #[arg(long)]
    both: bool,

    /// Undo the last rewind
    #[arg(long, conflicts_with_all = ["to", "branch", "files", "conversation", "both", "dry_run"])]
    undo: bool,

    /// Only print what would change in files
    #[arg(long, short = 'n')]
    dry_run: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `tiller rewind`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let command = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let log = find::find(&command.session, env)?;
    let rewind = Rewind::open(&log.path, log.id, env)?;
    let mut snapshots = snapshots_of(&log.path, env)?;
    if command.undo {
        let undone = rewind.undo(&mut snapshots)?;
        return command.tell(&mut snapshots, &Way::Undo, &undone);
    }
    if let Some(number) = command.branch {
        return command.to_branch(rewind, number, &mut snapshots);
    }
    let wanted = command.to.as_deref().unwrap_or_default();
    let prompt = rewind.outline().find(wanted).cloned().with_context(|| {
        format!("there is no prompt \"{wanted}\"; `tiller sessions show {}` lists them", log.id)
    })?;
    if command.dry_run {
        return command.preview(rewind.outline(), prompt.seq, &mut snapshots);
    }
    let files = (!command.conversation).then_some(&mut snapshots);
    let undone = rewind.to(&prompt, !command.files, files)?;
    command.tell(&mut snapshots, &Way::Prompt(prompt), &undone)
}

/// Which way was gone.
enum Way {
    Prompt(Prompt),
    Branch(usize),
    Undo,
}

impl Command {
    /// What would change in files that go back to before the entry with a number.
    fn preview(&self, outline: &Outline, seq: u64, store: &mut Store) -> anyhow::Result<Exit> {
        if self.conversation {
            bail!("--dry-run shows what would change in files; with --conversation nothing would");
        }
        let (diff, aside) = match store.join(&outline.files_from(seq)?)? {
            Some(to) => store.preview(|store| store.make_ready(&to))?,
            None if self.json => (Diff::default(), Vec::new()),
            None => {
                print(NOTHING_CHANGED)?;
                return Ok(Exit::Success);
            }
        };
        let left = &diff.unknown;
        let missing = outline.missing_from(seq);
        if self.json {
            let row = |one: &Unknown| json!({"path": one.path, "why": one.why.as_str()});
            print(&serde_json::to_string_pretty(&json!({
                "files": changes_to_json(&diff.summary()),
                "aside": aside.iter().map(row).collect::<Vec<_>>(),
                "left": left.iter().map(row).collect::<Vec<_>>(),
                "missing": missing.map(Missing::explain),
            }))?)?;
            return Ok(Exit::Success);
        }
        print_changes(store, &diff.summary(), false)?;
        for one in aside {
            let why = format!("{}; it gets another name, and what was there comes back", one.why.as_str());
            print(&line("aside", &one.path, &why))?;
        }
        left.iter().try_for_each(|one| print(&line("left", &one.path, one.why.as_str())))?;
        tell_missing(missing)
    }

    /// Whether files shall go back; undoing a step takes back what the step did.
    fn touches_files(&self) -> bool {
        !self.conversation && !self.undo
    }

    fn to_branch(&self, rewind: Rewind, number: usize, snapshots: &mut Store) -> anyhow::Result<Exit> {
        if self.dry_run {
            let outline = rewind.outline();
            let branches = outline.branches();
            let branch = number.checked_sub(1).and_then(|at| branches.get(at));
            let branch = branch.with_context(|| format!("there is no branch {number}"))?;
            return self.preview(outline, branch.step.seq, snapshots);
        }
        let files = (!self.conversation).then_some(&mut *snapshots);
        let undone = rewind.to_branch(number, !self.files, files)?;
        self.tell(snapshots, &Way::Branch(number), &undone)
    }

    fn tell(&self, store: &mut Store, way: &Way, undone: &Undone) -> anyhow::Result<Exit> {
        let prompt = match way {
            Way::Prompt(prompt) => Some(prompt),
            Way::Branch(_) | Way::Undo => None,
        };
        let changes = match &undone.files {
            Some(restored) => Diff { changes: restored.changes.clone(), unknown: Vec::new() }.summary(),
            None => Vec::new(),
        };
        let all_left = undone.files.as_ref().map(|restored| restored.left.as_slice()).unwrap_or_default();
        let (failed, left): (Vec<&Left>, Vec<&Left>) =
            all_left.iter().partition(|left| left.hindrance == Hindrance::Failure);
        let exit = if failed.is_empty() { Exit::Success } else { Exit::Failure };
        let aside = undone.files.as_ref().map(|restored| restored.aside.as_slice()).unwrap_or_default();
        if self.json {
            let rows = |left: &[&Left]| -> Vec<Value> {
                left.iter().map(|left| json!({"path": left.path, "why": left.why})).collect()
            };
            let aside: Vec<_> =
                aside.iter().map(|one| json!({"path": one.path, "to": one.to, "why": one.why})).collect();
            print(&serde_json::to_string_pretty(&json!({
                "prompt": prompt.map(|prompt| prompt.id),
                "text": prompt.map(|prompt| &prompt.text),
                "conversation": undone.conversation,
                "files": changes_to_json(&changes),
                "aside": aside,
                "left": rows(&left),
                "failed": rows(&failed),
                "missing": undone.missing.map(Missing::explain),
            }))?)?;
            return Ok(exit);
        }
        match way {
            Way::Prompt(prompt) => print(&format!("back to before: {}", visible(&short(&prompt.text))))?,
            Way::Branch(number) => print(&format!("at the end of branch {number}"))?,
            Way::Undo => print("the last rewind is undone; --undo once more redoes it")?,
        }
        let conversation = match (undone.conversation, way) {
            (false, _) => "stays as it is",
            (true, Way::Prompt(_)) => "went back; later messages are left behind, and --undo restores them",
            (true, Way::Branch(_)) => {
                "continues from there; the previous one is now a branch, and --undo returns to it"
            }
            (true, Way::Undo) => "is as it was before the rewind",
        };
        print(&format!("the conversation {conversation}"))?;
        match &undone.files {
            Some(_) => print_changes(store, &changes, true)?,
            None if self.touches_files() => print(NOTHING_CHANGED)?,
            None => print("the files stay as they are")?,
        }
        for Aside { path, to, why } in aside {
            let to = visible(&to.display().to_string()).into_owned();
            print(&line("aside", path, &format!("what was there is now {to}: {why}")))?;
        }
        left.iter().try_for_each(|left| print(&line("left", &left.path, &left.why)))?;
        failed.iter().try_for_each(|left| print(&line("failed", &left.path, &left.why)))?;
        tell_missing(undone.missing)?;
        Ok(exit)
    }
}

/// Says last, where it is seen, that files go back only a part of the way.
fn tell_missing(missing: Option<Missing>) -> anyhow::Result<Exit> {
    missing.into_iter().try_for_each(|missing| print(&format!("warning: {}", missing.explain())))?;
    Ok(Exit::Success)
}
