//! A thread at the moment at which a client begins to follow it.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_model::{Seq, ThreadId};
use acpd_proto::projection::Live;
use tokio::sync::broadcast;

use crate::feed::batch::Batch;
use crate::thread::delegates::AttachmentGuard;

/// The moment at which somebody began to follow a thread.
#[derive(Debug)]
pub struct ThreadSnapshot {
    /// Everything after `live.last_seq`.
    pub batches: broadcast::Receiver<Arc<Batch>>,
    /// The thread at that moment.
    pub live: Box<Live>,
    /// Questions that were open then.
    pub pending: BTreeSet<u32>,
}

/// A thread to follow.
#[derive(Debug)]
pub struct FollowRequest {
    /// Which.
    pub thread: ThreadId,
    /// The last event that the client has seen.
    pub cursor: Seq,
    /// Where the thread stood.
    pub snapshot: ThreadSnapshot,
    /// The client takes part in the thread as long as this is there.
    pub attachment: Option<AttachmentGuard>,
}
