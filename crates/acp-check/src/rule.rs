//! The rules that a run checks, with their names and sentences.

/// A rule of ACP, or of JSON-RPC below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Standard output has JSON-RPC messages only.
    Lines,
    /// The process runs while it is used.
    Running,
    /// Messages fit the schema.
    Schema,
    /// The agent calls methods that exist.
    Method,
    /// Requests are answered once.
    Answered,
    /// Ids of requests are unique.
    Ids,
    /// A version is negotiated.
    Version,
    /// Wrong params are refused.
    Params,
    /// Unknown methods are refused.
    Unknown,
    /// Unknown notifications are ignored.
    Ignored,
    /// Malformed lines are survived.
    Malformed,
    /// Declared methods exist.
    Declared,
    /// Methods that are not declared are refused.
    Undeclared,
    /// Messages name a session that is open.
    Session,
    /// A new session has a new id.
    NewId,
    /// Closed sessions are silent.
    Closed,
    /// Unknown sessions are refused.
    NoSession,
    /// Updates of tool calls follow the call.
    ToolCall,
    /// Terminals are known.
    Terminal,
    /// Ids of messages keep their role.
    Message,
    /// Current values are among the offered ones.
    Choice,
    /// Changes are effective.
    Effect,
    /// Turns end.
    Turn,
    /// Cancelled turns end as such.
    Cancelled,
    /// The user's message is shown.
    Echo,
    /// A replay ends with a mark.
    Replay,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 26] = [
        Self::Lines,
        Self::Running,
        Self::Schema,
        Self::Method,
        Self::Answered,
        Self::Ids,
        Self::Version,
        Self::Params,
        Self::Unknown,
        Self::Ignored,
        Self::Malformed,
        Self::Declared,
        Self::Undeclared,
        Self::Session,
        Self::NewId,
        Self::Closed,
        Self::NoSession,
        Self::ToolCall,
        Self::Terminal,
        Self::Message,
        Self::Choice,
        Self::Effect,
        Self::Turn,
        Self::Cancelled,
        Self::Echo,
        Self::Replay,
    ];

    /// Returns its name in reports, and its sentence.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Lines => ("lines", "standard output has JSON-RPC messages only, one a line"),
            Self::Running => (
                "running",
                "the process reads its input and runs until the client ends it",
            ),
            Self::Schema => ("schema", "each message fits the schema of its version"),
            Self::Method => (
                "method",
                "the agent calls methods of ACP, and extensions that begin with \"_\"",
            ),
            Self::Answered => (
                "answered",
                "each request is answered exactly once, under its own id",
            ),
            Self::Ids => ("ids", "no two requests that wait for an answer have one id"),
            Self::Version => (
                "version",
                "initialize answers with a version that the agent supports",
            ),
            Self::Params => ("params", "wrong params are refused with -32602"),
            Self::Unknown => ("unknown-method", "unknown methods are refused with -32601"),
            Self::Ignored => (
                "unknown-notification",
                "unknown notifications have no answer and no effect",
            ),
            Self::Malformed => (
                "malformed-line",
                "a line that is not JSON has no effect on later messages",
            ),
            Self::Declared => ("declared", "a declared method exists"),
            Self::Undeclared => ("undeclared", "a method that is not declared is refused"),
            Self::Session => ("session", "messages are about sessions that are open"),
            Self::NewId => ("new-id", "each new session has an id of its own"),
            Self::Closed => (
                "closed",
                "nothing comes from a session that was closed or deleted",
            ),
            Self::NoSession => ("no-session", "requests about unknown sessions are refused"),
            Self::ToolCall => ("tool-call", "updates of a tool call come after the call"),
            Self::Terminal => ("terminal", "a terminal exists, and is used in its own session"),
            Self::Message => (
                "message-id",
                "the id of a message is of one message, and keeps its role",
            ),
            Self::Choice => (
                "choice",
                "the current mode or value is one of those that are offered",
            ),
            Self::Effect => (
                "effect",
                "a change that is answered without an error is effective",
            ),
            Self::Turn => ("turn", "a turn ends, with a reason"),
            Self::Cancelled => ("cancelled", "a cancelled turn ends with the reason \"cancelled\""),
            Self::Echo => (
                "echo",
                "the user's message is sent back under the id of the answer",
            ),
            Self::Replay => ("replay", "replay_complete comes once, before the answer"),
        }
    }

    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// Returns its sentence.
    pub fn sentence(self) -> &'static str {
        self.words().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
    }
}
