//! `tiller demo`.

use tiller_protocol::env::Env;

use crate::exit::Exit;

pub(crate) fn main(_words: &[String], _env: &Env) -> anyhow::Result<Exit> {
    Ok(Exit::Failure)
}
