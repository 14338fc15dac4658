//! The key by which a client that repeats a prompt, because it did not see the answer, has it done once:
//! `_meta.acpd.idempotencyKey`. It is the client's own id for the turn.
use acpd_model::{Failure, RawJson, json};

use crate::wire::member;

/// Bytes of the key with which a client repeats a prompt.
const IDEMPOTENCY_KEY_BYTES: usize = 256;

/// Most characters of the key in version 2 of ACP.
const KEY_CHARS: usize = 255;

/// The beginning of the ids of turns for keys that begin like other ids.
const OF_KEYS: &str = "key:";

/// The beginning of the ids that acpd itself gives to prompts of editors.
pub(super) const OF_EDITORS: &str = "acp:";

/// Returns the key in the `_meta` of a prompt, if there is one.
pub(super) fn idempotency_key(meta: Option<&RawJson>) -> Result<Option<String>, Failure> {
    let own = meta.and_then(|meta| member(meta, "acpd")).map(RawJson::trusted);
    let key = own.as_ref().and_then(|own| member(own, "idempotencyKey"));
    checked_key("_meta.acpd.idempotencyKey", key)
}

/// Reads the key of a prompt in version 2 of ACP, and returns the id for its turn. There, a key is any text.
pub(super) fn turn_of_key(key: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(key) = key.filter(|key| *key != "null") else {
        return Ok(None);
    };
    // Two keys with halves of characters would become the same one.
    let key = serde_json::from_str::<String>(key).ok();
    let Some(key) = key.filter(|key| (1..=KEY_CHARS).contains(&key.chars().count())) else {
        return Err(Failure::invalid_params(format!(
            "idempotencyKey must be a text of 1 to {KEY_CHARS} characters"
        )));
    };
    let is_taken = [OF_EDITORS, OF_KEYS].iter().any(|other| key.starts_with(other));
    Ok(Some(if is_taken { format!("{OF_KEYS}{key}") } else { key }))
}

/// Reads a key that the member `name` has as JSON.
fn checked_key(name: &str, key: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(key) = key.filter(|key| *key != "null") else {
        return Ok(None);
    };
    match json::read::<String>(key) {
        Ok(key) if (1..=IDEMPOTENCY_KEY_BYTES).contains(&key.len()) && !key.starts_with(OF_EDITORS) => {
            Ok(Some(key))
        }
        _ => Err(Failure::invalid_params(format!(
            "{name} must be a text of 1 to {IDEMPOTENCY_KEY_BYTES} bytes that does not begin with {OF_EDITORS:?}"
        ))),
    }
}
