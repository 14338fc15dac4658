//! The key with which the daemon identifies itself to push services (VAPID, RFC 8292). Subscriptions are bound to it.

use std::fmt;
use std::path::Path;

use acpd_files::data_files::PUSH_KEY;
use acpd_files::private_file;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

/// Bytes of the file, at most.
const FILE_BYTES: u64 = 1 << 10;
/// Seconds for which a push service accepts a signature. At most a day is allowed; clocks differ.
const VALID_SECS: u64 = 12 * 3600;

/// The key. Not printed.
pub(super) struct VapidKey(EcdsaKeyPair);

impl fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VapidKey(…)")
    }
}

impl VapidKey {
    /// Reads the key of a data directory, or makes one with mode 0600. Blocks.
    pub fn load_or_create(data_dir: &Path) -> Result<Self, String> {
        let path = PUSH_KEY.path(data_dir);
        let fail = |problem: &str| format!("the key {} cannot be used: {problem}", path.display());
        let random = SystemRandom::new();
        let stored = private_file::read(&path, FILE_BYTES).map_err(|error| fail(&error.to_string()))?;
        let (bytes, is_new) = match stored {
            Some(bytes) => (bytes, false),
            None => {
                let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
                let made = made.map_err(|_| fail("the system has no random numbers"))?;
                (made.as_ref().to_vec(), true)
            }
        };
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random)
            .map_err(|_| fail("it is damaged; remove it, and turn notifications on again in each browser"))?;
        if is_new {
            private_file::replace(&path, &bytes).map_err(|error| fail(&error.to_string()))?;
        }
        Ok(Self(key))
    }

    /// Returns the public key as browsers expect it.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key())
    }

    /// Returns the value of `Authorization` for a request to a push service. `contact` is the URL at which its operators
    /// reach those of the daemon.
    pub fn authorization(&self, service: &str, contact: &str, seconds: u64) -> Result<String, String> {
        let head = URL_SAFE_NO_PAD.encode(json!({ "typ": "JWT", "alg": "ES256" }).to_string());
        let claims = json!({ "aud": service, "exp": seconds.saturating_add(VALID_SECS), "sub": contact });
        let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature = self
            .0
            .sign(&SystemRandom::new(), signed.as_bytes())
            .map_err(|_| "the system has no random numbers".to_owned())?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public_key()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_key_stays_the_same_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let made = VapidKey::load_or_create(dir.path()).unwrap();
        let again = VapidKey::load_or_create(dir.path()).unwrap();
        assert_eq!(made.public_key(), again.public_key());
        assert_eq!(URL_SAFE_NO_PAD.decode(made.public_key()).unwrap().len(), 65);
        let path = dir.path().join("push.key");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(&path, "x").unwrap();
        let refused = VapidKey::load_or_create(dir.path()).unwrap_err();
        assert!(
            refused.contains("push.key") && refused.contains("remove it"),
            "{refused}"
        );
    }

    #[test]
    fn a_push_service_can_verify_the_signature() {
        let dir = tempfile::tempdir().unwrap();
        let key = VapidKey::load_or_create(dir.path()).unwrap();
        let value = key
            .authorization("https://push.example.com", "https://box.example", 1000)
            .unwrap();
        let (token, public) = value
            .strip_prefix("vapid t=")
            .and_then(|rest| rest.split_once(", k="))
            .unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let public =
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, URL_SAFE_NO_PAD.decode(public).unwrap());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(public.verify(signed.as_bytes(), &signature).is_ok());
        let (_, claims) = signed.split_once('.').unwrap();
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!(
            claims,
            serde_json::json!({ "aud": "https://push.example.com", "exp": 44_200, "sub": "https://box.example" })
        );
    }
}
