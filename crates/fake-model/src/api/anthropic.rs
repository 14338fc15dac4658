//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::TOKENS;
use crate::ask::{Ask, Said, Tool, list, result, text};
use crate::reply::{Reply, Step, Steps};

/// Parses a request.
pub fn read(body: &Value) -> Ask {
    let mut said = Vec::new();
    for message in list(&body["messages"]) {
        if message["role"] != "user" {
            continue;
        }
        match &message["content"] {
            Value::String(text) => said.push(Said::Person(text.clone())),
            blocks => said.extend(list(blocks).iter().filter_map(|block| match &block["type"] {
                kind if kind == "text" => Some(Said::Person(text(&block["text"]))),
                kind if kind == "tool_result" => Some(result(&block["content"])),
                _ => None,
            })),
        }
    }
    let tools = list(&body["tools"]).iter().filter_map(|tool| {
        // Tools that run on the server have a type and no schema.
        let schema = tool.get("input_schema")?;
        Some(Tool {
            name: text(&tool["name"]),
            schema: Some(schema.clone()),
        })
    });
    let format = [&body["output_config"]["format"], &body["output_format"]];
    Ask {
        said,
        tools: tools.collect(),
        json: format.iter().find_map(|format| format.get("schema").cloned()),
        stream: body["stream"] == true,
        model: text(&body["model"]),
    }
}

fn block(reply: &Reply, number: u64) -> Value {
    match reply {
        Reply::Text { .. } => json!({ "type": "text", "text": reply.whole_text() }),
        Reply::Call { name, input } => {
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input.as_object() })
        }
    }
}

fn stop(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text { .. } => "end_turn",
        Reply::Call { .. } => "tool_use",
    }
}

fn message(ask: &Ask, number: u64, content: &Value, stop: Option<&str>) -> Value {
    json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": { "input_tokens": TOKENS, "output_tokens": TOKENS },
    })
}

/// Builds a response in one piece.
pub fn whole(ask: &Ask, reply: &Reply, number: u64) -> Value {
    message(ask, number, &json!([block(reply, number)]), Some(stop(reply)))
}

/// Builds a streamed response.
pub fn steps(ask: &Ask, reply: &Reply, number: u64) -> Vec<Step> {
    let mut steps = Steps::default();
    let mut send = |data: Value| steps.named(&text(&data["type"]), &data);
    send(json!({ "type": "message_start", "message": message(ask, number, &json!([]), None) }));
    let mut begun = block(reply, number);
    match reply {
        Reply::Text { .. } => begun["text"] = "".into(),
        Reply::Call { .. } => begun["input"] = json!({}),
    }
    send(json!({ "type": "content_block_start", "index": 0, "content_block": begun }));
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    match reply {
        Reply::Text { pieces, slow } => {
            for piece in pieces {
                steps.named(
                    "content_block_delta",
                    &delta(json!({ "type": "text_delta", "text": piece })),
                );
                if *slow {
                    steps.pause_before_last();
                }
            }
        }
        Reply::Call { input, .. } => {
            let input = input.as_object().to_string();
            send(delta(
                json!({ "type": "input_json_delta", "partial_json": input }),
            ));
        }
    }
    let mut send = |data: Value| steps.named(&text(&data["type"]), &data);
    send(json!({ "type": "content_block_stop", "index": 0 }));
    send(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop(reply), "stop_sequence": null },
        "usage": { "output_tokens": TOKENS },
    }));
    send(json!({ "type": "message_stop" }));
    steps.into_vec()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, call, events};
    use super::*;

    #[test]
    fn a_request_is_read() {
        let ask = read(&json!({
            "model": "claude", "stream": true,
            "messages": [
                { "role": "user", "content": "say one" },
                { "role": "assistant", "content": [{ "type": "text", "text": "one" }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": "ok" }] },
                    { "type": "text", "text": "say two" },
                ] },
            ],
            "tools": [
                { "name": "Bash", "input_schema": { "type": "object" } },
                { "type": "web_search_20250305", "name": "web_search" },
            ],
            "output_config": { "format": { "type": "json_schema", "schema": { "type": "object" } } },
        }));
        assert_eq!(
            ask.said,
            [
                Said::Person("say one".into()),
                Said::Result("ok".into()),
                Said::Person("say two".into())
            ]
        );
        assert_eq!(ask.tools.len(), 1);
        assert_eq!(ask.json, Some(json!({ "type": "object" })));
        assert!(ask.stream);
    }

    #[test]
    fn text_is_framed() {
        let events = events(&steps(&asked("claude"), &Reply::text("Hello, world!"), 7));
        let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
        assert_eq!(
            events[0].1["message"],
            json!({
                "id": "msg_7", "type": "message", "role": "assistant", "model": "claude", "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 10 },
            })
        );
        assert_eq!(
            events[1].1["content_block"],
            json!({ "type": "text", "text": "" })
        );
        assert_eq!(
            events[2].1["delta"],
            json!({ "type": "text_delta", "text": "Hello, world" })
        );
        assert_eq!(events[5].1["delta"]["stop_reason"], "end_turn");
    }

    #[test]
    fn a_call_is_framed() {
        let events = events(&steps(&asked("claude"), &call(), 7));
        assert_eq!(
            events[1].1["content_block"],
            json!({ "type": "tool_use", "id": "toolu_7", "name": "bash", "input": {} })
        );
        assert_eq!(
            events[2].1["delta"],
            json!({ "type": "input_json_delta", "partial_json": r#"{"command":"ls"}"# })
        );
        assert_eq!(events[4].1["delta"]["stop_reason"], "tool_use");
        let whole = whole(&asked("claude"), &call(), 7);
        assert_eq!(whole["content"][0]["input"], json!({ "command": "ls" }));
        assert_eq!(whole["stop_reason"], "tool_use");
    }
}
