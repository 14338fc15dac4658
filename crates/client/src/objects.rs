//! `objects!`, which defines an enum of objects that keeps an object it does not know.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// An object of the Agent Client Protocol, which `protocol` names.
type AcpObject = Map<String, Value>;

/// Defines an enum of objects, which a member tells apart.
///
/// ```text
/// objects! {
///     /// Docs.
///     Name by "type" {
///         /// Docs of the object.
///         Variant(Type) = "word" | "other word",
///     }
/// }
/// ```
macro_rules! objects {
    (
        $(#[$doc:meta])* $name:ident by $tag:literal {
            $($(#[$about:meta])* $variant:ident($type:ty) = $($word:literal)|+,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$about])* $variant($type),)+
            /// An object that this version of the client does not know.
            Unrecognized(serde_json::Map<String, serde_json::Value>),
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let object = serde_json::Map::deserialize(deserializer)?;
                let known = match object.get($tag).and_then(serde_json::Value::as_str) {
                    $(Some($($word)|+) => <$type>::deserialize(&object).map(Self::$variant).ok(),)+
                    _ => None,
                };
                Ok(known.unwrap_or(Self::Unrecognized(object)))
            }
        }
    };
}

pub(crate) use objects;

/// Reads a member that is there, whose value may be `null`.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads objects of the Agent Client Protocol. The daemon passes them on as the agent sent them, and an agent may have sent anything in
/// their place: that is left out, so that the rest can be read.
pub(crate) fn of_agent<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: OfAgent,
    D: Deserializer<'de>,
{
    Value::deserialize(deserializer).map(T::of)
}

/// One or several objects, as far as a value has them.
pub(crate) trait OfAgent {
    fn of(value: Value) -> Self;
}

impl OfAgent for Option<AcpObject> {
    fn of(value: Value) -> Self {
        match value {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl OfAgent for Option<Vec<AcpObject>> {
    fn of(value: Value) -> Self {
        match value {
            Value::Array(values) => Some(values.into_iter().filter_map(Option::<AcpObject>::of).collect()),
            _ => None,
        }
    }
}

impl OfAgent for Vec<AcpObject> {
    fn of(value: Value) -> Self {
        Option::<Self>::of(value).unwrap_or_default()
    }
}
