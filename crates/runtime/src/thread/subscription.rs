//! One client's subscription to one thread. The task reads the log up to its end, then follows live events. It returns
//! to the log whenever it has missed something. It keeps no events.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_log::{LogError, SharedLog};
use acpd_model::{ErrorCode, RequestId, Seq, ThreadId};
use acpd_proto::fanout::{Step, Subscription};
use acpd_proto::surface::app::{frame, subscribers_frame};
use tokio::sync::{broadcast, mpsc};

use crate::clock::Clock;
use crate::context::Context;
use crate::feed::batch::Batch;
use crate::feed::presence::Presence;
use crate::feed::snapshot::FollowRequest;
use crate::feed::snapshot::ThreadSnapshot;
use crate::metrics::Metrics;
use crate::thread::directory::Directory;

/// Frames for one client.
#[derive(Debug)]
pub struct Delivery {
    /// The number of the subscription.
    pub subscription: u64,
    /// The frames to send.
    pub batch: Arc<Batch>,
    /// The first event to send: the client already has the events before it.
    pub from: Seq,
    /// For events from the log: which of their questions are still open. `None` for new events, whose questions are all open.
    pub pending: Option<OpenQuestions>,
}

/// The questions that were open at one moment.
#[derive(Debug, Clone)]
pub struct OpenQuestions {
    /// The last event at that moment: a page of the log may contain later events.
    end: Seq,
    open: Arc<BTreeSet<u32>>,
}

impl Delivery {
    /// Returns whether the question in one of these frames is still open, as far as the daemon knows.
    pub fn is_pending(&self, seq: Seq, request: RequestId) -> bool {
        self.pending
            .as_ref()
            .is_none_or(|pending| seq > pending.end || pending.open.contains(&request.number))
    }
}

/// The reason why a subscription ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowEnd {
    /// The client disconnected, the thread was deleted, or the daemon is stopping.
    Gone,
    /// The thread or the log failed. The client must be notified, because it receives no further events.
    Lost,
}

/// Sends a client the events of `thread` after `cursor`, until the client or the thread is gone. Each delivery carries
/// the number `subscription`.
pub async fn follow(
    directory: Directory,
    context: Context,
    follow: FollowRequest,
    presence: Presence,
    subscription: u64,
    deliver: mpsc::Sender<Delivery>,
) -> FollowEnd {
    let FollowRequest {
        thread,
        cursor,
        snapshot: first,
        ..
    } = follow;
    let mut follower = Follower {
        log: context.log,
        metrics: context.metrics,
        clock: context.clock,
        presence,
        lagging: false,
        name: thread.to_string(),
        thread,
        subscription,
        deliver,
        at: Subscription::new(cursor),
    };
    let mut snapshot = first;
    if follower.resend_open_questions(&snapshot, cursor).await.is_none() {
        return FollowEnd::Gone;
    }
    loop {
        if let Err(ended) = follower.follow(snapshot).await {
            return ended;
        }
        snapshot = match directory.subscribe(thread).await {
            Ok(snapshot) => snapshot,
            // The daemon is stopping, or the thread was deleted.
            Err(failure) if matches!(failure.code, ErrorCode::Overloaded | ErrorCode::NotFound) => {
                return FollowEnd::Gone;
            }
            Err(failure) => {
                tracing::warn!(%thread, error = %failure, "a client cannot follow a thread any further");
                return FollowEnd::Lost;
            }
        };
    }
}

struct Follower {
    log: SharedLog,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// The client's own entry among the thread's subscribers.
    presence: Presence,
    /// Whether the client missed events that the channel no longer holds.
    lagging: bool,
    thread: ThreadId,
    name: String,
    subscription: u64,
    deliver: mpsc::Sender<Delivery>,
    at: Subscription,
}

impl Follower {
    /// Sends questions from before the cursor again if they are still open.
    async fn resend_open_questions(&self, snapshot: &ThreadSnapshot, cursor: Seq) -> Option<()> {
        for request in snapshot
            .live
            .requests
            .values()
            .filter(|request| request.event.seq <= cursor)
        {
            let frames = frame(&self.name, &request.event).into_iter().collect();
            let batch = Arc::new(Batch {
                first: request.event.seq,
                last: request.event.seq,
                frames,
            });
            self.deliver(batch, 0, None).await?;
        }
        Some(())
    }

    async fn deliver(&self, batch: Arc<Batch>, from: Seq, pending: Option<OpenQuestions>) -> Option<()> {
        let delivery = Delivery {
            subscription: self.subscription,
            batch,
            from,
            pending,
        };
        self.deliver.send(delivery).await.ok()
    }

    fn lagged(&mut self, missed: u64) {
        tracing::debug!(thread = %self.thread, missed, "a client lags and re-reads the log");
        self.metrics.lagged(missed);
        self.lagging = true;
    }

    /// Catches up from the log, then follows live events until it misses some.
    async fn follow(&mut self, snapshot: ThreadSnapshot) -> Result<(), FollowEnd> {
        let ThreadSnapshot {
            mut batches,
            pending,
            live,
        } = snapshot;
        let end = live.last_seq;
        let open = Arc::new(pending);
        let pending = OpenQuestions { end, open };
        drop(live);
        if std::mem::take(&mut self.lagging) {
            self.metrics.behind(end.saturating_sub(self.at.cursor()));
        }
        self.at.on_lag();
        while self.at.cursor() < end && !self.at.is_live() {
            let page = match self.log.read(self.thread, self.at.cursor()).await {
                Ok(page) => page,
                // The thread was deleted in the meantime; there are no further events.
                Err(LogError::NoSuchThread(_)) => return Err(FollowEnd::Gone),
                Err(error) => {
                    tracing::error!(thread = %self.thread, %error, "the log cannot be read");
                    return Err(FollowEnd::Lost);
                }
            };
            let from = self.at.cursor() + 1;
            self.at
                .on_page(page.events.last().map(|event| event.seq), page.at_end);
            if !page.events.is_empty() {
                let batch = Arc::new(Batch::encode(&self.name, &page.events));
                self.deliver(batch, from, Some(pending.clone()))
                    .await
                    .ok_or(FollowEnd::Gone)?;
            }
        }
        loop {
            let batch = tokio::select! {
                biased;
                () = self.deliver.closed() => return Err(FollowEnd::Gone),
                batch = batches.recv() => batch,
                others = self.presence.others_changed() => {
                    let frame = subscribers_frame(self.thread, self.clock.now().wall, &others);
                    let told = Arc::new(Batch::shown(self.at.cursor(), frame));
                    self.deliver(told, 0, None).await.ok_or(FollowEnd::Gone)?;
                    continue;
                }
            };
            match batch {
                // A live frame is only for clients that are exactly at this position: after a read from the log it
                // would come too late.
                Ok(batch) if batch.is_shown_only() => {
                    if batch.last == self.at.cursor() {
                        self.deliver(batch, 0, None).await.ok_or(FollowEnd::Gone)?;
                    }
                }
                Ok(batch) => match self.at.on_batch(batch.first, batch.last) {
                    Step::Send { from } => self.deliver(batch, from, None).await.ok_or(FollowEnd::Gone)?,
                    Step::Skip => {}
                    Step::CatchUp { .. } => {
                        self.lagged(0);
                        return Ok(());
                    }
                },
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    self.lagged(missed);
                    return Ok(());
                }
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_log::{EventLog, Memory};
    use acpd_model::event::ClientOrigin;
    use acpd_model::{Event, EventKind, Origin, Summary};
    use acpd_proto::projection::Live;
    use acpd_proto::surface::app::{Frame, Subscriber};
    use bytes::Bytes;

    use super::*;
    use crate::feed::presence::Subscribers;

    fn event(seq: Seq) -> Event {
        Event {
            seq,
            at: 0,
            turn: None,
            by: Origin::Agent,
            kind: EventKind::AgentNotified { method: "_x".into() },
            raw: None,
            raw_params: None,
        }
    }

    fn shown(after: Seq) -> Arc<Batch> {
        let frame = Frame {
            seq: 0,
            method: "",
            text: Bytes::new(),
            ask: None,
        };
        Arc::new(Batch::shown(after, frame))
    }

    /// A client that had to read the log has already read there how an item ended.
    #[tokio::test]
    async fn what_was_only_shown_before_an_event_is_not_shown_after_it() {
        let (log, thread) = (Arc::new(Memory::new()), ThreadId(uuid::Uuid::nil()));
        let summary = Summary::default();
        log.append(thread, &[event(1), event(2), event(3)], Some(&summary))
            .await
            .unwrap();
        let (publish, batches) = broadcast::channel(16);
        for batch in [
            shown(1),
            Arc::new(Batch::encode("", &[event(2), event(3)])),
            shown(3),
            Arc::new(Batch::encode("", &[event(4)])),
        ] {
            publish.send(batch).unwrap();
        }
        drop(publish);
        let mut live = Box::new(Live::new(thread));
        live.last_seq = 3;
        let snapshot = ThreadSnapshot {
            batches,
            live,
            pending: BTreeSet::new(),
        };
        let (deliver, mut delivered) = mpsc::channel(16);
        let someone = Subscriber {
            who: ClientOrigin {
                principal: String::new(),
                client: String::new(),
            },
            may_answer: false,
        };
        let mut follower = Follower {
            metrics: Arc::new(Metrics::new(log.clone())),
            clock: Clock::start(),
            presence: Subscribers::default().join(thread, someone, false),
            lagging: false,
            log,
            thread,
            name: String::new(),
            subscription: 0,
            deliver,
            at: Subscription::new(0),
        };
        follower.follow(snapshot).await.unwrap();
        drop(follower);
        let mut seen = Vec::new();
        while let Some(delivery) = delivered.recv().await {
            seen.push((delivery.batch.first, delivery.batch.last));
        }
        assert_eq!(seen, [(1, 3), (0, 3), (4, 4)]);
    }
}
