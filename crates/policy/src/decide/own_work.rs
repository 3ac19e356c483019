//! Files that a script writes and runs itself: what is in them only shows when it runs.

use std::path::PathBuf;

use super::place::{Places, Where};
use crate::path::Place;
use crate::shell::{self, Analysis, Command, Deed, Touch, Word, program_name};

/// Programs that touch files without giving them a content.
const CONTENTLESS: &[&str] =
    &["chgrp", "chmod", "chown", "git", "mkdir", "rm", "rmdir", "shred", "touch", "truncate", "unlink"];

/// Why a script whose words are all understood is not.
pub(crate) fn objection(analysis: &Analysis, places: &Places<'_>) -> Option<&'static str> {
    let run: Vec<_> = analysis.commands.iter().flat_map(shell::run_files).collect();
    if run.is_empty() {
        return None;
    }
    let fills = |command: &&Command| {
        let program = command.words().first().and_then(program_name).unwrap_or_default();
        !CONTENTLESS.contains(&program.rsplit('/').next().unwrap_or_default())
    };
    let commands = analysis.commands.iter().filter(fills).flat_map(landings);
    let redirects = analysis.redirects.iter().map(shell::redirect_touch);
    let written = commands.chain(redirects).filter(|touch| touch.deed == Deed::Write);
    let written: Vec<Touch> = written.filter(|touch| !shell::is_sink(&touch.word)).collect();
    let is_own = |run: &Touch| written.iter().any(|written| is_same(run, written, places));
    run.iter().any(is_own).then_some("it runs a file that it writes itself")
}

/// What a command writes; what it puts into the directory it runs in has the name that it had before.
fn landings(command: &Command) -> Vec<Touch> {
    let mut touches = shell::touches(command);
    let is_here = |touch: &Touch| touch.deed == Deed::Write && matches!(touch.word.text.as_str(), "." | "./");
    if touches.iter().any(is_here) {
        let names: Vec<Touch> = touches.iter().filter(|touch| !is_here(touch)).map(landed).collect();
        touches.retain(|touch| !is_here(touch));
        touches.extend(names);
    }
    touches
}

fn landed(touch: &Touch) -> Touch {
    let name = touch.word.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    Touch {
        deed: Deed::Write,
        word: Word { text: name, tilde: false, ..touch.word.clone() },
        ..touch.clone()
    }
}

/// Whether what is run may be what was written, or lie in a directory that was.
fn is_same(run: &Touch, written: &Touch, places: &Places<'_>) -> bool {
    let known = |touch: &Touch| match places.of(&touch.word, &touch.dirs) {
        Where::Known(places) | Where::Below(places, _) => Some(places),
        Where::Elsewhere | Where::Unknown => None,
    };
    let lies_in = |run: &Place, written: &Place| {
        let readings = |place: &Place| [place.written.clone(), place.real.clone()];
        readings(run)
            .iter()
            .any(|run| readings(written).iter().any(|written: &PathBuf| run.starts_with(written)))
    };
    match (known(run), known(written)) {
        (Some(run), Some(written)) => {
            run.iter().any(|run| written.iter().any(|written| lies_in(run, written)))
        }
        _ => run.word.text == written.word.text,
    }
}
