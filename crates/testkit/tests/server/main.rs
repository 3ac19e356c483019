//! The scripted model server, used over HTTP.

mod caching;
mod playback;
mod refusals;
mod support;
mod thinking;
