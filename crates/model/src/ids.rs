//! Identifiers. All are small and `Copy`, and have one text form that parses back to the same id.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind} id")]
pub struct InvalidId {
    /// Which kind of id was expected.
    pub kind: &'static str,
    /// The rejected text, cut to a printable length.
    pub text: String,
}

impl InvalidId {
    fn new(kind: &'static str, text: &str) -> Self {
        Self {
            kind,
            text: text.chars().take(80).collect(),
        }
    }
}

macro_rules! as_text {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // Ids are written several times for each event; formatting them through `fmt` would be measurably
                // slower.
                self.with_text(|text| serializer.serialize_str(text))
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a ", stringify!($name)))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

/// Id of a thread, unique across daemons: a UUID, version 7, so that ids sort by age.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub Uuid);

impl ThreadId {
    fn with_text<R>(self, use_text: impl FnOnce(&str) -> R) -> R {
        use_text(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl FromStr for ThreadId {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Uuid::try_parse(text)
            .map(Self)
            .map_err(|_| InvalidId::new("thread", text))
    }
}

as_text!(ThreadId);

/// The beginning or the end of a thread's id, as users type it: 1 to 32 hexadecimal digits. Hyphens do not count.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct IdPart(Vec<u8>);

impl IdPart {
    /// Returns whether an id begins or ends with these digits.
    pub fn matches(&self, thread: ThreadId) -> bool {
        let mut buffer = Uuid::encode_buffer();
        let digits = thread.0.simple().encode_lower(&mut buffer).as_bytes();
        digits.starts_with(&self.0) || digits.ends_with(&self.0)
    }
}

impl TryFrom<String> for IdPart {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl FromStr for IdPart {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        let is_part = (1..=32).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
        if is_part {
            Ok(Self(digits.to_ascii_lowercase()))
        } else {
            Err(InvalidId::new("part of a thread", text))
        }
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Calls `use_text` with the text form, without allocating a string. The text needs no escape in JSON.
            pub fn with_text<R>(self, use_text: impl FnOnce(&str) -> R) -> R {
                let mut buffer = [0; $prefix.len() + 10];
                buffer[..$prefix.len()].copy_from_slice($prefix.as_bytes());
                use_text(decimal_text(&mut buffer, $prefix.len(), self.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.with_text(|text| f.write_str(text))
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.strip_prefix($prefix)
                    .and_then(decimal)
                    .map(Self)
                    .ok_or_else(|| InvalidId::new($kind, text))
            }
        }

        as_text!($name);
    };
}

/// Writes `number` into `buffer` from `at` on. Returns the text up to the end of the number.
fn decimal_text(buffer: &mut [u8], at: usize, number: u32) -> &str {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = number;
    for place in buffer[at..at + digits].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    std::str::from_utf8(&buffer[..at + digits]).unwrap_or_default()
}

/// Parses digits without a sign or leading zero, so that each id has one spelling.
fn decimal(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

numbered!(
    /// Id of a turn, counted from 1 in its thread: `turn_1`.
    TurnId, "turn_", "turn"
);
numbered!(
    /// Id of an item, counted from 1 over all turns of its thread: `item_7`.
    ItemId, "item_", "item"
);

/// Id of a lane, the conversation of a subagent, counted from 1 in its thread: `lane_2`. The main agent has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(NonZeroU32);

impl LaneId {
    const PREFIX: &str = "lane_";

    /// Returns the id with this number; `None` for 0.
    pub fn new(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }

    /// Returns the number of the lane in its thread.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// Calls `use_text` with the text form, without allocating a string. The text needs no escape in JSON.
    pub fn with_text<R>(self, use_text: impl FnOnce(&str) -> R) -> R {
        let mut buffer = [0; Self::PREFIX.len() + 10];
        buffer[..Self::PREFIX.len()].copy_from_slice(Self::PREFIX.as_bytes());
        use_text(decimal_text(&mut buffer, Self::PREFIX.len(), self.number()))
    }
}

impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl FromStr for LaneId {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.strip_prefix(Self::PREFIX)
            .and_then(decimal)
            .and_then(Self::new)
            .ok_or_else(|| InvalidId::new("lane", text))
    }
}

as_text!(LaneId);

/// Id of a question to the user. It contains the thread's id, so that an answer needs nothing else:
/// `req_3_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    /// The thread that the question belongs to.
    pub thread: ThreadId,
    /// Number of the question, counted from 1 in the thread.
    pub number: u32,
}

impl RequestId {
    fn with_text<R>(self, use_text: impl FnOnce(&str) -> R) -> R {
        use_text(&self.to_string())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "req_{}_{}", self.number, self.thread.0.simple())
    }
}

impl FromStr for RequestId {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.strip_prefix("req_")
            .and_then(|rest| rest.split_once('_'))
            .and_then(|(number, thread)| {
                Some(Self {
                    thread: ThreadId(Uuid::try_parse(thread).ok()?),
                    number: decimal(number)?,
                })
            })
            .ok_or_else(|| InvalidId::new("request", text))
    }
}

as_text!(RequestId);

/// Id of stored content: its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub [u8; 32]);

impl BlobId {
    fn with_text<R>(self, use_text: impl FnOnce(&str) -> R) -> R {
        use_text(&self.to_string())
    }
}

impl BlobId {
    /// Returns the id of `content`.
    pub fn of(content: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(content).into())
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for BlobId {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let bad = || InvalidId::new("blob", text);
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

as_text!(BlobId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_spelling() {
        let thread = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_c3d4));
        let request = RequestId { thread, number: 3 };
        assert_eq!(request.to_string().parse(), Ok(request));
        assert_eq!(thread.to_string().parse(), Ok(thread));
        assert_eq!("turn_12".parse(), Ok(TurnId(12)));
        for bad in ["turn_012", "turn_+1", "turn_", "item_1", "turn_99999999999", ""] {
            assert!(bad.parse::<TurnId>().is_err(), "{bad}");
        }
        assert_eq!("lane_12".parse(), Ok(LaneId::new(12).unwrap()));
        assert!("lane_0".parse::<LaneId>().is_err() && "lane_01".parse::<LaneId>().is_err());
        for number in [0, 9, 10, 4_294_967_295] {
            assert_eq!(TurnId(number).to_string(), format!("turn_{number}"));
            assert_eq!(
                serde_json::to_string(&ItemId(number)).unwrap(),
                format!("\"item_{number}\"")
            );
        }
        let part = |text: &str| text.parse::<IdPart>();
        for text in ["0", "0192F0C1", "0192f0c1-c5d7", "b2c3d4", &thread.to_string()] {
            assert!(part(text).unwrap().matches(thread), "{text}");
        }
        assert!(!part("f0c1").unwrap().matches(thread));
        for bad in ["", "-", "xyz", "é", &"0".repeat(33)] {
            assert!(part(bad).is_err(), "{bad}");
        }
        let blob = BlobId([0xab; 32]);
        assert_eq!(blob.to_string().parse(), Ok(blob));
        for bad in ["req_1", "req_1_xyz", "req__0192f0c1c5d77c0aa5e5f8d9a1b2c3d4"] {
            assert!(bad.parse::<RequestId>().is_err(), "{bad}");
        }
    }
}
