//! What a user chooses for a run.

use std::time::Duration;

use crate::version::Version;

/// The prompt of a turn that ends soon.
pub const PROMPT: &str = "Reply with the word ok. Use no tools.";

/// The prompt of a turn that is long enough to be cancelled.
pub const LONG_PROMPT: &str = "Count from 1 to 500 in words, one number a line. Use no tools.";

/// The choices of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The versions to check.
    pub versions: Vec<Version>,
    /// The prompt of turns that end by themselves.
    pub prompt: String,
    /// The prompt of turns that are cancelled.
    pub long_prompt: String,
    /// The method to sign in with; none leaves the agent as it is.
    pub sign_in: Option<String>,
    /// Whether the agent's requests for permission are granted.
    pub allow: bool,
    /// The time for an answer.
    pub limit: Duration,
    /// The time for a turn.
    pub turn_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            versions: Version::ALL.to_vec(),
            prompt: PROMPT.to_owned(),
            long_prompt: LONG_PROMPT.to_owned(),
            sign_in: None,
            allow: false,
            limit: Duration::from_secs(30),
            turn_limit: Duration::from_mins(2),
        }
    }
}
