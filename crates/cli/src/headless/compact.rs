//! `/compact` as a prompt: hosts have no other way to ask for it. The session knows what it means.

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
