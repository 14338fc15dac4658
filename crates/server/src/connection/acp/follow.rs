//! One editor's way through one thread. What a thread publishes only says that there is more: the events are read from the
//! log, so that the editors, who are few, cost the thread nothing.

use std::collections::BTreeSet;

use acpd_log::SharedLog;
use acpd_model::{ErrorCode, Failure, RequestId, Seq, ThreadId};
use acpd_proto::surface::acp::{Frame, frames};
use tokio::sync::{broadcast, mpsc};

use acpd_runtime::feed::snapshot::ThreadSnapshot;
use acpd_runtime::thread::delegates::Attachment;
use acpd_runtime::thread::directory::{Directory, log_failure};

/// What an editor is to be handed.
#[derive(Debug)]
pub struct Delivery {
    /// The subscription that it belongs to.
    pub subscription: u64,
    /// The thread.
    pub thread: ThreadId,
    /// What happened, or why nothing more is heard of it.
    pub result: Result<FrameBatch, Failure>,
}

/// Events, as editors are told them.
#[derive(Debug)]
pub struct FrameBatch {
    /// One or more for each event that an editor is told of.
    pub frames: Vec<Frame>,
    /// The last event.
    pub last: Seq,
    /// Of the past: its last event, and the questions that are still open.
    past: Option<(Seq, BTreeSet<u32>)>,
}

impl FrameBatch {
    /// Whether the question of one of these frames is still open, as far as is known.
    pub fn is_pending(&self, seq: Seq, request: RequestId) -> bool {
        let past = self.past.as_ref().filter(|(end, _)| seq <= *end);
        past.is_none_or(|(_, open)| open.contains(&request.number))
    }
}

/// Follows `thread` from `cursor` until the editor or the thread is gone. If the thread has to be woken again meanwhile, it
/// hears of the `attachment` once more.
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
    // The daemon stops, or the editor is gone: then nobody is told.
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

/// Why a thread is followed no further; nothing if the editor is gone.
type End = Option<Failure>;

impl Follower {
    async fn run(&mut self, directory: &Directory, first: ThreadSnapshot) -> Result<(), End> {
        // Questions from before the cursor that are still open are asked again.
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
        // Who waits to hear where it stands hears it, if nothing has happened since.
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
            // It fell asleep.
            if let Some(attachment) = self.attachment.clone() {
                directory.attach(self.thread, attachment).await.map_err(Some)?;
            }
            snapshot = directory.subscribe(self.thread).await.map_err(Some)?;
        }
    }

    /// Hands over what the log has after the cursor.
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

    /// Waits until there is more; whether there can be.
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
                // What is only shown has no ACP form.
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
