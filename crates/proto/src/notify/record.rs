//! What a restart of the daemon needs to know: up to which event each thread was considered, and what still waits.
//!
//! In: the outbox. Out: a value to store. Never: holds content of a thread, or a question, which no restart survives.

use std::collections::BTreeMap;

use acpd_model::{Millis, Seq, ThreadId, TurnId};
use serde::{Deserialize, Serialize};

use super::trigger::TriggerKind;

/// The part of an [`Outbox`](super::Outbox) that outlives the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutboxRecord {
    /// Turns that ended before this time are not considered.
    pub since: Millis,
    /// The last considered event of each thread in which a turn ended since then.
    pub threads: BTreeMap<ThreadId, Considered>,
    /// Deliveries that still have to succeed, oldest first.
    pub waiting: Vec<WaitingRecord>,
}

/// Up to which event a thread was considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Considered {
    /// The event.
    pub seq: Seq,
    /// When it happened.
    pub at: Millis,
}

/// A delivery that still has to succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitingRecord {
    /// The target.
    pub target: String,
    /// The thread.
    pub thread: ThreadId,
    /// What happened.
    pub kind: TriggerKind,
    /// The turn.
    pub turn: TurnId,
    /// The event.
    pub seq: Seq,
    /// When it happened.
    pub at: Millis,
}
