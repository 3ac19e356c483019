//! Output that is handed on as it comes, for commands that somebody is watching.

use std::os::fd::AsFd;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// Hands on what a command prints until it has ended. A slow reader holds the command up; when there is no reader any
/// more, the command's next write fails.
pub(crate) async fn hand_on(
    mut from: Receiver,
    mut to: impl AsyncWrite + Unpin,
    mut ended: watch::Receiver<bool>,
) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = tokio::select! {
            biased;
            read = from.read(&mut chunk) => read,
            _ = ended.wait_for(|ended| *ended) => break,
        };
        let Ok(length @ 1..) = read else { return };
        if write(&mut to, &chunk[..length]).await.is_err() {
            return;
        }
    }
    // What is still in the pipe; whoever else holds it open is not waited for.
    while let Ok(length @ 1..) = rustix::io::read(from.as_fd(), &mut chunk) {
        if write(&mut to, &chunk[..length]).await.is_err() {
            return;
        }
    }
}

async fn write(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}
