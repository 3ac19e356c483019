//! Configuration from the environment.

use std::time::Duration;

use tiller_model::ModelError;
use tiller_model::anthropic::{Config, Proxies, Reach};

use crate::harness::{answer, ask, client_with, env};

fn config(vars: &[(&str, &str)]) -> Result<Config, ModelError> {
    Config::from_env(&env(vars))
}

fn complaint(vars: &[(&str, &str)]) -> String {
    let error = config(vars).unwrap_err();
    assert_eq!(error.kind(), "setup");
    error.to_string()
}

#[test]
fn a_missing_credential_is_explained() {
    let text = complaint(&[("ANTHROPIC_API_KEY", "")]);
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(config(&[("ANTHROPIC_AUTH_TOKEN", "t")]).is_ok());
    assert!(config(&[("ANTHROPIC_BASE_URL", "http://localhost:1")]).is_ok(), "a gateway may need none");
}

#[test]
fn defaults_and_knobs() {
    let plain = config(&[("ANTHROPIC_API_KEY", "k")]).unwrap();
    assert_eq!((plain.idle_timeout, plain.retry.max_retries), (Duration::from_secs(90), 10));
    assert_eq!(plain.retry.base_delay, Duration::from_millis(500));
    let tuned = config(&[
        ("ANTHROPIC_API_KEY", "k"),
        ("TILLER_STREAM_IDLE_TIMEOUT_MS", "5"),
        ("TILLER_MAX_RETRIES", "0"),
        ("TILLER_ANTHROPIC_VERSION", "2023-06-01"),
    ])
    .unwrap();
    assert_eq!((tuned.idle_timeout, tuned.retry.max_retries), (Duration::from_millis(5), 0));
    assert_eq!(tuned.version, "2023-06-01");
}

#[test]
fn nonsense_is_named() {
    assert!(complaint(&[("ANTHROPIC_BASE_URL", "api.example")]).contains("ANTHROPIC_BASE_URL"));
    assert!(
        complaint(&[("ANTHROPIC_API_KEY", "k"), ("TILLER_MAX_RETRIES", "many")])
            .contains("TILLER_MAX_RETRIES")
    );
    let headers = complaint(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_CUSTOM_HEADERS", "no colon here")]);
    assert!(headers.contains("Name: value"), "{headers}");
}

#[test]
fn secrets_are_not_printed() {
    let config = config(&[
        ("ANTHROPIC_API_KEY", "sk-hidden"),
        ("ANTHROPIC_AUTH_TOKEN", "tok-hidden"),
        ("ANTHROPIC_CUSTOM_HEADERS", "X-Key: hidden"),
        ("HTTPS_PROXY", "http://user:hidden@proxy"),
    ])
    .unwrap();
    assert!(!format!("{config:?}").contains("hidden"));
}

// NET-02
#[test]
fn offline_the_model_has_to_be_here() {
    let proxied =
        |url: &str| config(&[("ANTHROPIC_BASE_URL", url), ("ALL_PROXY", "http://proxy:3128")]).unwrap();
    for url in
        ["http://localhost:8080", "http://127.0.0.1", "https://[::1]:8443/v1", "http://model.localhost"]
    {
        let offline = proxied(url).offline().unwrap();
        assert_eq!((offline.reach, offline.proxies), (Reach::ThisMachine, Proxies::default()), "{url}");
    }
    for url in ["https://api.example", "http://10.0.0.1:8080", "http://localhost.example.org"] {
        let error = proxied(url).offline().unwrap_err().to_string();
        assert!(error.contains("offline") && error.contains("ANTHROPIC_BASE_URL"), "{error}");
    }
}

#[tokio::test]
async fn unusable_certificates_are_named_when_they_are_needed() {
    let vars = [("ANTHROPIC_BASE_URL", "https://127.0.0.1:9"), ("SSL_CERT_FILE", "/nowhere/ca.pem")];
    let answer = answer(&client_with(&vars), ask("go")).await;
    let message = answer.error.unwrap().to_string();
    assert!(message.contains("SSL_CERT_FILE") && message.contains("/nowhere/ca.pem"), "{message}");
}

#[tokio::test]
async fn encrypted_connections_can_be_set_up() {
    let vars = [("ANTHROPIC_BASE_URL", "https://127.0.0.1:9"), ("TILLER_MAX_RETRIES", "0")];
    assert_eq!(answer(&client_with(&vars), ask("go")).await.outline(), ["error network"]);
}
