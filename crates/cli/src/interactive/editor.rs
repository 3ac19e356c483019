//! The user's own editor.

use std::io::Write;
use std::path::Path;

use tiller_protocol::env::Env;
use tokio::process::Command;

/// Opens a file in the editor and waits.
pub(super) async fn edit(env: &Env, path: &Path) -> Result<(), String> {
    let editor = env.var_or_alias("VISUAL", "EDITOR").unwrap_or("vi").to_owned();
    // Editors are often named with options.
    let status = Command::new("sh")
        .args(["-c", "exec $0 \"$1\"", &editor])
        .arg(path)
        .current_dir(&env.cwd)
        .status()
        .await
        .map_err(|error| format!("the editor could not be started: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{editor} failed ({status}); its text is not used")),
    }
}

/// Lets the user edit a text.
pub(super) async fn edit_text(env: &Env, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("the text could not be passed to the editor: {error}");
    let mut file = tempfile::Builder::new().prefix("tiller-").suffix(".md").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    edit(env, file.path()).await?;
    fs_err::read_to_string(file.path()).map_err(failed)
}
