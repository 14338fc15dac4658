//! The daemon as a whole: comes up, serves, goes down.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::Supervision;
use acpd_log::{EventLog, LogError, Sqlite};
use acpd_model::limits::SHUTDOWN_SECS;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::handle::AuthHandle;
use crate::auth::owner_token::{Token, TokenError};
use crate::auth::sessions::Sessions;
use crate::auth::store::AuthStore;
use crate::auth::tokens;
use crate::auth::tokens::TokensError;
use crate::config::{Config, ServerConfig};
use crate::connection::acp::setup::ConnectionSetup;
use crate::http::ServerState;
use crate::http::host_check::{AllowedHosts, BadHost};
use crate::http::listen;
use crate::net::tls;
use crate::net::tls::{Certified, TlsConfig, TlsError};
use crate::net::unix_socket;
use acpd_runtime::agent::registry::Agents;
use acpd_runtime::clock::Clock;
use acpd_runtime::context::{Context, Parts};
use acpd_runtime::host::Host;
use acpd_runtime::host::local::LocalHost;
use acpd_runtime::ids::Ids;
use acpd_runtime::policy::book::PolicyBook;
use acpd_runtime::policy::remembered::{AnswersError, RememberedAnswers};
use acpd_runtime::private_file;
use acpd_runtime::sandbox;
use acpd_runtime::service::Service;
use acpd_runtime::service::search::index_backlog;
use acpd_runtime::thread::directory::Directory;

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    address: SocketAddr,
    server: ServerState,
    servers: [JoinHandle<()>; 3],
    tls: Option<Tls>,
    sockets: [PathBuf; 2],
    log: Arc<Sqlite>,
    supervision: Supervision,
    reaper: JoinHandle<()>,
    indexing: JoinHandle<()>,
    policies: watch::Sender<PolicyBook>,
}

/// Where the certificate comes from, and the one that is shown.
#[derive(Debug)]
struct Tls {
    config: TlsConfig,
    data_dir: PathBuf,
    /// For one that is made.
    names: Vec<String>,
    shown: watch::Sender<Certified>,
}

/// Why a daemon does not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is open to the network.
    #[error(
        "{0} is not a loopback address, and TLS is not configured: the access token would be sent in clear text. Set up \
         [server.tls], use an SSH tunnel, or pass --insecure-listen"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The data directory cannot be used.
    #[error("the data directory {path} cannot be used: {source}")]
    DataDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The socket in the data directory cannot be listened on.
    #[error("cannot listen on {path}: {source}")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Programs cannot be told where it listens.
    #[error("the daemon cannot be announced: {0}")]
    Announce(std::io::Error),
    /// A configured name is no name.
    #[error(transparent)]
    Host(#[from] BadHost),
    /// There is no certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens that were given out cannot be had.
    #[error(transparent)]
    Keys(#[from] TokensError),
    /// The log cannot be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The answers that hold for agents cannot be had.
    #[error(transparent)]
    Answers(#[from] AnswersError),
    /// The token cannot be had.
    #[error(transparent)]
    Token(#[from] TokenError),
}

impl Daemon {
    /// Comes up: log, processes of an earlier run, threads, then the door. `token` overrides the data directory's own.
    /// `announce` is told the address before anybody can connect to the sockets: whoever does finds out by it where
    /// the network address is.
    pub async fn start(
        config: Config,
        token: Option<Token>,
        announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
    ) -> Result<Self, StartError> {
        let reserved = Arc::new(config.reserved());
        let Config {
            listen,
            server,
            data_dir,
            config_file: _,
            durability,
            agents,
            default_agent,
            policy,
            sandbox,
            limits,
            keeper,
        } = config;
        sandbox::announce(&agents, &sandbox, &reserved);
        let (policies, policies_now) = watch::channel(PolicyBook::new(policy, &agents));
        let ServerConfig {
            hosts,
            insecure_listen,
            tls,
        } = server;
        if !listen.ip().is_loopback() && tls.is_none() && !insecure_listen {
            return Err(StartError::NotLoopback(listen));
        }
        let names = AllowedHosts::new(&hosts)?;
        private_file::directory(&data_dir).map_err(|source| StartError::DataDir {
            path: data_dir.clone(),
            source,
        })?;
        let log = Arc::new(Sqlite::open(&data_dir.join("log.db"), durability)?);
        // Behind the log, which no other daemon has open now: what the directory's last one left is ours to end.
        let supervision = supervise(&data_dir, keeper)
            .await
            .map_err(|source| StartError::DataDir {
                path: data_dir.clone(),
                source,
            })?;
        let token = match token {
            Some(token) => token,
            None => Token::load_or_create(&data_dir)?,
        };
        let tls = match tls {
            Some(config) => {
                let names = tls::names(&names, listen.ip());
                let certified = config.load(&data_dir, &names)?;
                Some(Tls {
                    names,
                    config,
                    data_dir: data_dir.clone(),
                    shown: watch::channel(certified).0,
                })
            }
            None => None,
        };
        let given_out = tokens::load(&data_dir)?;
        let (limits, clock) = (Arc::new(limits), Clock::start());
        let store = AuthStore::new(&token, given_out, Sessions::load(&data_dir), clock.now());
        let host: Arc<dyn Host> = Arc::new(LocalHost);
        let context = Context::open(Parts {
            log: log.clone(),
            agents: Agents::new(agents, sandbox, &data_dir),
            limits,
            clock,
            ids: Ids::default(),
            answers: RememberedAnswers::open(Arc::clone(&host), &data_dir)?,
            host,
            policies: policies_now,
            reserved,
        });
        let directory = Directory::open(context.clone()).await?;
        let refused = |source| StartError::Listen {
            address: listen,
            source,
        };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        announce(address).map_err(StartError::Announce)?;
        let sockets = [unix_socket::path(&data_dir), unix_socket::editors_path(&data_dir)];
        let listen_at = |path: &PathBuf| {
            unix_socket::listen(path).map_err(|source| StartError::Socket {
                path: path.clone(),
                source,
            })
        };
        let (at_socket, for_editors) = (listen_at(&sockets[0])?, listen_at(&sockets[1])?);
        let service = Service::new(directory, context);
        let stop = CancellationToken::new();
        let server = ServerState {
            setup: ConnectionSetup::open(service.clone(), default_agent.as_deref(), stop.clone()),
            service,
            auth: AuthHandle::open(store, &data_dir, clock),
            allowed_hosts: Arc::new(names),
            address,
            stop,
            peers: TaskTracker::new(),
        };
        let certificates = tls.as_ref().map(|tls| tls.shown.subscribe());
        let servers = [
            tokio::spawn(listen::serve(listener, server.clone(), certificates)),
            tokio::spawn(listen::serve_socket(at_socket, server.clone())),
            tokio::spawn(listen::serve_editors(for_editors, server.clone())),
        ];
        Ok(Self {
            address,
            server,
            servers,
            tls,
            sockets,
            indexing: tokio::spawn(index_backlog(log.clone())),
            log,
            supervision,
            reaper: tokio::spawn(Supervision::reap()),
            policies,
        })
    }

    /// What agents may do from now on. Answers whether that is anything new.
    pub fn set_policies(&self, policies: PolicyBook) -> bool {
        self.policies.send_if_modified(|now| {
            let changed = *now != policies;
            *now = policies;
            changed
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The fingerprint of the certificate that is shown; `None` without TLS.
    pub fn fingerprint(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        Some(tls.shown.borrow().fingerprint.clone())
    }

    /// Reads the tokens that were given out again.
    pub async fn reload_keys(&self) -> Result<(), TokensError> {
        self.server.auth.reload().await
    }

    /// Reads the certificate again, for the connections to come. One that cannot be used leaves the old one.
    pub fn reload_certificate(&self) -> Result<(), TlsError> {
        if let Some(Tls {
            config,
            data_dir,
            names,
            shown,
        }) = &self.tls
        {
            shown.send_replace(config.load(data_dir, names)?);
        }
        Ok(())
    }

    /// Goes down: clients are told, turns are ended and said so in the log, agents get their grace.
    pub async fn stop(self) {
        let patience = Duration::from_secs(SHUTDOWN_SECS);
        self.server.service.directory.clone().close_within(patience).await;
        self.server.stop.cancel();
        self.server.peers.close();
        if tokio::time::timeout(patience, self.server.peers.wait())
            .await
            .is_err()
        {
            tracing::warn!("some clients did not disconnect in time");
        }
        // Before the log is let go of, and with it the right to be here.
        for socket in &self.sockets {
            let _ = std::fs::remove_file(socket);
        }
        for server in self.servers {
            let _ = server.await;
        }
        self.reaper.abort();
        self.indexing.abort();
        let supervision = self.supervision;
        match tokio::task::spawn_blocking(move || supervision.end()).await {
            Ok(0) | Err(_) => {}
            Ok(left) => tracing::warn!(left, "some processes of agents could not be ended"),
        }
        if let Err(error) = self.log.close().await {
            tracing::error!(%error, "the log did not close cleanly");
        }
    }
}

/// Looks after processes from now on, and ends those of an earlier run.
async fn supervise(data_dir: &std::path::Path, keeper: Option<PathBuf>) -> std::io::Result<Supervision> {
    let data_dir = data_dir.to_owned();
    let begin = move || {
        let mut supervision = Supervision::begin(&data_dir)?;
        if let Some(program) = keeper
            && let Err(error) = supervision.start_keeper(&program)
        {
            // Agents are ended all the same, only later.
            tracing::warn!(program = %program.display(), %error, "the keeper did not start");
        }
        Ok(supervision)
    };
    let began = tokio::task::spawn_blocking(begin).await;
    began.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::unix::net::UnixStream;

    use acpd_log::Durability;
    use acpd_model::Limits;

    use super::*;

    #[tokio::test]
    async fn whoever_reaches_the_socket_finds_the_daemon_announced() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            server: ServerConfig::default(),
            data_dir: dir.path().join("data"),
            config_file: None,
            durability: Durability::Process,
            agents: std::collections::BTreeMap::new(),
            default_agent: None,
            policy: None,
            sandbox: acpd_runtime::sandbox::SandboxSettings::default(),
            limits: Limits::default(),
            keeper: None,
        };
        let path = unix_socket::path(&config.data_dir);
        let mut announced = None;
        let daemon = Daemon::start(config.clone(), None, |address| {
            assert!(UnixStream::connect(&path).is_err(), "it is too late");
            announced = Some(address);
            Ok(())
        });
        let daemon = daemon.await.unwrap();
        assert_eq!(announced, Some(daemon.address()));
        assert!(UnixStream::connect(&path).is_ok());
        daemon.stop().await;
        let refused = Daemon::start(config, None, |_| Err(std::io::Error::other("full"))).await;
        assert!(matches!(refused, Err(StartError::Announce(_))), "{refused:?}");
        assert!(UnixStream::connect(&path).is_err());
    }
}
