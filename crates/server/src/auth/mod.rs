//! Authentication: tokens, tickets and sessions, and whom each stands for.
//!
//! In: what a client shows. Out: an [`Identity`](store::Identity), or why not. Owns: tokens, tickets, sessions. Never: keeps a secret as text
//! (hashes only, the owner's token apart), or says one in a log or an error.

pub(crate) mod handle;
pub mod owner_token;
pub(crate) mod sessions;
pub(crate) mod store;
mod throttle;
pub mod tokens;

pub use store::Holder;
