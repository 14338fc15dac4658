//! What the daemon listens on: its network address, the one for Codex clients, and the sockets in the data directory.
//!
//! In: the configuration, and a socket that another program has opened. Out: tasks that accept connections. Owns: the listeners until they
//! are served. Never: accepts a connection before that.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::start_error::StartError;
use crate::config::Config;
use crate::http::ServerState;
use crate::http::host_check::AllowedHosts;
use crate::http::listen;
use crate::net::listener::NetworkListener;
use crate::net::tls::Certified;
use crate::net::unix_socket;

/// The listeners of the network.
#[derive(Debug)]
pub(super) struct Listeners {
    main: NetworkListener,
    codex: Option<NetworkListener>,
}

/// The sockets in the data directory.
#[derive(Debug)]
pub(super) struct LocalSockets {
    pub paths: [PathBuf; 2],
    clients: UnixListener,
    editors: UnixListener,
}

/// Refuses an address at which tokens would be sent in clear text, unless the configuration permits it.
pub(super) fn refuse_clear_text(config: &Config) -> Result<(), StartError> {
    let server = &config.server;
    if server.tls.is_some() || server.insecure_listen {
        return Ok(());
    }
    let mut addresses = std::iter::once(config.address()).chain(config.codex.listen);
    match addresses.find(|address| !address.ip().is_loopback()) {
        Some(exposed) => Err(StartError::NotLoopback(exposed)),
        None => Ok(()),
    }
}

impl Listeners {
    /// Opens the listeners. `given` already listens on the configured address; without it, this opens one. Connections wait until
    /// [`Self::serve`].
    pub async fn open(given: Option<std::net::TcpListener>, config: &Config) -> Result<Self, StartError> {
        let main = open(given, config.address()).await?;
        let codex = match config.codex.listen {
            Some(address) => Some(open(None, address).await?),
            None => None,
        };
        Ok(Self { main, codex })
    }

    /// Returns the address of the daemon.
    pub fn address(&self) -> SocketAddr {
        self.main.address()
    }

    /// Returns the address for Codex clients alone, if there is one.
    pub fn codex_address(&self) -> Option<SocketAddr> {
        self.codex.as_ref().map(NetworkListener::address)
    }

    /// Refuses the name `localhost` at each port that the daemon shares with another program.
    pub fn refuse_localhost(&self, names: &mut AllowedHosts) {
        for listener in std::iter::once(&self.main).chain(&self.codex) {
            if listener.shares_localhost() {
                names.refuse_localhost(listener.address().port());
            }
        }
    }

    /// Begins to accept connections, those of the sockets too.
    pub fn serve(
        self,
        sockets: LocalSockets,
        server: &ServerState,
        certificates: Option<&watch::Receiver<Certified>>,
    ) -> Vec<JoinHandle<()>> {
        let LocalSockets { clients, editors, .. } = sockets;
        let mut servers = vec![
            tokio::spawn(listen::serve(self.main, server.clone(), certificates.cloned())),
            tokio::spawn(listen::serve_socket(clients, server.clone())),
            tokio::spawn(listen::serve_editors(editors, server.clone())),
        ];
        if let Some(codex) = self.codex {
            let certificates = certificates.cloned();
            servers.push(tokio::spawn(listen::serve_codex(
                codex,
                server.clone(),
                certificates,
            )));
        }
        servers
    }
}

impl LocalSockets {
    /// Listens on the sockets of a data directory.
    pub fn open(data_dir: &Path) -> Result<Self, StartError> {
        let paths = [unix_socket::path(data_dir), unix_socket::editors_path(data_dir)];
        let listen = |path: &PathBuf| {
            unix_socket::listen(path).map_err(|source| StartError::Socket {
                path: path.clone(),
                source,
            })
        };
        let (clients, editors) = (listen(&paths[0])?, listen(&paths[1])?);
        Ok(Self {
            paths,
            clients,
            editors,
        })
    }
}

/// Listens on an address, by a socket that another program has opened, if there is one.
async fn open(
    given: Option<std::net::TcpListener>,
    address: SocketAddr,
) -> Result<NetworkListener, StartError> {
    let opened = match given {
        Some(given) => match tokio::net::TcpListener::from_std(given) {
            Ok(given) => NetworkListener::adopt(given).await,
            Err(error) => Err(error),
        },
        None => NetworkListener::bind(address).await,
    };
    opened.map_err(|source| StartError::Listen { address, source })
}
