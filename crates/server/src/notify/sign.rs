//! Signatures of webhooks, after the conventions of Standard Webhooks (<https://www.standardwebhooks.com>).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// Returns the value of `webhook-signature` for a message.
pub(super) fn sign(key: &[u8], id: &str, seconds: i64, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    context.update(format!("{id}.{seconds}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::secret::webhook_key;

    /// The example in the documentation of the convention.
    #[test]
    fn the_example_of_the_convention() {
        let key = webhook_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = sign(
            &key,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn every_part_is_signed() {
        let first = sign(b"key", "id", 1, b"body");
        for other in [
            sign(b"kez", "id", 1, b"body"),
            sign(b"key", "ie", 1, b"body"),
            sign(b"key", "id", 2, b"body"),
            sign(b"key", "id", 1, b"bodz"),
        ] {
            assert_ne!(first, other);
        }
    }
}
