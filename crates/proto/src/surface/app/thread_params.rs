//! Params of methods for a thread as a whole, and of steering.

use acpd_model::{RawJson, ThreadId, TurnId};
use serde::{Deserialize, Deserializer};

#[cfg(test)]
use super::describe::{Acp, Json, Nullable};
use crate::projection::text_block;
use crate::surface::request;
#[cfg(test)]
use schemars::JsonSchema;

/// Reads a required member that may be `null`.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// Params of `thread/name/set`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetName {
    /// The new name, at most 1024 bytes; `null` removes it.
    #[serde(deserialize_with = "said")]
    #[cfg_attr(test, schemars(with = "Nullable"))]
    pub name: Option<String>,
}

/// Params of `thread/command/run`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RunCommand {
    /// The command line, at most 64 KiB.
    pub command: String,
}

/// Params of `thread/terminal/write`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WriteTerminal {
    /// Id of the terminal, as in its item.
    pub terminal_id: String,
    /// What the user types, at most 2048 bytes. `\n` ends a line, U+0004 ends the input, and U+0003 interrupts the program.
    pub text: String,
}

/// Params of `thread/terminal/kill`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct KillTerminal {
    /// Id of the terminal, as in its item.
    pub terminal_id: String,
}

/// Params of `thread/share/create`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CreateShare {
    /// Seconds until the link expires, from 60 to 31,536,000 (a year); 604,800 (7 days) if absent.
    #[serde(default)]
    pub expires_in_secs: Option<u64>,
    /// A name for the list of links, at most 100 bytes. Readers of the thread do not see it.
    #[serde(default)]
    pub name: Option<String>,
}

/// Params of `thread/share/list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListShares {
    /// Only links of this thread; by default, of all threads.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub thread_id: Option<ThreadId>,
}

/// Params of `thread/share/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RevokeShare {
    /// Id of the link, as in `thread/share/list`.
    pub share_id: String,
}

/// Params of `thread/metadata/set`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetMetadata {
    /// The new data, at most 64 KiB; `null` removes the data.
    #[serde(deserialize_with = "said")]
    #[cfg_attr(test, schemars(with = "Json"))]
    pub metadata: Option<RawJson>,
}

/// Params of `thread/pin/set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetPin {
    /// Whether the thread is pinned from now on.
    pub pinned: bool,
    /// The thread's place among the pinned threads, the lowest first; by default, it keeps the one that it has. Without a pin it has none.
    #[serde(default)]
    pub place: Option<u32>,
}

/// Params of `thread/directories/set`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetDirectories {
    /// The working directory, an absolute path on the daemon's host.
    pub cwd: String,
    /// Further directories of the workspace. By default, those inside the earlier working directory move along, and the
    /// others stay.
    #[serde(default)]
    pub additional_directories: Option<Vec<String>>,
}

/// Params of `thread/directories/add`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AddDirectory {
    /// The directory, an absolute path on the daemon's host without links, such as `folder` of a notice.
    pub directory: String,
}

/// Params of `thread/rollback`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RollBack {
    /// Id of the last turn to keep; `null` keeps none.
    #[serde(deserialize_with = "said")]
    #[cfg_attr(test, schemars(with = "Nullable"))]
    pub turn_id: Option<TurnId>,
}

/// Params of `thread/fork`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ForkThread {
    /// Id of the last turn to copy; by default, the last turn that is over.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub turn_id: Option<TurnId>,
    /// Name of the new thread; by default, the name of this thread.
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

/// Params of `turn/steer`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SteerTurn {
    /// Plain text, or ACP content blocks.
    pub content: Words,
    /// Id of the turn to steer. Returns `conflict` if it is not the running turn.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub turn_id: Option<TurnId>,
}

/// Params of `turn/queue/arrange`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ArrangeQueue {
    /// Ids of the turns that come first, in this order. Turns that are not queued any more are ignored.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub turn_ids: Vec<TurnId>,
    /// Whether no queued turn starts by itself; if absent, that does not change.
    #[serde(default)]
    pub paused: Option<bool>,
}

/// Params of `turn/queue/edit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct EditQueued {
    /// Plain text, or ACP content blocks.
    pub content: Words,
    /// Id of the queued turn.
    #[cfg_attr(test, schemars(with = "String"))]
    pub turn_id: TurnId,
}

/// Params of `turn/queue/steer`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SteerQueued {
    /// Id of the queued turn.
    #[cfg_attr(test, schemars(with = "String"))]
    pub turn_id: TurnId,
}

/// Plain text, or ACP content blocks. Plain text becomes one block.
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
    fn dropping_options_must_be_confirmed() {
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
