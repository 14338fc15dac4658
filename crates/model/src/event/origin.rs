//! Who caused an event.

use serde::{Deserialize, Serialize};

/// Who caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Origin {
    /// The agent.
    #[default]
    Agent,
    /// The daemon itself.
    Daemon,
    /// A client.
    Client(Box<ClientOrigin>),
    /// The permission policy.
    Policy(Box<Ruling>),
}

/// What of the permission policy caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// Whose policy: `session`, `thread`, `agent` or `daemon`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The rule; none for a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// One sentence for a person.
    pub reason: String,
}

/// A client that caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientOrigin {
    /// Whose credentials it showed.
    pub principal: String,
    /// The name it gave itself.
    pub client: String,
}
