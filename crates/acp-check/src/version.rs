//! The versions of ACP that agents are checked against.

use std::fmt;

/// A version of ACP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Version 1.
    One,
    /// Version 2.
    Two,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// Returns its number on the wire.
    pub fn number(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number())
    }
}
