//! Which variables of the environment a command does not get.

use crate::confinement::{Confinement, Profile};

/// A name, or the part of it that gives it away.
enum Name {
    Is(&'static str),
    Ends(&'static str),
}

use Name::{Ends, Is};

/// Credentials for the model: no command ever gets them.
const OF_THE_MODEL: &[Name] = &[Is("ANTHROPIC_API_KEY"), Is("ANTHROPIC_AUTH_TOKEN")];

/// Credentials for anything else, and the ways to agents that hold some.
const OF_THE_USER: &[Name] = &[
    Ends("_API_KEY"),
    Ends("_APIKEY"),
    Ends("_TOKEN"),
    Ends("_SECRET"),
    Ends("_SECRET_KEY"),
    Ends("_ACCESS_KEY"),
    Ends("_PRIVATE_KEY"),
    Ends("_PASSWORD"),
    Ends("_PASSPHRASE"),
    Ends("_PASSWD"),
    Ends("_PAT"),
    Ends("_CREDENTIALS"),
    Ends("_CONNECTION_STRING"),
    Ends("_ACCOUNT_KEY"),
    Ends("_STORAGE_KEY"),
    Is("AWS_ACCESS_KEY_ID"),
    Is("AWS_PROFILE"),
    Is("AWS_SHARED_CREDENTIALS_FILE"),
    Is("AWS_WEB_IDENTITY_TOKEN_FILE"),
    Is("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    Is("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    Is("AZURE_CLIENT_ID"),
    Is("AZURE_CLIENT_CERTIFICATE_PATH"),
    Is("CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"),
    Is("GOOGLE_CREDENTIALS"),
    Is("KUBECONFIG"),
    Is("PGPASSWORD"),
    Is("MYSQL_PWD"),
    Is("NPM_CONFIG__AUTH"),
    Is("SSH_AUTH_SOCK"),
    Is("DBUS_SESSION_BUS_ADDRESS"),
    Is("DBUS_SYSTEM_BUS_ADDRESS"),
    Is("DOCKER_HOST"),
];

/// Whether the value of this variable is a credential itself, and not the way to one.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    let of_user = OF_THE_USER.iter().any(|known| matches!(known, Ends(end) if name.ends_with(end)));
    of_user || is_in(OF_THE_MODEL, name)
}

/// Whether a command under this confinement gets this variable.
pub(crate) fn passes(name: &str, confinement: &Confinement) -> bool {
    if is_in(OF_THE_MODEL, name) {
        return false;
    }
    confinement.profile == Profile::Full
        || confinement.kept_vars.iter().any(|kept| kept == name)
        || !is_in(OF_THE_USER, name)
}

fn is_in(table: &[Name], name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    table.iter().any(|entry| match entry {
        Is(whole) => name == *whole,
        Ends(end) => name.ends_with(end) || end.strip_prefix('_') == Some(&name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // KERN-07
    #[test]
    fn credentials_are_known_by_name() {
        let mut confinement = Confinement::new(Profile::Workspace, Vec::new());
        confinement.kept_vars = vec!["NPM_TOKEN".to_owned(), "ANTHROPIC_API_KEY".to_owned()];
        for (name, confined, full) in [
            ("ANTHROPIC_API_KEY", false, false),
            ("ANTHROPIC_AUTH_TOKEN", false, false),
            ("OPENAI_API_KEY", false, true),
            ("openai_api_key", false, true),
            ("GITHUB_TOKEN", false, true),
            ("TOKEN", false, true),
            ("NPM_TOKEN", true, true),
            ("STRIPE_SECRET", false, true),
            ("AWS_SECRET_ACCESS_KEY", false, true),
            ("AWS_SESSION_TOKEN", false, true),
            ("GOOGLE_APPLICATION_CREDENTIALS", false, true),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", false, true),
            ("AZURE_CLIENT_SECRET", false, true),
            ("AZURE_STORAGE_CONNECTION_STRING", false, true),
            ("GITHUB_PAT", false, true),
            ("SSH_AUTH_SOCK", false, true),
            ("COMPAT", true, true),
            ("AWS_REGION", true, true),
            ("PATH", true, true),
            ("TOKENIZERS_PARALLELISM", true, true),
            ("SECRETARY", true, true),
            ("KEYBOARD", true, true),
        ] {
            assert_eq!(passes(name, &confinement), confined, "{name}");
            assert_eq!(passes(name, &Confinement::full()), full, "{name}");
        }
    }
}
