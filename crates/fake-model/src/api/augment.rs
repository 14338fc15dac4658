//! Augment's service: `POST /chat-stream`, a line of JSON for each piece of the response.

use serde_json::{Value, json};

use crate::ask::{Ask, Said, Tool, list, text};
use crate::reply::{Reply, Step, Steps};

/// The kinds of a part of a request.
const TEXT: u64 = 0;
const TOOL_RESULT: u64 = 1;
/// The kinds of a part of a response.
const WHOLE_TEXT: u64 = 0;
const TOOL_USE: u64 = 5;
/// Why a response ends.
const END_TURN: u64 = 1;
const TOOL_USE_REQUESTED: u64 = 3;

/// Parses a request.
pub fn read(body: &Value) -> Ask {
    let earlier = list(&body["chat_history"]).iter();
    let earlier = earlier.flat_map(|exchange| said(&exchange["request_nodes"], &exchange["request_message"]));
    let tools = list(&body["tool_definitions"]).iter().map(|tool| Tool {
        name: text(&tool["name"]),
        schema: tool["input_schema_json"]
            .as_str()
            .and_then(|schema| serde_json::from_str(schema).ok()),
    });
    Ask {
        said: earlier.chain(said(&body["nodes"], &body["message"])).collect(),
        tools: tools.collect(),
        json: None,
        stream: true,
        model: text(&body["model"]),
    }
}

/// Returns what one request says: its parts, or its message if it has none.
fn said(nodes: &Value, message: &Value) -> Vec<Said> {
    let parts = list(nodes).iter();
    let mut said: Vec<_> = parts
        .filter_map(|node| match node["type"].as_u64()? {
            TEXT => Some(Said::Person(text(&node["text_node"]["content"]))),
            TOOL_RESULT => Some(Said::Result(text(&node["tool_result_node"]["content"]))),
            _ => None,
        })
        .collect();
    if let (true, Some(message)) = (said.is_empty(), message.as_str()) {
        said.push(Said::Person(message.to_owned()));
    }
    said
}

/// Returns the parts of a response, and why it ends.
fn end(reply: &Reply, number: u64) -> Value {
    let (node, reason) = match reply {
        Reply::Text { .. } => (
            json!({ "id": 1, "type": WHOLE_TEXT, "content": reply.whole_text() }),
            END_TURN,
        ),
        Reply::Call { name, input } => {
            let call = json!({
                "tool_use_id": format!("call_{number}"),
                "tool_name": name,
                "input_json": input.as_object().to_string(),
            });
            let node = json!({ "id": 1, "type": TOOL_USE, "content": "", "tool_use": call });
            (node, TOOL_USE_REQUESTED)
        }
    };
    json!({ "text": "", "nodes": [node], "stop_reason": reason })
}

/// Builds a response in one piece.
pub fn whole(reply: &Reply, number: u64) -> Value {
    let mut whole = end(reply, number);
    whole["text"] = reply.whole_text().into();
    whole
}

/// Builds a streamed response.
pub fn steps(reply: &Reply, number: u64) -> Vec<Step> {
    let mut steps = Steps::default();
    if let Reply::Text { pieces, slow } = reply {
        for piece in pieces {
            steps.line(&json!({ "text": piece }));
            if *slow {
                steps.pause_before_last();
            }
        }
    }
    steps.line(&end(reply, number));
    steps.into_vec()
}

#[cfg(test)]
mod tests {
    use super::super::testing::call;
    use super::*;

    fn lines(steps: &[Step]) -> Vec<Value> {
        let bytes: Vec<u8> = steps.iter().flat_map(|step| step.bytes.to_vec()).collect();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.ends_with('\n'), "the last line is not ended");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn a_request_is_read() {
        let ask = read(&json!({
            "model": "m",
            "message": "",
            "chat_history": [
                { "request_message": "say one" },
                { "request_message": "", "request_nodes": [{ "type": 0, "text_node": { "content": "run ls" } }] },
            ],
            "nodes": [
                { "type": 4, "ide_state_node": {} },
                { "type": 1, "tool_result_node": { "content": "ok" } },
            ],
            "tool_definitions": [{ "name": "launch-process", "input_schema_json": "{\"type\":\"object\"}" }],
        }));
        assert_eq!(
            ask.said,
            [
                Said::Person("say one".into()),
                Said::Person("run ls".into()),
                Said::Result("ok".into())
            ]
        );
        assert_eq!(ask.tools[0].name, "launch-process");
        assert_eq!(ask.tools[0].schema, Some(json!({ "type": "object" })));
        assert!(ask.stream);
    }

    #[test]
    fn text_is_framed() {
        let lines = lines(&steps(&Reply::text("Hello, world!"), 7));
        let said: String = lines.iter().filter_map(|line| line["text"].as_str()).collect();
        assert_eq!(said, "Hello, world!");
        let end = lines.last().unwrap();
        assert_eq!(
            (&end["stop_reason"], &end["nodes"][0]["content"]),
            (&json!(1), &json!("Hello, world!"))
        );
        assert_eq!(whole(&Reply::text("Hi."), 7)["text"], "Hi.");
    }

    #[test]
    fn a_call_is_framed() {
        let wanted = json!({
            "text": "", "stop_reason": 3,
            "nodes": [{ "id": 1, "type": 5, "content": "", "tool_use": {
                "tool_use_id": "call_7", "tool_name": "bash", "input_json": r#"{"command":"ls"}"#,
            } }],
        });
        assert_eq!(lines(&steps(&call(), 7)), [wanted]);
    }
}
