//! Parts of JSON objects.

use acpd_model::RawJson;

use crate::wire::member;

/// Returns the member `name` if it is an object, else an empty one.
pub(super) fn object_in(json: &RawJson, name: &str) -> RawJson {
    let found = member(json, name).filter(|value| value.starts_with('{'));
    RawJson::trusted(found.unwrap_or("{}"))
}
