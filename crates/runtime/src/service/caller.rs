//! The connection that makes requests.

use std::collections::BTreeSet;
use std::path::PathBuf;

use acpd_model::{ErrorCode, Failure, Origin, Role, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::thread::EditorCapabilities;
use tokio::sync::mpsc;

use crate::agent::standby::Standby;
use crate::thread::delegates::ToEditor;

/// One connection as the service knows it, from its first request to its last.
#[derive(Debug)]
pub struct Caller {
    /// The client as the log names it.
    pub by: Origin,
    /// What it may do.
    pub role: Role,
    /// What is meant where a request names no agent and no directory.
    pub defaults: Defaults,
    /// How threads reach the client with what agents ask of it, if it answers that.
    pub delegate: Option<Delegate>,
    /// The threads that it follows.
    pub open: BTreeSet<ThreadId>,
    /// A process of its agent that waits for a session.
    pub standby: Option<Standby>,
    /// The thread whose agent opens no session until the user signs in.
    pub signing_in: Option<ThreadId>,
}

/// What a connection means where it does not say so.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The agent; or why there is none.
    pub agent: Result<String, Failure>,
    /// Where its agent is started before there is a session; empty if that is unknown.
    pub cwd: PathBuf,
}

/// A client that answers what agents ask of their client.
#[derive(Debug, Clone)]
pub struct Delegate {
    /// Names its connection among all others.
    pub connection: String,
    /// What it can do.
    pub abilities: EditorCapabilities,
    /// Where threads put what they want of it.
    pub inbox: mpsc::Sender<ToEditor>,
}

impl Caller {
    /// A connection that has asked nothing yet.
    pub fn new(by: Origin, role: Role, defaults: Defaults) -> Self {
        Self {
            by,
            role,
            defaults,
            delegate: None,
            open: BTreeSet::new(),
            standby: None,
            signing_in: None,
        }
    }

    /// The same client, for what needs nothing that its connection keeps.
    pub(super) fn detached(&self) -> Self {
        Self {
            delegate: self.delegate.clone(),
            ..Self::new(self.by.clone(), self.role, self.defaults.clone())
        }
    }

    /// Notes why a request failed: what is asked next may be about that.
    pub fn note_failure(&mut self, failure: &Failure) {
        if failure.code == ErrorCode::SignInRequired {
            self.signing_in = failure.detail.as_ref().and_then(|thread| thread.parse().ok());
        }
    }

    /// Returns the thread whose agent gets a request that names none.
    pub(super) fn thread_for(&self, request: &AgentRequest) -> Option<ThreadId> {
        // Signing in is for the agent that waits for it.
        let signs_in = matches!(request, AgentRequest::Authenticate { .. });
        let first = self.signing_in.filter(|_| signs_in);
        first.or(self.open.last().copied()).or(self.signing_in)
    }
}

impl Defaults {
    /// Of a connection that names the agent in each request.
    pub fn none() -> Self {
        Self {
            agent: Err(Failure::invalid_params("no agent was named")),
            cwd: PathBuf::new(),
        }
    }
}
