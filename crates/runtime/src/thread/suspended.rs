//! A thread whose log fails. It answers reads from the stored events, and waits until the log works again.
//!
//! In: messages of the directory. Out: the stored state, and refusals. Owns: the stored state and the delay before the next
//! attempt. Never: writes an event.

use std::sync::Arc;
use std::time::Duration;

use acpd_log::LogError;
use acpd_model::limits::{LOG_RETRY, LOG_RETRY_MOST};
use acpd_model::{ErrorCode, Failure, Summary, ThreadId};
use acpd_proto::projection::Live;
use acpd_proto::surface::contract::Lane;
use acpd_proto::thread::{Command, Effect, Input, Reply, Thread};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::agent::process::sleep_until;
use crate::context::Context;
use crate::feed::log_faults::show;
use crate::feed::publisher::Publisher;
use crate::feed::snapshot::ThreadSnapshot;
use crate::stored::log_failure;
use crate::stored::state::load_readable;
use crate::thread::actor::{NAP, ToThread};

/// A thread that is not loaded because its log fails.
#[derive(Debug)]
pub struct Suspended {
    context: Context,
    id: ThreadId,
    /// The first failure, which ended the thread's work.
    cause: LogError,
    /// The answer to requests that need the log.
    failure: Failure,
    /// The same, as it is shown with the thread.
    shown: Arc<str>,
    /// Whether events cannot be read. Waiting does not help then.
    is_damaged: bool,
    /// The stored state; `None` if it cannot be read.
    live: Option<Arc<Live>>,
    publisher: Publisher,
    /// Failed attempts to load the thread.
    attempts: u32,
    /// When the log last failed.
    failed_at: Instant,
}

/// Why a suspended thread stops waiting.
#[derive(Debug)]
pub enum Wake {
    /// The thread is to be loaded, and then handles the message.
    Retry(Option<Box<ToThread>>),
    /// The thread is deleted or unloaded.
    Unload,
}

impl Suspended {
    /// Suspends a thread after a failure. Returns `None` if the thread has no open work: it can be loaded whenever it is
    /// needed.
    pub async fn begin(id: ThreadId, context: &Context, error: &LogError) -> Option<Box<Self>> {
        let loading = context.read_log(|log| async move { load_readable(&log, id).await });
        let (live, damage) = match loading.await {
            Ok((live, damage)) => (Some(live), damage),
            Err(LogError::NoSuchThread(_)) => return None,
            Err(_) => (None, None),
        };
        let is_damaged = damage.is_some();
        let has_work = match &live {
            Some(live) => live.turn.is_some() || !live.queue.is_empty() || live.is_deleted(),
            None => true,
        };
        if !is_damaged && !has_work {
            return None;
        }
        let error = damage.as_ref().unwrap_or(error);
        let mut suspended = Box::new(Self {
            context: context.clone(),
            id,
            cause: error.clone(),
            shown: Arc::from(""),
            failure: answer_of(error, is_damaged),
            is_damaged,
            live: live.map(Arc::new),
            publisher: Publisher::new(context.limits.now().live_batches, context.live_room.clone()),
            attempts: 0,
            failed_at: Instant::now(),
        });
        suspended.show().await;
        Some(suspended)
    }

    /// Returns the failure that ended the thread's work.
    pub fn cause(&self) -> &LogError {
        &self.cause
    }

    /// Handles another failure. Refuses the message for which the thread was to be loaded.
    pub async fn fail_again(&mut self, error: &LogError, message: Option<ToThread>) {
        self.attempts = self.attempts.saturating_add(1);
        self.failed_at = Instant::now();
        self.is_damaged = matches!(error, LogError::DamagedEvents { .. });
        let failure = answer_of(error, self.is_damaged);
        if failure != std::mem::replace(&mut self.failure, failure.clone()) {
            self.show().await;
            // Its subscribers subscribe again, and then know the new failure.
            self.publisher = Publisher::new(
                self.context.limits.now().live_batches,
                self.context.live_room.clone(),
            );
        }
        if let Some(message) = message {
            message.refuse(&self.failure);
        }
    }

    /// Shows that the log works again.
    pub fn end(&self, summary: &Summary) {
        tracing::info!(thread = %self.id, "the log works again");
        self.context.log_faults.clear(self.id);
        let at = self.context.clock.now().wall;
        self.context.thread_list.shown(self.id, at, summary);
    }

    /// Shows the failure wherever the thread is shown.
    async fn show(&mut self) {
        self.shown = Arc::from(self.failure.message.as_str());
        let faults = &self.context.log_faults;
        faults.set(self.id, &self.shown, self.is_damaged);
        let summary = match &mut self.live {
            Some(live) => {
                show(&self.shown, &mut Arc::make_mut(live).summary);
                Some(live.summary.clone())
            }
            None => self.context.log.summary(self.id).await.ok().map(|mut summary| {
                show(&self.shown, &mut summary);
                summary
            }),
        };
        if let Some(summary) = summary {
            let at = self.context.clock.now().wall;
            self.context.thread_list.shown(self.id, at, &summary);
        }
    }

    /// Answers messages until the thread is to be loaded again.
    pub async fn wait(&mut self, messages_rx: &mut mpsc::Receiver<ToThread>) -> Wake {
        let retry_at = (!self.is_damaged).then(|| self.failed_at + self.delay());
        if self.is_damaged
            && self.live.as_ref().is_some_and(|live| live.is_deleted())
            && self.delete().await.is_ok()
        {
            return Wake::Unload;
        }
        loop {
            let watched = self.publisher.has_subscribers();
            let idle = (self.is_damaged && !watched).then(|| Instant::now() + NAP);
            let message = tokio::select! {
                biased;
                message = messages_rx.recv() => message,
                () = sleep_until(retry_at) => return Wake::Retry(None),
                () = sleep_until(idle) => return Wake::Unload,
                () = self.publisher.closed(), if watched => continue,
            };
            // The daemon stops.
            let Some(message) = message else {
                return Wake::Unload;
            };
            if let Some(wake) = self.handle(message).await {
                return wake;
            }
        }
    }

    /// Returns the time between a failure and the next attempt.
    fn delay(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.attempts);
        LOG_RETRY.saturating_mul(factor).min(LOG_RETRY_MOST)
    }

    async fn handle(&mut self, message: ToThread) -> Option<Wake> {
        let Some(live) = self.live.clone() else {
            return self.retry_or_refuse(message);
        };
        if live.is_deleted() {
            message.refuse(&Failure::not_found(format!("thread {}", self.id)));
            return None;
        }
        // A caller that has gone needs no answer.
        match message {
            ToThread::Look { reply } => drop(reply.send(Ok(live))),
            ToThread::Subscribe { lane, reply } => drop(reply.send(Ok(self.subscribe(lane, live)))),
            // The editor attaches again when the thread is loaded.
            ToThread::Attach { reply, .. } => drop(reply.send(Ok(Reply::Done))),
            ToThread::Command { order, reply } => match &order.1 {
                Command::Fork { .. } => self.fork(*order, reply, &live),
                Command::Delete if self.is_damaged => {
                    let deleted = self.delete().await;
                    let unload = deleted.is_ok();
                    let answer = deleted.map(|()| Reply::Done);
                    drop(reply.send(answer.map_err(|error| log_failure(&error))));
                    return unload.then_some(Wake::Unload);
                }
                _ => return self.retry_or_refuse(ToThread::Command { order, reply }),
            },
            message => message.refuse(&self.failure),
        }
        None
    }

    /// Has the thread loaded for a message, unless that has just failed.
    fn retry_or_refuse(&self, message: ToThread) -> Option<Wake> {
        if !self.is_damaged && self.failed_at.elapsed() >= LOG_RETRY {
            return Some(Wake::Retry(Some(Box::new(message))));
        }
        message.refuse(&self.failure);
        None
    }

    fn subscribe(&mut self, lane: Lane, live: Arc<Live>) -> ThreadSnapshot {
        ThreadSnapshot {
            batches: self.publisher.subscribe(lane),
            pending: Arc::new(live.requests.keys().copied().collect()),
            live,
            suggestions: self.publisher.suggestions(),
            log_error: Some(Arc::clone(&self.shown)),
        }
    }

    /// Answers a fork, which reads this thread only. The agent cannot fork its session.
    fn fork(
        &self,
        (by, command): (acpd_model::Origin, Command),
        reply: oneshot::Sender<Result<Reply, Failure>>,
        live: &Live,
    ) {
        let now = self.context.clock.now();
        let mut machine = Thread::new(self.id, self.context.limits.now(), now);
        let mut live = live.clone();
        live.declared.fork = false;
        machine.restore(live);
        machine.handle(Input::Command { call: 0, by, command }, now);
        let mut result = std::iter::from_fn(|| machine.poll_effect()).find_map(|effect| match effect {
            Effect::Reply { result, .. } => Some(result),
            _ => None,
        });
        // Events after the last turn may be lost.
        if let Some(Ok(Reply::Fork(point))) = &mut result {
            point.until = None;
        }
        // A caller that has gone needs no answer.
        let _ = reply.send(result.unwrap_or_else(|| Err(self.failure.clone())));
    }

    async fn delete(&self) -> Result<(), LogError> {
        match self.context.log.delete(self.id).await {
            Ok(()) | Err(LogError::NoSuchThread(_)) => {}
            Err(error) => return Err(error),
        }
        tracing::info!(thread = %self.id, "deleted");
        self.context.attachments.forget(self.id).await;
        self.context.shares.forget(self.id).await;
        self.context.seen.forget(self.id).await;
        self.context.log_faults.clear(self.id);
        let at = self.context.clock.now().wall;
        self.context.thread_list.removed(self.id, at);
        Ok(())
    }
}

/// Returns the answer of a suspended thread.
fn answer_of(error: &LogError, is_damaged: bool) -> Failure {
    if is_damaged {
        read_only(error)
    } else {
        waits(error)
    }
}

/// Returns the answer of a thread that waits for its log.
fn waits(error: &LogError) -> Failure {
    let failure = log_failure(error);
    let message = format!("{}; the daemon tries again by itself", failure.message);
    Failure::new(ErrorCode::Storage, message)
}

/// Returns the answer of a thread of which events cannot be read.
fn read_only(damage: &LogError) -> Failure {
    let message = format!(
        "the thread is read-only: {damage}. Fork it before these events, export the rest with \"acpd export --salvage\", or \
         delete it"
    );
    Failure::new(ErrorCode::Conflict, message)
}
