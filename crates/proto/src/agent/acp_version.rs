//! The versions of ACP in which an agent is spoken to.

use serde::{Deserialize, Deserializer, de};

/// The versions of ACP that an agent is offered, from the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AcpVersion {
    /// What acpd considers best: version 1, as long as version 2 is a preview.
    #[default]
    Auto,
    /// Version 1 alone.
    One,
    /// Version 2 alone. An agent that does not have it cannot be used.
    Two,
}

impl AcpVersion {
    /// Returns whether version 2 is offered.
    pub(super) fn offers_two(self) -> bool {
        match self {
            Self::Two => true,
            Self::Auto | Self::One => false,
        }
    }
}

/// Reads `"auto"`, `1` or `2`.
impl<'de> Deserialize<'de> for AcpVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = AcpVersion;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"auto\", 1 or 2")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<AcpVersion, E> {
                match number {
                    1 => Ok(AcpVersion::One),
                    2 => Ok(AcpVersion::Two),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<AcpVersion, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<AcpVersion, E> {
                match word {
                    "auto" => Ok(AcpVersion::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
