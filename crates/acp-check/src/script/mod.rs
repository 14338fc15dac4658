//! What a run asks of an agent, in its order.
//!
//! In: a connection. Out: verdicts, by way of what watches the connection. Owns: the sessions that the run opens. Never: judges a message
//! that the schema or the watch judges.

mod base;
pub mod handshake;
mod methods;
mod sessions;
mod turns;
mod whole;

pub use self::base::Script;
