//! The way to the task that sends notifications ([`notifier`](crate::notifier)).
//!
//! In: batches that threads have stored, and requests of clients. Out: messages for the task. Owns: the task's channel. Never: keeps
//! a thread waiting.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acpd_model::{ErrorCode, Event, Failure, Summary, ThreadId};
use acpd_proto::notify::{Delivery, DeliveryError, Fact, Target, TargetState, facts};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

/// Facts about threads that may wait for the task of notifications. It reads the log for those that found no room.
const NOTIFICATIONS_INBOX: usize = 1024;

/// A notification, with all that a message to a target can be made of.
#[derive(Debug, Clone)]
pub enum Message {
    /// About a thread.
    Thread(Box<ThreadMessage>),
    /// A test that a user requested, with its id and time.
    Test {
        /// Id of the notification.
        id: String,
        /// When it was requested.
        at: acpd_model::Millis,
    },
}

/// A notification about a thread.
#[derive(Debug, Clone)]
pub struct ThreadMessage {
    /// The delivery.
    pub delivery: Delivery,
    /// The thread, as it is now.
    pub summary: Summary,
    /// The event.
    pub event: Event,
}

/// Sends notifications to targets.
pub trait Deliver: fmt::Debug + Send + Sync {
    /// Sends a notification to the target with this name. The future ends within a bounded time, and does not hold the
    /// message, which can be as large as an event.
    fn deliver(&self, target: &str, message: Message) -> BoxFuture<'static, Result<(), DeliveryError>>;

    /// Returns the type of a target, for metrics.
    fn kind(&self, target: &str) -> &'static str;
}

/// The targets, which a reload of the configuration replaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Targets {
    /// The targets by name.
    pub targets: BTreeMap<String, Target>,
    /// Time that a question must be open before anyone is notified of it.
    pub patience: Duration,
}

/// The result of a test of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The target.
    pub target: String,
    /// Why the test failed; `None` if it succeeded.
    pub error: Option<String>,
}

/// A message to the task.
#[derive(Debug)]
pub(crate) enum ToNotifier {
    Facts {
        thread: ThreadId,
        facts: Vec<Fact>,
    },
    Test {
        target: Option<String>,
        reply: oneshot::Sender<Result<Vec<Tested>, Failure>>,
    },
    States {
        reply: oneshot::Sender<Vec<(TargetState, &'static str)>>,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

/// Gives threads and clients access to the task; cheap to clone.
#[derive(Debug, Clone)]
pub struct Notifications(Arc<Channel>);

#[derive(Debug)]
struct Channel {
    tx: mpsc::Sender<ToNotifier>,
    flags: Arc<Flags>,
}

/// What threads and the task know of each other without a message.
#[derive(Debug)]
pub(crate) struct Flags {
    /// Whether there is any target.
    pub(crate) is_on: AtomicBool,
    /// Whether a fact found no room.
    pub(crate) has_missed: AtomicBool,
}

/// The end of the channel that the task receives from.
#[derive(Debug)]
pub struct Inbox {
    pub(crate) rx: mpsc::Receiver<ToNotifier>,
    pub(crate) flags: Arc<Flags>,
}

impl Notifications {
    /// Creates the channel of the task. With `is_on`, threads report from now on.
    pub fn channel(is_on: bool) -> (Self, Inbox) {
        let (tx, rx) = mpsc::channel(NOTIFICATIONS_INBOX);
        let flags = Arc::new(Flags {
            is_on: AtomicBool::new(is_on),
            has_missed: AtomicBool::new(false),
        });
        let inbox = Inbox {
            rx,
            flags: Arc::clone(&flags),
        };
        (Self(Arc::new(Channel { tx, flags })), inbox)
    }

    /// Creates a handle without a task.
    pub fn off() -> Self {
        Self::channel(false).0
    }

    /// Reports events that a thread has stored. Never waits: if there is no room, the task reads them from the log.
    pub(crate) fn stored(&self, thread: ThreadId, events: &[Event]) {
        if !self.0.flags.is_on.load(Ordering::Relaxed) {
            return;
        }
        let facts = facts(thread, events);
        if facts.is_empty() {
            return;
        }
        if let Err(mpsc::error::TrySendError::Full(_)) =
            self.0.tx.try_send(ToNotifier::Facts { thread, facts })
        {
            self.0.flags.has_missed.store(true, Ordering::Release);
        }
    }

    /// Acts as if a fact had found no room.
    #[cfg(test)]
    pub(crate) fn miss(&self) {
        self.0.flags.has_missed.store(true, Ordering::Release);
    }

    /// Sends a test notification to one target or to all, and returns the results.
    pub async fn test(&self, target: Option<String>) -> Result<Vec<Tested>, Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(ToNotifier::Test { target, reply }).await?;
        answer.await.map_err(|_| stopping())?
    }

    /// Returns the state of each target, and its type.
    pub async fn states(&self) -> Result<Vec<(TargetState, &'static str)>, Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(ToNotifier::States { reply }).await?;
        answer.await.map_err(|_| stopping())
    }

    /// Stores what waits, and ends the task.
    pub async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.send(ToNotifier::Close { reply }).await.is_ok() {
            // An error means that the task has ended already.
            let _ = closed.await;
        }
    }

    async fn send(&self, message: ToNotifier) -> Result<(), Failure> {
        self.0.tx.send(message).await.map_err(|_| stopping())
    }
}

fn stopping() -> Failure {
    Failure::new(ErrorCode::Overloaded, "the daemon is stopping")
}
