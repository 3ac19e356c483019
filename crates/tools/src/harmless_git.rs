//! Variables under which `git` runs nothing that a repository names.

use tiller_policy::Permit;

/// Settings under which looking at a repository runs no program of its choice.
const SETTINGS: [(&str, &str); 3] =
    [("core.fsmonitor", "false"), ("safe.bareRepository", "explicit"), ("core.pager", "cat")];

/// The own variables of a command. One that runs unasked because it only looks must not run what the configuration of a
/// repository names.
pub(crate) fn variables(permit: &Permit) -> Vec<(String, String)> {
    if !permit.keeps_git_harmless() {
        return Vec::new();
    }
    let mut vars = vec![
        ("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned()),
        ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
    ];
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        vars.push((format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()));
        vars.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
    }
    vars
}
