//! The verbs of acpd: every protocol and every decision, as state machines without IO.
//!
//! All machines have one shape. Input comes in through `handle…`, time as an argument; what is to be done
//! comes out through `poll…` until it answers `None`; `poll_timeout` says when to call again at the latest.
//! There is no clock, no randomness, no file, no socket and no `async` in here, so that a recorded
//! conversation always runs the same way.
//!
//! * [`wire`]: lines and JSON-RPC envelopes
//! * [`agent`]: we are the ACP client of an agent
//! * [`thread`]: where commands and events meet; decides what happened
//! * [`projection`]: what can be computed from events
//! * [`fanout`]: merging of deltas before the log; following a thread from a cursor
//! * [`surface`]: the protocols that clients speak

pub mod agent;
pub mod fanout;
pub mod projection;
mod queue;
pub mod surface;
pub mod thread;
pub mod time;
pub mod wire;
