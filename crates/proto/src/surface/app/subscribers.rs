//! The other clients that follow a thread.

use acpd_model::{Millis, ThreadId};

use super::encode::Frame;
use super::notifications::Notification;
use super::wire::event::SubscribersChanged;
use crate::surface::contract::OtherSubscribers;

/// Returns the frame that lists the other subscribers for one subscriber. It has no `seq`.
pub fn subscribers_frame(thread: ThreadId, at: Millis, others: &OtherSubscribers) -> Frame {
    Frame::without_event(&Notification::ThreadSubscribersChanged(SubscribersChanged {
        thread_id: thread,
        ts: at,
        others: &others.listed,
        more: others.more,
    }))
}
