//! Programs that make or remove further directories on the way to those that they are told.

use super::lookers::program_name;
use super::writers::has_any;
use crate::shell::{Command, Kind, Word};

/// Which directories these are, seen from the path that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Those that it enters are made, also where it leaves them again.
    Entered,
    /// Those that it lies in are removed.
    Above,
}

/// The further directories that a command makes or removes. `spelt`: what a word becomes that the shell puts something into;
/// nothing if nobody can tell.
pub(crate) fn way(command: &Command, spelt: impl Fn(&Word) -> Option<Vec<Word>>) -> Option<Way> {
    let (program, rest) = command.words().split_first().filter(|_| command.kind == Kind::Run)?;
    match program_name(program)?.rsplit('/').next()? {
        "install" | "mkdir" => Some(Way::Entered),
        "rmdir" => {
            let tells = |word: &Word| match spelt(word) {
                Some(words) => has_any(&words, PARENTS),
                None => word.may_be_option(),
            };
            rest.iter().any(tells).then_some(Way::Above)
        }
        _ => None,
    }
}

const PARENTS: &[&str] = &["-p", "--parents"];
