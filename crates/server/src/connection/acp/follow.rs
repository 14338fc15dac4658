//! One editor's subscription to one thread. A thread's batches only signal that new events exist; the follower reads the
//! events from the log. There are few editors, so this adds no work to the thread.

use std::collections::BTreeSet;

use acpd_log::SharedLog;
use acpd_model::{ErrorCode, Failure, RequestId, Seq, ThreadId};
use acpd_proto::surface::acp::{Frame, frames};
use tokio::sync::{broadcast, mpsc};

use acpd_runtime::feed::snapshot::ThreadSnapshot;
use acpd_runtime::thread::delegates::Attachment;
use acpd_runtime::thread::directory::{Directory, log_failure};

/// A delivery to an editor.
#[derive(Debug)]
pub struct Delivery {
    /// The number of the subscription.
    pub subscription: u64,
    /// The thread of the subscription.
    pub thread: ThreadId,
    /// New frames, or the error that ends the subscription.
    pub result: Result<FrameBatch, Failure>,
}

/// Events in the form that editors receive.
#[derive(Debug)]
pub struct FrameBatch {
    /// One or more frames for each event that editors receive.
    pub frames: Vec<Frame>,
    /// The sequence number of the last event in the batch.
    pub last: Seq,
    /// For events before the subscription: the last of them, and the requests that are still open.
    past: Option<(Seq, BTreeSet<u32>)>,
}

impl FrameBatch {
    /// Returns whether the request of one of these frames is still open, as far as is known.
    pub fn is_pending(&self, seq: Seq, request: RequestId) -> bool {
        let past = self.past.as_ref().filter(|(end, _)| seq <= *end);
        past.is_none_or(|(_, open)| open.contains(&request.number))
    }
}

/// Follows `thread` from `cursor` until the editor disconnects or the thread ends. If the thread must be resumed in the
/// meantime, the follower registers the `attachment` again.
#[allow(
    clippy::too_many_arguments,
    reason = "each is one thing that the follower keeps"
)]
pub async fn follow(
    directory: Directory,
    log: SharedLog,
    thread: ThreadId,
    cursor: Seq,
    first: ThreadSnapshot,
    subscription: u64,
    attachment: Option<Attachment>,
    deliver: mpsc::Sender<Delivery>,
) {
    let mut follower = Follower {
        log,
        thread,
        name: thread.to_string(),
        cursor,
        subscription,
        attachment,
        deliver,
    };
    // If the daemon stops or the editor disconnects, there is no receiver for the error.
    let Err(Some(failure)) = follower.run(&directory, first).await else {
        return;
    };
    if failure.code != ErrorCode::Overloaded {
        tracing::warn!(%thread, error = %failure, "an editor cannot follow a thread any further");
        let _ = follower.send(Err(failure)).await;
    }
}

struct Follower {
    log: SharedLog,
    thread: ThreadId,
    name: String,
    cursor: Seq,
    subscription: u64,
    attachment: Option<Attachment>,
    deliver: mpsc::Sender<Delivery>,
}

/// The error that ends a subscription; `None` if the editor has disconnected.
type End = Option<Failure>;

impl Follower {
    async fn run(&mut self, directory: &Directory, first: ThreadSnapshot) -> Result<(), End> {
        // Sends the requests from before the cursor that are still open once more.
        for request in first
            .live
            .requests
            .values()
            .filter(|request| request.event.seq <= self.cursor)
        {
            let frames = frames(&self.name, std::slice::from_ref(&request.event));
            let last = request.event.seq;
            self.send(Ok(FrameBatch {
                frames,
                last,
                past: None,
            }))
            .await?;
        }
        // An editor that waits for its position receives it even if there are no new events.
        let nothing_more = FrameBatch {
            frames: Vec::new(),
            last: self.cursor,
            past: None,
        };
        self.send(Ok(nothing_more)).await?;
        let mut snapshot = first;
        loop {
            let ThreadSnapshot {
                mut batches,
                live,
                pending,
            } = snapshot;
            let past = (live.last_seq, pending);
            drop(live);
            loop {
                self.read(&past).await?;
                if !self.wait(&mut batches).await? {
                    break;
                }
            }
            // The thread was unloaded.
            if let Some(attachment) = self.attachment.clone() {
                directory.attach(self.thread, attachment).await.map_err(Some)?;
            }
            snapshot = directory.subscribe(self.thread).await.map_err(Some)?;
        }
    }

    /// Sends all events that the log has after the cursor.
    async fn read(&mut self, past: &(Seq, BTreeSet<u32>)) -> Result<(), End> {
        loop {
            let page = self.log.read(self.thread, self.cursor).await;
            let page = page.map_err(|error| Some(log_failure(&error)))?;
            let Some(last) = page.events.last().map(|event| event.seq) else {
                return Ok(());
            };
            let is_past = self.cursor < past.0;
            self.cursor = last;
            let frames = frames(&self.name, &page.events);
            let past = is_past.then(|| past.clone());
            self.send(Ok(FrameBatch { frames, last, past })).await?;
            if page.at_end {
                return Ok(());
            }
        }
    }

    /// Waits for new events. Returns `false` when the thread was unloaded.
    async fn wait(
        &self,
        batches: &mut broadcast::Receiver<std::sync::Arc<acpd_runtime::feed::batch::Batch>>,
    ) -> Result<bool, End> {
        loop {
            let batch = tokio::select! {
                biased;
                () = self.deliver.closed() => return Err(None),
                batch = batches.recv() => batch,
            };
            match batch {
                // Frames that are only displayed have no ACP form.
                Ok(batch) if batch.is_shown_only() || batch.last <= self.cursor => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return Ok(true),
                Err(broadcast::error::RecvError::Closed) => return Ok(false),
            }
        }
    }

    async fn send(&self, result: Result<FrameBatch, Failure>) -> Result<(), End> {
        let delivery = Delivery {
            subscription: self.subscription,
            thread: self.thread,
            result,
        };
        self.deliver.send(delivery).await.map_err(|_| None)
    }
}
