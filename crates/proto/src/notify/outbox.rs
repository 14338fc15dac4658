//! The outbox: decides which target receives which notification, and when.
//!
//! In: triggers with the threads' summaries, targets, results of deliveries, the time. Out: deliveries, at most one at a
//! time for each target, and a record of what a restart needs. Owns: what waits. Never: lets one target delay another.

mod queue;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use acpd_model::limits::{NOTIFICATIONS_GIVE_UP, NOTIFICATIONS_WAITING_ALL};
use acpd_model::{Millis, RequestId, Seq, Summary, ThreadId};

use self::queue::Queue;
use super::record::{Considered, OutboxRecord, WaitingRecord};
use super::target::{DeliveryError, Target, TargetState};
use super::trigger::{Subject, Trigger, TriggerKind};
use crate::time::{Instant, Now, earliest};

/// Open questions that may wait until they are old enough for a notification.
const NOTIFICATIONS_QUESTIONS: usize = 1024;
/// Threads whose last considered event is stored.
const NOTIFICATIONS_THREADS: usize = 2048;
/// Time for which the last considered event of a thread is stored, so that the log can be read again after a crash. It
/// is longer than any commit takes, and than the host's clock is set back.
const NOTIFICATIONS_MEMORY: Duration = Duration::from_hours(1);

/// A notification to send now. Its result is due by [`Outbox::handle_result`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The target.
    pub target: String,
    /// What happened.
    pub trigger: Trigger,
}

impl Delivery {
    /// Returns the id of the notification for this target. It is the same for each attempt, so that a receiver can
    /// recognize repetitions. Consists of letters, digits, `_` and `-`.
    pub fn id(&self) -> String {
        let Trigger {
            thread,
            kind,
            subject,
            ..
        } = self.trigger;
        let subject = match subject {
            Subject::Turn(turn) => turn.to_string(),
            Subject::Question(request) => format!("req_{}", request.number),
        };
        format!(
            "ntf_{}_{subject}_{}_{}",
            thread.0.simple(),
            kind.word(),
            self.target
        )
    }
}

/// A notification that no target will receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GaveUp {
    /// The target.
    pub target: String,
    /// The thread.
    pub thread: ThreadId,
    /// Why.
    pub reason: String,
}

/// How many notifications wait, and how many targets fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Notifications that wait for delivery.
    pub waiting: usize,
    /// Targets whose last delivery failed.
    pub failing: usize,
}

/// An open question.
#[derive(Debug)]
struct PendingQuestion {
    trigger: Trigger,
    /// The targets that receive it once it is due.
    targets: Vec<String>,
    /// When it is due; `None` once the targets have received it.
    due: Option<Instant>,
}

/// Waiting notifications, and the state of their targets.
#[derive(Debug)]
pub struct Outbox {
    queues: BTreeMap<String, Queue>,
    /// Time that a question must be open before anyone is notified of it.
    patience: Duration,
    since: Millis,
    /// The time of the last considered end of a turn.
    latest: Millis,
    threads: BTreeMap<ThreadId, Considered>,
    questions: BTreeMap<RequestId, PendingQuestion>,
    gave_up: VecDeque<GaveUp>,
    is_changed: bool,
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

impl Outbox {
    /// Creates an outbox that considers turns that end from now on.
    pub fn new(now: Now) -> Self {
        Self {
            queues: BTreeMap::new(),
            patience: Duration::ZERO,
            since: now.wall,
            latest: now.wall,
            threads: BTreeMap::new(),
            questions: BTreeMap::new(),
            gave_up: VecDeque::new(),
            is_changed: true,
        }
    }

    /// Creates the outbox of an earlier daemon with these targets. Deliveries to other targets are dropped.
    pub fn restore(record: OutboxRecord, targets: BTreeMap<String, Target>, now: Now) -> Self {
        let latest = record.threads.values().map(|considered| considered.at).max();
        let mut outbox = Self {
            since: record.since,
            latest: latest.unwrap_or(record.since),
            threads: record.threads,
            is_changed: false,
            ..Self::new(now)
        };
        let patience = outbox.patience;
        outbox.set_targets(targets, patience);
        for waiting in record.waiting {
            let trigger = Trigger {
                thread: waiting.thread,
                kind: waiting.kind,
                subject: Subject::Turn(waiting.turn),
                seq: waiting.seq,
                at: waiting.at,
            };
            outbox.enqueue(&waiting.target, trigger);
        }
        outbox
    }

    /// Replaces the targets. What waits for a target that is gone is dropped.
    pub fn set_targets(&mut self, targets: BTreeMap<String, Target>, patience: Duration) {
        self.patience = patience;
        let before = self.queues.len();
        self.queues.retain(|name, _| targets.contains_key(name));
        self.is_changed |= before != self.queues.len();
        for (name, target) in targets {
            match self.queues.get_mut(&name) {
                Some(queue) => queue.set_target(target),
                None => drop(self.queues.insert(name, Queue::new(target))),
            }
        }
    }

    /// Returns whether there is any target.
    pub fn has_targets(&self) -> bool {
        !self.queues.is_empty()
    }

    /// Returns the target with this name.
    pub fn target(&self, name: &str) -> Option<&Target> {
        Some(self.queues.get(name)?.target())
    }

    /// Returns the earliest time of which turns are considered.
    pub fn since(&self) -> Millis {
        self.since
    }

    /// Returns the last event of a thread that was considered, 0 if none was.
    pub fn considered(&self, thread: ThreadId) -> Seq {
        self.threads.get(&thread).map_or(0, |considered| considered.seq)
    }

    /// Returns the considered threads with their last considered event.
    pub fn considered_threads(&self) -> BTreeMap<ThreadId, Seq> {
        let seqs = self
            .threads
            .iter()
            .map(|(thread, considered)| (*thread, considered.seq));
        seqs.collect()
    }

    /// Returns the open questions.
    pub fn open_questions(&self) -> Vec<RequestId> {
        self.questions.keys().copied().collect()
    }

    /// Handles the end of a turn. Repeated ones are ignored.
    pub fn handle_ended(&mut self, trigger: Trigger, thread: &Summary) {
        if trigger.seq <= self.considered(trigger.thread) {
            return;
        }
        let Trigger { seq, at, .. } = trigger;
        self.threads.insert(trigger.thread, Considered { seq, at });
        self.remember(at);
        for name in self.targets_for(trigger.kind, thread) {
            self.enqueue(&name, trigger);
        }
        self.is_changed = true;
    }

    /// Handles a question that was asked. Repeated ones are ignored.
    pub fn handle_asked(&mut self, trigger: Trigger, thread: &Summary, now: Now) {
        let Subject::Question(request) = trigger.subject else {
            return;
        };
        let targets = self.targets_for(TriggerKind::Waiting, thread);
        if targets.is_empty() || self.questions.contains_key(&request) {
            return;
        }
        if self.questions.len() >= NOTIFICATIONS_QUESTIONS {
            for target in targets {
                self.give_up(target, trigger.thread, "too many questions are open");
            }
            return;
        }
        let question = PendingQuestion {
            trigger,
            targets,
            due: Some(now.mono + self.patience),
        };
        self.questions.insert(request, question);
    }

    /// Handles a question that needs no answer any more. Drops its notifications.
    pub fn handle_closed(&mut self, request: RequestId) {
        if self.questions.remove(&request).is_some() {
            for queue in self.queues.values_mut() {
                queue.drop_question(request);
            }
        }
    }

    /// Handles the result of a delivery to a target.
    pub fn handle_result(&mut self, target: &str, result: Result<(), DeliveryError>, now: Now) {
        let Some(queue) = self.queues.get_mut(target) else {
            return;
        };
        let Some(trigger) = queue.finish(&result, target, now) else {
            return;
        };
        self.is_changed |= matches!(trigger.subject, Subject::Turn(_));
        let Err(error) = result else {
            return;
        };
        if error.is_gone {
            return;
        }
        let is_open = match trigger.subject {
            Subject::Turn(_) => true,
            Subject::Question(request) => self.questions.contains_key(&request),
        };
        if error.is_final {
            self.give_up(target.to_owned(), trigger.thread, &error.reason);
        } else if is_too_old(&trigger, now) {
            self.give_up(target.to_owned(), trigger.thread, &too_old(&error.reason));
        } else if is_open {
            self.enqueue(target, trigger);
        }
    }

    /// Handles a delivery that has become pointless, since its thread is gone.
    pub fn handle_gone(&mut self, target: &str) {
        if let Some(queue) = self.queues.get_mut(target) {
            queue.forget();
            self.is_changed = true;
        }
    }

    /// Returns the next notification to send.
    pub fn poll_delivery(&mut self, now: Now) -> Option<Delivery> {
        self.ripen(now);
        let mut old = Vec::new();
        let found = self.queues.iter_mut().find_map(|(name, queue)| {
            while let Some(trigger) = queue.next(now) {
                if is_too_old(&trigger, now) {
                    queue.forget();
                    old.push((name.clone(), trigger.thread, queue.last_error()));
                    continue;
                }
                return Some(Delivery {
                    target: name.clone(),
                    trigger,
                });
            }
            None
        });
        for (target, thread, reason) in old {
            self.is_changed = true;
            self.give_up(target, thread, &too_old(&reason));
        }
        found
    }

    /// Returns a notification that no target will receive.
    pub fn poll_gave_up(&mut self) -> Option<GaveUp> {
        self.gave_up.pop_front()
    }

    /// Returns the latest time for the next [`poll_delivery`](Self::poll_delivery).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.questions.values().filter_map(|question| question.due).min();
        let retry = self.queues.values().filter_map(Queue::ready_at).min();
        earliest(due, retry)
    }

    /// Returns what a restart needs, if that has changed since the last call.
    pub fn take_record(&mut self) -> Option<OutboxRecord> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let mut waiting: Vec<WaitingRecord> = Vec::new();
        for (target, queue) in &self.queues {
            for trigger in queue.all() {
                let Subject::Turn(turn) = trigger.subject else {
                    continue;
                };
                waiting.push(WaitingRecord {
                    target: target.clone(),
                    thread: trigger.thread,
                    kind: trigger.kind,
                    turn,
                    seq: trigger.seq,
                    at: trigger.at,
                });
            }
        }
        Some(OutboxRecord {
            since: self.since,
            threads: self.threads.clone(),
            waiting,
        })
    }

    /// Marks the record as changed, after it could not be stored.
    pub fn record_again(&mut self) {
        self.is_changed = true;
    }

    /// Returns the state of each target.
    pub fn states(&self) -> Vec<TargetState> {
        let states = self.queues.iter().map(|(name, queue)| queue.state(name));
        states.collect()
    }

    /// Returns how many notifications wait, and how many targets fail.
    pub fn counts(&self) -> Counts {
        Counts {
            waiting: self.waiting(),
            failing: self.queues.values().filter(|queue| queue.is_failing()).count(),
        }
    }

    fn waiting(&self) -> usize {
        self.queues.values().map(Queue::len).sum()
    }

    fn targets_for(&self, kind: TriggerKind, thread: &Summary) -> Vec<String> {
        let wants =
            |(name, queue): (&String, &Queue)| queue.target().wants(kind, thread).then(|| name.clone());
        self.queues.iter().filter_map(wants).collect()
    }

    /// Moves questions that are old enough to their targets.
    fn ripen(&mut self, now: Now) {
        let mut ripe = Vec::new();
        for question in self.questions.values_mut() {
            if question.due.is_some_and(|due| due <= now.mono) {
                question.due = None;
                ripe.push((question.trigger, std::mem::take(&mut question.targets)));
            }
        }
        for (trigger, targets) in ripe {
            for target in targets {
                self.enqueue(&target, trigger);
            }
        }
    }

    /// Adds a notification for a target, and makes room for it.
    fn enqueue(&mut self, target: &str, trigger: Trigger) {
        let Some(queue) = self.queues.get_mut(target) else {
            return;
        };
        if let Some(dropped) = queue.push(trigger) {
            self.give_up(
                target.to_owned(),
                dropped.thread,
                "too many notifications wait for the target",
            );
        }
        if self.waiting() > NOTIFICATIONS_WAITING_ALL {
            let longest = self.queues.iter_mut().max_by_key(|(_, queue)| queue.len());
            if let Some((name, dropped)) =
                longest.and_then(|(name, queue)| Some((name.clone(), queue.drop_oldest()?)))
            {
                self.give_up(name, dropped.thread, "too many notifications wait");
            }
        }
    }

    fn give_up(&mut self, target: String, thread: ThreadId, reason: &str) {
        self.gave_up.push_back(GaveUp {
            target,
            thread,
            reason: reason.to_owned(),
        });
    }

    /// Keeps the considered events of the last hour, and of a bounded number of threads.
    fn remember(&mut self, at: Millis) {
        let memory = millis(NOTIFICATIONS_MEMORY);
        if at < self.since {
            // The host's clock was set back.
            self.since = at;
            self.latest = at;
        }
        self.latest = self.latest.max(at);
        self.since = self.since.max(self.latest.saturating_sub(memory));
        let since = self.since;
        self.threads.retain(|_, considered| considered.at >= since);
        while self.threads.len() > NOTIFICATIONS_THREADS {
            let oldest = self.threads.iter().min_by_key(|(_, considered)| considered.at);
            let Some((&thread, &Considered { at, .. })) = oldest else {
                return;
            };
            self.threads.remove(&thread);
            self.since = self.since.max(at.saturating_add(1));
        }
    }
}

fn is_too_old(trigger: &Trigger, now: Now) -> bool {
    now.wall.saturating_sub(trigger.at) > millis(NOTIFICATIONS_GIVE_UP)
}

fn too_old(reason: &str) -> String {
    let hours = NOTIFICATIONS_GIVE_UP.as_secs() / 3600;
    format!("not delivered within {hours} hours: {reason}")
}
