//! The path of events and changes to clients.
//!
//! In: stored events, and changes to the thread list. Out: batches that are encoded once for all clients of a lane. Owns:
//! the subscribers of each thread. Never: encodes frames that no client reads.

pub mod batch;
pub mod log_faults;
pub mod presence;
pub mod publisher;
pub mod session_claims;
pub mod snapshot;
pub mod thread_list;
