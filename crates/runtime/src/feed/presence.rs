//! The subscribers of each thread, so that each client knows which others are present and which others may answer.
//!
//! In: connections that start or stop following a thread. Out: to each subscriber, the list of the others. Owns: one
//! entry for each subscriber. Never: waits, remembers subscribers that have left, or sends one notification for each
//! client when many join at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_model::ThreadId;
use acpd_proto::agent::ElicitationModes;
use acpd_proto::surface::contract::{OtherSubscribers, Subscriber};
use tokio::sync::watch;
use tokio::time::Instant;

/// Milliseconds between two notifications to a client about the other subscribers of its thread.
const SUBSCRIBERS_MILLIS: u64 = 200;
/// Other subscribers that a notification names. Beyond it, the notification has only their number.
const SUBSCRIBERS_TOLD: usize = 32;

/// The subscribers of all threads.
#[derive(Debug, Clone, Default)]
pub struct Subscribers {
    threads: Arc<Mutex<BTreeMap<ThreadId, ThreadSubscribers>>>,
}

/// The subscribers of one thread.
#[derive(Debug, Default)]
struct ThreadSubscribers {
    /// The subscribers by number, in the order in which they joined.
    present: BTreeMap<u64, Subscriber>,
    next: u64,
    changed: watch::Sender<()>,
}

impl Subscribers {
    /// Adds a subscriber to a thread. If `notifies`, the subscriber is notified of changes to the others.
    pub fn join(&self, thread: ThreadId, subscriber: Subscriber, notifies: bool) -> Presence {
        let mut threads = self.lock();
        let subscribers = threads.entry(thread).or_default();
        let number = subscribers.next;
        subscribers.next += 1;
        subscribers.present.insert(number, subscriber);
        subscribers.changed.send_replace(());
        let mut changed = subscribers.changed.subscribe();
        // The subscriber is notified immediately, even if it is alone.
        changed.mark_changed();
        Presence {
            subscribers: self.clone(),
            thread,
            number,
            notifies,
            changed,
            due: None,
            quiet_until: None,
        }
    }

    /// Returns the modes of elicitation that the subscribers of a thread can show.
    pub fn elicitation(&self, thread: ThreadId) -> ElicitationModes {
        let threads = self.lock();
        let present = threads
            .get(&thread)
            .into_iter()
            .flat_map(|of| of.present.values());
        present
            .map(|subscriber| subscriber.elicitation)
            .fold(ElicitationModes::NONE, ElicitationModes::or)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ThreadId, ThreadSubscribers>> {
        // A panic leaves the map consistent, because each change is a single call.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's entry among the subscribers of a thread. Dropping it removes the entry.
#[derive(Debug)]
pub struct Presence {
    subscribers: Subscribers,
    thread: ThreadId,
    number: u64,
    notifies: bool,
    changed: watch::Receiver<()>,
    /// When to send the pending notification.
    due: Option<Instant>,
    /// The earliest time for the next notification.
    quiet_until: Option<Instant>,
}

impl Presence {
    /// Waits for a change and returns the other subscribers; the first call returns immediately. Waits forever if this
    /// subscriber is not notified of others. Cancel safe.
    pub async fn others_changed(&mut self) -> OtherSubscribers {
        if !self.notifies {
            return std::future::pending().await;
        }
        let due = match self.due {
            Some(due) => due,
            None => {
                // The sender exists as long as this entry does.
                if self.changed.changed().await.is_err() {
                    return std::future::pending().await;
                }
                let now = Instant::now();
                *self
                    .due
                    .insert(self.quiet_until.map_or(now, |until| until.max(now)))
            }
        };
        tokio::time::sleep_until(due).await;
        self.due = None;
        self.quiet_until = Some(Instant::now() + Duration::from_millis(SUBSCRIBERS_MILLIS));
        self.changed.mark_unchanged();
        self.others()
    }

    fn others(&self) -> OtherSubscribers {
        let threads = self.subscribers.lock();
        let Some(subscribers) = threads.get(&self.thread) else {
            return OtherSubscribers::default();
        };
        let others = |asked: bool| {
            let present = subscribers.present.iter();
            present.filter_map(move |(number, subscriber)| {
                (*number != self.number && subscriber.may_answer == asked).then_some(subscriber)
            })
        };
        let listed: Vec<_> = others(true)
            .chain(others(false))
            .take(SUBSCRIBERS_TOLD)
            .cloned()
            .collect();
        OtherSubscribers {
            more: subscribers.present.len() - 1 - listed.len(),
            listed,
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut threads = self.subscribers.lock();
        let Some(subscribers) = threads.get_mut(&self.thread) else {
            return;
        };
        subscribers.present.remove(&self.number);
        if subscribers.present.is_empty() {
            threads.remove(&self.thread);
        } else {
            subscribers.changed.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::event::ClientOrigin;
    use futures_util::FutureExt;

    use super::*;

    fn someone(name: &str) -> Subscriber {
        let who = ClientOrigin {
            principal: name.to_owned(),
            client: "test".to_owned(),
        };
        let may_answer = name == "asked";
        Subscriber {
            who,
            may_answer,
            elicitation: ElicitationModes {
                form: may_answer,
                url: false,
            },
        }
    }

    fn names(others: &OtherSubscribers) -> Vec<&str> {
        others
            .listed
            .iter()
            .map(|other| other.who.principal.as_str())
            .collect()
    }

    #[tokio::test]
    async fn each_subscriber_is_notified_only_of_the_others() {
        let (all, thread, other) = (
            Subscribers::default(),
            ThreadId(uuid::Uuid::nil()),
            ThreadId(uuid::Uuid::max()),
        );
        let mut first = all.join(thread, someone("first"), true);
        assert_eq!(
            first.others_changed().await,
            OtherSubscribers::default(),
            "it is alone"
        );
        first.quiet_until = None;
        let mut second = all.join(thread, someone("second"), true);
        let _elsewhere = all.join(other, someone("elsewhere"), true);
        assert_eq!(names(&first.others_changed().await), ["second"]);
        first.quiet_until = None;
        assert_eq!(names(&second.others_changed().await), ["first"]);
        assert!(second.others_changed().now_or_never().is_none());
        drop(second);
        assert_eq!(first.others_changed().await, OtherSubscribers::default());
        drop(first);
        assert!(!all.lock().contains_key(&thread), "nothing is kept of it");
    }

    #[test]
    fn abilities_of_subscribers_leave_with_them() {
        let (all, thread) = (Subscribers::default(), ThreadId(uuid::Uuid::nil()));
        assert_eq!(all.elicitation(thread), ElicitationModes::NONE);
        let _reader = all.join(thread, someone("reader"), true);
        assert_eq!(all.elicitation(thread), ElicitationModes::NONE);
        let asked = all.join(thread, someone("asked"), true);
        let forms = ElicitationModes {
            form: true,
            url: false,
        };
        assert_eq!(all.elicitation(thread), forms);
        assert_eq!(
            all.elicitation(ThreadId(uuid::Uuid::max())),
            ElicitationModes::NONE
        );
        drop(asked);
        assert_eq!(all.elicitation(thread), ElicitationModes::NONE);
    }

    #[tokio::test]
    async fn subscribers_that_join_together_are_notified_together() {
        let (all, thread) = (Subscribers::default(), ThreadId(uuid::Uuid::nil()));
        let mut first = all.join(thread, someone("first"), true);
        let _second = all.join(thread, someone("second"), true);
        assert_eq!(first.others_changed().await.listed.len(), 1, "the first at once");
        let mut present = Vec::new();
        for _ in 0..100 {
            present.push(all.join(thread, someone("more"), true));
            assert!(first.others_changed().now_or_never().is_none());
        }
        assert!(first.due.is_some() && first.due == first.quiet_until);
        first.due = Some(Instant::now());
        present.push(all.join(thread, someone("asked"), true));
        let others = first.others_changed().await;
        assert_eq!(
            (others.listed.len(), others.more),
            (SUBSCRIBERS_TOLD, 102 - SUBSCRIBERS_TOLD)
        );
        assert_eq!(names(&others)[0], "asked", "those who are asked come first");
        assert!(
            first.others_changed().now_or_never().is_none(),
            "nothing is left to report"
        );
    }
}
