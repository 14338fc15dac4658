//! The app protocol: threads, turns and items over JSON-RPC.
//!
//! In: messages of one client; events of threads. Out: requests for the daemon; frames for the client. Owns:
//! the handshake, the connection's current thread, its rate window. Never: keeps anything about a thread; all
//! it shows is computed from events and views.

#[cfg(test)]
mod describe;
mod encode;
mod lifecycle;
mod params;
mod peer;
mod subscribers;
mod table;
mod thread_params;
mod view;

pub use encode::{Frame, frame, frames, live_frame};
pub use params::{
    AgentExtension, AnswerInput, Answered, Approve, Authenticate, DeleteSession, ExplainPolicy,
    InterruptTurn, ListSessions, ListThreads, ListedStatus, Named, NoParams, On, ReadThread, ResumeThread,
    RevokeRemembered, SearchThreads, SetConfig, SetMode, SetPolicy, StartThread, StartTurn, blocks,
};
pub use peer::{ANSWER, Client, Handled, Peer, PeerOutput, UNKNOWN_METHOD};
pub use subscribers::{OtherSubscribers, Subscriber, subscribers_frame};
pub use table::{METHODS, Method, Order, Request};
pub use thread_params::{ForkThread, RollBack, SetMetadata, SetName, SteerTurn, Words};
pub use view::{list_reset_frame, listed_frame, summary_json, thread_json, turn_json, turns_json};

/// Version of the app protocol; goes up when something is renamed or dropped.
pub const PROTOCOL_VERSION: u32 = 1;
