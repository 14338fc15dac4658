//! The directory: knows which threads are awake, and wakes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use acpd_log::{Filter, LogError};
use acpd_model::limits::LIST_PAGE;
use acpd_model::{ErrorCode, Failure, Origin, ThreadId};
use acpd_proto::thread::{Command, Reply};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::agent::standby::Standby;
use crate::context::Context;
use crate::feed::snapshot::ThreadSnapshot;
use crate::metrics::Metrics;
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

/// The way to every thread.
#[derive(Debug, Clone)]
pub struct Directory {
    requests_tx: mpsc::Sender<ToDirectory>,
    metrics: Arc<Metrics>,
}

/// An answer that comes later.
pub type Answer = oneshot::Receiver<Result<Reply, Failure>>;

impl Directory {
    /// Starts the directory. Threads that a dead daemon left with a running turn are woken, so that they say so.
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

    /// Asks a thread to do something. Commands of one caller are done in the order in which they are asked.
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

    /// Gives a thread a process that it may use when it next starts its agent; answered with the process if it has no use for it.
    pub async fn offer(
        &self,
        thread: ThreadId,
        create: bool,
        standby: Standby,
    ) -> Result<Option<Standby>, Failure> {
        let (back, given_back) = oneshot::channel();
        let standby = Box::new(standby);
        self.send(thread, create, ToThread::Standby { standby, back })
            .await?;
        Ok(given_back.await.ok().map(|standby| *standby))
    }

    /// An editor has closed a thread: its agent is let go of, unless somebody else follows the thread or a turn runs.
    pub async fn closed(&self, thread: ThreadId) -> Result<(), Failure> {
        self.send(thread, false, ToThread::Closed).await
    }

    /// Has an editor take part in a thread until it is gone, see [`Attachment`].
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

    /// Follows a thread from here on.
    pub async fn subscribe(&self, thread: ThreadId) -> Result<ThreadSnapshot, Failure> {
        for _ in 0..ATTEMPTS {
            let (reply, answer) = oneshot::channel();
            self.send(thread, false, ToThread::Subscribe { reply }).await?;
            if let Ok(snapshot) = answer.await {
                return Ok(snapshot);
            }
        }
        Err(unavailable())
    }

    /// Puts every thread to sleep and waits for them, but no longer than `patience`.
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
                // It fell asleep in between; the next look wakes it.
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

/// How often a thread that falls asleep just then is woken again.
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
                        // A caller that is gone has woken the thread for nothing; it will fall asleep again.
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
            // A younger actor of the same thread may be awake already.
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
                // In a box: it is over before the thread's life begins, which is what the task keeps room for.
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
        // A closed mailbox is what tells an actor to stop.
        self.awake.clear();
        let mut woken = BTreeSet::new();
        while let Some(Ok(thread)) = self.actors.join_next().await {
            woken.insert(thread);
        }
        tracing::info!(threads = woken.len(), "all threads stopped");
    }
}

/// What a client hears when the log refuses.
pub fn log_failure(error: &LogError) -> Failure {
    match error {
        LogError::NoSuchThread(thread) => Failure::not_found(format!("thread {thread}")),
        other => Failure::new(ErrorCode::Internal, other.to_string()),
    }
}
