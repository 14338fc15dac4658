//! The thread directory: knows which threads are loaded, and loads threads on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use acpd_log::{Filter, LogError};
use acpd_model::limits::LIST_PAGE;
use acpd_model::{ErrorCode, Failure, Origin, ThreadId};
use acpd_proto::projection::Live;
use acpd_proto::surface::contract::Lane;
use acpd_proto::thread::{Command, LastUse, Reply};
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::feed::snapshot::ThreadSnapshot;
use crate::standby::process::Standby;
use crate::thread::actor::ToThread;
use crate::thread::delegates::Attachment;
use crate::thread::task::run_thread;

type Mailbox = mpsc::Sender<ToThread>;

enum ToDirectory {
    Deliver {
        thread: ThreadId,
        create: bool,
        message: ToThread,
        reply: oneshot::Sender<Result<(), Failure>>,
    },
    IsLoaded {
        thread: ThreadId,
        reply: oneshot::Sender<bool>,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

/// Gives access to every thread; cheap to clone.
#[derive(Debug, Clone)]
pub struct Directory {
    requests_tx: mpsc::Sender<ToDirectory>,
}

/// Receives the result of a command.
pub type ReplyReceiver = oneshot::Receiver<Result<Reply, Failure>>;

impl Directory {
    /// Starts the directory. Loads threads that a killed daemon left with a running turn, so that they record the interruption.
    pub async fn open(context: Context) -> Result<Self, LogError> {
        let (requests_tx, requests_rx) = mpsc::channel(context.limits.now().thread_commands);
        let directory = Self { requests_tx };
        let interrupted = active_threads(&context).await?;
        tokio::spawn(
            Task {
                context,
                awake: BTreeMap::new(),
                actors: JoinSet::new(),
            }
            .run(requests_rx),
        );
        for thread in interrupted {
            // Any message loads the thread.
            let reply = oneshot::channel().0;
            if let Err(failure) = directory.send(thread, false, ToThread::Look { reply }).await {
                tracing::error!(%thread, error = %failure, "an interrupted thread cannot be opened");
            }
        }
        Ok(directory)
    }

    /// Sends a command to a thread. Commands from one caller run in the order in which they were sent.
    pub async fn command(
        &self,
        thread: ThreadId,
        by: Origin,
        command: Command,
    ) -> Result<ReplyReceiver, Failure> {
        let create = matches!(command, Command::Create { .. } | Command::Adopt(_));
        let (reply, answer) = oneshot::channel();
        self.send(
            thread,
            create,
            ToThread::Command {
                order: Box::new((by, command)),
                reply,
            },
        )
        .await?;
        Ok(answer)
    }

    /// Offers a thread a standby process for the next start of its agent. Returns the process if the thread does not need it.
    pub async fn offer(
        &self,
        thread: ThreadId,
        create: bool,
        standby: Box<Standby>,
    ) -> Result<Option<Box<Standby>>, Failure> {
        let (back, given_back) = oneshot::channel();
        self.send(thread, create, ToThread::Standby { standby, back })
            .await?;
        Ok(given_back.await.ok())
    }

    /// Reports that an editor closed a thread. The agent is stopped unless another client follows the thread or a turn runs.
    pub async fn closed(&self, thread: ThreadId) -> Result<(), Failure> {
        self.send(thread, false, ToThread::Closed).await
    }

    /// Attaches an editor to a thread until the editor leaves; see [`Attachment`].
    pub async fn attach(&self, thread: ThreadId, editor: Attachment) -> Result<(), Failure> {
        for _ in 0..ATTEMPTS {
            let (reply, answer) = oneshot::channel();
            let editor = Box::new(editor.clone());
            self.send(thread, false, ToThread::Attach { editor, reply })
                .await?;
            if let Ok(attached) = answer.await {
                return attached.map(drop);
            }
        }
        Err(unavailable())
    }

    /// Subscribes to a thread, starting with the next event.
    pub async fn subscribe(&self, thread: ThreadId, lane: Lane) -> Result<ThreadSnapshot, Failure> {
        for _ in 0..ATTEMPTS {
            let (reply, answer) = oneshot::channel();
            self.send(thread, false, ToThread::Subscribe { lane, reply })
                .await?;
            if let Ok(snapshot) = answer.await {
                return snapshot;
            }
        }
        Err(unavailable())
    }

    /// Returns the current state of a thread.
    pub async fn look(&self, thread: ThreadId) -> Result<Arc<Live>, Failure> {
        for _ in 0..ATTEMPTS {
            let (reply, answer) = oneshot::channel();
            self.send(thread, false, ToThread::Look { reply }).await?;
            if let Ok(live) = answer.await {
                return live;
            }
        }
        Err(unavailable())
    }

    /// Deletes a thread that was last used as a list shows it. Returns `conflict` if it is in use or was used since. A check
    /// alone loads no thread: one that is not loaded is not in use.
    pub async fn delete_unused(&self, thread: ThreadId, by: Origin, last: LastUse) -> Result<(), Failure> {
        if last.check_only && !self.is_loaded(thread).await? {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let answer = self
                .command(thread, by.clone(), Command::DeleteUnused(last))
                .await?;
            if let Ok(deleted) = answer.await {
                return deleted.map(drop);
            }
        }
        Err(unavailable())
    }

    async fn is_loaded(&self, thread: ThreadId) -> Result<bool, Failure> {
        let (reply, answer) = oneshot::channel();
        let message = ToDirectory::IsLoaded { thread, reply };
        self.requests_tx.send(message).await.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())
    }

    /// Returns whether the daemon has stopped all threads.
    pub fn is_stopping(&self) -> bool {
        self.requests_tx.is_closed()
    }

    /// Unloads every thread and waits for them, but no longer than `patience`.
    pub async fn close_within(&self, patience: std::time::Duration) {
        let (reply, closed) = oneshot::channel();
        if self.requests_tx.send(ToDirectory::Close { reply }).await.is_err() {
            return;
        }
        if tokio::time::timeout(patience, closed).await.is_err() {
            tracing::warn!("some threads did not stop in time");
        }
    }

    async fn send(&self, thread: ThreadId, create: bool, message: ToThread) -> Result<(), Failure> {
        let (reply, delivered) = oneshot::channel();
        let deliver = ToDirectory::Deliver {
            thread,
            create,
            message,
            reply,
        };
        self.requests_tx.send(deliver).await.map_err(|_| stopping())?;
        delivered.await.map_err(|_| stopping())?
    }
}

/// Attempts to reach a thread that is being unloaded at that moment.
const ATTEMPTS: usize = 3;

fn stopping() -> Failure {
    Failure::new(ErrorCode::Overloaded, "the daemon is stopping")
}

fn unavailable() -> Failure {
    Failure::new(
        ErrorCode::Internal,
        "failed to load the thread; see the daemon's log",
    )
}

async fn active_threads(context: &Context) -> Result<Vec<ThreadId>, LogError> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let filter = Filter {
            active: Some(true),
            ..Filter::default()
        };
        let page = context.log.list(filter, cursor, LIST_PAGE).await?;
        cursor = page.last().map(|last| acpd_log::ListCursor {
            updated_at: last.summary.updated_at,
            thread: last.thread,
        });
        found.extend(page.iter().map(|listed| listed.thread));
        if page.len() < LIST_PAGE {
            return Ok(found);
        }
    }
}

struct Task {
    context: Context,
    awake: BTreeMap<ThreadId, Mailbox>,
    actors: JoinSet<ThreadId>,
}

impl Task {
    async fn run(mut self, mut requests_rx: mpsc::Receiver<ToDirectory>) {
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.actors.join_next() => self.ended(ended),
                message = requests_rx.recv() => match message {
                    Some(ToDirectory::Deliver { thread, create, message, reply }) => {
                        let delivered = self.deliver(thread, create, message);
                        // If the caller has gone, the thread was loaded for nothing and unloads again later.
                        let _ = reply.send(delivered);
                    }
                    Some(ToDirectory::IsLoaded { thread, reply }) => {
                        let is_loaded = self.awake.get(&thread).is_some_and(|mailbox| !mailbox.is_closed());
                        // If the caller has gone, nothing needs the answer.
                        let _ = reply.send(is_loaded);
                    }
                    Some(ToDirectory::Close { reply }) => {
                        self.close().await;
                        let _ = reply.send(());
                        return;
                    }
                    None => return self.close().await,
                },
            }
        }
    }

    fn ended(&mut self, ended: Result<ThreadId, tokio::task::JoinError>) {
        match ended {
            // A newer actor of the same thread may be loaded already.
            Ok(thread) => {
                if self.awake.get(&thread).is_some_and(mpsc::Sender::is_closed) {
                    self.awake.remove(&thread);
                }
            }
            Err(error) => {
                tracing::error!(%error, "a thread's task failed");
                self.awake.retain(|_, mailbox| !mailbox.is_closed());
            }
        }
    }

    /// Puts a message into the mailbox of a thread, which is loaded if necessary. Never waits: a thread that takes long to
    /// load, or that does not exist, delays no other. Its own task answers the message.
    fn deliver(&mut self, thread: ThreadId, create: bool, mut message: ToThread) -> Result<(), Failure> {
        if let Some(mailbox) = self.awake.get(&thread) {
            let waiting = mailbox.max_capacity() - mailbox.capacity();
            self.context.metrics.mailbox(waiting);
            message = match mailbox.try_send(message) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(_)) => {
                    let reason = "too many commands queued for this thread";
                    return Err(Failure::new(ErrorCode::Overloaded, reason));
                }
                // The thread was unloaded.
                Err(mpsc::error::TrySendError::Closed(message)) => message,
            };
        }
        let (mailbox, messages) = mpsc::channel(self.context.limits.now().thread_commands);
        // Before the task runs, which may end at once.
        mailbox.try_send(message).map_err(|_| unavailable())?;
        let context = Box::new(self.context.clone());
        self.actors.spawn(async move {
            // The panic itself is logged where it happens, without the thread.
            let run = AssertUnwindSafe(run_thread(thread, context, create, messages));
            if run.catch_unwind().await.is_err() {
                tracing::error!(%thread, "a thread's task panicked");
            }
            thread
        });
        self.awake.insert(thread, mailbox);
        Ok(())
    }

    async fn close(mut self) {
        // A closed mailbox makes an actor stop.
        self.awake.clear();
        let mut woken = BTreeSet::new();
        while let Some(ended) = self.actors.join_next().await {
            match ended {
                Ok(thread) => drop(woken.insert(thread)),
                Err(error) => tracing::error!(%error, "a thread's task failed"),
            }
        }
        tracing::info!(threads = woken.len(), "all threads stopped");
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Limits;

    use super::*;
    use crate::test_context::context;

    #[tokio::test]
    async fn a_thread_that_panics_does_not_end_the_wait_for_the_others() {
        let place = tempfile::tempdir().unwrap();
        let context = context(place.path(), BTreeMap::new(), Limits::default());
        let thread = context.ids.thread();
        let (end, ended) = oneshot::channel::<()>();
        let mut actors = JoinSet::new();
        let panics = actors.spawn(async move {
            assert_ne!(thread, thread, "this thread has a bug");
            thread
        });
        actors.spawn(async move {
            ended.await.unwrap();
            thread
        });
        while !panics.is_finished() {
            tokio::task::yield_now().await;
        }
        let task = Task {
            context,
            awake: BTreeMap::new(),
            actors,
        };
        let close = tokio::spawn(task.close());
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(!close.is_finished(), "one thread still works");
        end.send(()).unwrap();
        close.await.unwrap();
    }
}
