//! Events and changes on their way to clients.
//!
//! In: events that are stored, and changes of the list of threads. Out: batches that are encoded once for all clients. Owns: who follows
//! which thread. Never: encodes what nobody reads.

pub mod batch;
pub mod presence;
pub mod session_claims;
pub mod snapshot;
pub mod thread_list;
