//! Tokens that are bound to a key (DPoP, RFC 9449): every request proves that its sender holds the key, so that a token
//! alone is of no use to whoever finds it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Method};
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tiller_protocol::env::Clock;

use super::SignInError;
use super::jwt::{SigningKey, encoded, unique};

/// Makes proofs.
pub(crate) struct Prover {
    key: SigningKey,
    public: Value,
    /// The key as it is kept.
    kept: String,
    clock: Arc<dyn Clock>,
    /// What each service wants to see in the next proof.
    nonces: Mutex<HashMap<String, String>>,
}

impl Prover {
    /// The header that holds a proof.
    pub(crate) const HEADER: &'static str = "dpop";

    /// With a new key.
    ///
    /// # Errors
    /// When there is no randomness.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Result<Self, SignInError> {
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::with(der.map_err(|_| SignInError::Key)?.as_ref(), clock)
    }

    /// With a key that was kept.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn restored(kept: &str, clock: Arc<dyn Clock>) -> Result<Self, SignInError> {
        let der = STANDARD.decode(kept).map_err(|_| SignInError::Key)?;
        Self::with(&der, clock)
    }

    fn with(der: &[u8], clock: Arc<dyn Clock>) -> Result<Self, SignInError> {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        let key = key.map_err(|_| SignInError::Key)?;
        // The point as it is written down: one byte for how, then both coordinates.
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let public = json!({"kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y)});
        Ok(Self {
            key: SigningKey::P256(key),
            public,
            kept: STANDARD.encode(der),
            clock,
            nonces: Mutex::default(),
        })
    }

    /// The key, to be kept where nobody else reads it.
    pub(super) fn kept(&self) -> &str {
        &self.kept
    }

    /// Proves that a request comes from whoever holds the key, and the token if there is one.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub(crate) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
    ) -> Result<String, SignInError> {
        let mut place = url.clone();
        place.set_query(None);
        place.set_fragment(None);
        let mut claims = json!({"jti": unique()?, "htm": method.as_str(), "htu": place.as_str(),
            "iat": self.clock.now().as_second()});
        if let Some(token) = token {
            claims["ath"] = json!(encoded(digest(&SHA256, token.as_bytes())));
        }
        if let Some(nonce) = self.nonces().get(&url.origin().ascii_serialization()) {
            claims["nonce"] = json!(nonce);
        }
        self.key.state(json!({"typ": "dpop+jwt", "jwk": self.public}), &claims)
    }

    /// Takes note of what a service wants to see in the next proof. Says whether that is something new.
    pub(crate) fn learn(&self, url: &Url, headers: &HeaderMap) -> bool {
        let Some(nonce) = headers.get("dpop-nonce").and_then(|value| value.to_str().ok()) else {
            return false;
        };
        let before = self.nonces().insert(url.origin().ascii_serialization(), nonce.to_owned());
        before.as_deref() != Some(nonce)
    }

    fn nonces(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what a service says when it refuses asks for tokens that are bound to a key.
pub(super) fn is_wanted(challenge: &str) -> bool {
    let mut words = challenge.split([' ', ',']);
    words.any(|word| word.eq_ignore_ascii_case("DPoP"))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use http::HeaderValue;

    use super::*;
    use crate::auth::tests::Stopped;

    fn parts(proof: &str) -> (Value, Value) {
        let part = |number: usize| {
            let part = proof.split('.').nth(number).unwrap();
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        (part(0), part(1))
    }

    #[test]
    fn a_proof_says_what_it_is_for_and_never_the_same_twice() {
        let prover = Prover::new(Arc::new(Stopped)).unwrap();
        let url = Url::parse("https://example.org/mcp?key=1#x").unwrap();
        let proof = || parts(&prover.proof(&Method::POST, &url, Some("token")).unwrap());
        let (header, claims) = proof();
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert!(header["jwk"].get("d").is_none(), "{header}");
        let said = |key: &str| claims[key].clone();
        assert_eq!((said("htm"), said("htu")), (json!("POST"), json!("https://example.org/mcp")));
        assert_eq!(said("iat"), 1_700_000_000);
        assert_eq!(said("ath"), "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A");
        assert_ne!(proof().1["jti"], claims["jti"]);
    }

    #[test]
    fn a_service_sees_its_own_word_and_no_other() {
        let prover = Prover::new(Arc::new(Stopped)).unwrap();
        let (url, other) =
            (Url::parse("https://a.example/x").unwrap(), Url::parse("https://b.example/x").unwrap());
        let mut headers = HeaderMap::new();
        assert!(!prover.learn(&url, &headers));
        headers.insert("dpop-nonce", HeaderValue::from_static("n1"));
        assert!(prover.learn(&url, &headers) && !prover.learn(&url, &headers), "once is enough");
        let nonce =
            |url: &Url| parts(&prover.proof(&Method::GET, url, None).unwrap()).1.get("nonce").cloned();
        assert_eq!((nonce(&url), nonce(&other)), (Some(json!("n1")), None));
        let again = Prover::restored(prover.kept(), Arc::new(Stopped)).unwrap();
        assert_eq!(again.public, prover.public);
        assert!(Prover::restored("bm8=", Arc::new(Stopped)).is_err());
    }

    #[test]
    fn a_service_asks_for_it() {
        for said in ["DPoP algs=\"ES256\"", "Bearer realm=\"x\", DPoP", "dpop error=\"use_dpop_nonce\""] {
            assert!(is_wanted(said), "{said}");
        }
        assert!(!is_wanted("Bearer resource_metadata=\"https://dpop.example\""));
    }
}
