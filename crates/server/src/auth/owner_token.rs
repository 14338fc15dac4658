//! The owner's access token, and the generation and hashing of secrets.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use acpd_files::{Draft, data_files, private_file};

/// Largest file with the owner's token, in bytes.
const TOKEN_FILE_BYTES: u64 = 4 << 10;

/// The SHA-256 of a secret, which is stored in place of the secret. Secrets are 256 random bits, so that a slow salted hash
/// would add no protection against brute force. Hashes are compared in constant time.
#[derive(Clone, Copy, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Hashes a secret.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Returns an id for clients, which reveals nothing of the hash.
    pub fn id(&self) -> String {
        hex(&Sha256::digest(self.0)[..8])
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::hash::Hash for Hash {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash(…)")
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bytes =
            unhex(&text).ok_or_else(|| serde::de::Error::custom("a hash has 64 hexadecimal digits"))?;
        Ok(Self(bytes))
    }
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses 64 hexadecimal digits.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Returns 256 random bits as 64 hexadecimal digits.
pub fn random() -> std::io::Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    Ok(hex(&random))
}

/// The owner's token, which a client must send. `Debug` does not print it.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// An error of creating or reading a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file could not be read or written.
    #[error("the token file {path} cannot be used: {source}")]
    File {
        /// The path of the token file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The token is shorter than 16 characters.
    #[error("the token in {place} must have at least 16 characters")]
    Short {
        /// The variable or file that contains the token.
        place: String,
    },
}

impl Token {
    /// Returns a token that the user set in `ACPD_TOKEN`, without surrounding whitespace.
    pub fn given(text: &str) -> Result<Self, TokenError> {
        Self::from_place(text, "ACPD_TOKEN")
    }

    fn from_place(text: &str, place: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.len() < 16 {
            let place = place.to_owned();
            Err(TokenError::Short { place })
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// Loads the token of a data directory, or creates one with mode 0600.
    pub fn load_or_create(data_dir: &Path) -> Result<Self, TokenError> {
        let path = Self::path(data_dir);
        let fail = |source| TokenError::File {
            path: path.clone(),
            source,
        };
        let token = random().map_err(fail)?;
        // On a full disk, no empty file remains, which the next start would refuse.
        match Draft::of_new_file(path.clone(), 0o600) {
            Ok(mut draft) => {
                draft
                    .write_all(token.as_bytes())
                    .and_then(|()| draft.keep())
                    .map_err(fail)?;
                Ok(Self(token))
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Self::load(data_dir),
            Err(error) => Err(fail(error)),
        }
    }

    /// Loads the token of a data directory.
    pub fn load(data_dir: &Path) -> Result<Self, TokenError> {
        let path = Self::path(data_dir);
        let fail = |source| TokenError::File {
            path: path.clone(),
            source,
        };
        let bytes = private_file::read(&path, TOKEN_FILE_BYTES).map_err(fail)?;
        let bytes = bytes.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
        let text = String::from_utf8(bytes).map_err(|error| fail(std::io::Error::other(error)))?;
        Self::from_place(&text, &path.display().to_string())
    }

    /// Returns the path of the token file in a data directory.
    pub fn path(data_dir: &Path) -> PathBuf {
        data_files::TOKEN.path(data_dir)
    }

    /// Returns whether the user may have chosen the token, so that an attacker could guess it.
    pub fn is_guessable(&self) -> bool {
        unhex(&self.0).is_none()
    }

    /// Returns the token as text, for sending to the daemon and not for display.
    pub fn secret(&self) -> &str {
        &self.0
    }
}
