//! What passes between the parts of a thread: the only code that takes an outcome of one part to another.
//!
//! In: inputs, and outcomes of the parts. Out: calls of the parts, in the order in which things happen. Owns: nothing; the parts
//! have the state, and none of them knows another. Never: decides what a part alone can decide.

mod agent;
mod calls;
mod commands;
mod fork;
mod import;
mod lifecycle;
mod steer;
mod turns;
mod updates;

pub(super) use turns::DAEMON_STOPPED;
