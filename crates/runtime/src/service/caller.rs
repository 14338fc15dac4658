//! The connection that makes requests.

use std::collections::BTreeSet;
use std::path::PathBuf;

use acpd_model::{ErrorCode, Failure, Origin, Role, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::thread::EditorCapabilities;
use tokio::sync::mpsc;

use crate::agent::standby::Standby;
use crate::thread::delegates::ToEditor;

/// The state of one connection, from its first request to its last.
#[derive(Debug)]
pub struct Caller {
    /// The client, as the log names it.
    pub by: Origin,
    /// The role, which limits the requests that the client may make.
    pub role: Role,
    /// Defaults for requests that name no agent and no directory.
    pub defaults: Defaults,
    /// The channel for agent requests to the client; `None` if the client does not answer them.
    pub delegate: Option<Delegate>,
    /// The threads that the client follows.
    pub open: BTreeSet<ThreadId>,
    /// A process of the connection's agent that does not have a session yet.
    pub standby: Option<Standby>,
    /// The thread whose agent opens no session until the user signs in.
    pub signing_in: Option<ThreadId>,
}

/// Defaults for requests that leave out the agent or the directory.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The default agent, or the reason why there is none.
    pub agent: Result<String, Failure>,
    /// The directory in which to start the agent before a session exists; empty if unknown.
    pub cwd: PathBuf,
}

/// A client that answers requests from agents.
#[derive(Debug, Clone)]
pub struct Delegate {
    /// The id of the client's connection.
    pub connection: String,
    /// The capabilities of the editor.
    pub abilities: EditorCapabilities,
    /// The channel on which threads send requests and notifications to the client.
    pub inbox: mpsc::Sender<ToEditor>,
}

impl Caller {
    /// Creates the state of a connection that has made no request yet.
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

    /// Returns a copy of the caller for requests that do not use the connection's own state.
    pub(super) fn detached(&self) -> Self {
        Self {
            delegate: self.delegate.clone(),
            ..Self::new(self.by.clone(), self.role, self.defaults.clone())
        }
    }

    /// Returns a copy of the caller for a request about `thread`, which can run beside requests about other threads.
    #[must_use]
    pub fn about(&self, thread: ThreadId) -> Self {
        Self {
            open: self.open.get(&thread).copied().into_iter().collect(),
            ..self.detached()
        }
    }

    /// Records why a request failed: the client's next request may depend on it.
    pub fn note_failure(&mut self, failure: &Failure) {
        if failure.code == ErrorCode::SignInRequired {
            self.signing_in = failure.detail.as_ref().and_then(|thread| thread.parse().ok());
        }
    }

    /// Returns the thread whose agent receives a request that names no thread.
    pub(super) fn thread_for(&self, request: &AgentRequest) -> Option<ThreadId> {
        // A sign-in goes to the agent that waits for it.
        let signs_in = matches!(request, AgentRequest::Authenticate { .. });
        let first = self.signing_in.filter(|_| signs_in);
        first.or(self.open.last().copied()).or(self.signing_in)
    }
}

impl Defaults {
    /// Returns the defaults of a connection that must name the agent in each request.
    pub fn none() -> Self {
        Self {
            agent: Err(Failure::invalid_params("no agent was named")),
            cwd: PathBuf::new(),
        }
    }
}
