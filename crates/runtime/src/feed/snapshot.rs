//! The state of a thread at the moment when a client subscribes to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_proto::projection::Live;
use tokio::sync::{broadcast, watch};

use crate::feed::batch::{Batch, Shown};

/// The state of a thread when a subscription starts, and the events after it.
#[derive(Debug)]
pub struct ThreadSnapshot {
    /// Receives everything after `live.last_seq`.
    pub batches: broadcast::Receiver<Arc<Batch>>,
    /// The thread's state at that moment.
    pub live: Arc<Live>,
    /// The questions that were open at that moment.
    pub pending: Arc<BTreeSet<u32>>,
    /// The prompts that the agent suggests, which are in no log. Changes after that moment show here as well.
    pub suggestions: watch::Receiver<Option<Arc<Shown>>>,
    /// Why the thread's log cannot be written, or which events cannot be read.
    pub log_error: Option<Arc<str>>,
}
