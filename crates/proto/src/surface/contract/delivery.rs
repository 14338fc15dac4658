//! What connections receive from threads, and what it is encoded from.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_model::event::ClientOrigin;
use acpd_model::{Event, Millis, RequestId, Seq, Summary, ThreadId, TurnId};

use crate::agent::ElicitationModes;
use crate::fanout::LiveUpdate;
use crate::surface::reply::SeenThread;

/// The facts that the frames of a lane are encoded from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// Stored events of one thread, in order.
    Events {
        /// The thread's id.
        thread: &'a str,
        /// The events.
        events: &'a [Event],
    },
    /// An update that is shown live and not stored.
    Shown {
        /// The thread's id.
        thread: &'a str,
        /// The turn that the update belongs to.
        turn: Option<TurnId>,
        /// When it was made.
        at: Millis,
        /// The update.
        update: &'a LiveUpdate,
    },
    /// A change of the thread list.
    Listed {
        /// The thread.
        thread: ThreadId,
        /// When it changed.
        at: Millis,
        /// Its new entry in the list; `None` if the thread was deleted.
        summary: Option<&'a Summary>,
        /// Whether the metadata in its entry may have changed.
        with_metadata: bool,
    },
    /// What one principal has seen.
    Seen {
        /// When it reported that.
        at: Millis,
        /// The new marks.
        threads: &'a [SeenThread],
    },
    /// Changes of the thread list were missed.
    ListReset,
}

/// Frames of one thread for one connection. Over all deliveries of a subscription, each event after the client's cursor
/// comes once, in order.
#[derive(Debug)]
pub struct Delivery<'a, F> {
    /// The thread.
    pub thread: ThreadId,
    /// The frames that the client has not received. Events can have no frame.
    pub frames: &'a [F],
    /// The last event that the client has received after this delivery.
    pub last: Seq,
    /// Which questions in the frames are still open.
    pub pending: &'a Pending,
}

/// Which questions of some frames are open, as far as the daemon knows.
#[derive(Debug, Clone, Default)]
pub struct Pending(Option<(Seq, Arc<BTreeSet<u32>>)>);

impl Pending {
    /// All are open, because the events are new.
    pub fn all() -> Self {
        Self(None)
    }

    /// Of the questions up to event `end`, these are open. A page of the log may contain later events.
    pub fn up_to(end: Seq, open: Arc<BTreeSet<u32>>) -> Self {
        Self(Some((end, open)))
    }

    /// Returns whether the question of event `seq` is open.
    pub fn is_open(&self, seq: Seq, request: RequestId) -> bool {
        let known = self.0.as_ref();
        known.is_none_or(|(end, open)| seq > *end || open.contains(&request.number))
    }
}

/// Notifications of a connection, which belong to no thread.
#[derive(Debug)]
pub enum ConnectionNotification<'a, F> {
    /// The thread list has changed.
    List(&'a [F]),
    /// Other clients follow a thread, or have left it.
    Subscribers {
        /// The thread.
        thread: ThreadId,
        /// When they changed.
        at: Millis,
        /// The other clients.
        others: &'a OtherSubscribers,
    },
    /// A thread's log cannot be written, or can be written again.
    Log {
        /// The thread.
        thread: ThreadId,
        /// When.
        at: Millis,
        /// Why it cannot be written.
        error: Option<&'a str>,
    },
    /// Events of a thread cannot be read.
    Damaged {
        /// The thread.
        thread: ThreadId,
        /// When that was noticed.
        at: Millis,
        /// The events.
        lost: &'a LostEvents,
    },
}

/// Events that cannot be read, because their part of the log is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvents {
    /// The first of these events.
    pub first: Seq,
    /// The last of these events.
    pub last: Seq,
    /// Why they cannot be read.
    pub reason: String,
}

/// A client that follows a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// The client.
    pub who: ClientOrigin,
    /// Whether the client receives the agent's questions.
    pub may_answer: bool,
    /// The modes of elicitation among these questions.
    pub elicitation: ElicitationModes,
}

/// The clients that follow a thread, without the one that is notified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherSubscribers {
    /// The clients that the notification lists.
    pub listed: Vec<Subscriber>,
    /// Number of further clients.
    pub more: usize,
}
