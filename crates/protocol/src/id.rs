//! Identifiers. Each is a type of its own, so that one cannot stand in for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map(Self)
            }
        }
    };
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

uuid_id! {
    /// One conversation and its log.
    SessionId
}
uuid_id! {
    /// One entry of a session's log.
    EntryId
}
uuid_id! {
    /// One question put to the user.
    AskId
}
uuid_id! {
    /// The steps of one turn share a chain.
    ChainId
}
text_id! {
    /// One tool use, as the provider named it.
    CallId
}
text_id! {
    /// A sub-agent; the main agent has none.
    AgentId
}
text_id! {
    /// One response of the provider (`msg_…`).
    MessageId
}
text_id! {
    /// What working directories looked like at one moment.
    SnapshotId
}

impl CallId {
    /// A short, stable digest.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.0
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
