//! Origins of events.

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
    /// A permission policy.
    Policy(Box<Ruling>),
}

impl Origin {
    /// Returns the client, if one caused the event.
    pub fn into_client(self) -> Option<Box<ClientOrigin>> {
        match self {
            Self::Client(client) => Some(client),
            Self::Agent | Self::Daemon | Self::Policy(_) => None,
        }
    }
}

/// The part of the permission policy that caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// Scope of the policy: `session`, `thread`, `agent` or `daemon`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The rule that matched; absent if a default applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// One sentence for the user.
    pub reason: String,
}

/// A client that caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientOrigin {
    /// The principal whose credentials the client used.
    pub principal: String,
    /// The client's name, as it reported it.
    pub client: String,
}
