//! A daemon process without sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{Limits, Role};
use acpd_proto::surface::app::Peer;
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::registry::{AgentBook, Agents};
use acpd_runtime::attachments::Attachments;
use acpd_runtime::bulk::Bulk;
use acpd_runtime::clock::Clock;
use acpd_runtime::context::{Context, Parts};
use acpd_runtime::ids::Ids;
use acpd_runtime::live_limits::LiveLimits;
use acpd_runtime::notify::Notifications;
use acpd_runtime::observe::Sinks;
use acpd_runtime::policy::book::PolicyBook;
use acpd_runtime::policy::remembered::RememberedAnswers;
use acpd_runtime::seen::Seen;
use acpd_runtime::service::{Defaults, Service};
use acpd_runtime::share::NoShares;
use acpd_runtime::thread::directory::Directory;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::host::ScriptedHost;
use super::log::SlowLog;
use crate::auth::identity::EditorIdentity;
use crate::connection::acp::setup::ConnectionSetup;
use crate::connection::channel::Channel;
use crate::connection::driver::{Access, Connection};
use crate::transport::lines::Lines;

/// The buffer of a connection in each direction, in bytes.
const SOCKET_BYTES: usize = 4 << 10;

/// One daemon process.
pub struct Daemon {
    pub log: Arc<SlowLog>,
    pub service: Service,
    stop: CancellationToken,
}

impl Daemon {
    /// Starts a daemon on a log.
    pub async fn start(
        log: SlowLog,
        limits: &Limits,
        clock: Clock,
        ids: &Ids,
        host: &ScriptedHost,
        place: &std::path::Path,
    ) -> Self {
        let log = Arc::new(log);
        let agents = BTreeMap::from([
            ("own".to_owned(), agent(false)),
            ("shared".to_owned(), agent(true)),
        ]);
        let host: Arc<dyn acpd_runtime::host::Host> = Arc::new(host.clone());
        let mut context = Context::open(Parts {
            log: log.clone(),
            policies: watch::channel(PolicyBook::new(None, &agents)).1,
            agents: Agents::fixed(
                AgentBook {
                    configured: agents,
                    default: Some("own".to_owned()),
                    ..AgentBook::default()
                },
                place,
            ),
            limits: LiveLimits::fixed(limits.clone()),
            clock,
            ids: ids.clone(),
            answers: RememberedAnswers::open(Arc::clone(&host), place).unwrap(),
            seen: Seen::open(Arc::clone(&host), clock, place),
            attachments: Attachments::new(Arc::clone(&host), clock, place),
            host,
            reserved: Arc::default(),
            bulk: Bulk::here(),
            shares: Arc::new(NoShares),
            sinks: Sinks::default(),
            notifications: Notifications::off(),
        });
        // Every few events, so that restarts begin in the middle of turns.
        context.snapshot_bytes = 4 << 10;
        let directory = Directory::open(context.clone()).await.unwrap();
        Self {
            log,
            service: Service::new(directory, context),
            stop: CancellationToken::new(),
        }
    }

    /// Opens a connection, and returns the client's end.
    pub fn connect(&self, limits: &Limits) -> tokio::io::DuplexStream {
        let (theirs, ours) = tokio::io::duplex(SOCKET_BYTES);
        let (reader, writer) = tokio::io::split(ours);
        let channel = Channel::new(Box::new(Lines::new(reader, writer, limits)), limits);
        let context = &self.service.context;
        let peer = Peer::new("sim".to_owned(), Role::Owner, context.gate());
        let access = Access {
            permissions: Role::Owner.into(),
            user: "sim".into(),
            connection: context.ids.connection().into(),
            defaults: Defaults::none(),
            standby: None,
            stop: self.stop.clone(),
            ends: CancellationToken::new(),
        };
        tokio::spawn(Connection::new(channel, peer, self.service.clone(), access).run(None));
        theirs
    }

    /// Opens a connection of an editor, and returns its end.
    pub fn connect_editor(&self, limits: &Limits) -> tokio::io::DuplexStream {
        let (theirs, ours) = tokio::io::duplex(SOCKET_BYTES);
        let (reader, writer) = tokio::io::split(ours);
        let transport = Lines::new(reader, writer, limits);
        let setup = ConnectionSetup::open(self.service.clone(), self.stop.clone());
        let identity = EditorIdentity {
            principal: "editor".into(),
            user: "editor".into(),
            permissions: Role::Owner.into(),
            ends: CancellationToken::new(),
        };
        tokio::spawn(async move { setup.serve(transport, identity, None).await });
        theirs
    }

    /// Shuts the daemon down.
    pub async fn stop(&self) {
        self.service.directory.close_within(Duration::from_secs(30)).await;
        self.stop.cancel();
        // Waits until connections have closed.
        sleep(Duration::from_secs(5)).await;
    }
}

/// Returns the configuration of an agent. The program must exist, but is never run.
fn agent(share: bool) -> AgentConfig {
    serde_json::from_value(json!({ "command": "true", "sandbox": "off", "share": share })).unwrap()
}
