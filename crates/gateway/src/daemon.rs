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

use crate::agents::Agents;
use crate::answers::{Answers, AnswersError};
use crate::auth::{Token, TokenError};
use crate::calls::Calls;
use crate::clock::Clock;
use crate::config::Config;
use crate::directory::Directory;
use crate::http::{self, Door};
use crate::policies::PolicyBook;
use crate::shared::SharedAgents;
use crate::thread::Surroundings;

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    address: SocketAddr,
    door: Door,
    server: JoinHandle<()>,
    log: Arc<Sqlite>,
    supervision: Supervision,
    reaper: JoinHandle<()>,
    policies: watch::Sender<PolicyBook>,
}

/// Why a daemon does not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is open to the network.
    #[error(
        "{0} is not a loopback address: the daemon has no TLS yet and listens to this machine alone; use an SSH tunnel"
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
    pub async fn start(config: Config, token: Option<Token>) -> Result<Self, StartError> {
        let Config {
            listen,
            data_dir,
            durability,
            agents,
            policy,
            limits,
            keeper,
        } = config;
        let (policies, policies_now) = watch::channel(PolicyBook::new(policy, &agents));
        if !listen.ip().is_loopback() {
            return Err(StartError::NotLoopback(listen));
        }
        make_private(&data_dir).map_err(|source| StartError::DataDir {
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
        let (limits, clock) = (Arc::new(limits), Clock::new());
        let around = Surroundings {
            log: log.clone(),
            agents: Arc::new(Agents::new(agents, &data_dir)),
            shared: SharedAgents::open(Arc::clone(&limits), clock),
            limits,
            clock,
            policies: policies_now,
            answers: Answers::open(&data_dir)?,
        };
        let directory = Directory::open(around.clone()).await?;
        let refused = |source| StartError::Listen {
            address: listen,
            source,
        };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let door = Door {
            calls: Calls { directory, around },
            token: Arc::new(token),
            address,
            stop: CancellationToken::new(),
            peers: TaskTracker::new(),
        };
        let server = tokio::spawn(http::serve(listener, door.clone()));
        Ok(Self {
            address,
            door,
            server,
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

    /// What clients must show.
    pub fn token(&self) -> &Token {
        &self.door.token
    }

    /// Goes down: clients are told, turns are ended and said so in the log, agents get their grace.
    pub async fn stop(self) {
        let patience = Duration::from_secs(SHUTDOWN_SECS);
        self.door.calls.directory.clone().close_within(patience).await;
        self.door.stop.cancel();
        self.door.peers.close();
        if tokio::time::timeout(patience, self.door.peers.wait())
            .await
            .is_err()
        {
            tracing::warn!("some clients did not let go");
        }
        let _ = self.server.await;
        self.reaper.abort();
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

/// Makes the directory for its owner alone; one that is there keeps its mode.
fn make_private(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}
