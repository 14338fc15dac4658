//! The requests of clients, independent of their protocol.
//!
//! A surface decodes its client's messages into [`Request`]s. The runtime executes them and sends a
//! [`Reply`](super::reply::Reply) to each. `table` has a row for each request: the role that it needs, the order in which it
//! executes, how large its answer is, and whether a client may make it of a thread that was shared with it.

#[macro_use]
mod macros;

mod params;
mod properties;
mod scope;
mod table;

pub use self::params::{
    AgentFilter, ConfigChange, Extent, Follow, FollowFrom, ForkThread, ListThreads, ListedStatus, OpenThread,
    ReadUsage, RunRetention, SearchThreads, SeeThreads, SessionOptions, StartThread, StartTurn, Turns,
    UsageBy, invalid_cursor,
};
pub use self::properties::{AnswerSize, Order, SharedAccess};
pub use self::scope::{Permissions, no_thread, outside};
pub use self::table::{Request, RequestKind, calls};
