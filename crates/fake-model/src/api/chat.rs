//! `OpenAI` Chat Completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::TOKENS;
use crate::ask::{Ask, Said, Tool, list, result, text, texts};
use crate::reply::{Reply, Step, Steps};

/// Parses a request.
pub fn read(body: &Value) -> Ask {
    let mut said = Vec::new();
    for message in list(&body["messages"]) {
        match message["role"].as_str() {
            Some("user") => said.extend(texts(&message["content"]).into_iter().map(Said::Person)),
            Some("tool") => said.push(result(&message["content"])),
            _ => {}
        }
    }
    let tools = list(&body["tools"]).iter().filter_map(|tool| {
        let function = tool.get("function")?;
        Some(Tool {
            name: text(&function["name"]),
            schema: Some(function["parameters"].clone()),
        })
    });
    let format = &body["response_format"];
    let json = match format["type"].as_str() {
        Some("json_schema") => Some(format["json_schema"]["schema"].clone()),
        Some("json_object") => Some(json!({ "type": "object" })),
        _ => None,
    };
    Ask {
        said,
        tools: tools.collect(),
        json,
        stream: body["stream"] == true,
        model: text(&body["model"]),
    }
}

fn calls(reply: &Reply, number: u64) -> Option<Value> {
    match reply {
        Reply::Text { .. } => None,
        Reply::Call { name, input } => Some(json!([{
            "index": 0,
            "id": format!("call_{number}"),
            "type": "function",
            "function": { "name": name, "arguments": input.as_object().to_string() },
        }])),
    }
}

fn finish(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text { .. } => "stop",
        Reply::Call { .. } => "tool_calls",
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": TOKENS, "completion_tokens": TOKENS, "total_tokens": 2 * TOKENS })
}

fn frame(ask: &Ask, number: u64, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{number}"), "object": object, "created": 1, "model": ask.model,
        "choices": choices,
    })
}

/// Builds a response in one piece.
pub fn whole(ask: &Ask, reply: &Reply, number: u64) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.whole_text() });
    if let Some(calls) = calls(reply, number) {
        message["content"] = Value::Null;
        message["tool_calls"] = calls;
    }
    let choice = json!([{ "index": 0, "message": message, "finish_reason": finish(reply) }]);
    let mut whole = frame(ask, number, "chat.completion", &choice);
    whole["usage"] = usage();
    whole
}

/// Builds a streamed response.
pub fn steps(ask: &Ask, reply: &Reply, number: u64) -> Vec<Step> {
    let mut steps = Steps::default();
    let chunk = |delta: &Value, finish: Option<&str>| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        frame(ask, number, "chat.completion.chunk", &choices)
    };
    steps.data(&chunk(&json!({ "role": "assistant", "content": "" }), None));
    match reply {
        Reply::Text { pieces, slow } => {
            for piece in pieces {
                steps.data(&chunk(&json!({ "content": piece }), None));
                if *slow {
                    steps.pause_before_last();
                }
            }
        }
        Reply::Call { .. } => {
            let calls = calls(reply, number);
            steps.data(&chunk(&json!({ "tool_calls": calls }), None));
        }
    }
    steps.data(&chunk(&json!({}), Some(finish(reply))));
    let mut last = frame(ask, number, "chat.completion.chunk", &json!([]));
    last["usage"] = usage();
    steps.data(&last);
    steps.raw("[DONE]");
    steps.into_vec()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, call, events};
    use super::*;

    #[test]
    fn a_request_is_read() {
        let ask = read(&json!({
            "model": "m",
            "messages": [
                { "role": "system", "content": "say nothing" },
                { "role": "user", "content": "say one" },
                { "role": "assistant", "content": null },
                { "role": "tool", "tool_call_id": "c", "content": "ok" },
                { "role": "user", "content": [{ "type": "text", "text": "say two" }] },
            ],
            "tools": [{ "type": "function", "function": { "name": "bash", "parameters": { "type": "object" } } }],
            "response_format": { "type": "json_schema", "json_schema": { "schema": { "type": "object" } } },
        }));
        assert_eq!(
            ask.said,
            [
                Said::Person("say one".into()),
                Said::Result("ok".into()),
                Said::Person("say two".into())
            ]
        );
        assert_eq!(ask.tools[0].name, "bash");
        assert_eq!(ask.json, Some(json!({ "type": "object" })));
        assert!(!ask.stream);
    }

    #[test]
    fn text_is_framed() {
        let events = events(&steps(&asked("m"), &Reply::text("Hello, world!"), 7));
        let content: String = events
            .iter()
            .filter_map(|(_, data)| data["choices"][0]["delta"]["content"].as_str())
            .collect();
        assert_eq!(content, "Hello, world!");
        assert_eq!(
            events[0].1,
            json!({
                "id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [
                    { "index": 0, "delta": { "role": "assistant", "content": "" }, "finish_reason": null },
                ],
            })
        );
        let end = events.len();
        assert_eq!(events[end - 3].1["choices"][0]["finish_reason"], "stop");
        assert_eq!(events[end - 2].1["usage"]["total_tokens"], 20);
        assert_eq!(events[end - 1].1, "[DONE]");
    }

    #[test]
    fn a_call_is_framed() {
        let wanted = json!([{
            "index": 0, "id": "call_7", "type": "function",
            "function": { "name": "bash", "arguments": r#"{"command":"ls"}"# },
        }]);
        let events = events(&steps(&asked("m"), &call(), 7));
        assert_eq!(events[1].1["choices"][0]["delta"]["tool_calls"], wanted);
        assert_eq!(events[2].1["choices"][0]["finish_reason"], "tool_calls");
        let whole = whole(&asked("m"), &call(), 7);
        assert_eq!(whole["choices"][0]["message"]["tool_calls"], wanted);
        assert_eq!(whole["object"], "chat.completion");
    }
}
