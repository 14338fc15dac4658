//! Native ACP, version 1: editors drive a thread as if it were a local agent.
//!
//! In: messages of one editor; events of threads. Out: [`Request`](super::request::Request)s for the daemon; messages for the editor. Owns: the
//! handshake, which sessions the connection has open, its prompts that wait for their turn's end, the questions that it was
//! asked. Never: keeps anything about a thread, or changes what an agent said. A session's id towards an editor is the
//! thread's.

mod answer;
mod checkpoints;
mod delegated;
mod delivery;
mod encode;
mod frame;
mod handshake;
mod methods;
mod opening;
mod params;
mod peer;
mod question;
mod replies;
mod requests;
mod resumed;
mod session;
mod start;
mod terminals;

pub use encode::frames;
pub use frame::{Feature, Frame, FrameKind, Question, Terminal, TurnResult};
pub use handshake::Client;
pub use methods::METHODS;
pub use peer::{Peer, PeerOutput};
pub use start::{ConnectionStart, PendingPrompt};

/// The version of ACP that is spoken here.
pub const PROTOCOL_VERSION: u32 = 1;
