//! Signed statements (JSON Web Tokens), as services take them in place of secrets.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::SignInError;

/// A private key.
pub(super) enum SigningKey {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// A key as files hold it.
    ///
    /// # Errors
    /// When it is none, or of a kind that is not known here.
    pub(super) fn from_pem(pem: &str) -> Result<Self, SignInError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).ok();
        der.and_then(|der| Self::from_pkcs8(der.secret_pkcs8_der())).ok_or(SignInError::Key)
    }

    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let elliptic = |algorithm: &'static EcdsaSigningAlgorithm| {
            EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok()
        };
        let p256 = || elliptic(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Self::P256);
        let p384 = || elliptic(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Self::P384);
        let rsa = || RsaKeyPair::from_pkcs8(der).ok().map(|key| Self::Rsa(Box::new(key)));
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Self::Ed25519);
        p256().or_else(p384).or_else(rsa).or_else(ed25519)
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Rsa(_) => "RS256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignInError> {
        let random = SystemRandom::new();
        let signature = match self {
            Self::P256(key) | Self::P384(key) => key.sign(&random, message).map(|one| one.as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map(|()| signature)
            }
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
        };
        signature.map_err(|_| SignInError::Key)
    }

    /// A statement that nobody but the holder of the key can make.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub(super) fn state(&self, mut header: Value, claims: &Value) -> Result<String, SignInError> {
        header["alg"] = json!(self.algorithm());
        let said = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.sign(said.as_bytes())?;
        Ok(format!("{said}.{}", encoded(signature)))
    }
}

/// As it stands in statements.
pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A name that no other statement has.
///
/// # Errors
/// When there is no randomness.
pub(super) fn unique() -> Result<String, SignInError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SignInError::Key)?;
    Ok(encoded(bytes))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair, UnparsedPublicKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
    }

    #[test]
    fn a_statement_is_signed_with_the_key_that_is_there() {
        let random = SystemRandom::new();
        let elliptic = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let edwards = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        for (der, algorithm) in [(elliptic.as_ref(), "ES256"), (edwards.as_ref(), "EdDSA")] {
            let key = SigningKey::from_pem(&pem(der)).unwrap();
            let statement = key.state(json!({"typ": "JWT"}), &json!({"iss": "me"})).unwrap();
            let (said, signature) = statement.rsplit_once('.').unwrap();
            let (header, claims) = said.split_once('.').unwrap();
            let decoded =
                |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
            assert_eq!(decoded(header), json!({"typ": "JWT", "alg": algorithm}));
            assert_eq!(decoded(claims), json!({"iss": "me"}));
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let verified = match &key {
                SigningKey::P256(key) => {
                    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref())
                        .verify(said.as_bytes(), &signature)
                }
                SigningKey::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key.public_key().as_ref())
                    .verify(said.as_bytes(), &signature),
                _ => panic!("{algorithm}"),
            };
            verified.unwrap();
        }
    }

    #[test]
    fn what_is_no_key_is_not_shown() {
        for text in ["", "secret", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"] {
            let error = SigningKey::from_pem(text).err().unwrap().to_string();
            assert!(error.contains("PKCS #8") && !error.contains("c2VjcmV0"), "{error}");
        }
        assert_ne!(unique().unwrap(), unique().unwrap());
    }
}
