//! Images that the user attaches.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tiller_protocol::block::RawBlock;
use tokio::process::Command;

/// Larger files are not read.
const LARGEST: u64 = 50 * 1024 * 1024;

/// Programs that print an image of the clipboard, whichever is there.
const PRINTERS: [&[&str]; 3] = [
    &["wl-paste", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    &["pngpaste", "-"],
];

/// An image as it is sent, or why not.
pub(super) fn load(path: &Path) -> Result<RawBlock, String> {
    let size = fs_err::metadata(path).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("{} is too large to be attached", path.display()));
    }
    let bytes = fs_err::read(path).map_err(|error| error.to_string())?;
    tiller_tools::image_block(&bytes)
        .ok_or_else(|| format!("{} is not an image type that models support", path.display()))
}

/// The image in the clipboard, in a file that stays as long as the machine keeps temporary ones.
pub(super) async fn from_clipboard() -> Option<PathBuf> {
    for words in PRINTERS {
        let (program, options) = words.split_first()?;
        let printed = Command::new(program)
            .args(options)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await;
        if let Ok(output) = printed
            && output.status.success()
            && !output.stdout.is_empty()
        {
            let file = tempfile::Builder::new().prefix("tiller-").suffix(".png").tempfile().ok()?;
            fs_err::write(file.path(), &output.stdout).ok()?;
            return file.into_temp_path().keep().ok();
        }
    }
    None
}
