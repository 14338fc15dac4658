//! What a principal may do here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks on: lists, reads and follows threads. Starts no agent.
    #[default]
    Observer,
    /// Answers questions.
    Approver,
    /// Starts, steers and ends threads and turns.
    Operator,
    /// Changes what others may do: policies, sign-ins, tokens.
    Owner,
}

impl Role {
    /// From the least to the most.
    pub const ALL: [Self; 4] = [Self::Observer, Self::Approver, Self::Operator, Self::Owner];

    /// Whether it covers what needs `needed`.
    pub fn may(self, needed: Self) -> bool {
        self >= needed
    }

    /// Its name.
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

/// A name that is no role's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no role: use observer, approver, operator or owner")]
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
                .contains("no role")
        );
    }
}
