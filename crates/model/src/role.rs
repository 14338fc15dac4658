//! Roles of principals, and the threads that a credential reaches.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// The role of a principal. Each role includes the permissions of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Lists, reads and follows threads. Cannot start an agent.
    #[default]
    Observer,
    /// Also answers permission questions.
    Approver,
    /// Also starts, steers and ends threads and turns.
    Operator,
    /// Also changes permissions: policies, sign-ins, tokens.
    Owner,
}

impl Role {
    /// All roles, from the lowest to the highest.
    pub const ALL: [Self; 4] = [Self::Observer, Self::Approver, Self::Operator, Self::Owner];

    /// Returns whether the role includes the permissions of `needed`.
    pub fn may(self, needed: Self) -> bool {
        self >= needed
    }

    /// Returns the role's name, as in configuration and protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observer => "observer",
            Self::Approver => "approver",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The threads that a credential reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessScope {
    /// All threads, and the daemon itself.
    Everything,
    /// One thread that was shared, read-only.
    Thread(ThreadId),
}

impl AccessScope {
    /// Returns whether the scope includes this thread.
    pub fn includes(self, thread: ThreadId) -> bool {
        match self {
            Self::Everything => true,
            Self::Thread(shared) => shared == thread,
        }
    }
}

/// The error for an unknown role name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role {0:?}: use observer, approver, operator or owner")]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|role| role.name() == text);
        named.ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_may_do_what_those_before_it_may() {
        for (place, role) in Role::ALL.into_iter().enumerate() {
            for (other_place, other) in Role::ALL.into_iter().enumerate() {
                assert_eq!(role.may(other), place >= other_place, "{role} {other}");
            }
            assert_eq!(role.name().parse(), Ok(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.name());
        }
        assert!(
            "admin"
                .parse::<Role>()
                .unwrap_err()
                .to_string()
                .contains("unknown role")
        );
    }
}
