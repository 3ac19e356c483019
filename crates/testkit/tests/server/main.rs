//! The scripted model server, used over HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests: they may fail, and json!(..) literals are passed as they are"
)]

mod caching;
mod playback;
mod refusals;
mod script_file;
mod support;
mod thinking;
