//! Why a daemon cannot start.

use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_log::LogError;
use acpd_runtime::policy::remembered::AnswersError;

use crate::auth::owner_token::TokenError;
use crate::auth::tokens::TokensError;
use crate::http::host_check::BadHost;
use crate::net::tls::TlsError;

/// An error of starting the daemon.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is beyond loopback, and TLS is not configured.
    #[error(
        "{0} is not a loopback address, and TLS is not configured: the access token would be sent in clear text; set up \
         [server.tls], use an SSH tunnel, or pass --insecure-listen"
    )]
    NotLoopback(SocketAddr),
    /// The daemon cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The data directory cannot be used.
    #[error("the data directory {path} cannot be used: {source}")]
    DataDir {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The operating system refuses threads.
    #[error("no threads can be started: {0}")]
    Threads(std::io::Error),
    /// The daemon cannot listen on the socket in the data directory.
    #[error("cannot listen on {path}: {source}")]
    Socket {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The daemon's address cannot be announced to other programs.
    #[error("the daemon cannot be announced: {0}")]
    Announce(std::io::Error),
    /// A configured host name is invalid.
    #[error(transparent)]
    Host(#[from] BadHost),
    /// The certificate cannot be created or loaded.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The issued tokens cannot be loaded.
    #[error(transparent)]
    Keys(#[from] TokensError),
    /// The log cannot be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The remembered answers cannot be loaded.
    #[error(transparent)]
    Answers(#[from] AnswersError),
    /// The owner's token cannot be loaded or created.
    #[error(transparent)]
    Token(#[from] TokenError),
}
