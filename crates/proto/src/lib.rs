//! The protocols and decisions of acpd, as state machines without IO.
//!
//! All state machines have the same shape. Input goes in through `handle…`, with the current time as an argument.
//! Output comes out through `poll…` until it returns `None`. `poll_timeout` returns the latest time for the next
//! call. This crate has no clock, no randomness, no files, no sockets and no `async`. So a recorded conversation
//! always replays with the same result.
//!
//! * [`wire`]: lines and JSON-RPC envelopes
//! * [`agent`]: the ACP client side of the connection to an agent
//! * [`thread`]: combines commands and agent events, and decides what to record
//! * [`projection`]: views computed from events
//! * [`fanout`]: merges deltas before the log, and follows a thread from a cursor
//! * [`notify`]: which notifications go to which targets, and when
//! * [`surface`]: the protocols that clients speak
//! * [`trace_context`]: W3C trace context in `_meta`

pub mod agent;
pub mod fanout;
pub mod notify;
pub mod projection;
mod queue;
pub mod surface;
pub mod thread;
pub mod time;
pub mod trace_context;
pub mod wire;
