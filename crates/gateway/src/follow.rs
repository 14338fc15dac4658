//! One client's way through one thread: a task that reads the log until it is at the end, then follows live,
//! and goes back to the log whenever it has missed something. It holds no events.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_log::SharedLog;
use acpd_model::{ErrorCode, RequestId, Seq, ThreadId};
use acpd_proto::fanout::{Step, Subscription};
use acpd_proto::surface::app::frame;
use tokio::sync::{broadcast, mpsc};

use crate::calls::Follow;
use crate::directory::Directory;
use crate::thread::{Batch, Subscribed};

/// Frames for one client.
#[derive(Debug)]
pub struct Delivery {
    /// The subscription that it belongs to.
    pub subscription: u64,
    /// The frames.
    pub batch: Arc<Batch>,
    /// Those before this one the client has already.
    pub from: Seq,
    /// For events out of the log: what is known of their questions. `None` for new ones: all are open.
    pub pending: Option<Pending>,
}

/// The questions that were open at some moment.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The last event of that moment: a page of the log may go on after it.
    end: Seq,
    open: Arc<BTreeSet<u32>>,
}

impl Delivery {
    /// Whether the question of one of these frames is still open, as far as is known.
    pub fn is_pending(&self, seq: Seq, request: RequestId) -> bool {
        self.pending
            .as_ref()
            .is_none_or(|pending| seq > pending.end || pending.open.contains(&request.number))
    }
}

/// Follows `thread` from `cursor` until the client is gone or the thread is. What it delivers is marked with
/// `subscription`.
pub async fn follow(
    directory: Directory,
    log: SharedLog,
    follow: Follow,
    subscription: u64,
    deliver: mpsc::Sender<Delivery>,
) {
    let Follow {
        thread,
        cursor,
        subscribed: first,
    } = follow;
    let mut follower = Follower {
        log,
        name: thread.to_string(),
        thread,
        subscription,
        deliver,
        at: Subscription::new(cursor),
    };
    let mut subscribed = first;
    if follower.ask_again(&subscribed, cursor).await.is_none() {
        return;
    }
    loop {
        if follower.follow(subscribed).await.is_none() {
            return;
        }
        subscribed = match directory.subscribe(thread).await {
            Ok(subscribed) => subscribed,
            // The daemon stops.
            Err(failure) if failure.code == ErrorCode::Overloaded => return,
            Err(failure) => {
                tracing::warn!(%thread, error = %failure, "a client cannot follow a thread any further");
                return;
            }
        };
    }
}

struct Follower {
    log: SharedLog,
    thread: ThreadId,
    name: String,
    subscription: u64,
    deliver: mpsc::Sender<Delivery>,
    at: Subscription,
}

impl Follower {
    /// Questions from before the cursor that are still open are asked again.
    async fn ask_again(&self, subscribed: &Subscribed, cursor: Seq) -> Option<()> {
        for request in subscribed
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

    async fn deliver(&self, batch: Arc<Batch>, from: Seq, pending: Option<Pending>) -> Option<()> {
        let delivery = Delivery {
            subscription: self.subscription,
            batch,
            from,
            pending,
        };
        self.deliver.send(delivery).await.ok()
    }

    /// Catches up, then follows live until something was missed. `None` if the client is gone.
    async fn follow(&mut self, subscribed: Subscribed) -> Option<()> {
        let Subscribed {
            mut batches,
            pending,
            live,
        } = subscribed;
        let end = live.last_seq;
        let open = Arc::new(pending);
        let pending = Pending { end, open };
        drop(live);
        self.at.on_lag();
        while self.at.cursor() < end && !self.at.is_live() {
            let page = match self.log.read(self.thread, self.at.cursor()).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(thread = %self.thread, %error, "the log cannot be read");
                    return None;
                }
            };
            let from = self.at.cursor() + 1;
            self.at
                .on_page(page.events.last().map(|event| event.seq), page.at_end);
            if !page.events.is_empty() {
                let batch = Arc::new(Batch::encode(&self.name, &page.events));
                self.deliver(batch, from, Some(pending.clone())).await?;
            }
        }
        loop {
            let batch = tokio::select! {
                batch = batches.recv() => batch,
                () = self.deliver.closed() => return None,
            };
            match batch {
                Ok(batch) if batch.first == 0 => self.deliver(batch, 0, None).await?,
                Ok(batch) => match self.at.on_batch(batch.first, batch.last) {
                    Step::Send { from } => self.deliver(batch, from, None).await?,
                    Step::Skip => {}
                    Step::CatchUp { .. } => return Some(()),
                },
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    tracing::debug!(thread = %self.thread, missed, "a client lags and re-reads the log");
                    return Some(());
                }
                Err(broadcast::error::RecvError::Closed) => return Some(()),
            }
        }
    }
}
