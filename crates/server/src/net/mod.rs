//! Connections before a request is read: where each came from, TLS, HTTP versions and the local socket.
//!
//! In: accepted sockets. Out: HTTP requests with their [`PeerAddress`](peer_address::PeerAddress) and the [`Traffic`](counted::Traffic)
//! of their connection. Owns: certificates, and the places of
//! connections that have shown nothing valid. Never: knows what a request means.

pub(crate) mod counted;
pub(crate) mod http_version;
pub(crate) mod peer_address;
pub mod tls;
pub(crate) mod unauthenticated;
pub mod unix_socket;
