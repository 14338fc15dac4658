//! The feed of the thread list: notifies watching clients when the list changes.
//!
//! In: a thread's summary from its task, once it is stored. Out: the same frame for every watching connection, encoded
//! once. Owns: the last few frames. Never: waits for a watcher, or does work while there is none. A client that falls
//! behind receives a reset and lists the threads again.

use acpd_model::limits::LIST_CHANGES;
use acpd_model::{Millis, Summary, ThreadId};
use acpd_proto::surface::app::{Frame, list_reset_frame, listed_frame};
use tokio::sync::broadcast;

/// The channel on which every thread publishes its entry in the list.
#[derive(Debug, Clone)]
pub struct ThreadListFeed {
    changes: broadcast::Sender<Frame>,
}

impl ThreadListFeed {
    /// Opens a feed without watchers.
    pub fn open() -> Self {
        let changes = broadcast::channel(LIST_CHANGES).0;
        Self { changes }
    }

    /// Publishes a thread's new list entry, or its removal if `summary` is `None`.
    pub fn changed(&self, thread: ThreadId, at: Millis, summary: Option<&Summary>) {
        if self.changes.receiver_count() > 0 {
            // The last watcher may have gone in between.
            let _ = self.changes.send(listed_frame(thread, at, summary));
        }
    }
}

/// A connection's subscription to the thread list.
#[derive(Debug, Default)]
pub struct ThreadListSubscription(Option<broadcast::Receiver<Frame>>);

impl ThreadListSubscription {
    /// Starts watching; does nothing if the connection watches already.
    pub fn begin(&mut self, thread_list: &ThreadListFeed) {
        self.0.get_or_insert_with(|| thread_list.changes.subscribe());
    }

    /// Returns the next frame for the client. Waits forever if the connection does not watch.
    pub async fn next(&mut self) -> Frame {
        let Some(changes) = &mut self.0 else {
            return std::future::pending().await;
        };
        match changes.recv().await {
            Ok(frame) => frame,
            Err(broadcast::error::RecvError::Lagged(_)) => list_reset_frame(),
            // The daemon is stopping.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn changed(thread_list: &ThreadListFeed, times: usize) {
        for at in 0..times {
            let summary = Summary::default();
            let at = Millis::try_from(at).unwrap();
            thread_list.changed(ThreadId(uuid::Uuid::nil()), at, Some(&summary));
        }
    }

    /// Returns the frames of a watcher, by method and time.
    fn take(watch: &mut ThreadListSubscription) -> Vec<(String, Option<Millis>)> {
        std::iter::from_fn(|| watch.next().now_or_never())
            .map(|frame| {
                let frame: serde_json::Value = serde_json::from_slice(&frame.text).unwrap();
                let method = frame["method"].as_str().unwrap().to_owned();
                (method, frame["params"]["ts"].as_i64())
            })
            .collect()
    }

    #[test]
    fn a_watcher_that_falls_behind_is_told_to_list_again() {
        let thread_list = ThreadListFeed::open();
        changed(&thread_list, 3);
        let (mut slow, mut quick) = (
            ThreadListSubscription::default(),
            ThreadListSubscription::default(),
        );
        slow.begin(&thread_list);
        quick.begin(&thread_list);
        assert_eq!(take(&mut slow), [], "what came before is in the list");
        changed(&thread_list, LIST_CHANGES);
        assert_eq!(take(&mut quick).len(), LIST_CHANGES);
        changed(&thread_list, 1);
        // Subscribing again must not lose any frame.
        slow.begin(&thread_list);
        let kept = take(&mut slow);
        assert_eq!(kept[0], ("thread/list/reset".to_owned(), None));
        assert_eq!(kept[1], ("thread/list/changed".to_owned(), Some(1)));
        assert_eq!(kept.len(), 1 + LIST_CHANGES);
        assert_eq!(take(&mut quick), [("thread/list/changed".to_owned(), Some(0))]);
        assert!(ThreadListSubscription::default().next().now_or_never().is_none());
    }
}
