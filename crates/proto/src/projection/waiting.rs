//! The question that a thread waits for, as lists show it.

use std::collections::BTreeMap;

use acpd_model::event::PermissionOption;
use acpd_model::limits::{LISTED_QUESTION_BYTES, LISTED_TITLE_BYTES};
use acpd_model::subject::CallSubject;
use acpd_model::{Answerable, EventKind, QuestionType, RequestEvent, WaitingQuestion};

use super::lanes::{Lanes, Subagent};
use super::open_requests::OpenRequest;

/// Returns the oldest of the open questions.
pub(super) fn waiting_question(
    requests: &BTreeMap<u32, OpenRequest>,
    lanes: &Lanes,
) -> Option<Box<WaitingQuestion>> {
    let oldest = requests.values().next()?;
    let (kind, answerable) =
        if let EventKind::Request(RequestEvent::PermissionRequested {
            options, subjects, ..
        }) = &oldest.event.kind
        {
            (QuestionType::Permission, answerable(subjects, options))
        } else {
            (QuestionType::Input, None)
        };
    Some(Box::new(WaitingQuestion {
        request_id: oldest.id,
        kind,
        title: listed_title(&oldest.event.kind)?.to_owned(),
        asker: oldest
            .event
            .lane
            .and_then(|lane| lanes.get(lane))
            .map(Subagent::name),
        answerable,
        more: u32::try_from(requests.len() - 1).unwrap_or(u32::MAX),
        asked_at: Some(oldest.event.at),
    }))
}

/// Returns the title of a question, or its beginning; `None` for any other event.
pub(crate) fn listed_title(question: &EventKind) -> Option<&str> {
    let EventKind::Request(
        RequestEvent::PermissionRequested { title, .. } | RequestEvent::InputRequested { message: title, .. },
    ) = question
    else {
        return None;
    };
    Some(&title[..title.floor_char_boundary(LISTED_TITLE_BYTES)])
}

/// Returns the effects and answers of a permission request if they are short enough to be shown in full.
fn answerable(subjects: &[CallSubject], options: &[PermissionOption]) -> Option<Answerable> {
    let length = |json: serde_json::Result<String>| json.map_or(usize::MAX, |json| json.len());
    let bytes =
        length(serde_json::to_string(subjects)).saturating_add(length(serde_json::to_string(options)));
    // Without a known effect there is nothing that an answer could be about.
    (!subjects.is_empty() && bytes <= LISTED_QUESTION_BYTES).then(|| Answerable {
        subjects: subjects.into(),
        options: options.into(),
    })
}
