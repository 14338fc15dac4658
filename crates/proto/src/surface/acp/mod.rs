//! Native ACP: editors drive a thread as if it were a local agent.
//!
//! In: messages of one editor; events of threads. Out: [`Request`](super::request::Request)s for the daemon; messages
//! for the editor. Owns: the handshake, the open sessions of the connection, its prompts until their turns end, and the
//! questions sent to it. Never: stores thread state, or changes an agent's output, except for ids. The editor uses the thread's
//! id as the session id. What version 2 has in other words has a room of its own.

mod answer;
mod checkpoints;
mod cursors;
mod delegated;
mod delivery;
mod encode;
mod encode_v2;
mod foreground;
mod form;
mod frame;
mod handshake;
mod inserted;
mod mcp_servers;
mod methods;
mod opening;
mod params;
mod peer;
mod question;
mod repeated_ids;
mod replies;
mod requests;
mod requests_v2;
mod resumed;
mod session;
mod start;
mod subagents;
mod terminals;
mod v2;
mod version;

pub use cursors::Anchor;
pub use encode::frames;
pub use frame::{Feature, Frame, FrameKind, QuestionKind, Setting, Terminal, TurnResult};
pub use handshake::Client;
pub use methods::{METHODS, METHODS_V2, Method};
pub use peer::Peer;
pub use start::{ConnectionStart, PendingPrompt};
pub use subagents::thread_and_lane;

/// The ACP version that editors speak unless they offer 2 and the daemon does too.
pub const PROTOCOL_VERSION: u32 = 1;
