//! Agents' requests for files and terminals, carried out on this host.
//!
//! In: callbacks that the policy has allowed. Out: their results, and output of terminals. Owns: the terminals of a thread. Never:
//! decides whether a callback is allowed.

pub(crate) mod callbacks;
pub mod paths;
pub(crate) mod terminals;
