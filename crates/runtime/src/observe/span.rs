//! Finished spans of a trace, and where they go.
//!
//! In: what was observed in a thread. Out: spans for an exporter. Owns: nothing. Never: contains text of users, agents or
//! files: names are words of this program, ids are the daemon's, and other text is the name of a configured agent.

use std::fmt;
use std::sync::Arc;

use acpd_model::Millis;

/// Receives finished spans. Recording one never waits.
pub trait Traces: fmt::Debug + Send + Sync {
    /// Returns an id for a new trace, which is not zero.
    fn trace_id(&self) -> [u8; 16];

    /// Returns an id for a new span, which is not zero.
    fn span_id(&self) -> [u8; 8];

    /// Records a span. If there are too many, the span is dropped.
    fn record(&self, span: Span);
}

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanName {
    /// A turn, from its start to its end.
    Turn,
    /// An agent's start, until its session is open.
    AgentStart,
    /// A tool call of the agent.
    Tool,
    /// A question of the agent, while it was open.
    Approval,
    /// A request of the agent for a file or a terminal.
    Callback,
    /// A command in a terminal.
    Terminal,
}

impl SpanName {
    /// Returns the span's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::AgentStart => "agent start",
            Self::Tool => "tool",
            Self::Approval => "approval",
            Self::Callback => "callback",
            Self::Terminal => "terminal",
        }
    }
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word of this program.
    Word(&'static str),
    /// An id of the daemon, or the name of an agent.
    Name(Arc<str>),
    /// A number.
    Number(i64),
}

/// An attribute of a span.
pub type Attribute = (&'static str, Value);

/// A finished span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What the span is about.
    pub name: SpanName,
    /// Id of the trace.
    pub trace: [u8; 16],
    /// Id of the span.
    pub id: [u8; 8],
    /// The span around it.
    pub parent: Option<[u8; 8]>,
    /// Whether the parent is a client's.
    pub has_remote_parent: bool,
    /// The client's `tracestate`.
    pub state: Option<Arc<str>>,
    /// When it began.
    pub began: Millis,
    /// When it ended.
    pub ended: Millis,
    /// Whether it ended with an error.
    pub failed: bool,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
}
