//! Where a value does not fit its schema, and what was expected there.

use std::fmt;

use serde_json::Value;

use crate::evidence::cut;

/// Most of a value that a fault quotes, in bytes.
const FOUND_BYTES: usize = 80;

/// The first place at which a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The names and indexes on the way to the member, innermost first.
    way: Vec<String>,
    expected: String,
    found: Option<String>,
}

impl Fault {
    /// Creates a fault of this value.
    pub(super) fn new(expected: impl Into<String>, found: &Value) -> Self {
        Self {
            way: Vec::new(),
            expected: expected.into(),
            found: Some(cut(&found.to_string(), FOUND_BYTES)),
        }
    }

    /// Creates a fault of a member that is required and absent.
    pub(super) fn missing(member: &str) -> Self {
        Self {
            way: vec![member.to_owned()],
            expected: "it is required".to_owned(),
            found: None,
        }
    }

    /// Adds the member, or the index, that the value has in the one around it.
    pub(super) fn within(mut self, step: impl Into<String>) -> Self {
        self.way.push(step.into());
        self
    }

    /// Returns the number of steps to the member.
    pub(super) fn depth(&self) -> usize {
        self.way.len()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.way.iter().rev().enumerate() {
            let dot = if at == 0 || step.starts_with('[') { "" } else { "." };
            write!(f, "{dot}{step}")?;
        }
        let colon = if self.way.is_empty() { "" } else { ": " };
        match &self.found {
            Some(found) => write!(f, "{colon}expected {}, found {found}", self.expected),
            None => write!(f, "{colon}missing, {}", self.expected),
        }
    }
}
