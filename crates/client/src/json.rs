//! JSON as agents and clients write it.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Reads JSON. Agents and clients write halves of surrogate pairs, numbers of any size and any nesting, which the daemon passes
/// on, and which no type can hold: such parts are replaced.
pub(crate) fn read<T: DeserializeOwned>(text: &RawValue) -> Result<T, serde_json::Error> {
    acpd_model::json::read(text.get())
}
