//! How threads and sessions begin.

use serde::{Deserialize, Serialize};

use crate::ids::{ThreadId, TurnId};
use crate::json::RawJson;

/// How a thread was made. In a box of its own, so that the events that come by the thousand are small.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCreated {
    /// Name of the agent in the configuration.
    pub agent: String,
    /// Working directory.
    pub cwd: String,
    /// Name that a person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The client's own grouping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The client's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Further directories that belong to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// Names without links of `cwd` and of `additional_directories`, in this order, when the thread was made. Empty in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real_directories: Vec<String>,
    /// ACP `McpServer` objects, passed on to the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<RawJson>,
    /// `_meta` for the agent, beside all that; passed on as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
    /// Members of `session/new` that acpd does not know, an object; passed on to the agent as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<RawJson>,
    /// The session of the agent that it goes on with, which was made outside of acpd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// What a session is opened with that differs from what its thread was made with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionParams {
    /// Its directory, within those of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// ACP `McpServer` objects beside the thread's own; one of the same name takes the place of the thread's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<RawJson>,
    /// Members that acpd does not know, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<RawJson>,
    /// `_meta`, in the place of the thread's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// How well an agent remembers what a thread keeps, after turns were dropped or a thread was split off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fidelity {
    /// As if nothing else had ever been said.
    Exact,
    /// It begins anew, and is told the conversation with its next prompt.
    Recalled,
}

/// Where a thread comes from that was split off another one. In a box of its own, since it is rare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForked {
    /// The other thread.
    pub from: ThreadId,
    /// The last turn that was taken over; none if there was no turn to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<TurnId>,
    /// The agent's session that knows the same as the other thread's; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How well the agent remembers.
    pub fidelity: Fidelity,
}
