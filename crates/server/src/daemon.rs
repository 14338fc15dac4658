//! The daemon as a whole: starts, serves and shuts down.
//!
//! In: a configuration. Out: a running daemon, or why it cannot start. Owns: the order in which parts start and stop. Never:
//! decides what a part does.

mod certificate;
mod disk;
mod listeners;
mod live_settings;
mod start_error;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use acpd_host::Supervision;
use acpd_log::{EventLog, LogError, Sqlite};
use acpd_model::limits::{BLOB_PARTS_BYTES, SHUTDOWN_SECS};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::handle::AuthHandle;
use crate::auth::owner_token::Token;
use crate::auth::sessions::Sessions;
use crate::auth::shares::Shares;
use crate::auth::store::AuthStore;
use crate::auth::tokens;
use crate::auth::tokens::TokensError;
use crate::config::Config;
use crate::connection::acp::setup::ConnectionSetup;
use crate::http::ServerState;
use crate::http::host_check::AllowedHosts;
use crate::net::tls;
use crate::net::tls::TlsError;
use crate::notify::push::Push;
use crate::notify::{self, Senders};
use acpd_files::private_file;
use acpd_runtime::agent::registry::Agents;
use acpd_runtime::agent::sandbox;
use acpd_runtime::attachments::Attachments;
use acpd_runtime::bulk::Bulk;
use acpd_runtime::clock::Clock;
use acpd_runtime::config_file::ConfigFile;
use acpd_runtime::context::{Context, Parts};
use acpd_runtime::host::Host;
use acpd_runtime::host::local::LocalHost;
use acpd_runtime::ids::Ids;
use acpd_runtime::live_limits::LiveLimits;
use acpd_runtime::notifier::{self, Notifier};
use acpd_runtime::notify::{Inbox, Notifications, Targets};
use acpd_runtime::observe::Sinks;
use acpd_runtime::policy::remembered::RememberedAnswers;
use acpd_runtime::room::Room;
use acpd_runtime::seen::Seen;
use acpd_runtime::service::Service;
use acpd_runtime::stored::indexing::index_backlog;
use acpd_runtime::thread::directory::Directory;

use self::certificate::Certificate;
use self::listeners::{Listeners, LocalSockets, refuse_clear_text};
use self::live_settings::LiveSettings;
pub use self::live_settings::Reloaded;
pub use self::start_error::StartError;

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    address: SocketAddr,
    codex_address: Option<SocketAddr>,
    server: ServerState,
    servers: Vec<JoinHandle<()>>,
    certificate: Option<Certificate>,
    sockets: [PathBuf; 2],
    log: Arc<Sqlite>,
    supervision: Supervision,
    reaper: JoinHandle<()>,
    indexing: JoinHandle<()>,
    settings: LiveSettings,
}

impl Daemon {
    /// Starts in this order: the log, processes of an earlier run, threads, and then the listeners. `token` overrides the
    /// token of the data directory. `sinks` receive what is observed, and `config_file` what clients change in the configuration.
    /// `listener` already listens on the configured address; without it, the daemon opens one. `announce` receives the address before a
    /// client can connect to the sockets, so that each such client can find the network address.
    pub async fn start(
        config: Config,
        token: Option<Token>,
        listener: Option<std::net::TcpListener>,
        sinks: Sinks,
        config_file: ConfigFile,
        announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
    ) -> Result<Self, StartError> {
        let reserved = Arc::new(config.reserved());
        sandbox::announce(&config.agents, &config.sandbox, &reserved);
        let mut settings = LiveSettings::new(config.clone());
        let policies = settings.watch("policies", Config::policy_book);
        let agents = settings.watch("agents", |config| Arc::new(config.agent_book()));
        let limits = settings.watch("limits", |config| Arc::new(config.limits.clone()));
        let retention = settings.watch("retention", |config| config.retention.clone());
        let notify_settings =
            settings.watch("notifications", |config| Arc::new(config.notifications.clone()));
        let data_dir = config.data_dir.as_path();
        let offers_v2 = config.server.acp_v2;
        refuse_clear_text(&config)?;
        let mut names = AllowedHosts::new(&config.server.hosts)?;
        let log = open_log(&config)?;
        // Before anything starts that would have to be stopped again.
        let listeners = Listeners::open(listener, &config).await?;
        listeners.refuse_localhost(&mut names);
        let (address, codex_address) = (listeners.address(), listeners.codex_address());
        // The log is open, so no other daemon uses the data directory. What its last daemon left can be removed, and processes
        // terminated.
        acpd_files::remove_leftovers(data_dir);
        let supervision = supervise(&config).await?;
        let token = token.map_or_else(|| Token::load_or_create(data_dir), Ok)?;
        let certificate = load_certificate(&config, &names)?;
        let clock = known_clock(data_dir);
        let auth = open_auth(&token, data_dir, &log, clock).await?;
        let host: Arc<dyn Host> = Arc::new(LocalHost);
        let targets = notify::targets(notify_settings.clone(), auth.devices());
        let has_targets = !targets.borrow().targets.is_empty();
        let (notifications, inbox) = Notifications::channel(has_targets);
        let context = Context::open(Parts {
            log: log.clone(),
            agents: Agents::new(agents, data_dir),
            limits: LiveLimits::new(limits),
            clock,
            ids: Ids::default(),
            answers: RememberedAnswers::open(Arc::clone(&host), data_dir)?,
            seen: Seen::open(Arc::clone(&host), clock, data_dir),
            attachments: Attachments::new(Arc::clone(&host), clock, data_dir),
            host,
            policies,
            reserved,
            bulk: Bulk::start().map_err(StartError::Threads)?,
            shares: Arc::new(auth.clone()),
            sinks,
            notifications,
        });
        let push = Arc::new(Push::new(notify_settings.clone(), auth.clone(), data_dir));
        let (by_push, has_tls) = (Arc::clone(&push), certificate.is_some());
        let senders = Senders::new(notify_settings, auth.devices(), by_push, address, has_tls);
        // Before the threads, so that it considers the turns that they find interrupted.
        start_notifier(&context, inbox, targets, senders, data_dir);
        let directory = Directory::open(context.clone()).await?;
        announce(address).map_err(StartError::Announce)?;
        let sockets = LocalSockets::open(data_dir)?;
        let retention_file = Some(acpd_runtime::retention::path(data_dir));
        let service = Service::open(directory, context, retention, retention_file, config_file);
        let stop = CancellationToken::new();
        let server = ServerState {
            setup: ConnectionSetup::open(service.clone(), stop.clone()).offering_v2(offers_v2),
            service,
            auth,
            push,
            allowed_hosts: Arc::new(names),
            address,
            data_dir: Arc::from(data_dir),
            stop,
            peers: TaskTracker::new(),
            blob_parts: Room::new(BLOB_PARTS_BYTES),
        };
        let certificates = certificate.as_ref().map(Certificate::subscribe);
        Ok(Self {
            address,
            codex_address,
            sockets: sockets.paths.clone(),
            indexing: start_tasks(&server, &log),
            servers: listeners.serve(sockets, &server, certificates.as_ref()),
            server,
            certificate,
            log,
            supervision,
            reaper: tokio::spawn(Supervision::reap()),
            settings,
        })
    }

    /// Replaces the settings that a running daemon can change: policies, agents, limits, retention and notifications. Agents, threads and
    /// connections that exist keep the other settings that they started with.
    pub fn reload(&self, config: &Config) -> Reloaded {
        self.settings.reload(config)
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
        self.certificate.as_ref().map(Certificate::fingerprint)
    }

    /// Reloads the issued tokens.
    pub async fn reload_keys(&self) -> Result<(), TokensError> {
        self.server.auth.reload().await
    }

    /// Reloads the certificate for new connections. If the new certificate cannot be used, the old one stays in use.
    pub fn reload_certificate(&self) -> Result<(), TlsError> {
        self.certificate.as_ref().map_or(Ok(()), Certificate::reload)
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

/// Starts the clock, from the time that the last daemon knew.
fn known_clock(data_dir: &Path) -> Clock {
    let clock = Clock::start_of_daemon();
    let stored = acpd_runtime::retention::read(&acpd_runtime::retention::path(data_dir));
    // Retention logs why its file cannot be read.
    if let Some(known) = stored.ok().flatten().and_then(|stored| stored.known_at) {
        clock.confirm(known);
    }
    clock
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

/// Starts the supervision of processes, and terminates those of an earlier run.
async fn supervise(config: &Config) -> Result<Supervision, StartError> {
    let (data_dir, keeper) = (config.data_dir.clone(), config.keeper.clone());
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
    began
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|source| data_dir_error(config, source))
}

/// Creates the data directory, and opens the log in it.
fn open_log(config: &Config) -> Result<Arc<Sqlite>, StartError> {
    private_file::directory(&config.data_dir).map_err(|source| data_dir_error(config, source))?;
    let log = Sqlite::open(&config.data_dir.join("log.db"), config.durability)?;
    Ok(Arc::new(log))
}

fn data_dir_error(config: &Config, source: std::io::Error) -> StartError {
    StartError::DataDir {
        path: config.data_dir.clone(),
        source,
    }
}

/// Loads the certificate, or makes one for these names, if the configuration has TLS.
fn load_certificate(config: &Config, names: &AllowedHosts) -> Result<Option<Certificate>, TlsError> {
    let Some(tls) = &config.server.tls else {
        return Ok(None);
    };
    let addresses = std::iter::once(config.address()).chain(config.codex.listen);
    let names = tls::names(names.hosts(), addresses.map(|address| address.ip()));
    Certificate::load(tls.clone(), names, config.data_dir.clone()).map(Some)
}

/// Loads what has been given to clients, and starts the task that owns it.
async fn open_auth(
    token: &Token,
    data_dir: &Path,
    log: &Sqlite,
    clock: Clock,
) -> Result<AuthHandle, TokensError> {
    let given_out = tokens::load(data_dir)?;
    let shares = live_shares(data_dir, log).await;
    let store = AuthStore::new(token, given_out, shares, Sessions::load(data_dir), clock.now());
    Ok(AuthHandle::open(store, data_dir, clock))
}

/// Starts the task that sends notifications.
fn start_notifier(
    context: &Context,
    inbox: Inbox,
    targets: watch::Receiver<Arc<Targets>>,
    senders: Senders,
    data_dir: &Path,
) {
    let notifier = Notifier {
        inbox,
        targets,
        deliver: Arc::new(senders),
        data_dir: data_dir.to_owned(),
    };
    tokio::spawn(notifier::run(context.clone(), notifier));
}

/// Starts the tasks beside the servers, which end with the daemon. Returns the one that must be ended: it indexes the log.
fn start_tasks(server: &ServerState, log: &Arc<Sqlite>) -> JoinHandle<()> {
    let (push, stop) = (Arc::clone(&server.push), server.stop.clone());
    tokio::spawn(async move { push.announce_sign_outs(stop).await });
    let service = &server.service;
    let metrics = Arc::clone(&service.context.metrics);
    let data_dir = server.data_dir.to_path_buf();
    tokio::spawn(disk::watch(data_dir, metrics, server.stop.clone()));
    let bulk = service.context.bulk.clone();
    let indexing = index_backlog(log.clone(), Arc::clone(&service.indexing));
    tokio::spawn(async move { bulk.run(indexing).await })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::unix::net::UnixStream;

    use acpd_model::section::Reload;

    use super::*;
    use crate::net::unix_socket;

    /// Returns the configuration of a daemon on any free port.
    pub(super) fn config(data_dir: PathBuf) -> Config {
        Config {
            listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
            data_dir,
            ..Config::default()
        }
    }

    #[tokio::test]
    async fn every_live_section_of_the_configuration_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path().join("data"));
        let (sinks, file) = (Sinks::default(), ConfigFile::default());
        let daemon = Daemon::start(config, None, None, sinks, file, |_| Ok(()))
            .await
            .unwrap();
        let watched = daemon.settings.names();
        for (section, about) in Config::ROWS {
            let is_table = about.template.contains(&format!("[{section}]"));
            if is_table && about.reload != Reload::Restart {
                assert!(watched.contains(section), "{section}: {watched:?}");
            }
        }
        daemon.stop().await;
    }

    #[tokio::test]
    async fn the_daemon_is_announced_before_its_socket_accepts() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path().join("data"));
        let path = unix_socket::path(&config.data_dir);
        let mut announced = None;
        let daemon = Daemon::start(
            config.clone(),
            None,
            None,
            Sinks::default(),
            ConfigFile::default(),
            |address| {
                assert!(UnixStream::connect(&path).is_err(), "it is too late");
                announced = Some(address);
                Ok(())
            },
        );
        let daemon = daemon.await.unwrap();
        assert_eq!(announced, Some(daemon.address()));
        assert!(UnixStream::connect(&path).is_ok());
        daemon.stop().await;
        let refused = Daemon::start(
            config,
            None,
            None,
            Sinks::default(),
            ConfigFile::default(),
            |_| Err(std::io::Error::other("full")),
        )
        .await;
        assert!(matches!(refused, Err(StartError::Announce(_))), "{refused:?}");
        assert!(UnixStream::connect(&path).is_err());
    }
}
