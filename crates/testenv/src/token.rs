//! Tokens of service accounts with other times.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;

impl ControlPlane {
    /// The token of a service account with this expiry, in seconds since 1970, signed as the API server signs.
    ///
    /// # Panics
    /// If the token is none of the API server.
    #[must_use]
    pub fn token_with_expiry(&self, token: &str, expiry: u64) -> String {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, _] = parts[..] else {
            panic!("not a token of three parts");
        };
        let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).expect("claims in base64");
        let mut claims: Value = serde_json::from_slice(&claims).expect("claims as JSON");
        claims["exp"] = json!(expiry);
        let claims = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        let signed = format!("{header}.{claims}");
        let file = self.service_account_key_file();
        let key = PrivatePkcs8KeyDer::from_pem_file(file).expect("the key of the API server");
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.secret_pkcs8_der(), &random)
            .expect("a key for ES256");
        let signature = key.sign(&random, signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}
