//! The channels from a thread to its subscribers.
//!
//! In: stored events. Out: batches, encoded once for each lane that has subscribers. Owns: the last few batches, and what the agent suggests. Never:
//! waits for a subscriber, or encodes for a lane without subscribers.

use std::sync::Arc;

use acpd_model::Event;
use acpd_model::limits::SHARED_BATCH_BYTES;
use acpd_proto::fanout::LiveUpdate;
use acpd_proto::surface::contract::Lane;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::feed::batch::{Batch, Shown};
use crate::room::Room;

/// The channels to the subscribers of one thread, one for each lane that has had subscribers.
#[derive(Debug)]
pub struct Publisher {
    /// How many batches a channel keeps.
    slots: usize,
    /// The room for the unread batches of all threads.
    room: Room,
    lanes: Vec<(Lane, broadcast::Sender<Arc<Batch>>)>,
    /// The prompts that the agent suggests, for subscribers that come later.
    suggestions: watch::Sender<Option<Arc<Shown>>>,
}

/// Batches for the subscribers of each lane.
#[derive(Debug)]
pub struct Encoded(Vec<(Lane, Batch)>);

impl Publisher {
    /// Creates a publisher without channels: most threads have no subscribers.
    pub fn new(slots: usize, room: Room) -> Self {
        Self {
            slots,
            room,
            lanes: Vec::new(),
            suggestions: watch::Sender::new(None),
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

    /// Returns the prompts that the agent suggests.
    pub fn suggestions(&self) -> watch::Receiver<Option<Arc<Shown>>> {
        self.suggestions.subscribe()
    }

    /// Keeps what subscribers that come later need of these updates.
    pub fn keep(&self, shown: Vec<Shown>) {
        let suggests = |shown: &Shown| matches!(shown.update, LiveUpdate::Suggestions(_));
        if let Some(last) = shown.into_iter().rev().find(suggests) {
            self.suggestions.send_replace(Some(Arc::new(last)));
        }
    }

    /// Returns whether there are subscribers.
    pub fn has_subscribers(&self) -> bool {
        self.lanes.iter().any(|(_, channel)| channel.receiver_count() > 0)
    }

    /// Encodes events, and live updates at their positions between them, for each lane that has subscribers.
    pub fn encode(&self, thread: &str, events: &[Event], shown: &[Shown]) -> Encoded {
        let mut encoded = Vec::new();
        for (lane, channel) in &self.lanes {
            if channel.receiver_count() == 0 {
                continue;
            }
            // The agent's JSON is most of a frame.
            let bytes = events.iter().map(Event::weight).sum::<usize>() as u64;
            let is_shared = bytes <= SHARED_BATCH_BYTES;
            let Some(charge) = is_shared.then(|| self.room.try_take(bytes)).flatten() else {
                encoded.push((*lane, Batch::left_out(*lane, events)));
                continue;
            };
            let mut batches = Batch::in_order(*lane, thread, events, shown);
            if let Some(last) = batches.last_mut() {
                last.charge = Some(charge);
            }
            encoded.extend(batches.into_iter().map(|batch| (*lane, batch)));
        }
        Encoded(encoded)
    }

    /// Sends the batches of events that were just stored to the subscribers.
    pub fn send(&self, Encoded(encoded): Encoded) {
        if encoded.is_empty() {
            return;
        }
        let now = Instant::now();
        for (lane, mut batch) in encoded {
            batch.stored_at = Some(now).filter(|_| !batch.is_shown_only());
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

#[cfg(test)]
mod tests {
    use acpd_model::RawJson;

    use super::*;
    use crate::test_context;

    fn event(seq: u64, bytes: usize) -> Event {
        Event {
            raw: Some(RawJson::from(serde_json::json!("x".repeat(bytes)))),
            ..test_context::event(seq)
        }
    }

    #[tokio::test]
    async fn unread_batches_of_all_threads_have_a_bound_in_bytes() {
        let room = Room::new(10_000);
        let mut threads = [16, 16].map(|slots| Publisher::new(slots, room.clone()));
        let mut clients = threads.each_mut().map(|thread| thread.subscribe(Lane::App));
        let send = |thread: &Publisher, seq, bytes| {
            thread.send(thread.encode("t", &[event(seq, bytes)], &[]));
        };
        send(&threads[0], 1, 8_000);
        send(&threads[1], 1, 8_000);
        send(&threads[1], 2, 10);
        assert!(!clients[0].recv().await.unwrap().is_left_out);
        let left_out = clients[1].recv().await.unwrap();
        assert_eq!(
            (left_out.is_left_out, left_out.first, left_out.last),
            (true, 1, 1)
        );
        assert!(
            !clients[1].recv().await.unwrap().is_left_out,
            "there is room for a small one"
        );
        // What all have received needs no room.
        drop(left_out);
        send(&threads[1], 3, 90_000);
        let large = clients[1].recv().await.unwrap();
        assert!(!large.is_left_out, "one that is larger than all gets all");
        send(&threads[0], 2, 10);
        assert!(clients[0].recv().await.unwrap().is_left_out);
    }

    #[tokio::test]
    async fn a_large_batch_is_read_from_the_log_by_each_client() {
        let mut thread = Publisher::new(16, Room::new(u32::MAX >> 4));
        let mut client = thread.subscribe(Lane::App);
        let large = usize::try_from(SHARED_BATCH_BYTES).unwrap();
        for (seq, bytes, is_left_out) in [(1, large / 2, false), (2, large, true), (3, 10, false)] {
            thread.send(thread.encode("t", &[event(seq, bytes)], &[]));
            assert_eq!(client.recv().await.unwrap().is_left_out, is_left_out, "{bytes}");
        }
    }
}
