//! Confinement in steps: what has to be done is worked out in Tiller, where memory may be allocated, and carried out
//! between fork and exec by system calls only.

pub(crate) mod apply;
pub(crate) mod filter;
pub(crate) mod footing;
pub(crate) mod grants;
pub(crate) mod kept;
pub(crate) mod layer;
pub(crate) mod mounts;
pub(crate) mod namespace;
pub(crate) mod placeholder;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod proc;
pub(crate) mod record;
pub(crate) mod repository;
pub(crate) mod resolve;
pub(crate) mod sockets;
pub(crate) mod step;
pub(crate) mod unreached;
pub(crate) mod view;
