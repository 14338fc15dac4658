//! The other clients that follow a thread.

use acpd_model::{Millis, RawJson, ThreadId};

use super::encode::Frame;
use crate::surface::contract::OtherSubscribers;
use crate::wire::{self, notification};

/// Returns the frame that lists the other subscribers for one subscriber. It has no `seq`.
pub fn subscribers_frame(thread: ThreadId, at: Millis, others: &OtherSubscribers) -> Frame {
    const METHOD: &str = "thread/subscribers/changed";
    let listed = others.listed.iter();
    let listed: Vec<RawJson> = listed
        .map(|other| {
            wire::object(|subscriber| {
                subscriber
                    .put("principal", &other.who.principal)
                    .put("client", &other.who.client)
                    .put("mayAnswer", &other.may_answer);
            })
        })
        .collect();
    let mut out = Vec::new();
    notification(&mut out, METHOD, |params| {
        params.put("threadId", &thread).put("ts", &at);
        params.list("others", &listed).put("more", &others.more);
    });
    Frame::without_event(METHOD, out)
}
