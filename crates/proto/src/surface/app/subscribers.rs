//! Who else follows a thread.

use acpd_model::event::ClientOrigin;
use acpd_model::{Millis, RawJson, ThreadId};

use super::encode::Frame;
use crate::wire::{self, notification};

/// Somebody who follows a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// Who.
    pub who: ClientOrigin,
    /// Whether it is asked what the agent asks.
    pub may_answer: bool,
}

/// All but one of those who follow a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherSubscribers {
    /// Those of whom one is told.
    pub told: Vec<Subscriber>,
    /// How many more there are.
    pub more: usize,
}

/// The frame that tells one subscriber who the others are. It has no `seq`.
pub fn subscribers_frame(thread: ThreadId, at: Millis, others: &OtherSubscribers) -> Frame {
    const METHOD: &str = "thread/subscribers/changed";
    let told = others.told.iter();
    let told: Vec<RawJson> = told
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
        params.list("others", &told).put("more", &others.more);
    });
    Frame::without_event(METHOD, out)
}
