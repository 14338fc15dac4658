//! The daemon as a whole: starts, serves and shuts down.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use acpd_host::Supervision;
use acpd_log::{EventLog, LogError, Sqlite};
use acpd_model::Limits;
use acpd_model::limits::SHUTDOWN_SECS;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::handle::AuthHandle;
use crate::auth::owner_token::{Token, TokenError};
use crate::auth::sessions::Sessions;
use crate::auth::shares::Shares;
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
use crate::notify::push::Push;
use crate::notify::{self, NotificationsConfig, Senders};
use acpd_runtime::agent::registry::{AgentBook, Agents};
use acpd_runtime::agent::sandbox;
use acpd_runtime::bulk::Bulk;
use acpd_runtime::clock::Clock;
use acpd_runtime::context::{Context, Parts};
use acpd_runtime::host::Host;
use acpd_runtime::host::local::LocalHost;
use acpd_runtime::ids::Ids;
use acpd_runtime::live_limits::LiveLimits;
use acpd_runtime::notify::{Notifications, Notifier};
use acpd_runtime::observe::Sinks;
use acpd_runtime::policy::book::PolicyBook;
use acpd_runtime::policy::remembered::{AnswersError, RememberedAnswers};
use acpd_runtime::private_file;
use acpd_runtime::retention::RetentionSettings;
use acpd_runtime::service::Service;
use acpd_runtime::thread::directory::Directory;
use acpd_runtime::thread::indexing::index_backlog;

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    address: SocketAddr,
    codex_address: Option<SocketAddr>,
    server: ServerState,
    servers: Vec<JoinHandle<()>>,
    tls: Option<Tls>,
    sockets: [PathBuf; 2],
    log: Arc<Sqlite>,
    supervision: Supervision,
    reaper: JoinHandle<()>,
    indexing: JoinHandle<()>,
    settings: LiveSettings,
}

/// The settings that a reload of the configuration replaces.
#[derive(Debug)]
struct LiveSettings {
    /// The configuration at the start of the daemon.
    started: Config,
    policies: watch::Sender<PolicyBook>,
    agents: watch::Sender<Arc<AgentBook>>,
    limits: watch::Sender<Arc<Limits>>,
    retention: watch::Sender<RetentionSettings>,
    notifications: watch::Sender<Arc<NotificationsConfig>>,
}

/// The result of a reload of the configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Names of the settings that changed.
    pub changed: Vec<&'static str>,
    /// Names of the settings that differ from those of the running daemon, which needs a restart to use them.
    pub needs_restart: Vec<&'static str>,
}

/// The source of the certificate, and the certificate in use.
#[derive(Debug)]
struct Tls {
    config: TlsConfig,
    data_dir: PathBuf,
    /// The names for a self-signed certificate.
    names: Vec<String>,
    shown: watch::Sender<Certified>,
}

impl Tls {
    /// Reads the certificate, or makes one for these names.
    fn load(config: TlsConfig, names: Vec<String>, data_dir: PathBuf) -> Result<Self, TlsError> {
        let certified = config.load(&data_dir, &names)?;
        Ok(Self {
            config,
            data_dir,
            names,
            shown: watch::channel(certified).0,
        })
    }
}

/// An error of starting the daemon.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is beyond loopback, and TLS is not configured.
    #[error(
        "{0} is not a loopback address, and TLS is not configured: the access token would be sent in clear text. Set up \
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

impl Daemon {
    /// Starts in this order: the log, processes of an earlier run, threads, and then the listeners. `token` overrides the
    /// token of the data directory. `sinks` receive what is observed. `listener` already listens on the configured address; without it, the daemon opens one.
    /// `announce` receives the address before a client can connect to the sockets, so that
    /// each such client can find the network address.
    pub async fn start(
        config: Config,
        token: Option<Token>,
        listener: Option<std::net::TcpListener>,
        sinks: Sinks,
        announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
    ) -> Result<Self, StartError> {
        let reserved = Arc::new(config.reserved());
        sandbox::announce(&config.agents, &config.sandbox, &reserved);
        let (policies, policies_now) = watch::channel(config.policy_book());
        let (agents, agents_now) = watch::channel(Arc::new(config.agent_book()));
        let (limits, limits_now) = watch::channel(Arc::new(config.limits.clone()));
        let (retention, retention_now) = watch::channel(config.retention.clone());
        let (notifications, notifications_now) = watch::channel(Arc::new(config.notifications.clone()));
        let settings = LiveSettings {
            started: config.clone(),
            policies,
            agents,
            limits,
            retention,
            notifications,
        };
        let Config {
            listen,
            server,
            codex,
            data_dir,
            durability,
            keeper,
            ..
        } = config;
        let ServerConfig {
            hosts,
            insecure_listen,
            tls,
        } = server;
        let exposed = [Some(listen), codex.listen]
            .into_iter()
            .flatten()
            .find(|address| !address.ip().is_loopback());
        if let (Some(address), None, false) = (exposed, &tls, insecure_listen) {
            return Err(StartError::NotLoopback(address));
        }
        let names = AllowedHosts::new(&hosts)?;
        private_file::directory(&data_dir).map_err(|source| StartError::DataDir {
            path: data_dir.clone(),
            source,
        })?;
        let log = Arc::new(Sqlite::open(&data_dir.join("log.db"), durability)?);
        // Before anything starts that would have to be stopped again. Connections wait until the daemon is ready.
        let (listener, address) = match listener {
            Some(listener) => adopt(listener, listen)?,
            None => bind(listen).await?,
        };
        let for_codex = match codex.listen {
            Some(listen) => Some(bind(listen).await?),
            None => None,
        };
        let codex_address = for_codex.as_ref().map(|(_, address)| *address);
        // The log is open, so no other daemon uses the data directory. Processes that its last daemon left can be
        // terminated.
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
        let load = |config| {
            let addresses = std::iter::once(listen).chain(codex.listen).map(|at| at.ip());
            Tls::load(config, tls::names(names.hosts(), addresses), data_dir.clone())
        };
        let tls = tls.map(load).transpose()?;
        let given_out = tokens::load(&data_dir)?;
        let clock = Clock::start();
        let shares = live_shares(&data_dir, &log).await;
        let sessions = Sessions::load(&data_dir);
        let store = AuthStore::new(&token, given_out, shares, sessions, clock.now());
        let auth = AuthHandle::open(store, &data_dir, clock);
        let host: Arc<dyn Host> = Arc::new(LocalHost);
        let targets = notify::targets(notifications_now.clone(), auth.devices());
        let has_targets = !targets.borrow().targets.is_empty();
        let (notifications, inbox) = Notifications::channel(has_targets);
        let context = Context::open(Parts {
            log: log.clone(),
            agents: Agents::new(agents_now, &data_dir),
            limits: LiveLimits::new(limits_now),
            clock,
            ids: Ids::default(),
            answers: RememberedAnswers::open(Arc::clone(&host), &data_dir)?,
            host,
            policies: policies_now,
            reserved,
            bulk: Bulk::start().map_err(StartError::Threads)?,
            shares: Arc::new(auth.clone()),
            sinks,
            notifications,
        });
        let bulk = context.bulk.clone();
        let push = Arc::new(Push::new(notifications_now.clone(), auth.clone(), &data_dir));
        let senders = Senders::new(
            notifications_now,
            auth.devices(),
            Arc::clone(&push),
            address,
            tls.is_some(),
        );
        let notifier = Notifier {
            inbox,
            targets,
            deliver: Arc::new(senders),
            data_dir: data_dir.clone(),
        };
        // Before the threads, so that it considers the turns that they find interrupted.
        tokio::spawn(acpd_runtime::notify::run(context.clone(), notifier));
        let directory = Directory::open(context.clone()).await?;
        announce(address).map_err(StartError::Announce)?;
        let sockets = [unix_socket::path(&data_dir), unix_socket::editors_path(&data_dir)];
        let listen_at = |path: &PathBuf| {
            unix_socket::listen(path).map_err(|source| StartError::Socket {
                path: path.clone(),
                source,
            })
        };
        let (at_socket, for_editors) = (listen_at(&sockets[0])?, listen_at(&sockets[1])?);
        let service = Service::with_retention(directory, context, retention_now);
        let stop = CancellationToken::new();
        let due = Arc::clone(&service.context.indexing);
        let server = ServerState {
            setup: ConnectionSetup::open(service.clone(), stop.clone()),
            service,
            auth,
            push,
            allowed_hosts: Arc::new(names),
            address,
            data_dir: Arc::from(data_dir.as_path()),
            stop,
            peers: TaskTracker::new(),
        };
        let indexing = index_backlog(log.clone(), due);
        let indexing = async move { bulk.run(indexing).await };
        let certificates = tls.as_ref().map(|tls| tls.shown.subscribe());
        let mut servers = vec![
            tokio::spawn(listen::serve(listener, server.clone(), certificates.clone())),
            tokio::spawn(listen::serve_socket(at_socket, server.clone())),
            tokio::spawn(listen::serve_editors(for_editors, server.clone())),
        ];
        servers.extend(
            for_codex.map(|(listener, _)| {
                tokio::spawn(listen::serve_codex(listener, server.clone(), certificates))
            }),
        );
        Ok(Self {
            address,
            codex_address,
            server,
            servers,
            tls,
            sockets,
            indexing: tokio::spawn(indexing),
            log,
            supervision,
            reaper: tokio::spawn(Supervision::reap()),
            settings,
        })
    }

    /// Replaces the settings that a running daemon can change: policies, agents, limits, retention and notifications. Agents, threads and
    /// connections that exist keep the other settings that they started with.
    pub fn reload(&self, config: &Config) -> Reloaded {
        let settings = &self.settings;
        let changed = [
            ("policies", replace(&settings.policies, config.policy_book())),
            ("agents", replace(&settings.agents, Arc::new(config.agent_book()))),
            (
                "limits",
                replace(&settings.limits, Arc::new(config.limits.clone())),
            ),
            (
                "retention",
                replace(&settings.retention, config.retention.clone()),
            ),
            (
                "notifications",
                replace(&settings.notifications, Arc::new(config.notifications.clone())),
            ),
        ];
        let changed = changed.into_iter().filter(|(_, changed)| *changed);
        Reloaded {
            changed: changed.map(|(name, _)| name).collect(),
            needs_restart: config.fixed_changes(&settings.started),
        }
    }

    /// Returns the address on which the daemon listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for Codex clients alone, if there is one.
    pub fn codex_address(&self) -> Option<SocketAddr> {
        self.codex_address
    }

    /// Returns the fingerprint of the certificate in use; `None` without TLS.
    pub fn fingerprint(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        Some(tls.shown.borrow().fingerprint.clone())
    }

    /// Reloads the issued tokens.
    pub async fn reload_keys(&self) -> Result<(), TokensError> {
        self.server.auth.reload().await
    }

    /// Reloads the certificate for new connections. If the new certificate cannot be used, the old one stays in use.
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

    /// Shuts down: ends turns and records their end in the log, gives agents their grace period, and closes all
    /// connections.
    pub async fn stop(self) {
        let patience = Duration::from_secs(SHUTDOWN_SECS);
        self.server.service.directory.clone().close_within(patience).await;
        let notifications = &self.server.service.context.notifications;
        if tokio::time::timeout(patience, notifications.close())
            .await
            .is_err()
        {
            tracing::warn!("waiting notifications could not be stored in time");
        }
        self.server.stop.cancel();
        self.server.peers.close();
        if tokio::time::timeout(patience, self.server.peers.wait())
            .await
            .is_err()
        {
            tracing::warn!("some clients did not disconnect in time");
        }
        // Before the log is closed, which allows another daemon to start here.
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

/// Loads the links that share threads, without those of threads that were deleted when the last daemon ended.
async fn live_shares(data_dir: &Path, log: &Sqlite) -> Shares {
    let mut shares = Shares::load(data_dir);
    for thread in shares.threads() {
        match log.last_seq(thread).await {
            Ok(_) => {}
            Err(LogError::NoSuchThread(_)) => drop(shares.end(|share| share.thread == thread)),
            Err(error) => tracing::warn!(%thread, %error, "a shared thread cannot be read"),
        }
    }
    shares
}

/// Listens on an address; returns the listener and the address with its port.
async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let refused = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}

/// Uses a listener that another program has opened; returns it with its address.
fn adopt(
    listener: std::net::TcpListener,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), StartError> {
    let adopted = TcpListener::from_std(listener).and_then(|listener| {
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    });
    adopted.map_err(|source| StartError::Listen { address, source })
}

/// Sends a value, unless it is equal to the last one. Returns whether it was sent.
fn replace<T: PartialEq>(sender: &watch::Sender<T>, value: T) -> bool {
    sender.send_if_modified(|now| {
        let changed = *now != value;
        *now = value;
        changed
    })
}

/// Starts the supervision of processes, and terminates those of an earlier run.
async fn supervise(data_dir: &std::path::Path, keeper: Option<PathBuf>) -> std::io::Result<Supervision> {
    let data_dir = data_dir.to_owned();
    let begin = move || {
        let mut supervision = Supervision::begin(&data_dir)?;
        if let Some(program) = keeper
            && let Err(error) = supervision.start_keeper(&program)
        {
            // The next start still terminates the agents of a killed daemon.
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

    use super::*;

    #[tokio::test]
    async fn whoever_reaches_the_socket_finds_the_daemon_announced() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            server: ServerConfig::default(),
            codex: crate::config::CodexConfig::default(),
            traces: crate::config::TracesConfig::default(),
            data_dir: dir.path().join("data"),
            config_file: None,
            record_wire: None,
            durability: Durability::Process,
            agents: std::collections::BTreeMap::new(),
            default_agent: None,
            demo: None,
            policy: None,
            sandbox: acpd_runtime::agent::sandbox::SandboxSettings::default(),
            limits: Limits::default(),
            retention: RetentionSettings::default(),
            notifications: NotificationsConfig::default(),
            keeper: None,
        };
        let path = unix_socket::path(&config.data_dir);
        let mut announced = None;
        let daemon = Daemon::start(config.clone(), None, None, Sinks::default(), |address| {
            assert!(UnixStream::connect(&path).is_err(), "it is too late");
            announced = Some(address);
            Ok(())
        });
        let daemon = daemon.await.unwrap();
        assert_eq!(announced, Some(daemon.address()));
        assert!(UnixStream::connect(&path).is_ok());
        daemon.stop().await;
        let refused = Daemon::start(config, None, None, Sinks::default(), |_| {
            Err(std::io::Error::other("full"))
        })
        .await;
        assert!(matches!(refused, Err(StartError::Announce(_))), "{refused:?}");
        assert!(UnixStream::connect(&path).is_err());
    }
}
