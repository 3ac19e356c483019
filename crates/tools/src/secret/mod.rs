//! Credentials in what tools give out: found, masked before the model and the log see them, and put back where a file
//! tool writes to the file they belong to (SECR-01).
//!
//! Recognising is a matter of looks, so it can miss one and can take something else for one. It keeps credentials from
//! travelling by accident; what keeps a command from doing harm is its confinement.

mod assignment;
mod aws;
mod conceal;
mod find;
mod format;
mod known;
mod pem;
mod plausible;
mod token;
mod vault;

pub(crate) use conceal::Concealing;
pub(crate) use pem::is_armoured;
pub use vault::{Masked, Vault};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod through_tools;
