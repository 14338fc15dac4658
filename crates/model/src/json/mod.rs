//! JSON values that keep their original text.

mod readable;

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::readable::{Halves, read, read_halves, read_with, readable, well_formed};

/// One JSON value, byte for byte as its sender wrote it, including key order, unknown members and big integers. The
/// text is valid JSON and is parsed only where code needs the content. Clones share the text.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Accepts `text` if it is exactly one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// Accepts `text` without validation. The caller must have parsed all of it as one JSON value.
    pub fn trusted(text: &str) -> Self {
        debug_assert!(
            serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
            "not JSON: {text}"
        );
        Self(text.trim_ascii().into())
    }

    /// Serializes `value` as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// Returns the JSON text.
    pub fn get(&self) -> &str {
        &self.0
    }

    /// Deserializes the value as a `T`. Parts that no type can hold, such as half of a surrogate pair, are read as
    /// [`readable()`] returns them.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        read(self.get())
    }
}

/// Deserializes bytes that are JSON text. Readers of bytes use this in place of [`serde_json::from_slice`], which is a second
/// reader beside that of texts, with code of its own for every type.
pub fn from_bytes<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, serde_json::Error> {
    let text = std::str::from_utf8(bytes).map_err(serde::de::Error::custom)?;
    serde_json::from_str(text)
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl From<&RawValue> for RawJson {
    fn from(raw: &RawValue) -> Self {
        Self(raw.get().into())
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Box::<str>::from(raw).into())
    }
}

impl From<&serde_json::Value> for RawJson {
    fn from(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_unchanged() {
        let text = r#"{"b":1.10,"a":123456789012345678901234567890,"_meta":{"x":null}}"#;
        let raw = RawJson::parse(text).unwrap();
        assert_eq!(raw.get(), text);
        assert_eq!(serde_json::to_string(&raw).unwrap(), text);
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in ["", "{", "{} {}", "nope", "\u{0}"] {
            assert!(RawJson::parse(text).is_err(), "{text:?}");
        }
    }
}
