//! Authentication: tokens, tickets and sessions, and the identity behind each.
//!
//! In: the credential that a client sends. Out: an [`Identity`](store::Identity), or an error. Owns: tokens, tickets,
//! sessions. Never: stores a secret as text (it stores hashes; the owner's token is the exception), or writes one to a log
//! or an error.

pub(crate) mod handle;
pub mod owner_token;
pub(crate) mod sessions;
pub(crate) mod store;
mod throttle;
pub mod tokens;

pub use store::Holder;
