//! Native ACP, version 1: editors drive a thread as if it were a local agent.
//!
//! In: messages of one editor; events of threads. Out: [`Call`]s for the daemon; messages for the editor. Owns: the
//! handshake, which sessions the connection has open, its prompts that wait for their turn's end, the questions that it was
//! asked. Never: keeps anything about a thread, or changes what an agent said. A session's id towards an editor is the
//! thread's.

mod answer;
mod call;
mod delegated;
mod delivery;
mod encode;
mod frame;
mod handshake;
mod params;
mod peer;
mod question;
mod requests;
mod resumed;
mod roles;
mod session;
mod splice;
mod terminals;

pub use call::{Call, ListedSession, Opened, Reply, SessionOptions};
pub use encode::frames;
pub use frame::{Feature, Frame, FrameKind, Question, Terminal, TurnResult};
pub use handshake::Client;
pub use peer::{Peer, PeerOutput};
pub use roles::METHODS;
pub use session::session_state;
pub use splice::with_session;

/// The version of ACP that is spoken here.
pub const PROTOCOL_VERSION: u32 = 1;
