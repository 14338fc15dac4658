//! The other clients that follow a thread.

use acpd_model::event::ClientOrigin;
use acpd_model::{Millis, ThreadId};

use super::encode::Frame;
use super::notifications::Notification;
use super::wire::event::SubscribersChanged;

/// A client that follows a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// The client.
    pub who: ClientOrigin,
    /// Whether the client receives the agent's questions as requests.
    pub may_answer: bool,
}

/// The clients that follow a thread, without the one that is notified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherSubscribers {
    /// The clients that the notification lists.
    pub told: Vec<Subscriber>,
    /// Number of further clients.
    pub more: usize,
}

/// Returns the frame that lists the other subscribers for one subscriber. It has no `seq`.
pub fn subscribers_frame(thread: ThreadId, at: Millis, others: &OtherSubscribers) -> Frame {
    Frame::without_event(&Notification::ThreadSubscribersChanged(SubscribersChanged {
        thread_id: thread,
        ts: at,
        others: &others.told,
        more: others.more,
    }))
}
