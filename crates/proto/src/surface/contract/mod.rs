//! What a client protocol provides, so that the daemon's connections can drive any of them.
//!
//! In: messages of one client, replies and frames. Out: messages for the client, and requests for the daemon. Owns: the
//! [`Exchange`] of each connection, with its [`Gate`]. Never: knows one of the protocols.

mod daemon_request;
mod delivery;
mod exchange;
mod gate;
mod lane;
mod output;

use acpd_model::event::ClientOrigin;
use acpd_model::{Failure, Seq, ThreadId};

pub(in crate::surface) use self::daemon_request::{DaemonRequest, Step, Steps, request};
pub use self::delivery::{
    ConnectionNotification, Delivery, LostEvents, OtherSubscribers, Pending, Source, Subscriber,
};
pub(in crate::surface) use self::exchange::{
    Exchange, INITIALIZE, OpenRequest, Phase, known_name, shown_name, unknown_method,
};
pub use self::gate::{ANSWER, Gate, Handled, NewThread, UNKNOWN_METHOD};
pub use self::lane::Lane;
pub use self::output::{Delegated, Output};
use crate::agent::ElicitationModes;
use crate::surface::reply::Reply;
use crate::thread::EditorCapabilities;
use crate::time::Now;

/// One connection of a client protocol, as a state machine. It needs no IO: its caller passes messages in and carries out
/// its outputs.
pub trait Surface: Send + 'static {
    /// A message for clients about one event, or a fact that only the connection needs.
    type Frame: Send + Sync + 'static;

    /// Encodes events for all connections of a lane, once.
    fn encode(lane: Lane, source: Source<'_>) -> Vec<Self::Frame>;

    /// Returns the number of a frame's event; 0 if it belongs to none. The frames of one batch are in this order.
    fn seq(frame: &Self::Frame) -> Seq;

    /// Returns the connection's lane. It does not change while a thread is open.
    fn lane(&self) -> Lane;

    /// Returns what is known about the client so far.
    fn profile(&self) -> Profile;

    /// Returns the connection's gate.
    fn gate(&mut self) -> &mut Gate;

    /// Handles one message of the client.
    fn handle_message(&mut self, text: &str, now: Now);

    /// Handles the reply to [`Output::Request`].
    fn handle_reply(&mut self, call: u64, reply: Result<Reply, Failure>);

    /// Handles frames of a thread that the client follows.
    fn handle_frames(&mut self, delivery: Delivery<'_, Self::Frame>);

    /// Handles news that belong to no thread's events.
    fn handle_notification(&mut self, _notice: ConnectionNotification<'_, Self::Frame>) {}

    /// Handles a command of a thread that delegates an agent's requests to this client.
    fn handle_delegated(&mut self, _thread: ThreadId, _command: Delegated) {}

    /// Handles the end of a thread's frames: it was deleted, or it cannot be read. Open requests about it must be answered.
    fn handle_closed(&mut self, thread: ThreadId, why: &Failure);

    /// Returns the next output. Outputs must be carried out in order.
    fn poll_output(&mut self) -> Option<Output>;
}

/// What is known about the client of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The client, as the originator of events.
    pub origin: ClientOrigin,
    /// Whether it receives the agent's questions.
    pub may_answer: bool,
    /// Whether it is notified of other subscribers of its threads.
    pub sees_subscribers: bool,
    /// What it can do instead of the daemon for an agent; `None` if agents are never connected to it.
    pub abilities: Option<EditorCapabilities>,
}

impl Profile {
    /// Returns the modes of elicitation that the client shows among the agent's questions that it receives.
    pub fn elicitation(&self) -> ElicitationModes {
        match self.abilities {
            _ if !self.may_answer => ElicitationModes::NONE,
            Some(editor) => editor.elicitation,
            None => ElicitationModes::ALL,
        }
    }
}
