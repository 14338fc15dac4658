//! Secrets of targets: read for each delivery, so that a replaced file is used at once and nothing keeps a secret in
//! memory.

use std::path::Path;

use acpd_files::private_file;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Bytes of a file with a secret.
const FILE_BYTES: u64 = 4 << 10;
/// Lengths of a signing key, in bytes.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Returns a secret of the configuration or of a file; `None` if there is neither.
pub(super) fn read(text: Option<&String>, file: Option<&Path>) -> Result<Option<String>, String> {
    if let Some(text) = text {
        return Ok(Some(text.clone()));
    }
    let Some(file) = file else { return Ok(None) };
    let fail = |problem: &str| format!("the secret in {} cannot be used: {problem}", file.display());
    let bytes = private_file::read(file, FILE_BYTES).map_err(|error| fail(&error.to_string()))?;
    let bytes = bytes.ok_or_else(|| fail("the file does not exist"))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("it is not text"))?;
    Ok(Some(text.trim().to_owned()))
}

/// Returns the bytes of a key for signatures: base64, with or without the usual prefix.
pub(super) fn webhook_key(text: &str) -> Result<Vec<u8>, &'static str> {
    let text = text.strip_prefix("whsec_").unwrap_or(text);
    let key = STANDARD.decode(text).ok();
    key.filter(|key| KEY_BYTES.contains(&key.len()))
        .ok_or("is not 24 to 64 bytes in base64: make one with \"openssl rand -base64 32\"")
}
