//! Native ACP, version 1: editors drive a thread as if it were a local agent.
//!
//! In: messages of one editor; events of threads. Out: [`Request`](super::request::Request)s for the daemon; messages
//! for the editor. Owns: the handshake, the open sessions of the connection, its prompts until their turns end, and the
//! questions sent to it. Never: stores thread state, or changes an agent's output, except for ids. The editor uses the thread's
//! id as the session id.

mod answer;
mod checkpoints;
mod cursors;
mod delegated;
mod delivery;
mod encode;
mod form;
mod frame;
mod handshake;
mod mcp_servers;
mod methods;
mod opening;
mod params;
mod peer;
mod question;
mod repeated_ids;
mod replies;
mod requests;
mod resumed;
mod session;
mod start;
mod subagents;
mod terminals;

pub use cursors::Anchor;
pub use encode::frames;
pub use frame::{Feature, Frame, FrameKind, QuestionKind, Setting, Terminal, TurnResult};
pub use handshake::Client;
pub use methods::{METHODS, Method};
pub use peer::Peer;
pub use start::{ConnectionStart, PendingPrompt};

/// The ACP version of this module.
pub const PROTOCOL_VERSION: u32 = 1;
