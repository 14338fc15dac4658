//! Failures of a thread's log.

use acpd_model::{Millis, ThreadId};

use super::encode::Frame;
use super::notifications::Notification;
use super::wire::event::{LogChanged, LogDamaged};
use crate::surface::contract::LostEvents;

/// Returns the frame that says whether a thread's log can be written.
pub fn log_changed_frame(thread: ThreadId, at: Millis, error: Option<&str>) -> Frame {
    Frame::without_event(&Notification::ThreadLogChanged(LogChanged {
        thread_id: thread,
        ts: at,
        error,
    }))
}

/// Returns the frame that takes the place of events that cannot be read.
pub fn log_damaged_frame(thread: ThreadId, at: Millis, lost: &LostEvents) -> Frame {
    Frame::without_event(&Notification::ThreadLogDamaged(LogDamaged {
        thread_id: thread,
        ts: at,
        first_seq: lost.first,
        seq: lost.last,
        reason: &lost.reason,
    }))
}
