//! Which variables of the environment a command does not get.

use std::borrow::Cow;

use tiller_protocol::env::MODEL_CREDENTIALS;

use crate::confinement::{Confinement, Profile};

/// A name, or the part of it that gives it away.
enum Name {
    Is(&'static str),
    /// The name ends like this, with the underscore or without anything before that.
    Ends(&'static str),
    /// Of what is no credential itself, but leads to one.
    LeadsTo(&'static str),
}

use Name::{Ends, Is, LeadsTo};

/// Credentials for the model: no command ever gets them.
const OF_THE_MODEL: [Name; 3] =
    [Is(MODEL_CREDENTIALS[0]), Is(MODEL_CREDENTIALS[1]), Is(MODEL_CREDENTIALS[2])];

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
    LeadsTo("AWS_PROFILE"),
    LeadsTo("AWS_SHARED_CREDENTIALS_FILE"),
    LeadsTo("AWS_WEB_IDENTITY_TOKEN_FILE"),
    LeadsTo("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    LeadsTo("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    Is("AZURE_CLIENT_ID"),
    LeadsTo("AZURE_CLIENT_CERTIFICATE_PATH"),
    LeadsTo("CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"),
    Is("GOOGLE_CREDENTIALS"),
    LeadsTo("KUBECONFIG"),
    Is("PGPASSWORD"),
    Is("MYSQL_PWD"),
    Is("NPM_CONFIG__AUTH"),
    LeadsTo("SSH_AUTH_SOCK"),
    LeadsTo("DBUS_SESSION_BUS_ADDRESS"),
    LeadsTo("DBUS_SYSTEM_BUS_ADDRESS"),
    LeadsTo("DOCKER_HOST"),
];

/// Whether the value of this variable is a credential itself, and not the way to one.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    let holds_one = |known: &&Name| !matches!(known, LeadsTo(_));
    let mut known = OF_THE_MODEL.iter().chain(OF_THE_USER).filter(holds_one);
    known.any(|known| known.fits(name))
}

/// What a command under this confinement gets of this variable, if anything.
pub(crate) fn passed<'a>(name: &str, value: &'a str, confinement: &Confinement) -> Option<Cow<'a, str>> {
    if is_in(&OF_THE_MODEL, name) {
        return None;
    }
    if confinement.profile == Profile::Full || confinement.kept_vars.iter().any(|kept| kept == name) {
        return Some(Cow::Borrowed(value));
    }
    (!is_in(OF_THE_USER, name)).then(|| match is_proxy(name) {
        true => without_password(value),
        false => Cow::Borrowed(value),
    })
}

fn is_proxy(name: &str) -> bool {
    Ends("_PROXY").fits(name)
}

/// The address of a proxy without who uses it: that is how Tiller itself may reach the model.
fn without_password(address: &str) -> Cow<'_, str> {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        None => Cow::Borrowed(address),
        Some((user, _)) => {
            let rest = &rest[user.len() + 1..];
            let separator = if scheme.is_empty() { "" } else { "://" };
            Cow::Owned(format!("{scheme}{separator}{rest}"))
        }
    }
}

fn is_in(table: &[Name], name: &str) -> bool {
    table.iter().any(|entry| entry.fits(name))
}

impl Name {
    fn fits(&self, name: &str) -> bool {
        match self {
            Is(whole) | LeadsTo(whole) => name.eq_ignore_ascii_case(whole),
            Ends(end) => {
                let last = name.len().checked_sub(end.len()).and_then(|at| name.get(at..));
                last.is_some_and(|last| last.eq_ignore_ascii_case(end))
                    || name.eq_ignore_ascii_case(&end[1..])
            }
        }
    }
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
            ("ANTHROPIC_CUSTOM_HEADERS", false, false),
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
            let passes = |confinement: &Confinement| passed(name, "x", confinement).is_some();
            assert_eq!(passes(&confinement), confined, "{name}");
            assert_eq!(passes(&Confinement::full()), full, "{name}");
        }
    }

    // KERN-07
    #[test]
    fn a_proxy_is_passed_on_without_its_password() {
        let mut confinement = Confinement::new(Profile::ReadOnly, Vec::new());
        for (name, value, confined) in [
            ("HTTPS_PROXY", "http://me:pw@proxy:3128", "http://proxy:3128"),
            ("http_proxy", "http://me@proxy/", "http://proxy/"),
            ("ALL_PROXY", "socks5h://me:p@w@proxy:1", "socks5h://proxy:1"),
            ("https_proxy", "me:pw@proxy:3128", "proxy:3128"),
            ("HTTP_PROXY", "http://proxy:3128/a@b", "http://proxy:3128/a@b"),
            ("NO_PROXY", "localhost,.example.org", "localhost,.example.org"),
            ("REMOTE", "git@example.org:x", "git@example.org:x"),
        ] {
            assert_eq!(passed(name, value, &confinement).as_deref(), Some(confined), "{name}");
            assert_eq!(passed(name, value, &Confinement::full()).as_deref(), Some(value), "{name}");
        }
        confinement.kept_vars = vec!["HTTPS_PROXY".to_owned()];
        let kept = passed("HTTPS_PROXY", "http://me:pw@proxy", &confinement);
        assert_eq!(kept.as_deref(), Some("http://me:pw@proxy"));
    }

    #[test]
    fn what_leads_to_a_credential_is_none() {
        for name in
            ["PGPASSWORD", "mysql_pwd", "deploy_token", "TOKEN", "ANTHROPIC_API_KEY", "NPM_CONFIG__AUTH"]
        {
            assert!(is_credential(name), "{name}");
        }
        for name in ["KUBECONFIG", "SSH_AUTH_SOCK", "AWS_PROFILE", "DOCKER_HOST", "PATH", "SECRETARY"] {
            assert!(!is_credential(name), "{name}");
        }
    }
}
