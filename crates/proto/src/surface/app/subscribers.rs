//! Who else follows a thread.

use acpd_model::limits::SUBSCRIBERS_TOLD;
use acpd_model::{Millis, RawJson, ThreadId};

use super::encode::Frame;
use crate::wire::{self, notification};

/// Somebody who follows a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// Whose credentials.
    pub principal: String,
    /// The program's name for itself.
    pub client: String,
    /// Whether it is asked what the agent asks.
    pub may_answer: bool,
}

/// The frame that tells one subscriber who the others are: those who are asked first. It has no `seq`.
pub fn subscribers_frame(thread: ThreadId, at: Millis, mut others: Vec<Subscriber>) -> Frame {
    const METHOD: &str = "thread/subscribers/changed";
    others.sort_by_key(|other| !other.may_answer);
    let more = others.len().saturating_sub(SUBSCRIBERS_TOLD);
    let told = others.iter().take(SUBSCRIBERS_TOLD);
    let told: Vec<RawJson> = told
        .map(|other| {
            wire::object(|subscriber| {
                subscriber
                    .put("principal", &other.principal)
                    .put("client", &other.client)
                    .put("mayAnswer", &other.may_answer);
            })
        })
        .collect();
    let mut out = Vec::new();
    notification(&mut out, METHOD, |params| {
        params.put("threadId", &thread).put("ts", &at);
        params.list("others", &told).put("more", &more);
    });
    Frame::without_event(METHOD, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_are_asked_are_told_of_first_and_of_too_many_their_number() {
        let other = |n: usize| Subscriber {
            principal: n.to_string(),
            client: "test".to_owned(),
            may_answer: n == 39,
        };
        let frame = subscribers_frame(ThreadId(uuid::Uuid::nil()), 7, (0..40).map(other).collect());
        let told: serde_json::Value = serde_json::from_slice(&frame.text).unwrap();
        let others = told["params"]["others"].as_array().unwrap();
        assert_eq!(others.len(), SUBSCRIBERS_TOLD);
        assert_eq!(
            (&others[0]["principal"], &others[1]["principal"]),
            (&"39".into(), &"0".into())
        );
        assert_eq!(told["params"]["more"], 40 - SUBSCRIBERS_TOLD);
    }
}
