//! The app protocol: threads, turns and items over JSON-RPC.
//!
//! In: messages of one client, events of threads. Out: requests for the daemon, frames for the client. Owns:
//! the handshake, the connection's current thread. Never: stores anything about a thread. All
//! output is computed from events and views.

#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "schemas are JSON values")]
mod describe;
mod encode;
mod events;
mod log_state;
mod notifications;
mod params;
mod peer;
mod results;
mod strict;
mod subscribers;
mod table;
mod thread_params;
mod version;
mod wire;

pub use encode::{Frame, frame, frames, live_frame};
pub use peer::Peer;
pub use table::{METHODS, Method};
pub use version::PROTOCOL_VERSION;
pub use wire::thread::question_json;
