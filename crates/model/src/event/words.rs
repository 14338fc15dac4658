//! Values that are members of events.

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, ItemId, TurnId};
use crate::json::RawJson;
use crate::numbers::Seq;

/// How a thread got its agent session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// A new session: the agent remembers nothing.
    New,
    /// The agent loaded the earlier session.
    Load,
    /// The agent resumed the earlier session.
    Resume,
    /// The agent forked the earlier session, which remembers the same, because another process of it has that one.
    Fork,
}

/// A config option of the agent that a client set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChosenOption {
    /// The agent's id for the option.
    pub id: String,
    /// The value, as in ACP.
    pub value: RawJson,
}

/// The size of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffSize {
    /// Number of changed files.
    pub files: u32,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// Whether there are changes that the diff does not show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// Severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Information; nothing is wrong.
    Info,
    /// A problem that does not stop the work.
    Warning,
    /// A failure.
    Error,
}

/// One step of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// Description of the step.
    pub content: String,
    /// `high`, `medium` or `low`; other values are kept as received.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`; other values are kept as received.
    pub status: String,
}

/// The numbers of the events that last changed some plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEvents(pub Vec<Seq>);

/// An agent's plan as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarkdownPlan {
    /// The whole plan, as Markdown.
    pub content: String,
    /// The absolute path of the file that contains the plan, as the agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The editor connection that answers the agent's client requests (files, terminals).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseHolder {
    /// The principal whose credentials the connection used.
    pub principal: String,
    /// The client's name, as it reported it.
    pub client: String,
    /// Unique id of the connection.
    pub connection: String,
}

/// Why a thread's lease moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaseMove {
    /// The lease was free when an editor that can answer the agent opened the thread.
    Opened,
    /// An editor requested the lease.
    Acquired,
    /// The holder released the lease.
    Released,
    /// The holder closed the session, or its connection ended.
    Left,
    /// The daemon restarted, which ends every connection.
    Restarted,
}

/// Whether a deleted thread's session was also deleted in the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionDeleted {
    /// The agent deleted the session.
    Deleted,
    /// The daemon sent the request, but the agent did not delete the session.
    Failed,
    /// There was no session, or the agent does not support deleting sessions.
    NotAsked,
}

/// Text of any length. Long text is stored as a blob, so that events stay small to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The text, or the beginning of a long text.
    pub text: String,
    /// The blob with the whole text, if `text` has only its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobId>,
}

/// The place of a cursor in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CursorPlace {
    /// The turn of the item.
    pub turn: TurnId,
    /// The message or tool call that the cursor is next to.
    pub item: ItemId,
    /// The side of the item on which the cursor is.
    pub side: CursorSide,
}

/// The side of an item on which a cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CursorSide {
    /// The conversation before the cursor does not have the item.
    Before,
    /// The conversation before the cursor ends with the item.
    After,
}
