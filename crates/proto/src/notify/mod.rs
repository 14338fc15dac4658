//! Notifications: which events people are notified of, and to which targets each notification still has to go.
//!
//! In: stored events, the targets of the configuration, results of deliveries, the time. Out: deliveries, and a record of
//! what still has to be delivered. Owns: the waiting deliveries. Never: sends anything, or keeps content of a thread.

mod outbox;
mod record;
mod target;
mod trigger;

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, RequestEvent, RequestId, ThreadId, TurnEvent};

pub use outbox::{Counts, Delivery, GaveUp, Outbox};
pub use record::OutboxRecord;
pub use target::{DeliveryError, Target, TargetState};
pub use trigger::{Subject, Trigger, TriggerKind};

/// A fact about a thread that matters for notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// A turn ended.
    Ended(Trigger),
    /// A question waits for an answer of a user.
    Asked(Trigger),
    /// A question was answered, or needs no answer any more.
    Closed(RequestId),
}

/// Returns the facts in a batch of a thread's events.
pub fn facts(thread: ThreadId, events: &[Event]) -> Vec<Fact> {
    events.iter().filter_map(|event| fact(thread, event)).collect()
}

fn fact(thread: ThreadId, event: &Event) -> Option<Fact> {
    let trigger = |kind, subject| Trigger {
        thread,
        kind,
        subject,
        seq: event.seq,
        at: event.at,
    };
    match &event.kind {
        EventKind::Turn(TurnEvent::Settled {
            status,
            stop_reason,
            error,
            ..
        }) => {
            let kind = match status {
                // An agent ends a turn with a stop reason. A turn without one was imported, or had only commands of users.
                TurnStatus::Completed => stop_reason.as_ref().map(|_| TriggerKind::Done)?,
                TurnStatus::Failed | TurnStatus::Refused | TurnStatus::Limited => TriggerKind::Failed,
                // A client that interrupts a turn knows about it.
                TurnStatus::Interrupted => error.as_ref().map(|_| TriggerKind::Failed)?,
            };
            Some(Fact::Ended(trigger(kind, Subject::Turn(event.turn?))))
        }
        EventKind::Request(
            RequestEvent::PermissionRequested {
                request,
                decided: false,
                ..
            }
            | RequestEvent::InputRequested { request, .. },
        ) => {
            let subject = Subject::Question(*request);
            Some(Fact::Asked(trigger(TriggerKind::Waiting, subject)))
        }
        EventKind::Request(RequestEvent::Settled { request, .. } | RequestEvent::Voided { request, .. }) => {
            Some(Fact::Closed(*request))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::{Origin, TurnId};
    use uuid::Uuid;

    use super::*;

    const THREAD: ThreadId = ThreadId(Uuid::from_u128(7));

    fn event(kind: EventKind) -> Event {
        Event {
            seq: 9,
            at: 1_000,
            turn: Some(TurnId(2)),
            by: Origin::Agent,
            kind,
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        }
    }

    fn settled(status: TurnStatus, stop_reason: Option<&str>, error: Option<&str>) -> Event {
        event(EventKind::Turn(TurnEvent::Settled {
            status,
            stop_reason: stop_reason.map(str::to_owned),
            error: error.map(str::to_owned),
            started_at: Some(1),
            usage: None,
            changes: None,
            plan: None,
            plans: None,
            permitted: 0,
            waited_ms: 0,
        }))
    }

    fn kind_of(event: &Event) -> Option<TriggerKind> {
        match facts(THREAD, std::slice::from_ref(event)).as_slice() {
            [Fact::Ended(trigger) | Fact::Asked(trigger)] => {
                assert_eq!((trigger.thread, trigger.seq, trigger.at), (THREAD, 9, 1_000));
                Some(trigger.kind)
            }
            [] => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_end_of_a_turn_has_at_most_one_kind() {
        use TurnStatus::{Completed, Failed, Interrupted, Limited, Refused};
        for (status, stop_reason, error, expected) in [
            (Completed, Some("end_turn"), None, Some(TriggerKind::Done)),
            (Completed, Some("_own"), None, Some(TriggerKind::Done)),
            // Imported, or commands of users.
            (Completed, None, None, None),
            (Failed, None, Some("it broke"), Some(TriggerKind::Failed)),
            (Refused, Some("refusal"), None, Some(TriggerKind::Failed)),
            (Limited, Some("max_tokens"), None, Some(TriggerKind::Failed)),
            (
                Interrupted,
                None,
                Some("the daemon was killed"),
                Some(TriggerKind::Failed),
            ),
            // By a client.
            (Interrupted, Some("cancelled"), None, None),
            (Interrupted, None, None, None),
        ] {
            let event = settled(status, stop_reason, error);
            assert_eq!(kind_of(&event), expected, "{status:?} {stop_reason:?} {error:?}");
        }
    }

    #[test]
    fn only_questions_for_users_wait() {
        let request = RequestId {
            thread: THREAD,
            number: 3,
        };
        let permission = |decided| {
            event(EventKind::Request(RequestEvent::PermissionRequested {
                request,
                item: None,
                about: acpd_model::event::QuestionTopic::Permissions,
                title: "rm".to_owned(),
                options: Box::default(),
                decided,
                agent_remembers: Box::default(),
                subjects: Box::default(),
                always: None,
                whole: None,
                keeps_content: false,
            }))
        };
        assert_eq!(kind_of(&permission(false)), Some(TriggerKind::Waiting));
        assert_eq!(kind_of(&permission(true)), None, "a policy answers");
        let input = event(EventKind::Request(RequestEvent::InputRequested {
            request,
            message: "which?".to_owned(),
            call: None,
        }));
        assert_eq!(kind_of(&input), Some(TriggerKind::Waiting));
        let voided = event(EventKind::Request(RequestEvent::Voided {
            request,
            reason: "gone".to_owned(),
        }));
        assert_eq!(facts(THREAD, &[voided]), [Fact::Closed(request)]);
    }

    #[test]
    fn other_events_cause_no_notification() {
        let started = event(EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        }));
        assert_eq!(facts(THREAD, &[started]), []);
        assert_eq!(facts(THREAD, &[]), []);
    }
}
