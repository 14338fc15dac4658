//! Authentication: tokens, tickets, sessions and links, the identity behind each, and the devices of sessions.
//!
//! In: the credential that a client sends. Out: an [`Identity`](identity::Identity), or an error. Owns: tokens, tickets,
//! sessions, links that share a thread. Never: stores a secret as text (it stores hashes; the owner's token is the exception), or writes one to a log
//! or an error.

pub(crate) mod devices;
pub(crate) mod handle;
pub(crate) mod identity;
mod lifetime;
pub mod owner_token;
pub(crate) mod sessions;
pub(crate) mod shares;
pub(crate) mod store;
mod stored_list;
mod throttle;
pub mod tokens;

pub use store::Holder;
