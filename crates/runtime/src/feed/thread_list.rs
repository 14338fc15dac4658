//! The feed of the thread list: notifies watching clients when the list changes.
//!
//! In: a thread's summary from its task, once it is stored, and what a principal has seen. Out: the same frames for every watching connection of a lane,
//! encoded once. Owns: the last few frames. Never: waits for a watcher, or does work while there is none. A client that falls
//! behind receives a reset and lists the threads again.

use std::sync::Arc;

use acpd_model::{Event, EventKind, Millis, Summary, ThreadEvent, ThreadId};
use acpd_proto::surface::contract::{Lane, Source};
use acpd_proto::surface::frames::Frames;
use acpd_proto::surface::reply::SeenThread;
use tokio::sync::broadcast;

/// Changes to the thread list that are kept for clients that watch it. A client that falls further behind requests the
/// list again.
const LIST_CHANGES: usize = 256;

/// The channel on which every thread publishes its entry in the list.
#[derive(Debug, Clone)]
pub struct ThreadListFeed {
    lanes: [(Lane, broadcast::Sender<ListChange>); Lane::ALL.len()],
}

/// A change of the list.
#[derive(Debug, Clone)]
struct ListChange {
    of: Changed,
    frames: Arc<Frames>,
}

/// What a change of the list concerns.
#[derive(Debug, Clone)]
enum Changed {
    /// The entry of a thread, for all watchers.
    Thread(ThreadId),
    /// What a principal has seen, for its own connections.
    Seen(Arc<str>),
}

impl ThreadListFeed {
    /// Opens a feed without watchers.
    pub fn open() -> Self {
        let lanes = Lane::ALL.map(|lane| (lane, broadcast::channel(LIST_CHANGES).0));
        Self { lanes }
    }

    /// Publishes a thread's new list entry after `events`. It has its metadata only if watchers may not have it yet.
    pub fn changed(&self, thread: ThreadId, events: &[Event], summary: &Summary) {
        let shows_metadata = |event: &Event| {
            matches!(
                event.kind,
                EventKind::Thread(
                    ThreadEvent::Created(_) | ThreadEvent::MetadataSet { .. } | ThreadEvent::Unarchived {}
                )
            )
        };
        self.publish(
            &Changed::Thread(thread),
            Source::Listed {
                thread,
                at: events.last().map_or(0, |event| event.at),
                summary: Some(summary),
                with_metadata: events.iter().any(shows_metadata),
            },
        );
    }

    /// Publishes a thread's list entry after a change without an event.
    pub fn shown(&self, thread: ThreadId, at: Millis, summary: &Summary) {
        self.publish(
            &Changed::Thread(thread),
            Source::Listed {
                thread,
                at,
                summary: Some(summary),
                with_metadata: false,
            },
        );
    }

    /// Publishes that a thread was deleted.
    pub fn removed(&self, thread: ThreadId, at: Millis) {
        self.publish(
            &Changed::Thread(thread),
            Source::Listed {
                thread,
                at,
                summary: None,
                with_metadata: false,
            },
        );
    }

    /// Publishes to the connections of a principal what it has seen.
    pub fn seen(&self, principal: &str, at: Millis, threads: &[SeenThread]) {
        let change = Source::Seen { at, threads };
        self.publish(&Changed::Seen(principal.into()), change);
    }

    fn publish(&self, of: &Changed, change: Source<'_>) {
        for (lane, changes) in &self.lanes {
            if changes.receiver_count() > 0 {
                let frames = Arc::new(Frames::encode(*lane, change));
                // The last watcher may have gone in between.
                let _ = changes.send(ListChange {
                    of: of.clone(),
                    frames,
                });
            }
        }
    }
}

impl Watching {
    fn receives(&self, change: &Changed) -> bool {
        match change {
            Changed::Thread(thread) => self.only.is_none_or(|only| only == *thread),
            Changed::Seen(principal) => self.only.is_none() && *principal == self.principal,
        }
    }
}

/// A connection's subscription to the thread list.
#[derive(Debug, Default)]
pub struct ThreadListSubscription(Option<Watching>);

#[derive(Debug)]
struct Watching {
    lane: Lane,
    /// The only thread whose changes the client receives.
    only: Option<ThreadId>,
    /// The client's principal.
    principal: Arc<str>,
    changes: broadcast::Receiver<ListChange>,
}

impl ThreadListSubscription {
    /// Starts watching for a client of `principal`; does nothing if the connection watches already. With `only`, the client
    /// receives changes of that thread's entry alone.
    pub fn begin(
        &mut self,
        thread_list: &ThreadListFeed,
        lane: Lane,
        only: Option<ThreadId>,
        principal: &str,
    ) {
        let channel = thread_list.lanes.iter().find(|(of, _)| *of == lane);
        if let (None, Some((_, changes))) = (&self.0, channel) {
            let changes = changes.subscribe();
            self.0 = Some(Watching {
                lane,
                only,
                principal: principal.into(),
                changes,
            });
        }
    }

    /// Returns the next frames for the client. Waits forever if the connection does not watch.
    pub async fn next(&mut self) -> Arc<Frames> {
        let Some(watching) = &mut self.0 else {
            return std::future::pending().await;
        };
        loop {
            match watching.changes.recv().await {
                Ok(change) if watching.receives(&change.of) => return change.frames,
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    return Arc::new(Frames::encode(watching.lane, Source::ListReset));
                }
                // The daemon is stopping.
                Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Origin;
    use acpd_proto::surface::app::Peer;
    use futures_util::FutureExt;

    use super::*;

    fn changed(thread_list: &ThreadListFeed, times: usize) {
        for at in 0..times {
            let summary = Summary::default();
            let event = Event {
                seq: 1,
                at: Millis::try_from(at).unwrap(),
                turn: None,
                by: Origin::Daemon,
                kind: EventKind::Thread(ThreadEvent::Archived {}),
                raw: None,
                raw_params: None,
                repeats_id: false,
                translated: false,
                lane: None,
            };
            thread_list.changed(ThreadId(uuid::Uuid::nil()), &[event], &summary);
        }
    }

    /// Returns the frames of a watcher, by method and time.
    fn take(watch: &mut ThreadListSubscription) -> Vec<(String, Option<Millis>)> {
        std::iter::from_fn(|| watch.next().now_or_never())
            .map(|frames| {
                let [frame] = frames.of::<Peer>() else {
                    panic!("one change is one frame")
                };
                let frame: serde_json::Value = serde_json::from_slice(&frame.text).unwrap();
                let method = frame["method"].as_str().unwrap().to_owned();
                (method, frame["params"]["ts"].as_i64())
            })
            .collect()
    }

    #[test]
    fn watchers_that_fall_behind_are_notified_to_list_again() {
        let thread_list = ThreadListFeed::open();
        changed(&thread_list, 3);
        let (mut slow, mut quick) = (
            ThreadListSubscription::default(),
            ThreadListSubscription::default(),
        );
        slow.begin(&thread_list, Lane::App, None, "ann");
        quick.begin(&thread_list, Lane::App, None, "ann");
        assert_eq!(take(&mut slow), [], "what came before is in the list");
        changed(&thread_list, LIST_CHANGES);
        assert_eq!(take(&mut quick).len(), LIST_CHANGES);
        changed(&thread_list, 1);
        // Subscribing again must not lose any frame.
        slow.begin(&thread_list, Lane::App, None, "ann");
        let kept = take(&mut slow);
        assert_eq!(kept[0], ("thread/list/reset".to_owned(), None));
        assert_eq!(kept[1], ("thread/list/changed".to_owned(), Some(1)));
        assert_eq!(kept.len(), 1 + LIST_CHANGES);
        assert_eq!(take(&mut quick), [("thread/list/changed".to_owned(), Some(0))]);
        assert!(ThreadListSubscription::default().next().now_or_never().is_none());
    }

    #[test]
    fn a_watcher_of_one_thread_receives_no_change_of_another() {
        let thread_list = ThreadListFeed::open();
        let (one, other) = (ThreadId(uuid::Uuid::nil()), ThreadId(uuid::Uuid::max()));
        let watch = |only| {
            let mut watch = ThreadListSubscription::default();
            watch.begin(&thread_list, Lane::App, Some(only), "ann");
            watch
        };
        let (mut of_one, mut of_other) = (watch(one), watch(other));
        changed(&thread_list, 2);
        thread_list.removed(other, 9);
        let changed = "thread/list/changed".to_owned();
        let seen = take(&mut of_one);
        assert_eq!(seen, [(changed.clone(), Some(0)), (changed, Some(1))]);
        assert_eq!(take(&mut of_other).len(), 1, "its own deletion");
    }

    #[test]
    fn read_marks_go_to_the_connections_of_their_principal() {
        let thread_list = ThreadListFeed::open();
        let thread = ThreadId(uuid::Uuid::nil());
        let watch = |only, principal| {
            let mut watch = ThreadListSubscription::default();
            watch.begin(&thread_list, Lane::App, only, principal);
            watch
        };
        let (mut phone, mut other) = (watch(None, "ann"), watch(None, "bob"));
        let mut of_link = watch(Some(thread), "ann");
        thread_list.seen("ann", 7, &[SeenThread { thread, seen_at: 5 }]);
        assert_eq!(take(&mut phone), [("thread/list/seen".to_owned(), Some(7))]);
        assert_eq!((take(&mut other), take(&mut of_link)), (Vec::new(), Vec::new()));
    }
}
