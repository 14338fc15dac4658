//! Connections before a request is read: origin, TLS, HTTP versions and the local sockets.
//!
//! In: addresses, and accepted sockets. Out: HTTP requests with their [`PeerAddress`](peer_address::PeerAddress) and the
//! [`Traffic`](counted::Traffic) of their connection. Owns: listeners, certificates, and the list of unauthenticated connections.
//! Never: interprets a request.

pub(crate) mod counted;
pub(crate) mod http_version;
pub mod listener;
pub(crate) mod peer_address;
pub mod tls;
pub(crate) mod unauthenticated;
pub mod unix_socket;
