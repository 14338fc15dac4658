//! Unanswered questions.
//!
//! In: the events of questions. Out: what of them a decision needs. Owns: nothing. Never: keeps what is long and that no answer needs:
//! the log has it.

use acpd_model::event::PermissionOption;
use acpd_model::limits::{LISTED_QUESTION_BYTES, OPEN_QUESTION_BYTES};
use acpd_model::subject::CallSubject;
use acpd_model::{Event, EventKind, RawJson, RequestEvent, RequestId};
use serde::{Deserialize, Serialize};

/// An unanswered question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// Id of the question.
    pub id: RequestId,
    /// The event that opened it. That of a long question lacks the agent's params, the call, and effects that are long.
    pub event: Event,
    /// Bytes that the event lacks. Clients that subscribe later receive the event from the log then.
    pub left_out: u64,
}

impl OpenRequest {
    pub(super) fn new(id: RequestId, event: &Event) -> Self {
        let bytes = long_bytes(event);
        if bytes <= OPEN_QUESTION_BYTES {
            return Self {
                id,
                event: event.clone(),
                left_out: 0,
            };
        }
        let mut kind = event.kind.clone();
        if let EventKind::Request(RequestEvent::PermissionRequested { subjects, whole, .. }) = &mut kind {
            *whole = None;
            // Lists show shorter ones.
            if bytes_of(subjects) > LISTED_QUESTION_BYTES {
                *subjects = Box::default();
            }
        }
        let kept = Event {
            by: event.by.clone(),
            kind,
            raw: None,
            raw_params: None,
            ..*event
        };
        Self {
            id,
            event: kept,
            left_out: bytes as u64,
        }
    }

    /// Returns the offered answers. A question for information has none.
    pub fn options(&self) -> &[PermissionOption] {
        if let EventKind::Request(RequestEvent::PermissionRequested { options, .. }) = &self.event.kind {
            options
        } else {
            &[]
        }
    }

    /// Returns the event as clients receive it if the log's cannot be read: it says that the effects are unknown.
    pub fn damaged(&self) -> Event {
        let mut event = self.event.clone();
        if let EventKind::Request(RequestEvent::PermissionRequested { subjects, .. }) = &mut event.kind {
            let what = "the log's record of what it would do is damaged".to_owned();
            *subjects = [CallSubject::Unknown { what }].into();
        }
        event
    }
}

/// Returns the bytes of the parts that no answer needs: the agent's params, and what clients show of the call.
fn long_bytes(event: &Event) -> usize {
    let length = |json: Option<&RawJson>| json.map_or(0, |json| json.get().len());
    let shown =
        if let EventKind::Request(RequestEvent::PermissionRequested { subjects, whole, .. }) = &event.kind {
            bytes_of(subjects) + length(whole.as_deref())
        } else {
            0
        };
    length(event.raw.as_ref()) + length(event.raw_params.as_ref()) + shown
}

fn bytes_of(subjects: &[CallSubject]) -> usize {
    subjects.iter().map(CallSubject::bytes).sum()
}
