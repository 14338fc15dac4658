//! The groups in which metrics count events.

/// A group of events in metrics. The groups differ from those of [`EventKind`](super::EventKind), because parts of messages
/// and state that agents report outnumber all other events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricGroup {
    /// The thread as a whole.
    Thread,
    /// The agent's process, and what it sent that is not part of a turn.
    Agent,
    /// Turns.
    Turn,
    /// Items, without their text.
    Item,
    /// Text and output that was added to items.
    Delta,
    /// State that the agent reports, such as its plan.
    State,
    /// Questions and answers.
    Request,
    /// Files and terminals.
    Host,
}

impl MetricGroup {
    /// All groups, in the order of the variants.
    pub const ALL: [Self; 8] = [
        Self::Thread,
        Self::Agent,
        Self::Turn,
        Self::Item,
        Self::Delta,
        Self::State,
        Self::Request,
        Self::Host,
    ];

    /// Returns the value of the label `group`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Agent => "agent",
            Self::Turn => "turn",
            Self::Item => "item",
            Self::Delta => "delta",
            Self::State => "state",
            Self::Request => "request",
            Self::Host => "host",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters are in an array, with the group as its index.
    #[test]
    fn a_group_is_at_its_index() {
        for (index, group) in MetricGroup::ALL.into_iter().enumerate() {
            assert_eq!(group as usize, index, "{group:?}");
        }
    }
}
