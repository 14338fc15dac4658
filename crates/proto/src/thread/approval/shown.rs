//! The parts of a call that a user sees: the subjects of the decision, with the changes that the call shows, within
//! limits.

use acpd_model::RawJson;
use acpd_model::limits::QUESTION_BYTES;
use acpd_model::subject::CallSubject;

use crate::projection::{ToolView, is_computed, unified_diff};
use crate::wire::{decoded, members};
use acpd_policy::{Request, ShownChange};

/// The size that each part counts in addition to its text, in bytes.
const PART_BYTES: usize = 64;

/// Adds the changes that a tool call shows to the files of the request.
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

/// Returns the whole call, if it contains information for users that the question does not repeat, and fits into a
/// question.
pub(super) fn kept_call(whole: &RawJson, question: &RawJson) -> Option<RawJson> {
    const READ: [&str; 5] = ["title", "kind", "content", "locations", "rawInput"];
    let mut repeated = Vec::new();
    members(question, |key, value| {
        if value != "null" {
            repeated.push(decoded(key));
        }
    });
    let mut says_more = false;
    members(whole, |key, _| {
        let name = decoded(key);
        says_more |= READ.contains(&&*name) && !repeated.contains(&name)
    });
    (says_more && whole.get().len() <= QUESTION_BYTES).then(|| whole.clone())
}

/// Returns whether the call shows diffs that the question does not repeat.
pub(super) fn keeps_content(whole: &RawJson, question: &RawJson) -> bool {
    let mut repeats = false;
    members(question, |key, value| {
        repeats |= decoded(key) == "content" && value != "null"
    });
    let mut view = ToolView::default();
    view.apply(whole);
    !repeats && !view.diffs().is_empty()
}

/// Returns the parts of a call. No part is truncated, because its missing end may be what matters. A part that is too
/// long is replaced by its size, and an allowed call then covers no text.
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
