//! What `awk` can be asked without changing anything: programs that neither write files nor run or read anything that the
//! command line does not name.

use super::Word;

/// What a program must not contain: pipes and redirections (and with them comparisons), commands, other inputs, the
/// environment, and what is loaded.
const HARMFUL: &[&str] =
    &[">", "|", "@", "system", "getline", "ARGV", "ARGC", "ENVIRON", "close", "fflush", "printf(", "\\"];

/// Whether a call of `awk` only looks. `rest`: the words after `awk`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.known() else { return false };
        match text {
            "-F" | "-v" => {
                if words.next().and_then(Word::known).is_none_or(|value| value.contains('\\')) {
                    return false;
                }
            }
            "--" => {}
            _ if text.starts_with("-F") => {}
            _ if text.starts_with('-') => return false,
            program => return is_harmless(program) && words.all(|file| file.lead && !file.splits),
        }
    }
    false
}

/// Whether a call of `awk` may run other programs.
pub(crate) fn may_run(rest: &[Word]) -> bool {
    rest.iter().any(|word| {
        !word.is_literal() || ["|", "@", "system", "\\"].iter().any(|mark| word.text.contains(mark))
    })
}

fn is_harmless(program: &str) -> bool {
    !HARMFUL.iter().any(|word| program.contains(word))
}
