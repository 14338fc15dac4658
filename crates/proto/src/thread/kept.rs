//! Values in memos, as JSON, and whether a memo is whole.
//!
//! In: what a call or a question needs when the next daemon continues it. Out: the same value. Owns: nothing. Never: keeps anything for an
//! agent that ends with the daemon.

use acpd_model::{BlobId, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::journal::{Journal, Kept};

/// Returns whether a member need not be written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns the JSON that a memo keeps; `None` if its blob was not read.
pub(super) type Recall<'a> = dyn Fn(&Kept) -> Option<RawJson> + 'a;

/// Returns the form of a value for memos, if there are any.
pub(super) fn keep<T: Serialize>(journal: &mut Journal, value: &T) -> Option<Kept> {
    if !journal.is_exact() {
        return None;
    }
    let json = RawJson::of(value).ok()?;
    Some(journal.keep(&json))
}

/// Returns the form of a value that was not kept in time. It is part of the memo, whatever its length.
pub(super) fn keep_inline<T: Serialize>(value: &T) -> Option<Kept> {
    RawJson::of(value).ok().map(Kept::Inline)
}

/// Returns a value of a memo. `None` if it cannot be read.
pub(super) fn read<T: DeserializeOwned>(kept: &Kept, recall: &Recall<'_>) -> Option<T> {
    let json = recall(kept)?;
    serde_json::from_str(json.get()).ok()
}

/// Returns a number that is another one if a memo is: of a version that has other members, or damaged. It does not protect against a
/// process that can write the log, which can write policies as well.
pub(super) fn seal_of<T: Serialize>(memo: &T) -> Option<u64> {
    let json = serde_json::to_vec(memo).ok()?;
    let seal = BlobId::of(&json).0.first_chunk().copied();
    seal.map(u64::from_be_bytes)
}
