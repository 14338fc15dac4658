//! One file per API: parses requests, and builds whole or streamed responses.
//!
//! In: the body of a request. Out: an [`Ask`]; a JSON value or [`Step`]s for a [`Reply`]. Never: decides the content of
//! a response. Members that are missing or of the wrong type count as absent, so no body is an error.

pub mod anthropic;
pub mod augment;
pub mod chat;
pub mod gemini;
pub mod responses;

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::reply::{Reply, Step};

/// A supported API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
    /// Gemini generateContent.
    Gemini,
    /// Augment's service.
    Augment,
}

impl Api {
    /// Parses a request.
    pub fn read(self, body: &Value) -> Ask {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(body),
            Self::Augment => augment::read(body),
        }
    }

    /// Builds a response in one piece. `number` makes its ids unique.
    pub fn whole(self, ask: &Ask, reply: &Reply, number: u64) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(ask, reply, number),
            Self::Responses => responses::whole(ask, reply, number),
            Self::Chat => chat::whole(ask, reply, number),
            Self::Gemini => gemini::whole(ask, reply),
            Self::Augment => augment::whole(reply, number),
        }
    }

    /// Builds a streamed response.
    pub fn steps(self, ask: &Ask, reply: &Reply, number: u64) -> Vec<Step> {
        match self {
            Self::Anthropic => anthropic::steps(ask, reply, number),
            Self::Responses => responses::steps(ask, reply, number),
            Self::Chat => chat::steps(ask, reply, number),
            Self::Gemini => gemini::steps(ask, reply),
            Self::Augment => augment::steps(reply, number),
        }
    }

    /// Returns the media type of a streamed response.
    pub fn stream_type(self) -> &'static str {
        match self {
            Self::Augment => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// Builds an error response.
    pub fn error(self, message: &str) -> Value {
        match self {
            Self::Anthropic => {
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
            }
            Self::Responses | Self::Chat => {
                json!({ "error": { "type": "invalid_request_error", "message": message, "code": null } })
            }
            Self::Gemini => {
                json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT", "message": message } })
            }
            Self::Augment => json!({ "error": message }),
        }
    }
}

/// Token count of everything.
const TOKENS: u64 = 10;

#[cfg(test)]
pub(crate) mod testing {
    use serde_json::{Value, json};

    use crate::ask::Ask;
    use crate::reply::{Input, Reply, Step};

    pub fn asked(model: &str) -> Ask {
        Ask {
            model: model.into(),
            stream: true,
            ..Ask::default()
        }
    }

    pub fn call() -> Reply {
        Reply::Call {
            name: "bash".into(),
            input: Input::Arguments(json!({ "command": "ls" })),
        }
    }

    /// Parses the stream as a client does: each event's name and data.
    pub fn events(steps: &[Step]) -> Vec<(String, Value)> {
        let bytes: Vec<u8> = steps.iter().flat_map(|step| step.bytes.to_vec()).collect();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.ends_with("\n\n"), "the last event is not ended");
        let blocks = text.split("\n\n").filter(|block| !block.is_empty());
        blocks
            .map(|block| {
                let lines: Vec<_> = block.lines().collect();
                let (name, data) = match lines[..] {
                    [name, data] => (name.strip_prefix("event: ").unwrap(), data),
                    [data] => ("", data),
                    _ => panic!("{block}"),
                };
                let data = data.strip_prefix("data: ").unwrap();
                let data = serde_json::from_str(data).unwrap_or_else(|_| data.into());
                (name.to_owned(), data)
            })
            .collect()
    }

    /// Returns malformed request bodies.
    pub fn nonsense() -> Vec<Value> {
        vec![
            Value::Null,
            json!([]),
            json!("text"),
            json!({ "messages": 1, "input": {}, "contents": "x", "tools": { "a": 1 } }),
            json!({ "messages": [null, 1, { "content": [null, 3, { "type": 4 }] }] }),
            json!({ "input": [null, 1, { "type": "message", "content": 4 }], "tools": [null, { "type": 1 }] }),
            json!({ "nodes": [null, { "type": 0 }, { "type": 1, "tool_result_node": 2 }], "chat_history": [1], "message": 3 }),
            json!({ "contents": [null, { "parts": [null, { "functionResponse": 1 }] }], "tools": [1] }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Api; 5] = [
        Api::Anthropic,
        Api::Responses,
        Api::Chat,
        Api::Gemini,
        Api::Augment,
    ];

    #[test]
    fn nonsense_is_answered_by_every_api() {
        for api in ALL {
            for body in testing::nonsense() {
                let ask = api.read(&body);
                let reply = crate::script::reply(&ask);
                assert_eq!(reply.whole_text(), "Ready.", "{api:?} {body}");
                assert!(api.whole(&ask, &reply, 1).is_object());
                assert!(!api.steps(&ask, &reply, 1).is_empty());
            }
        }
    }

    #[test]
    fn a_slow_answer_pauses_before_each_piece_and_nowhere_else() {
        for api in ALL {
            let slow = Reply::Text {
                pieces: vec!["a".into(), "b".into()],
                slow: true,
            };
            let steps = api.steps(&testing::asked("m"), &slow, 1);
            assert_eq!(steps.iter().filter(|step| step.pause).count(), 2, "{api:?}");
            let fast = api.steps(&testing::asked("m"), &Reply::text("Hello."), 1);
            assert!(fast.iter().all(|step| !step.pause), "{api:?}");
        }
    }
}
