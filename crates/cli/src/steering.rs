//! What the settings say about steering.

use std::path::PathBuf;
use std::time::Duration;

use tiller_config::{OutputStyle, Resolved, Sourced};
use tiller_engine::{LanguageChoice, SteeringChoice, doubt_about_server};
use tiller_steering::attachment::catalog::mutable;
use tiller_steering::source::{Style, find_style};

use crate::args::{Args, InputFormat};
use crate::complain;

/// What the user has chosen. What cannot be had is said on standard error.
pub(crate) fn choice(args: &Args, settings: &Resolved, styles: &[OutputStyle]) -> SteeringChoice {
    let mut mute = std::collections::BTreeSet::new();
    for Sourced { value, origin } in &settings.steering.mute {
        let (muted, problems) = mutable([value.as_str()]);
        mute.extend(muted);
        for problem in problems {
            complain(&format!("warning: {origin}: steering.mute: {problem}"));
        }
    }
    SteeringChoice {
        mute,
        style: style(settings, styles),
        ultra_memory: ultra_memory(settings),
        session_memory: settings.session_memory.value,
        suggestions: settings.prompt_suggestions.value,
        languages: languages(settings),
        // A run for one prompt has begun before an editor could have found it.
        editors: !args.print || args.input_format == InputFormat::StreamJson,
        ..SteeringChoice::default()
    }
}

/// The file whose text is repeated. Whoever may write it later keeps the setting.
fn ultra_memory(settings: &Resolved) -> Option<PathBuf> {
    let Sourced { value, origin } = &settings.ultra_memory_file;
    let file = value.clone()?;
    let problem = match fs_err::metadata(&file) {
        // Whoever opens a pipe waits.
        Ok(metadata) if !metadata.is_file() => Some(format!("{} is not a file", file.display())),
        Ok(_) => fs_err::File::open(&file).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        complain(&format!("warning: {origin}: ultraMemoryFile: {problem}; nothing is repeated to the model"));
    }
    Some(file)
}

fn languages(settings: &Resolved) -> LanguageChoice {
    for (name, Sourced { value, origin }) in &settings.language_servers {
        if let Some(doubt) = doubt_about_server(name, value) {
            complain(&format!("warning: {origin}: languageServers.{name}: {doubt}; it has no effect"));
        }
    }
    let servers = settings.language_servers.iter();
    LanguageChoice {
        enabled: settings.diagnostics.value,
        wait: Duration::from_millis(settings.diagnostics_wait_ms.value),
        start_wait: Duration::from_millis(settings.diagnostics_start_wait_ms.value),
        servers: servers.map(|(name, server)| (name.clone(), server.value.clone())).collect(),
    }
}

fn style(settings: &Resolved, styles: &[OutputStyle]) -> Option<Style> {
    let Sourced { value, origin } = &settings.output_style;
    match find_style(value, styles) {
        Ok(style) => style,
        Err(error) => {
            complain(&format!("warning: {origin}: outputStyle: {error}"));
            None
        }
    }
}
