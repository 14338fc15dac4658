//! The channels from a thread to its subscribers.
//!
//! In: stored events. Out: batches, encoded once for each lane that has subscribers. Owns: the last few batches. Never:
//! waits for a subscriber, or encodes for a lane without subscribers.

use std::sync::Arc;

use acpd_model::Event;
use acpd_proto::surface::contract::Lane;
use tokio::sync::broadcast;

use crate::feed::batch::{Batch, Shown};

/// The channels to the subscribers of one thread, one for each lane that has had subscribers.
#[derive(Debug)]
pub struct Publisher {
    /// How many batches a channel keeps.
    slots: usize,
    lanes: Vec<(Lane, broadcast::Sender<Arc<Batch>>)>,
}

/// Batches for the subscribers of each lane.
#[derive(Debug)]
pub struct Encoded(Vec<(Lane, Batch)>);

impl Publisher {
    /// Creates a publisher without channels: most threads have no subscribers.
    pub fn new(slots: usize) -> Self {
        Self {
            slots,
            lanes: Vec::new(),
        }
    }

    /// Adds a subscriber, which receives everything from now on.
    pub fn subscribe(&mut self, lane: Lane) -> broadcast::Receiver<Arc<Batch>> {
        self.lanes.retain(|(_, channel)| channel.receiver_count() > 0);
        if let Some((_, channel)) = self.lanes.iter().find(|(of, _)| *of == lane) {
            return channel.subscribe();
        }
        let (channel, batches) = broadcast::channel(self.slots);
        self.lanes.push((lane, channel));
        batches
    }

    /// Returns whether there are subscribers.
    pub fn has_subscribers(&self) -> bool {
        self.lanes.iter().any(|(_, channel)| channel.receiver_count() > 0)
    }

    /// Encodes events, and live updates at their positions between them, for each lane that has subscribers.
    pub fn encode(&self, thread: &str, events: &[Event], shown: &[Shown]) -> Encoded {
        let mut encoded = Vec::new();
        for (lane, channel) in &self.lanes {
            if channel.receiver_count() > 0 {
                let batches = Batch::in_order(*lane, thread, events, shown);
                encoded.extend(batches.into_iter().map(|batch| (*lane, batch)));
            }
        }
        Encoded(encoded)
    }

    /// Sends the batches to the subscribers.
    pub fn send(&self, Encoded(encoded): Encoded) {
        for (lane, batch) in encoded {
            if let Some((_, channel)) = self.lanes.iter().find(|(of, _)| *of == lane) {
                // The last subscriber may have gone in between.
                let _ = channel.send(Arc::new(batch));
            }
        }
    }

    /// Waits until the subscribers have left, and frees their channels. Returns immediately if there are none.
    pub async fn closed(&mut self) {
        for (_, channel) in &self.lanes {
            channel.closed().await;
        }
        self.lanes.retain(|(_, channel)| channel.receiver_count() > 0);
    }
}
