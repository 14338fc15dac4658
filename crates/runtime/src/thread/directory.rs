//! The thread directory: knows which threads are loaded, and loads threads on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use acpd_log::{Filter, LogError};
use acpd_model::limits::LIST_PAGE;
use acpd_model::{ErrorCode, Failure, Origin, ThreadId};
use acpd_proto::projection::Live;
use acpd_proto::surface::contract::Lane;
use acpd_proto::thread::{Command, Reply};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::feed::snapshot::ThreadSnapshot;
use crate::metrics::Metrics;
use crate::standby::process::Standby;
use crate::thread::actor::{ThreadActor, ToThread};
use crate::thread::delegates::Attachment;

type Mailbox = mpsc::Sender<ToThread>;

enum ToDirectory {
    Find {
        thread: ThreadId,
        create: bool,
        reply: oneshot::Sender<Result<Mailbox, Failure>>,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

/// Gives access to every thread; cheap to clone.
#[derive(Debug, Clone)]
pub struct Directory {
    requests_tx: mpsc::Sender<ToDirectory>,
    metrics: Arc<Metrics>,
}

/// Receives the result of a command.
pub type Answer = oneshot::Receiver<Result<Reply, Failure>>;

impl Directory {
    /// Starts the directory. Loads threads that a killed daemon left with a running turn, so that they record the interruption.
    pub async fn open(context: Context) -> Result<Self, LogError> {
        let (requests_tx, requests_rx) = mpsc::channel(context.limits.thread_commands);
        let metrics = Arc::clone(&context.metrics);
        let directory = Self { requests_tx, metrics };
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
            if let Err(failure) = directory.find(thread, false).await {
                tracing::error!(%thread, error = %failure, "an interrupted thread cannot be opened");
            }
        }
        Ok(directory)
    }

    /// Sends a command to a thread. Commands from one caller run in the order in which they were sent.
    pub async fn command(&self, thread: ThreadId, by: Origin, command: Command) -> Result<Answer, Failure> {
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
                return Ok(snapshot);
            }
        }
        Err(unavailable())
    }

    /// Returns the current state of a thread.
    pub async fn look(&self, thread: ThreadId) -> Result<Box<Live>, Failure> {
        for _ in 0..ATTEMPTS {
            let (reply, answer) = oneshot::channel();
            self.send(thread, false, ToThread::Look { reply }).await?;
            if let Ok(live) = answer.await {
                return Ok(live);
            }
        }
        Err(unavailable())
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
        let mut message = message;
        for _ in 0..ATTEMPTS {
            let mailbox = self.find(thread, create).await?;
            self.metrics.mailbox(mailbox.max_capacity() - mailbox.capacity());
            message = match mailbox.try_send(message) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(_)) => {
                    return Err(Failure::new(
                        ErrorCode::Overloaded,
                        "too many commands queued for this thread",
                    ));
                }
                // The thread was unloaded in between; the next attempt loads it again.
                Err(mpsc::error::TrySendError::Closed(message)) => message,
            };
        }
        Err(unavailable())
    }

    async fn find(&self, thread: ThreadId, create: bool) -> Result<Mailbox, Failure> {
        let (reply, answer) = oneshot::channel();
        self.requests_tx
            .send(ToDirectory::Find {
                thread,
                create,
                reply,
            })
            .await
            .map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())?
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
                    Some(ToDirectory::Find { thread, create, reply }) => {
                        let found = self.find(thread, create).await;
                        // If the caller has gone, the thread was loaded for nothing and unloads again later.
                        let _ = reply.send(found);
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

    async fn find(&mut self, thread: ThreadId, create: bool) -> Result<Mailbox, Failure> {
        if let Some(mailbox) = self.awake.get(&thread).filter(|mailbox| !mailbox.is_closed()) {
            return Ok(mailbox.clone());
        }
        if !create {
            self.context
                .log
                .last_seq(thread)
                .await
                .map_err(|error| log_failure(&error))?;
        }
        let (mailbox, messages) = mpsc::channel(self.context.limits.thread_commands);
        let context = self.context.clone();
        self.actors.spawn(async move {
            let actor = if create {
                Ok(ThreadActor::new(thread, context))
            } else {
                // Boxed: loading is over before the actor runs, but the task would reserve space for it all the time.
                Box::pin(ThreadActor::load(thread, context)).await
            };
            match actor {
                Ok(actor) => actor.run(messages).await,
                Err(error) => tracing::error!(%thread, %error, "a thread cannot be loaded"),
            }
            thread
        });
        self.awake.insert(thread, mailbox.clone());
        Ok(mailbox)
    }

    async fn close(mut self) {
        // A closed mailbox makes an actor stop.
        self.awake.clear();
        let mut woken = BTreeSet::new();
        while let Some(Ok(thread)) = self.actors.join_next().await {
            woken.insert(thread);
        }
        tracing::info!(threads = woken.len(), "all threads stopped");
    }
}

/// Converts a log error to the error that the client receives.
pub fn log_failure(error: &LogError) -> Failure {
    match error {
        LogError::NoSuchThread(thread) => Failure::not_found(format!("thread {thread}")),
        other => Failure::new(ErrorCode::Internal, other.to_string()),
    }
}
