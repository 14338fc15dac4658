//! The origin of a request.

use std::net::SocketAddr;

use crate::net::unix_socket;

/// The connection on which a request arrived.
#[derive(Debug, Clone, Copy)]
pub enum PeerAddress {
    /// A network connection.
    Network {
        /// The daemon's address.
        local: SocketAddr,
        /// The client's address.
        peer: SocketAddr,
        /// Whether the connection uses TLS.
        secure: bool,
    },
    /// A connection at the local socket.
    Socket {
        /// The user of the client process.
        peer: unix_socket::Peer,
    },
}
