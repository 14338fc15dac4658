//! Connection setup: determines the agent and the settings of a new editor connection, over any transport.
//!
//! In: transports, and the identities of their clients. Out: served editors. Owns: the HTTP connections. Never:
//! authenticates a client, or executes a request.

use std::sync::Arc;

use acpd_model::{AccessScope, ErrorCode, Failure, ThreadId};
use acpd_proto::surface::acp::{ConnectionStart, Peer, PendingPrompt};
use acpd_proto::surface::request::no_thread;
use tokio_util::sync::CancellationToken;

use crate::auth::identity::EditorIdentity;
use crate::connection::acp::header::ConnectionHeader;
use crate::connection::channel::{Channel, ChannelEvent};
use crate::connection::driver::{Access, Connection};
use crate::transport::End;
use crate::transport::Transport;
use crate::transport::event_stream::connection::Connections;
use crate::transport::recorded::recorded;
use acpd_runtime::service::{Defaults, Service};
use acpd_runtime::standby::task::StandbyHandle;

/// The state that all editor connections share.
#[derive(Debug, Clone)]
pub struct ConnectionSetup {
    pub(super) service: Service,
    /// The HTTP connections.
    pub(crate) connections: Connections,
    /// Whether editors may speak version 2 of ACP.
    offers_v2: bool,
    /// Cancelled when the daemon stops.
    stop: CancellationToken,
}

impl ConnectionSetup {
    /// Creates the setup.
    pub fn open(service: Service, stop: CancellationToken) -> Self {
        Self {
            service,
            connections: Connections::default(),
            offers_v2: false,
            stop,
        }
    }

    /// Lets editors speak version 2 of ACP.
    #[must_use]
    pub fn offering_v2(self, offers_v2: bool) -> Self {
        Self { offers_v2, ..self }
    }

    /// Serves one connection until it ends. `agent` comes from its address; the header can name another one.
    pub async fn serve(
        &self,
        transport: impl Transport + 'static,
        identity: EditorIdentity,
        agent: Option<String>,
    ) {
        let EditorIdentity {
            principal,
            user,
            permissions,
            ends,
        } = identity;
        let transport = recorded(
            Box::new(transport),
            self.service.context.sinks.wire.as_ref(),
            "acp",
        );
        let mut channel = Channel::new(transport, &self.service.context.limits.now());
        let begun = async {
            let first = loop {
                if let ChannelEvent::Received(first) = channel.next().await? {
                    break first;
                }
            };
            let (mut header, first) = match ConnectionHeader::read(&first) {
                None => (Ok(ConnectionHeader::default()), Some(first)),
                Some(header) => (header, None),
            };
            if let Ok(header) = &mut header
                && header.agent.is_none()
            {
                header.agent = agent;
            }
            Ok::<_, End>((header, first))
        };
        let begun = tokio::select! {
            biased;
            () = self.stop.cancelled() => return,
            () = ends.cancelled() => return,
            begun = begun => begun,
        };
        let (header, first) = match begun {
            Ok(begun) => begun,
            Err(end) => return channel.close(end).await,
        };
        let is_limited = permissions.scope != AccessScope::Everything;
        let (header, agent) = match header {
            Ok(mut header) => {
                if is_limited {
                    // A reader has sent no prompts.
                    header.prompts.clear();
                }
                let (named, thread) = (header.agent.clone(), header.thread);
                let agent = self.agent(permissions.scope, named, thread).await;
                (header, agent)
            }
            // The editor receives the error with the response to its first request.
            Err(failure) => (ConnectionHeader::default(), Err(failure)),
        };
        let cwd = header.cwd.filter(|cwd| cwd.is_absolute()).unwrap_or_default();
        let prompts = header.prompts.into_iter().map(PendingPrompt::from);
        let start = ConnectionStart {
            cwd: cwd.clone(),
            thread: header.thread.filter(|_| !header.opened),
            after: header.after,
            early: header.early,
            own: header.own,
            checkpoints: header.marks,
            offers_v2: self.offers_v2,
            prompts: prompts.collect(),
        };
        let context = &self.service.context;
        let name = context.ids.connection();
        let open = || StandbyHandle::open(context.clone(), agent.clone(), cwd.clone());
        let standby = (!is_limited).then(open);
        let access = Access {
            permissions,
            user,
            connection: name.as_str().into(),
            defaults: Arc::new(Defaults { agent, cwd }),
            standby,
            stop: self.stop.clone(),
            ends,
        };
        let peer = Peer::new(principal.to_string(), permissions, name, context.gate()).starting(start);
        Connection::new(channel, peer, self.service.clone(), access)
            .run(first)
            .await;
    }

    /// Returns the agent of a connection. A connection that reaches one thread only has its agent.
    async fn agent(
        &self,
        scope: AccessScope,
        named: Option<String>,
        thread: Option<ThreadId>,
    ) -> Result<String, Failure> {
        if let AccessScope::Thread(shared) = scope {
            if let Some(other) = thread.filter(|thread| *thread != shared) {
                return Err(no_thread(other));
            }
            return Ok(self.service.directory.look(shared).await?.spec.agent.clone());
        }
        if let Some(thread) = thread {
            let agent = self.service.directory.look(thread).await?.spec.agent.clone();
            if let Some(named) = named.filter(|named| *named != agent) {
                let message = format!("the thread {thread} is of the agent {agent:?}, not of {named:?}");
                return Err(Failure::invalid_params(message));
            }
            return Ok(agent);
        }
        let agents = &self.service.context.agents;
        if let Some(agent) = named.or_else(|| agents.default_agent()) {
            return Ok(agent);
        }
        let book = agents.book();
        let configured: Vec<_> = book.configured.keys().map(String::as_str).collect();
        match configured[..] {
            [] => Err(Failure::new(
                ErrorCode::NotFound,
                "no agent was named and none is configured: add [agents.NAME] with a command to the configuration, or \
                 name one of \"acpd agents list\"",
            )),
            _ => Err(Failure::invalid_params(format!(
                "several agents are configured: name one, or set default_agent; there are {}",
                configured.join(", ")
            ))),
        }
    }
}
