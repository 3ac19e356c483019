//! What the settings say about steering.

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
        ultra_memory: settings.ultra_memory_file.value.clone(),
        session_memory: settings.session_memory.value,
        suggestions: settings.prompt_suggestions.value,
        languages: languages(settings),
        // A run for one prompt has begun before an editor could have found it.
        editors: !args.print || args.input_format == InputFormat::StreamJson,
        ..SteeringChoice::default()
    }
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
