//! Requests that can be recognised without being kept: a digest that grows with the conversation.

use tiller_protocol::ingredients::Asked;

/// Bytes of a digest.
const LENGTH: usize = 8;

/// A digest of some messages, to which more can be added.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain([u8; LENGTH]);

impl Chain {
    /// One message more.
    #[must_use]
    pub fn then(self, message: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(message);
        let mut digest = [0; LENGTH];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..LENGTH]);
        Self(digest)
    }

    /// As it is noted for a request of so many messages.
    #[must_use]
    pub fn noted(self, messages: usize) -> Asked {
        let digest = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        Asked { messages, digest, behind: None }
    }
}

/// What is noted of a request with these messages.
pub fn asked<M: AsRef<[u8]>>(messages: &[M]) -> Asked {
    let chain = messages.iter().fold(Chain::default(), |chain, message| chain.then(message.as_ref()));
    chain.noted(messages.len())
}
