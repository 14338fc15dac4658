//! Data of the events that create threads and sessions.

use serde::{Deserialize, Serialize};

use crate::ids::{ThreadId, TurnId};
use crate::json::RawJson;
use crate::numbers::Seq;

/// How a thread was created. Boxed in [`super::EventKind`], so that the frequent events stay small.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCreated {
    /// Name of the agent in the daemon's configuration.
    pub agent: String,
    /// Working directory of the thread.
    pub cwd: String,
    /// Name that a user gave the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Project id that the client chose to group threads by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Arbitrary data that the client stored with the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Additional directories of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// `cwd` and `additional_directories` with symbolic links resolved, in this order, as of the thread's creation.
    /// Empty in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real_directories: Vec<String>,
    /// ACP `McpServer` objects, passed on to the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<RawJson>,
    /// `_meta` for the agent, passed on unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
    /// Members of `session/new` that acpd does not know, as one object, passed on to the agent unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<RawJson>,
    /// ACP's `SystemPrompt`, passed on to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<RawJson>,
    /// The agent's session that the thread continues, if that session was created outside of acpd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// The directories that a thread works in from now on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Directories {
    /// Working directory of the thread.
    pub cwd: String,
    /// Additional directories of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// `cwd` and `additional_directories` with symbolic links resolved, in this order, as of this event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real_directories: Vec<String>,
}

/// Parameters for opening a session that differ from those the thread was created with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionParams {
    /// Working directory of the session, within the directories of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// ACP `McpServer` objects in addition to the thread's own. A server with the same name replaces the thread's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<RawJson>,
    /// Members that acpd does not know, as one object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<RawJson>,
    /// ACP's `SystemPrompt`, which replaces the thread's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<RawJson>,
    /// `_meta`, which replaces the thread's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// How well an agent remembers the kept turns of a thread after a rollback or a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fidelity {
    /// The agent remembers exactly the kept turns and nothing else.
    Exact,
    /// The agent starts a new session and receives the conversation so far with its next prompt.
    Recalled,
}

/// The beginning of another thread's events, which a fork shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherited {
    /// The other thread.
    pub from: ThreadId,
    /// The last event that belongs to both threads.
    pub until: Seq,
}

/// The origin of a thread that was forked from another thread. Boxed, since it is rare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForked {
    /// The thread that this one was forked from.
    pub from: ThreadId,
    /// The last turn that was copied; absent if there was no turn to copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<TurnId>,
    /// The agent's session that has the same history as the other thread's session, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How well the agent remembers the copied turns, if it opens `session_id`. Whether it does shows when it is bound.
    pub fidelity: Fidelity,
}
