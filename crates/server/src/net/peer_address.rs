//! Where a request came from.

use std::net::SocketAddr;

use crate::net::unix_socket;

/// How a request came in.
#[derive(Debug, Clone, Copy)]
pub enum PeerAddress {
    /// By the network.
    Network {
        /// The daemon's end of the connection.
        local: SocketAddr,
        /// The other end.
        peer: SocketAddr,
        /// Whether it is encrypted.
        secure: bool,
    },
    /// By the local socket.
    Socket {
        /// Whose the other end is.
        peer: unix_socket::Peer,
    },
}
