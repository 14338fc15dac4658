//! Members of objects that agents write: one of an unexpected type counts as absent, and costs no other member.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;

/// Reads a member; one that cannot be read has its default. For `deserialize_with`, beside `default`.
pub fn lenient<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned + Default,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Reads a list, without the entries that cannot be read.
pub fn lenient_list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let values: Vec<Value> = lenient(deserializer)?;
    let read = values.into_iter().filter_map(|value| T::deserialize(value).ok());
    Ok(read.collect())
}
