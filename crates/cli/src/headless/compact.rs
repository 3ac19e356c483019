//! `/compact` as a prompt: hosts have no other way to ask for it.

use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Command;

/// What hosts are told of it.
pub(super) struct Offer {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) argument_hint: &'static str,
}

/// What hosts are told of `/compact`.
pub(super) const OFFER: Offer = Offer {
    name: "compact",
    description: "Fold the conversation into a summary; 'undo' reverts it",
    argument_hint: "[what matters | undo]",
};

/// The command that a prompt stands for, if it stands for one.
pub(super) fn command(content: &[RawBlock]) -> Option<Command> {
    let [only] = content else { return None };
    let text = only.as_text()?;
    let wish = text.trim().strip_prefix("/compact")?;
    if wish.starts_with(|letter: char| !letter.is_whitespace()) {
        return None;
    }
    Some(match wish.trim() {
        "undo" => Command::UndoCompaction,
        "" => Command::Compact { instructions: None },
        wish => Command::Compact { instructions: Some(wish.to_owned()) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_itself_counts() {
        let read = |text: &str| command(&[RawBlock::text(text)]);
        assert!(matches!(read(" /compact\n"), Some(Command::Compact { instructions: None })));
        let wish = read("/compact keep the ports");
        assert!(
            matches!(wish, Some(Command::Compact { instructions: Some(wish) }) if wish == "keep the ports")
        );
        assert!(matches!(read("/compact undo"), Some(Command::UndoCompaction)));
        assert!(read("/compactly").is_none() && read("please /compact").is_none());
        assert!(command(&[RawBlock::text("/compact"), RawBlock::text("x")]).is_none());
    }
}
