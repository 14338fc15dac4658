//! The bounds of what an agent names, and of the sentences that it writes for users.
//!
//! In: texts of an agent. Out: the same, or `None` or its beginning if it is absurdly long. Owns: nothing. Never: shortens an id, which
//! would make it another one. Events keep the agent's original message once, beside what is read from it.

use acpd_model::limits::{AGENT_ID_BYTES, AGENT_TEXT_BYTES};
use acpd_model::text::clip;

use crate::wire::RpcError;

/// Returns whether a text is short enough to be an id or a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= AGENT_ID_BYTES
}

/// Returns an id or a name; `None` if it is too long.
pub(super) fn name(text: &str) -> Option<String> {
    is_name(text).then(|| text.to_owned())
}

/// Returns a text for users, or its beginning.
pub(crate) fn sentence(text: &str) -> String {
    clip(text, AGENT_TEXT_BYTES)
}

/// Checks a member of a request's params that is an id or a name.
pub(super) fn check_name(method: &str, member: &str, text: &str) -> Result<(), RpcError> {
    check(method, member, text, AGENT_ID_BYTES)
}

/// Checks a member of a request's params.
pub(super) fn check(method: &str, member: &str, text: &str, most: usize) -> Result<(), RpcError> {
    check_bytes(method, member, text.len(), most)
}

/// Checks the size of a part of a request's params.
pub(super) fn check_bytes(method: &str, part: &str, bytes: usize, most: usize) -> Result<(), RpcError> {
    if bytes <= most {
        return Ok(());
    }
    Err(RpcError::new(
        -32602,
        format!("{method}: {part} has {bytes} bytes, and at most {most} are possible"),
    ))
}
