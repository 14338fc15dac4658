//! The client that makes a request.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use acpd_model::{Failure, Origin, ThreadId};
use acpd_proto::agent::{AgentRequest, ElicitationModes};
use acpd_proto::surface::contract::Lane;
use acpd_proto::surface::request::Permissions;
use acpd_proto::thread::EditorCapabilities;
use tokio::sync::mpsc;

use crate::standby::task::StandbyHandle;
use crate::thread::delegates::ToEditor;

/// A client as one of its requests sees it.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The client, as the log names it.
    pub by: Origin,
    /// The user whose device the client is, for what all devices of a user share; `None` for the daemon itself.
    pub user: Option<Arc<str>>,
    /// The role and the scope, which limit the requests that the client may make.
    pub permissions: Permissions,
    /// The name of the connection, which is unique; empty without one.
    pub connection: Arc<str>,
    /// The encoding of the events that it receives.
    pub lane: Lane,
    /// Defaults for requests that name no agent and no directory.
    pub defaults: Arc<Defaults>,
    /// The channel for agent requests to the client; `None` if the client does not answer them.
    pub delegate: Option<Delegate>,
    /// The modes of elicitation that the client shows in the threads that it follows; none if it receives no questions.
    pub shows: ElicitationModes,
    /// Whether the client follows the thread of its request.
    pub follows: bool,
    /// The newest thread that the client follows.
    pub newest: Option<ThreadId>,
    /// The thread whose agent opens no session until the user signs in.
    pub signing_in: Option<ThreadId>,
    /// The process of the connection's agent that has no session yet; `None` if every request names its agent.
    pub standby: Option<StandbyHandle>,
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
    pub connection: Arc<str>,
    /// The capabilities of the editor.
    pub abilities: EditorCapabilities,
    /// The channel on which threads send requests and notifications to the client.
    pub inbox: mpsc::Sender<ToEditor>,
}

impl Caller {
    /// Creates a client that follows no thread, of the user with the client's own name.
    pub fn new(by: Origin, permissions: impl Into<Permissions>, lane: Lane, defaults: Arc<Defaults>) -> Self {
        Self {
            user: match &by {
                Origin::Client(client) => Some(client.principal.as_str().into()),
                Origin::Agent | Origin::Daemon | Origin::Policy(_) => None,
            },
            by,
            permissions: permissions.into(),
            connection: Arc::default(),
            lane,
            defaults,
            delegate: None,
            shows: ElicitationModes::NONE,
            follows: false,
            newest: None,
            signing_in: None,
            standby: None,
        }
    }

    /// Returns the modes of elicitation that count for what the client creates. Clients other than editors count as able to
    /// show both, whatever they show: what they create may be answered from anywhere.
    pub(super) fn elicitation(&self) -> ElicitationModes {
        let editor = self.delegate.as_ref();
        editor.map_or(ElicitationModes::ALL, |editor| editor.abilities.elicitation)
    }

    /// Returns the thread whose agent receives a request that names no thread.
    pub(super) fn thread_for(&self, request: &AgentRequest) -> Option<ThreadId> {
        // A sign-in goes to the agent that waits for it.
        let signs_in = matches!(request, AgentRequest::Authenticate { .. });
        let first = self.signing_in.filter(|_| signs_in);
        first.or(self.newest).or(self.signing_in)
    }
}

impl Defaults {
    /// Returns the defaults of a connection that must name the agent in each request.
    pub fn none() -> Arc<Self> {
        static NONE: LazyLock<Arc<Defaults>> = LazyLock::new(|| {
            Arc::new(Defaults {
                agent: Err(Failure::invalid_params("no agent was named")),
                cwd: PathBuf::new(),
            })
        });
        Arc::clone(&NONE)
    }
}
