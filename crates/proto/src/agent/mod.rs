//! One agent: we are its ACP client, version 1.
//!
//! In: lines from its stdout, commands from the thread, time. Out: lines for its stdin, and what it said as
//! [`AgentEvent`]s. Owns: JSON-RPC ids in both directions, the handshake, the opening of the session. Never:
//! decides what an update means for a thread, or answers a callback by itself unless it must be refused.

mod call;
mod capabilities;
mod connection;
mod opening;
mod quirks;
mod replay;
mod request;
mod session_name;
mod shared;
mod update;

pub use call::{Call, TerminalExit, not_found};
pub use capabilities::{AuthMethod, Capabilities};
pub use connection::{AgentCommand, AgentConnection, AgentEvent, Opened, Start};
pub use opening::CLIENT_CAPABILITIES;
pub use quirks::Quirks;
pub use request::{AgentRequest, ConfigValue, PassthroughMethod, check_extension};
pub use session_name::with_session;
pub use shared::{Seat, SeatEvent, SharedAgent};
pub use update::{Chunk, ChunkContent, ToolUpdate, Update, UpdateKind, text_chunk};
