//! Rollback, fork and deletion of threads, and their invariants.

use std::collections::BTreeSet;

use acpd_model::{Event, EventKind, RequestEvent, RequestId, ThreadEvent, ThreadId, TurnEvent, TurnId};
use serde_json::{Value, json};

use super::world::World;

/// The number of threads above which none is forked.
const THREADS: usize = 6;

impl World {
    /// Rolls a thread back, forks or deletes one, or sends a request about a deleted one.
    pub(super) async fn change_history(&mut self) {
        // Most of these requests fail while a turn runs.
        let busy = self.busy_threads().await;
        let mut threads = self.threads.clone();
        threads.retain(|thread| !busy.contains(thread) || self.dice.happens(20));
        let deleted: Vec<String> = self.truth.deleted().keys().map(ToString::to_string).collect();
        let (thread, deleted) = (self.dice.pick(&threads), self.dice.pick(&deleted));
        let about_deleted = [
            ("turn/start", json!({ "text": "go" })),
            ("turn/interrupt", json!({})),
            ("thread/resume", json!({ "after": 0 })),
            ("thread/read", json!({})),
            ("thread/fork", json!({})),
            ("thread/rollback", json!({ "turnId": null })),
            ("thread/delete", json!({})),
        ];
        let (thread, (method, params)) = match (self.dice.roll(100), thread, deleted) {
            (0..40, Some(thread), _) => {
                let last_kept = self.some_turn(&thread);
                (thread, ("thread/rollback", json!({ "turnId": last_kept })))
            }
            (40..65, Some(thread), _) if self.threads.len() < THREADS => {
                let last = self.some_turn(&thread).filter(|_| self.dice.happens(50));
                let params = last.map_or_else(|| json!({}), |turn| json!({ "turnId": turn }));
                (thread, ("thread/fork", params))
            }
            (65..80, Some(thread), _) => (thread, ("thread/delete", json!({}))),
            (80.., _, Some(thread)) => (thread, self.dice.pick(&about_deleted).unwrap()),
            _ => return,
        };
        if let Some(client) = self.client() {
            client.request(method, Some(&thread), params).await;
        }
        self.list_threads().await;
    }

    /// Returns a random turn of a thread.
    fn some_turn(&mut self, thread: &str) -> Option<Value> {
        let events = self.known.get(&thread.parse().unwrap())?;
        let turns: BTreeSet<TurnId> = events.iter().filter_map(|event| event.turn).collect();
        let turns: Vec<TurnId> = turns.into_iter().collect();
        self.dice.pick(&turns).map(|turn| json!(turn))
    }

    /// Checks the rollbacks, forks and deletions of a run.
    pub(super) async fn check_changed_history(&self) {
        for (thread, events) in &self.known {
            let is_deletion =
                |event: &Event| matches!(event.kind, EventKind::Thread(ThreadEvent::Deleted { .. }));
            let deletion = events.iter().position(is_deletion);
            if self.truth.is_deleted(*thread) {
                assert!(
                    deletion.is_none_or(|at| at + 1 == events.len()),
                    "more of {thread}"
                );
                let looked = self.daemon.service.directory.look(*thread).await;
                assert!(looked.is_err(), "{thread} was deleted");
                continue;
            }
            assert_eq!(deletion, None, "{thread} is still there");
            let listed = self.listed().await.into_iter();
            let counted = listed
                .filter(|listed| listed.thread == *thread)
                .map(|listed| listed.summary.turns)
                .next();
            let turns = u32::try_from(turns_of(events).len()).unwrap();
            assert_eq!(counted, Some(turns), "the turns of {thread}");
            self.check_fork(*thread, events);
        }
    }

    /// Checks that a fork begins with the events of its origin, without what concerns the origin alone.
    fn check_fork(&self, thread: ThreadId, events: &[Event]) {
        // A fork of a fork shares an earlier event of this kind.
        let fork = events
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, event)| match &event.kind {
                EventKind::Thread(ThreadEvent::Forked(forked)) => Some((at, forked)),
                _ => None,
            });
        // A fork of a fork shares an earlier event of this kind.
        let Some((at, forked)) = fork else {
            return;
        };
        let Some(source) = self.known.get(&forked.from) else {
            panic!("{thread} is a fork of an unknown thread");
        };
        let Some(end) = end_of_fork(source, forked.last) else {
            assert!(
                self.truth.is_deleted(forked.from),
                "{thread} has turns from nowhere"
            );
            return;
        };
        let before = &events[..at];
        let shared = match forked.last {
            // A fork of all turns also shares what came after the last one by then.
            Some(_) => {
                let later = before.iter().zip(source).skip(end);
                let is_shared = |(ours, theirs): &(&Event, &Event)| {
                    ours.turn <= forked.last && anonymous(ours) == anonymous(theirs)
                };
                end + later.take_while(is_shared).count()
            }
            // Without a turn to share, the fork shares what was stored at the time.
            None => {
                let pairs = before.iter().zip(&source[..end]);
                pairs
                    .take_while(|(ours, theirs)| anonymous(ours) == anonymous(theirs))
                    .count()
            }
        };
        let (ours, undone) = before.split_at(shared);
        for (ours, theirs) in ours.iter().zip(source) {
            assert_eq!(anonymous(ours), anonymous(theirs), "what {thread} shares");
        }
        for event in undone {
            let undoes = match &event.kind {
                EventKind::Turn(TurnEvent::Settled { .. }) => event.turn > forked.last,
                EventKind::Thread(ThreadEvent::TurnsRolledBack { last_kept, .. }) => {
                    *last_kept == forked.last
                }
                EventKind::Thread(
                    ThreadEvent::Unarchived {}
                    | ThreadEvent::PinSet { pinned: false, .. }
                    | ThreadEvent::LeaseMoved { holder: None, .. },
                ) => true,
                _ => false,
            };
            assert!(undoes, "{thread} begins with {event:?}");
        }
    }
}

/// Returns the turns that belong to the conversation.
fn turns_of(events: &[Event]) -> BTreeSet<TurnId> {
    let mut turns = BTreeSet::new();
    for event in events {
        turns.extend(event.turn);
        if let EventKind::Thread(ThreadEvent::TurnsRolledBack { last_kept, .. }) = &event.kind {
            turns.retain(|turn| Some(*turn) <= *last_kept);
        }
    }
    turns
}

/// Returns how many events a fork after the turn `last` shares. `None` if they are not all known, because the thread was
/// deleted.
fn end_of_fork(source: &[Event], last: Option<TurnId>) -> Option<usize> {
    let Some(last) = last else {
        let first = source.iter().position(|event| event.turn.is_some());
        return Some(first.unwrap_or(source.len()));
    };
    let is_end = |event: &Event| {
        event.turn.is_some_and(|turn| turn <= last)
            && matches!(event.kind, EventKind::Turn(TurnEvent::Settled { .. }))
    };
    let ends = source.iter().enumerate().filter(|(_, event)| is_end(event));
    ends.map(|(at, _)| at + 1)
        .nth(usize::try_from(last.0).unwrap() - 1)
}

/// Returns an event without the thread that it has in its ids.
fn anonymous(event: &Event) -> Event {
    let mut event = event.clone();
    if let EventKind::Request(
        RequestEvent::PermissionRequested { request, .. }
        | RequestEvent::InputRequested { request, .. }
        | RequestEvent::Settled { request, .. }
        | RequestEvent::Voided { request, .. },
    ) = &mut event.kind
    {
        let RequestId { thread, .. } = request;
        *thread = ThreadId(uuid::Uuid::nil());
    }
    event
}
