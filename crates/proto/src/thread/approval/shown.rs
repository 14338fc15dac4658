//! What a person is shown of a call: what is decided on, with the changes that the call shows, within bounds.

use acpd_model::RawJson;
use acpd_model::limits::QUESTION_BYTES;
use acpd_model::subject::CallSubject;

use crate::projection::{ToolView, is_computed, unified_diff};
use crate::wire::members;
use acpd_policy::{Request, ShownChange};

/// So many bytes a part counts beside its text.
const PART_BYTES: usize = 64;

/// Adds the changes that a tool call shows to the files that it is about.
pub(super) fn show_changes(request: &mut Request, call: &RawJson) {
    let mut view = ToolView::default();
    view.apply(call);
    let diffs = view.diffs();
    let changes: Vec<_> = diffs
        .iter()
        .map(|diff| ShownChange {
            path: &diff.path,
            old: diff.old_text.as_deref(),
            new: &diff.new_text,
            diff: unified_diff(&diff.path, &diff.before(), &diff.new_text),
            is_complete: is_computed(&diff.before(), &diff.new_text),
        })
        .collect();
    request.show_changes(&changes);
}

/// The whole call, where it says something to people that the question does not repeat, and has room in a question.
pub(super) fn kept_call(whole: &RawJson, question: &RawJson) -> Option<RawJson> {
    const READ: [&str; 5] = ["title", "kind", "content", "locations", "rawInput"];
    let mut repeated = Vec::new();
    members(question, |key, value| {
        if value != "null" {
            repeated.push(key);
        }
    });
    let mut says_more = false;
    members(whole, |key, _| {
        says_more |= READ.contains(&key) && !repeated.contains(&key)
    });
    (says_more && whole.get().len() <= QUESTION_BYTES).then(|| whole.clone())
}

/// Whether the call shows diffs that the question does not repeat.
pub(super) fn keeps_content(whole: &RawJson, question: &RawJson) -> bool {
    let mut repeats = false;
    members(question, |key, value| {
        repeats |= key == "content" && value != "null"
    });
    let mut view = ToolView::default();
    view.apply(whole);
    !repeats && !view.diffs().is_empty()
}

/// The parts of a call. Nothing is cut: a part that is too long is named instead, since what is missing at its end may be what
/// matters. A yes then covers no text.
pub(super) fn subjects(request: &mut Request) -> Vec<CallSubject> {
    let mut room = QUESTION_BYTES;
    let (mut shown, mut left_out) = (Vec::new(), 0_usize);
    for part in request.shown() {
        let bytes = part.bytes();
        match room.checked_sub(bytes + PART_BYTES) {
            Some(rest) => {
                room = rest;
                shown.push(part);
            }
            None => left_out += bytes,
        }
    }
    if left_out > 0 {
        request.forget_texts();
        let what = format!("{left_out} bytes of what it would do are too long to be shown here");
        shown.push(CallSubject::Unknown { what });
    }
    shown
}
