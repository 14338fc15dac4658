//! The task that owns the outbox of notifications: passes facts about threads to it, carries out its deliveries, and stores
//! what waits.
//!
//! In: facts of threads, the log for those that were missed, targets, requests of clients, results of deliveries. Out: calls of
//! [`Deliver`], and writes of the file in the data directory. Owns: the outbox. Never: sends anything itself, or waits for a
//! delivery or for the disk while another message is there.

mod file;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use acpd_files::StateFile;
use acpd_log::LogError;
use acpd_model::limits::{LOG_RETRY_MOST, NOTIFICATIONS_GIVE_UP};
use acpd_model::{Failure, Summary, ThreadId, ThreadStatus};
use acpd_proto::notify::{Delivery, DeliveryError, Fact, Outbox, OutboxRecord, TriggerKind};
use acpd_proto::time::{Now, earliest};
use futures_util::FutureExt;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::context::Context;
use crate::host::blocking;
use crate::notify::{Deliver, Inbox, Message, Notifications, Targets, Tested, ThreadMessage, ToNotifier};

/// What the task needs beside the context.
#[derive(Debug)]
pub struct Notifier {
    /// The end of the channel of [`Notifications`].
    pub inbox: Inbox,
    /// The targets.
    pub targets: watch::Receiver<Arc<Targets>>,
    /// Sends notifications.
    pub deliver: Arc<dyn Deliver>,
    /// The data directory.
    pub data_dir: PathBuf,
}

/// What has ended.
enum Ended {
    Delivery { target: String, outcome: Outcome },
    Saved(Result<(), String>),
}

/// The outcome of a delivery.
enum Outcome {
    Result(Result<(), DeliveryError>),
    /// The thread is gone, or its question is answered.
    Pointless,
}

struct Task {
    context: Context,
    notifier: Notifier,
    outbox: Outbox,
    file: StateFile<OutboxRecord>,
    work: JoinSet<Ended>,
    /// Held while a delivery reads its event and makes its message: an event can be large, and targets many.
    reading: Arc<Mutex<()>>,
    is_saving: bool,
    /// When to read the log again, after it could not be read.
    read_again: Option<Instant>,
    closing: Vec<oneshot::Sender<()>>,
}

/// Runs the task until it is closed, or all handles are dropped.
pub async fn run(mut context: Context, mut notifier: Notifier) {
    // The task's own handle must not keep it.
    context.notifications = Notifications::off();
    let file = file::file_in(&notifier.data_dir);
    let targets = Arc::clone(&notifier.targets.borrow_and_update());
    let now = context.clock.now();
    let (outbox, has_past) = match stored(&context, &file).await {
        Some(record) if !targets.targets.is_empty() => {
            (Outbox::restore(record, targets.targets.clone(), now), true)
        }
        _ => (Outbox::new(now), false),
    };
    let mut task = Task {
        context,
        notifier,
        outbox,
        file,
        work: JoinSet::new(),
        reading: Arc::default(),
        is_saving: false,
        read_again: None,
        closing: Vec::new(),
    };
    task.set_targets(&targets);
    if has_past {
        task.read_log().await;
    }
    task.run().await;
}

/// Reads the file. One that cannot be used is set aside: no notification is worth a daemon that does not start.
async fn stored(context: &Context, file: &StateFile<OutboxRecord>) -> Option<OutboxRecord> {
    let from = file.clone();
    let read = move || Ok(from.read_or_set_aside("waiting notifications are lost"));
    match blocking(&*context.host, read).await {
        Ok(record) => record,
        Err(error) => {
            tracing::error!(path = %file.path().display(), %error, "waiting notifications are lost");
            None
        }
    }
}

impl Task {
    async fn run(mut self) {
        loop {
            let is_due = self.read_again.is_some_and(|at| at <= Instant::now());
            if self
                .notifier
                .inbox
                .flags
                .has_missed
                .swap(false, Ordering::Acquire)
                || is_due
            {
                self.read_again = None;
                self.read_log().await;
            }
            self.send_due();
            self.report();
            self.save();
            if !self.closing.is_empty() && !self.is_saving {
                // What is being sent is sent again by the next daemon. A receiver recognizes it by its id.
                self.work.abort_all();
                for reply in self.closing.drain(..) {
                    let _ = reply.send(());
                }
                return;
            }
            let wake = self.outbox.poll_timeout().filter(|_| self.closing.is_empty());
            let wake = wake.map(|at| self.context.clock.instant(at));
            let wake = earliest(wake, self.read_again).unwrap_or_else(far_away);
            tokio::select! {
                biased;
                Some(ended) = self.work.join_next() => self.ended(ended),
                Ok(()) = self.notifier.targets.changed() => {
                    let targets = Arc::clone(&self.notifier.targets.borrow_and_update());
                    self.set_targets(&targets);
                }
                message = self.notifier.inbox.rx.recv() => match message {
                    Some(message) => self.handle(message).await,
                    None => return,
                },
                () = sleep_until(wake) => {}
            }
        }
    }

    fn now(&self) -> Now {
        self.context.clock.now()
    }

    fn set_targets(&mut self, targets: &Targets) {
        let had_targets = self.outbox.has_targets();
        let is_on = !targets.targets.is_empty();
        self.notifier.inbox.flags.is_on.store(is_on, Ordering::Relaxed);
        if !had_targets && is_on {
            // A new target receives nothing of the past.
            self.outbox = Outbox::new(self.now());
        }
        self.outbox.set_targets(targets.targets.clone(), targets.patience);
        for target in targets.targets.keys() {
            let kind = self.notifier.deliver.kind(target);
            self.context.metrics.begin_notifications(kind);
        }
    }

    async fn handle(&mut self, message: ToNotifier) {
        match message {
            ToNotifier::Facts { thread, facts } => self.consider(thread, facts).await,
            ToNotifier::States { reply } => {
                // A client that has gone needs no answer.
                let states = self.outbox.states().into_iter();
                let kind = |name: &str| self.notifier.deliver.kind(name);
                let _ = reply.send(states.map(|state| (state.clone(), kind(&state.name))).collect());
            }
            ToNotifier::Test { target, reply } => self.test(target, reply),
            ToNotifier::Close { reply } => self.closing.push(reply),
        }
    }

    async fn consider(&mut self, thread: ThreadId, facts: Vec<Fact>) {
        if !self.outbox.has_targets() {
            return;
        }
        let summary = match self.context.log.summary(thread).await {
            Ok(summary) => summary,
            Err(LogError::NoSuchThread(_)) => return,
            Err(error) => {
                tracing::warn!(%thread, %error, "a notification waits until the log can be read");
                self.read_again = Some(Instant::now() + LOG_RETRY_MOST);
                return;
            }
        };
        for fact in facts {
            self.fact(&summary, fact);
        }
    }

    fn fact(&mut self, summary: &Summary, fact: Fact) {
        match fact {
            Fact::Ended(trigger) => self.outbox.handle_ended(trigger, summary),
            Fact::Asked(trigger) => self
                .outbox
                .handle_asked(trigger, summary, self.context.clock.now()),
            Fact::Closed(request) => self.outbox.handle_closed(request),
        }
    }

    /// Reads the facts from the log that did not arrive.
    async fn read_log(&mut self) {
        let oldest = self.now().wall.saturating_sub(millis(NOTIFICATIONS_GIVE_UP));
        let wanted = scan::Wanted {
            since: self.outbox.since().max(oldest),
            considered: self.outbox.considered_threads(),
        };
        match self.context.read_log(|log| scan::scan(log, wanted)).await {
            Ok(found) => {
                for (summary, fact) in found {
                    self.fact(&summary, fact);
                }
            }
            Err(error) => {
                tracing::error!(%error, "notifications are missing until the log can be read");
                self.read_again = Some(Instant::now() + LOG_RETRY_MOST);
                return;
            }
        }
        for request in self.outbox.open_questions() {
            let summary = self.context.log.summary(request.thread).await;
            if !summary.is_ok_and(|summary| summary.status == ThreadStatus::Waiting) {
                self.outbox.handle_closed(request);
            }
        }
    }

    fn send_due(&mut self) {
        if !self.closing.is_empty() {
            return;
        }
        while let Some(delivery) = self.outbox.poll_delivery(self.now()) {
            let target = delivery.target.clone();
            let deliver = Arc::clone(&self.notifier.deliver);
            let context = self.context.clone();
            let reading = Arc::clone(&self.reading);
            self.work.spawn(async move {
                let reading = reading.lock().await;
                let outcome = match message(&context, delivery).await {
                    Ok(Some(message)) => {
                        let to = &target;
                        let send = async move {
                            let sending = deliver.deliver(to, message);
                            drop(reading);
                            sending.await
                        };
                        // A bug in a sender must not keep its target waiting for ever.
                        let sent = AssertUnwindSafe(send).catch_unwind().await;
                        let failed =
                            |_| Err(DeliveryError::retry("the sender has a bug; see the daemon's log"));
                        Outcome::Result(sent.unwrap_or_else(failed))
                    }
                    Ok(None) => Outcome::Pointless,
                    Err(error) => Outcome::Result(Err(DeliveryError::retry(format!(
                        "the log cannot be read: {error}"
                    )))),
                };
                Ended::Delivery { target, outcome }
            });
        }
    }

    fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        match ended {
            Ok(Ended::Delivery { target, outcome }) => self.delivered(&target, outcome),
            Ok(Ended::Saved(result)) => {
                self.is_saving = false;
                if let Err(error) = result {
                    let path = self.file.path().display();
                    // The next change is stored with this one.
                    tracing::error!(%path, %error, "waiting notifications cannot be stored; a restart would lose them");
                }
            }
            Err(error) => tracing::error!(%error, "a delivery failed"),
        }
    }

    fn delivered(&mut self, target: &str, outcome: Outcome) {
        let now = self.now();
        match outcome {
            Outcome::Pointless => self.outbox.handle_gone(target),
            Outcome::Result(result) => {
                let word = match &result {
                    Ok(()) => "delivered",
                    Err(error) if error.is_final => "refused",
                    Err(error) => {
                        tracing::warn!(
                            target_name = target,
                            reason = error.reason,
                            "a notification was not delivered"
                        );
                        "failed"
                    }
                };
                let kind = self.notifier.deliver.kind(target);
                self.context.metrics.notified(kind, word);
                self.outbox.handle_result(target, result, now);
            }
        }
    }

    fn report(&mut self) {
        while let Some(gave_up) = self.outbox.poll_gave_up() {
            let kind = self.notifier.deliver.kind(&gave_up.target);
            self.context.metrics.notified(kind, "dropped");
            tracing::error!(
                target_name = gave_up.target,
                thread = %gave_up.thread,
                reason = gave_up.reason,
                "gave up on a notification"
            );
        }
        self.context.metrics.notifications(self.outbox.counts());
    }

    /// Writes the file if something has changed, and no write is under way.
    fn save(&mut self) {
        if self.is_saving {
            return;
        }
        let Some(record) = self.outbox.take_record() else {
            return;
        };
        let record = self.outbox.has_targets().then_some(record);
        let file = self.file.clone();
        let host = Arc::clone(&self.context.host);
        self.is_saving = true;
        self.work.spawn(async move {
            let write = move || Ok(file::write(&file, record.as_ref()).map_err(|error| error.to_string()));
            let written = blocking(&*host, write).await;
            Ended::Saved(written.unwrap_or_else(|failure| Err(failure.message)))
        });
    }

    /// Sends a test to one target or to all. Its results are not the outbox's.
    fn test(&mut self, target: Option<String>, reply: oneshot::Sender<Result<Vec<Tested>, Failure>>) {
        let known: Vec<String> = self.outbox.states().into_iter().map(|state| state.name).collect();
        let wanted: VecDeque<String> = match target {
            Some(target) if !known.contains(&target) => {
                let known = if known.is_empty() {
                    "none is configured".to_owned()
                } else {
                    format!("known are {}", known.join(", "))
                };
                let failure = Failure::not_found(format!("notification target {target:?} ({known})"));
                return drop(reply.send(Err(failure)));
            }
            Some(target) => [target].into(),
            None => known.into(),
        };
        let deliver = Arc::clone(&self.notifier.deliver);
        let context = self.context.clone();
        tokio::spawn(async move {
            let mut tests = JoinSet::new();
            for target in wanted {
                let at = context.clock.now().wall;
                let id = format!("ntf_test_{at}_{target}");
                let sent = deliver.deliver(&target, Message::Test { id, at });
                tests.spawn(async move {
                    let error = sent.await.err().map(|error| error.reason);
                    Tested { target, error }
                });
            }
            let mut results = tests.join_all().await;
            results.sort_by(|one, other| one.target.cmp(&other.target));
            // A client that has gone needs no answer.
            let _ = reply.send(Ok(results));
        });
    }
}

/// Returns the message of a delivery; `None` if it has become pointless.
async fn message(context: &Context, delivery: Delivery) -> Result<Option<Message>, LogError> {
    let trigger = delivery.trigger;
    let summary = match context.log.summary(trigger.thread).await {
        Ok(summary) => summary,
        Err(LogError::NoSuchThread(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if trigger.kind == TriggerKind::Waiting && summary.status != ThreadStatus::Waiting {
        return Ok(None);
    }
    let events = match context.log.events(trigger.thread, vec![trigger.seq]).await {
        Ok(events) => events,
        Err(LogError::NoSuchThread(_) | LogError::DamagedEvents { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let message = events.into_iter().next().map(|event| {
        Message::Thread(Box::new(ThreadMessage {
            delivery,
            summary,
            event,
        }))
    });
    Ok(message)
}

fn millis(duration: std::time::Duration) -> acpd_model::Millis {
    acpd_model::Millis::try_from(duration.as_millis()).unwrap_or(acpd_model::Millis::MAX)
}

fn far_away() -> Instant {
    Instant::now() + std::time::Duration::from_hours(24)
}
