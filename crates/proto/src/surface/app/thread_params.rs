//! The params of what is done with a thread as a whole, and of words into a running turn.

use acpd_model::{RawJson, ThreadId, TurnId};
use serde::{Deserialize, Deserializer};

#[cfg(test)]
use super::describe::{Acp, Json, Nullable};
use crate::projection::text_block;
use crate::surface::request;
#[cfg(test)]
use schemars::JsonSchema;

/// A member that must be there, and may be `null`.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// What the thread is to be called.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetName {
    /// At most 1024 bytes; `null` gives the name back.
    #[serde(deserialize_with = "said")]
    #[cfg_attr(test, schemars(with = "Nullable"))]
    pub name: Option<String>,
}

/// The client's own data.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetMetadata {
    /// At most 64 KiB; `null` takes them away.
    #[serde(deserialize_with = "said")]
    #[cfg_attr(test, schemars(with = "Json"))]
    pub metadata: Option<RawJson>,
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RollBack {
    /// The last turn that is kept; `null` keeps none.
    #[serde(deserialize_with = "said")]
    #[cfg_attr(test, schemars(with = "Nullable"))]
    pub turn_id: Option<TurnId>,
}

/// What is taken over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ForkThread {
    /// The last turn that is taken over; if it is left out, the last that is over.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub turn_id: Option<TurnId>,
    /// A name for the new thread; it has the other one's otherwise.
    #[serde(default)]
    pub name: Option<String>,
}

impl ForkThread {
    /// The fork of `thread`.
    pub fn on(self, thread: ThreadId) -> request::ForkThread {
        request::ForkThread {
            thread,
            turn: self.turn_id,
            name: self.name,
            session: None,
        }
    }
}

/// What is said into the turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SteerTurn {
    /// Plain text, or ACP content blocks.
    pub content: Words,
    /// The turn that is meant: `conflict` if it is not the one that runs.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub turn_id: Option<TurnId>,
}

/// Plain text, or ACP content blocks; read as the latter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawJson")]
#[cfg_attr(test, derive(JsonSchema), schemars(with = "WordsWire"))]
pub struct Words(pub Vec<RawJson>);

/// Text or blocks.
#[cfg(test)]
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only the schema is wanted")]
enum WordsWire {
    Text(String),
    Blocks(Vec<Acp>),
}

impl TryFrom<RawJson> for Words {
    type Error = &'static str;

    fn try_from(json: RawJson) -> Result<Self, Self::Error> {
        if let Ok(text) = json.read::<String>() {
            return Ok(Self(vec![text_block(&text)]));
        }
        let blocks = json.read();
        blocks
            .map(Self)
            .map_err(|_| "content is neither text nor a list of content blocks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn what_drops_something_must_be_said() {
        assert!(read::<RollBack>("{}").unwrap_err().contains("turnId"));
        assert_eq!(read(r#"{"turnId":null}"#), Ok(RollBack { turn_id: None }));
        let turn_id = Some(TurnId(3));
        assert_eq!(read(r#"{"turnId":"turn_3"}"#), Ok(RollBack { turn_id }));
        assert!(read::<SetName>("{}").is_err());
        assert_eq!(read(r#"{"name":null}"#), Ok(SetName { name: None }));
        assert_eq!(read(r#"{"metadata":null}"#), Ok(SetMetadata { metadata: None }));
        assert!(read::<SetMetadata>("{}").is_err());
    }

    #[test]
    fn words_are_text_or_blocks() {
        let words = |json| read::<SteerTurn>(json).map(|steer| steer.content.0);
        let text = Ok(vec![text_block("hi")]);
        assert_eq!(words(r#"{"content":"hi"}"#), text);
        assert_eq!(
            words(r#"{"content":[{"type":"text","text":"hi"}]}"#).map(|b| b.len()),
            Ok(1)
        );
        assert!(words(r#"{"content":7}"#).is_err());
        assert!(words("{}").is_err());
    }
}
