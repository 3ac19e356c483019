//! Whoever gives tokens: how they are asked, and what they answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};
use serde_json::{Value, json};
use tiller_config::McpSecret;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::SignInError;
use super::jwt::{SigningKey, unique};
use super::network::FORM;
use crate::connect::short;

const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Seconds for which a statement about ourselves counts.
const STATEMENT: i64 = 300;

/// Whoever gives tokens, and what Tiller is known as there.
pub(super) struct Counter<'a> {
    pub(super) issuer: &'a str,
    pub(super) token_url: &'a str,
    /// The ways in which it wants to see who asks.
    pub(super) methods: Option<&'a Value>,
    pub(super) client_id: Option<&'a str>,
    pub(super) client_secret: Option<&'a str>,
    pub(super) private_key: Option<&'a McpSecret>,
}

impl Counter<'_> {
    /// Asks for something.
    ///
    /// # Errors
    /// When it cannot be said who asks.
    pub(super) fn request(&self, wanted: &[(&str, &str)], now: i64) -> Result<Request<Vec<u8>>, SignInError> {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(wanted);
        let basic = self.introduce(&mut form, now)?;
        let mut request =
            Request::post(self.token_url).header(CONTENT_TYPE, FORM).header(ACCEPT, "application/json");
        if let Some(basic) = basic {
            request = request.header(AUTHORIZATION, basic);
        }
        request.body(form.finish().into_bytes()).map_err(|error| wrong(&error.to_string()))
    }

    /// Says who asks: in the form, or in the header that comes back.
    fn introduce(
        &self,
        form: &mut Serializer<'_, String>,
        now: i64,
    ) -> Result<Option<HeaderValue>, SignInError> {
        let id = self.client_id.unwrap_or_default();
        match (self.private_key, self.client_secret) {
            (Some(key), _) => {
                let key = SigningKey::from_pem(&read(key)?)?;
                let claims = json!({"iss": id, "sub": id, "aud": self.issuer, "iat": now, "exp": now + STATEMENT,
                    "jti": unique()?});
                form.append_pair("client_assertion_type", CLIENT_ASSERTION);
                form.append_pair("client_assertion", &key.state(json!({"typ": "JWT"}), &claims)?);
            }
            (None, Some(secret))
                if self.takes("client_secret_basic") && !self.takes("client_secret_post") =>
            {
                let quoted = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", quoted(id), quoted(secret)));
                let mut value =
                    HeaderValue::from_str(&format!("Basic {pair}")).map_err(|_| SignInError::Key)?;
                value.set_sensitive(true);
                return Ok(Some(value));
            }
            (None, Some(secret)) => {
                form.append_pair("client_id", id).append_pair("client_secret", secret);
            }
            (None, None) if !id.is_empty() => {
                form.append_pair("client_id", id);
            }
            (None, None) => {}
        }
        Ok(None)
    }

    fn takes(&self, method: &str) -> bool {
        let methods = self.methods.and_then(Value::as_array);
        methods.is_some_and(|methods| methods.iter().any(|one| one == method))
    }
}

/// The token in an answer, or why there is none.
pub(super) fn given(response: &Response<Vec<u8>>) -> Result<Value, SignInError> {
    let said = serde_json::from_slice::<Value>(response.body()).unwrap_or_default();
    if response.status().is_success() {
        return match said["access_token"].is_string() {
            true => Ok(said),
            false => Err(wrong("no token was given")),
        };
    }
    let text = |key: &str| said[key].as_str().map(short);
    match text("error") {
        Some(error) if response.status().is_client_error() => {
            let why = text("error_description").map(|why| format!(": {why}")).unwrap_or_default();
            Err(SignInError::Refused(format!("it does not let us in: {error}{why}")))
        }
        _ => Err(wrong(&format!("no token was given (HTTP {})", response.status()))),
    }
}

/// What the configuration names, as it is now: whoever runs Tiller may have renewed it.
pub(super) fn read(secret: &McpSecret) -> Result<String, SignInError> {
    match secret {
        McpSecret::Given(text) => Ok(text.trim().to_owned()),
        McpSecret::File(path) => match fs_err::read_to_string(path) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(SignInError::Refused(error.to_string())),
        },
    }
}

pub(super) fn wrong(what: &str) -> SignInError {
    SignInError::Service(short(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Counter<'_> = Counter {
        issuer: "https://as.example",
        token_url: "https://as.example/token",
        methods: None,
        client_id: Some("a b"),
        client_secret: Some("s:1"),
        private_key: None,
    };

    fn asked(counter: &Counter<'_>) -> (Option<String>, String) {
        let request = counter.request(&[("grant_type", "x")], 0).unwrap();
        let header = request.headers().get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        (header, String::from_utf8(request.into_body()).unwrap())
    }

    #[test]
    fn a_secret_goes_the_way_that_is_wanted() {
        let (none, form) = asked(&PLAIN);
        assert_eq!((none, form.as_str()), (None, "grant_type=x&client_id=a+b&client_secret=s%3A1"));
        let basic = json!(["client_secret_basic"]);
        let (header, form) = asked(&Counter { methods: Some(&basic), ..PLAIN });
        assert_eq!(header.unwrap(), format!("Basic {}", STANDARD.encode("a+b:s%3A1")));
        assert_eq!(form, "grant_type=x");
        let nobody = Counter { client_id: None, client_secret: None, ..PLAIN };
        assert_eq!(asked(&nobody), (None, "grant_type=x".to_owned()));
    }

    #[test]
    fn a_refusal_is_final_and_a_breakdown_is_not() {
        let said = |status: u16, body: &str| {
            let response = Response::builder().status(status).body(body.as_bytes().to_vec()).unwrap();
            given(&response).unwrap_err()
        };
        let refused = said(400, r#"{"error": "invalid_grant", "error_description": "too\nold"}"#);
        assert!(
            matches!(&refused, SignInError::Refused(why) if why.ends_with("invalid_grant: too old")),
            "{refused}"
        );
        assert!(matches!(said(503, r#"{"error": "x"}"#), SignInError::Service(_)));
        assert!(matches!(said(404, "nothing here"), SignInError::Service(_)));
        assert!(matches!(said(200, "{}"), SignInError::Service(_)));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read(&McpSecret::File("/nowhere/key.pem".into())).unwrap_err();
        assert!(error.to_string().contains("/nowhere/key.pem"), "{error}");
    }
}
