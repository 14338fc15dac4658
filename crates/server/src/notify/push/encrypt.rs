//! Encryption of pushed messages (RFC 8291): only the browser can read them, not its push service.

use acpd_model::limits::PUSH_BYTES;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{aead, hkdf};

use crate::auth::devices::PushSubscription;

/// Bytes of the salt.
const SALT: usize = 16;
/// Bytes of a public key: an uncompressed point of P-256.
const POINT: usize = 65;
/// The same number as the header has it.
const POINT_LENGTH: u8 = 65;
/// Texts are padded to a multiple of this number of bytes, so that their length says little to the push service.
const PADDED: usize = 512;
/// The size of a record as the header names it. A message is one record, which may be shorter.
const RECORD: u32 = 4096;

/// Encrypts a text of at most [`PUSH_BYTES`] for a browser. Returns the body of a request with the content encoding
/// `aes128gcm`. Fails if the browser's public key is not a point of the curve.
pub(super) fn encrypt(to: &PushSubscription, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let ours = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let sender: [u8; POINT] = ours
        .compute_public_key()?
        .as_ref()
        .try_into()
        .map_err(|_| Unspecified)?;
    let mut salt = [0; SALT];
    random.fill(&mut salt)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, to.p256dh.0);
    agree_ephemeral(ours, &theirs, |shared| {
        seal(shared, &sender, to, salt, &padded(text))
    })?
}

/// Returns a text with the delimiter of the last record and its padding.
fn padded(text: &[u8]) -> Vec<u8> {
    debug_assert!(text.len() <= PUSH_BYTES);
    let mut record = text.to_vec();
    record.push(2);
    record.resize(record.len().next_multiple_of(PADDED), 0);
    record
}

/// Encrypts one record with the secret that both sides have agreed on.
fn seal(
    shared: &[u8],
    sender: &[u8; POINT],
    to: &PushSubscription,
    salt: [u8; SALT],
    record: &[u8],
) -> Result<Vec<u8>, Unspecified> {
    let both = [b"WebPush: info\0".as_slice(), &to.p256dh.0, sender];
    let input: [u8; 32] = derive(&to.auth.0, shared, &both)?;
    let key: [u8; 16] = derive(&salt, &input, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = derive(&salt, &input, &[b"Content-Encoding: nonce\0"])?;
    let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &key)?);
    let mut sealed = record.to_vec();
    let nonce = aead::Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, aead::Aad::empty(), &mut sealed)?;
    let head = [&salt[..], &RECORD.to_be_bytes(), &[POINT_LENGTH], sender].concat();
    Ok([head, sealed].concat())
}

/// The length of what HKDF derives.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const N: usize>(salt: &[u8], input: &[u8], info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut derived = [0; N];
    let extracted: hkdf::Prk = Salt::new(HKDF_SHA256, salt).extract(input);
    extracted.expand(info, Length(N))?.fill(&mut derived)?;
    Ok(derived)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;
    use crate::auth::devices::KeyBytes;
    use crate::auth::devices::tests::subscription;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    /// The example of RFC 8291, appendix A.
    #[test]
    fn the_example_of_the_standard() {
        let to = PushSubscription {
            p256dh: KeyBytes(bytes(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            )),
            auth: KeyBytes(bytes("BTBZMqHH6r4Tts7J_aSIgg")),
            ..subscription("https://push.example.com")
        };
        let shared: [u8; 32] = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let sender =
            bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let record = [b"When I grow up, I want to be a watermelon".as_slice(), &[2]].concat();
        let sealed = seal(&shared, &sender, &to, bytes("DGv6ra1nlYgDCS1FRnbzlw"), &record).unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(sealed),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3\
             jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn the_longest_text_fits_into_a_record_and_lengths_are_rounded() {
        let to = subscription("https://push.example.com");
        let lengths = [0, 1, PADDED - 1, PADDED, PUSH_BYTES].map(|length| {
            let body = encrypt(&to, &vec![b'x'; length]).unwrap();
            body.len() - (SALT + 4 + 1 + POINT) - 16
        });
        assert_eq!(lengths, [512, 512, 512, 1024, PUSH_BYTES + 512]);
        // Push services accept bodies of 4096 bytes.
        assert!(encrypt(&to, &[b'x'; PUSH_BYTES]).unwrap().len() <= 4096);
    }

    #[test]
    fn keys_off_the_curve_are_refused() {
        let mut to = subscription("https://push.example.com");
        to.p256dh.0[64] ^= 1;
        assert!(encrypt(&to, b"x").is_err());
        to.p256dh.0 = [0; 65];
        assert!(encrypt(&to, b"x").is_err());
    }
}
