//! The lobby: where editors' connections come in, by whatever transport, and where it is settled what they are for.
//!
//! In: transports, and who is at their other end. Out: editors that are served. Owns: what agents said of themselves.

use std::sync::Arc;

use acpd_model::{ErrorCode, Failure, Role, ThreadId};
use acpd_proto::surface::acp::Peer;
use tokio_util::sync::CancellationToken;

use super::calls::Place;
use super::editor::{Visit, serve};
use super::hellos::Hellos;
use super::http::Connections;
use super::preamble::Preamble;
use super::transport::Transport;
use crate::calls::Calls;

/// What all connections of editors share.
#[derive(Debug, Clone)]
pub struct Lobby {
    pub(super) calls: Calls,
    hellos: Hellos,
    default_agent: Option<Arc<str>>,
    /// Those over HTTP.
    pub(crate) connections: Connections,
    /// The daemon stops.
    stop: CancellationToken,
}

/// Who is at the other end.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// As the log names them.
    pub principal: Arc<str>,
    /// What they may do.
    pub role: Role,
    /// Cancelled when they may do nothing any more.
    pub ends: CancellationToken,
}

impl Lobby {
    /// Opens it. `default_agent` is for those who name none.
    pub fn open(calls: Calls, default_agent: Option<&str>, stop: CancellationToken) -> Self {
        Self {
            hellos: Hellos::open(calls.around.clone()),
            calls,
            default_agent: default_agent.map(Arc::from),
            connections: Connections::default(),
            stop,
        }
    }

    /// Serves one connection to its end. `agent` is what its address names; its first message may name another.
    pub async fn serve<T: Transport>(&self, mut transport: T, visitor: Visitor, agent: Option<String>) {
        let _present = self.calls.around.metrics.client();
        let Visitor {
            principal,
            role,
            ends,
        } = visitor;
        let begun = async {
            let (mut preamble, first) = match transport.next().await? {
                None => return Ok(None),
                Some(first) => match Preamble::read(&first) {
                    None => (Ok(Preamble::default()), Some(first)),
                    Some(preamble) => (preamble, None),
                },
            };
            if let Ok(preamble) = &mut preamble
                && preamble.agent.is_none()
            {
                preamble.agent = agent;
            }
            Ok::<_, std::io::Error>(Some((preamble, first)))
        };
        let begun = tokio::select! {
            () = self.stop.cancelled() => return,
            () = ends.cancelled() => return,
            begun = begun => begun,
        };
        let Ok(Some((preamble, first))) = begun else {
            return;
        };
        let place = self.place(preamble).await;
        let name = uuid::Uuid::now_v7().to_string();
        let visit = Visit {
            peer: Peer::new(principal.to_string(), role, name),
            place,
            first,
        };
        let served = serve(
            transport,
            visit,
            self.calls.clone(),
            self.hellos.clone(),
            self.stop.clone(),
        );
        tokio::select! {
            () = served => {}
            () = ends.cancelled() => {}
        }
    }

    /// What a connection is for. Why it is for nothing is told when it asks for something.
    async fn place(&self, preamble: Result<Preamble, Failure>) -> Place {
        let (preamble, wrong) = match preamble {
            Ok(preamble) => (preamble, None),
            Err(failure) => (Preamble::default(), Some(failure)),
        };
        let agent = match wrong {
            Some(failure) => Err(failure),
            None => self.agent(preamble.agent, preamble.thread).await,
        };
        Place {
            agent,
            cwd: preamble.cwd.filter(|cwd| cwd.is_absolute()).unwrap_or_default(),
            thread: preamble.thread.filter(|_| !preamble.opened),
            marks: preamble.marks,
            after: preamble.after,
            prompts: preamble.prompts,
        }
    }

    async fn agent(&self, named: Option<String>, thread: Option<ThreadId>) -> Result<String, Failure> {
        if let Some(thread) = thread {
            let agent = self
                .calls
                .directory
                .subscribe(thread)
                .await?
                .live
                .spec
                .agent
                .clone();
            if let Some(named) = named.filter(|named| *named != agent) {
                let message = format!("the thread {thread} is of the agent {agent:?}, not of {named:?}");
                return Err(Failure::invalid_params(message));
            }
            return Ok(agent);
        }
        if let Some(agent) = named.or_else(|| self.default_agent.as_deref().map(str::to_owned)) {
            return Ok(agent);
        }
        let configured: Vec<_> = self.calls.around.agents.configured().collect();
        match configured[..] {
            [only] => Ok(only.to_owned()),
            [] => Err(Failure::new(
                ErrorCode::NotFound,
                "no agent is named and none is configured: add [agents.NAME] with a command to the configuration, or \
                 name one of \"acpd agents list\"",
            )),
            _ => Err(Failure::invalid_params(format!(
                "several agents are configured: name one, or set default_agent; there are {}",
                configured.join(", ")
            ))),
        }
    }
}
