//! Encodes events: one frame per event.

use acpd_model::{Event, EventKind, Millis, RequestEvent, RequestId, Seq, Summary, ThreadId, TurnId};
use bytes::Bytes;

use super::events::notification;
use super::notifications::Notification;
use super::wire::Plain;
use super::wire::event::{DiffUpdated, ListChanged, ListReset, SeenChanged, SuggestionsUpdated};
use super::wire::item_event::TerminalOutput;
use super::wire::thread::ChangedThread;
use crate::fanout::LiveUpdate;
use crate::surface::reply::SeenThread;

/// The messages that clients receive for one event.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The event's number; 0 for frames without an event.
    pub seq: Seq,
    /// The notification's method.
    pub method: &'static str,
    /// The notification, one JSON text.
    pub text: Bytes,
    /// For a question, its id and the same message as a request, for clients that answer.
    pub ask: Option<Box<(RequestId, Bytes)>>,
}

impl Frame {
    /// Creates a frame that belongs to no event.
    pub(super) fn without_event(notification: &Notification<'_>) -> Self {
        let mut text = Vec::with_capacity(512);
        notification.write(&mut text, None);
        Self {
            seq: 0,
            method: notification.method(),
            text: Bytes::from(text),
            ask: None,
        }
    }
}

/// Returns the frame for `event` of `thread`; `None` for a kind that this version cannot show.
pub fn frame(thread: &str, event: &Event) -> Option<Frame> {
    frames(thread, std::slice::from_ref(event)).pop()
}

/// Returns the frames for `events` of `thread`, all in one allocation.
pub fn frames(thread: &str, events: &[Event]) -> Vec<Frame> {
    let room = events
        .iter()
        .map(|event| event.raw.as_ref().map_or(300, |raw| raw.get().len() + 240))
        .sum();
    let mut out = Vec::with_capacity(room);
    let mut spans = Vec::with_capacity(events.len());
    for event in events {
        let Some(notification) = notification(thread, event) else {
            continue;
        };
        let start = out.len();
        notification.write(&mut out, None);
        let asked = match &event.kind {
            EventKind::Request(
                RequestEvent::PermissionRequested {
                    request,
                    decided: false,
                    ..
                }
                | RequestEvent::InputRequested { request, .. },
            ) => Some(*request),
            EventKind::Request(
                RequestEvent::PermissionRequested { decided: true, .. }
                | RequestEvent::Settled { .. }
                | RequestEvent::Voided { .. }
                | RequestEvent::CallPermitted { .. }
                | RequestEvent::AnswerRemembered { .. }
                | RequestEvent::AnswerRevoked { .. },
            )
            | EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Unknown => None,
        };
        let ask = asked.map(|request| {
            let start = out.len();
            notification.write(&mut out, Some(&request));
            (request, start)
        });
        spans.push((event.seq, notification.method(), start, ask, out.len()));
    }
    let all = Bytes::from(out);
    let cut = |(seq, method, start, ask, end): (Seq, _, usize, Option<(RequestId, usize)>, usize)| Frame {
        seq,
        method,
        text: all.slice(start..ask.map_or(end, |(_, asking)| asking)),
        ask: ask.map(|(request, asking)| Box::new((request, all.slice(asking..end)))),
    };
    spans.into_iter().map(cut).collect()
}

/// Returns the frame for an update that is only shown live. It has no `seq`.
pub fn live_frame(thread: &str, turn: Option<TurnId>, at: Millis, update: &LiveUpdate) -> Frame {
    let notification = match update {
        LiveUpdate::Output(output) => Notification::TerminalOutput(TerminalOutput {
            thread_id: Plain(thread),
            seq: None,
            ts: at,
            turn_id: turn,
            item_id: output.item,
            terminal_id: &output.terminal_id,
            text: &output.text,
            skipped_bytes: Some(output.skipped),
        }),
        LiveUpdate::TurnDiff(diff) => Notification::TurnDiffUpdated(DiffUpdated {
            thread_id: Plain(thread),
            seq: None,
            ts: at,
            turn_id: turn,
            diff,
        }),
        LiveUpdate::Suggestions(suggestions) => Notification::SuggestionsUpdated(SuggestionsUpdated {
            thread_id: Plain(thread),
            seq: None,
            ts: at,
            turn_id: turn,
            suggestions,
        }),
    };
    Frame::without_event(&notification)
}

/// Returns the frame for connections that watch the thread list: the thread's new entry, or `null` if
/// the thread was deleted. The entry has its metadata only `with_metadata`.
pub fn listed_frame(id: ThreadId, at: Millis, summary: Option<&Summary>, with_metadata: bool) -> Frame {
    Frame::without_event(&Notification::ThreadListChanged(ListChanged {
        thread_id: id,
        ts: at,
        thread: summary.map(|summary| ChangedThread::of(id, summary, with_metadata)),
    }))
}

/// Returns the frame for the connections of a principal that has seen threads.
pub fn seen_frame(at: Millis, threads: &[SeenThread]) -> Frame {
    Frame::without_event(&Notification::ThreadListSeen(SeenChanged { ts: at, threads }))
}

/// Returns the frame for a watching connection that missed changes.
pub fn list_reset_frame() -> Frame {
    Frame::without_event(&Notification::ThreadListReset(ListReset {}))
}
