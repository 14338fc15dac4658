//! The board: tells those who watch the list of threads how it changes.
//!
//! In: a thread's summary, from its task, once it is stored. Out: the same frame for every connection that watches,
//! encoded once. Owns: the last few frames. Never: waits for a watcher, or costs anything while there is none; who falls
//! behind is told so, and asks for the list again.

use acpd_model::limits::LIST_CHANGES;
use acpd_model::{Millis, Summary, ThreadId};
use acpd_proto::surface::app::{Frame, list_reset_frame, listed_frame};
use tokio::sync::broadcast;

/// Where every thread says how it is listed.
#[derive(Debug, Clone)]
pub struct Board {
    changes: broadcast::Sender<Frame>,
}

impl Board {
    /// A board that nobody watches.
    pub fn new() -> Self {
        let changes = broadcast::channel(LIST_CHANGES).0;
        Self { changes }
    }

    /// A thread is listed like this from now on, or is no more.
    pub fn changed(&self, thread: ThreadId, at: Millis, summary: Option<&Summary>) {
        if self.changes.receiver_count() > 0 {
            // The last watcher may have gone in between.
            let _ = self.changes.send(listed_frame(thread, at, summary));
        }
    }
}

/// A connection's look at the board.
#[derive(Debug, Default)]
pub struct Watch(Option<broadcast::Receiver<Frame>>);

impl Watch {
    /// Watches from here on, if it does not yet.
    pub fn begin(&mut self, board: &Board) {
        self.0.get_or_insert_with(|| board.changes.subscribe());
    }

    /// The next frame for the client. Waits for ever if it does not watch.
    pub async fn next(&mut self) -> Frame {
        let Some(changes) = &mut self.0 else {
            return std::future::pending().await;
        };
        match changes.recv().await {
            Ok(frame) => frame,
            Err(broadcast::error::RecvError::Lagged(_)) => list_reset_frame(),
            // The daemon stops.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn changed(board: &Board, times: usize) {
        for at in 0..times {
            let summary = Summary::default();
            let at = Millis::try_from(at).unwrap();
            board.changed(ThreadId(uuid::Uuid::nil()), at, Some(&summary));
        }
    }

    /// What a watcher has, by method and time.
    fn take(watch: &mut Watch) -> Vec<(String, Option<Millis>)> {
        std::iter::from_fn(|| watch.next().now_or_never())
            .map(|frame| {
                let frame: serde_json::Value = serde_json::from_slice(&frame.text).unwrap();
                let method = frame["method"].as_str().unwrap().to_owned();
                (method, frame["params"]["ts"].as_i64())
            })
            .collect()
    }

    #[test]
    fn who_falls_behind_is_told_to_ask_again_and_goes_on() {
        let board = Board::new();
        changed(&board, 3);
        let (mut slow, mut quick) = (Watch::default(), Watch::default());
        slow.begin(&board);
        quick.begin(&board);
        assert_eq!(take(&mut slow), [], "what came before is in the list");
        changed(&board, LIST_CHANGES);
        assert_eq!(take(&mut quick).len(), LIST_CHANGES);
        changed(&board, 1);
        // To ask again is no reason to miss anything.
        slow.begin(&board);
        let kept = take(&mut slow);
        assert_eq!(kept[0], ("thread/list/reset".to_owned(), None));
        assert_eq!(kept[1], ("thread/list/changed".to_owned(), Some(1)));
        assert_eq!(kept.len(), 1 + LIST_CHANGES);
        assert_eq!(take(&mut quick), [("thread/list/changed".to_owned(), Some(0))]);
        assert!(Watch::default().next().now_or_never().is_none());
    }
}
