//! What clients are shown live and the log does not store.

use super::LiveText;
use crate::agent::Suggestion;

/// The current state of something that the log stores later, in part, or in another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveUpdate {
    /// Output of a terminal, beyond what the log stores.
    Output(LiveText),
    /// The unified diff of the running turn so far. The log stores the diff when the turn ends.
    TurnDiff(String),
    /// The prompts that the agent suggests now. The log does not store them: they concern only the next prompt.
    Suggestions(Vec<Suggestion>),
}
