//! `OpenAI` Responses: `POST /v1/responses`.

use serde_json::{Value, json};

use super::TOKENS;
use crate::ask::{Ask, Said, Tool, list, result, text, texts};
use crate::reply::{Input, Reply, Step, Steps};

/// Parses a request.
pub fn read(body: &Value) -> Ask {
    let mut said = Vec::new();
    if let Some(text) = body["input"].as_str() {
        said.push(Said::Person(text.to_owned()));
    }
    for item in list(&body["input"]) {
        match item["type"].as_str() {
            Some("function_call_output" | "custom_tool_call_output") => said.push(result(&item["output"])),
            Some("message") | None if item["role"] == "user" => {
                said.extend(texts(&item["content"]).into_iter().map(Said::Person));
            }
            _ => {}
        }
    }
    let tools = list(&body["tools"]).iter().filter_map(|tool| {
        let schema = match tool["type"].as_str()? {
            "function" => Some(tool["parameters"].clone()),
            "custom" => None,
            _ => return None,
        };
        Some(Tool {
            name: text(&tool["name"]),
            schema,
        })
    });
    let format = &body["text"]["format"];
    Ask {
        said,
        tools: tools.collect(),
        json: (format["type"] == "json_schema").then(|| format["schema"].clone()),
        stream: body["stream"] == true,
        model: text(&body["model"]),
    }
}

fn item(reply: &Reply, number: u64) -> Value {
    match reply {
        Reply::Text { .. } => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": reply.whole_text(), "annotations": [] }],
        }),
        Reply::Call {
            name,
            input: Input::Arguments(arguments),
        } => json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "status": "completed", "name": name, "arguments": arguments.to_string(),
        }),
        Reply::Call {
            name,
            input: Input::Free(text),
        } => json!({
            "type": "custom_tool_call", "id": format!("ctc_{number}"), "call_id": format!("call_{number}"),
            "status": "completed", "name": name, "input": text,
        }),
    }
}

fn response(ask: &Ask, number: u64, status: &str, output: &[Value]) -> Value {
    let usage = (status == "completed").then(|| {
        json!({
            "input_tokens": TOKENS, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": TOKENS, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": 2 * TOKENS,
        })
    });
    json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": ask.model,
        "status": status, "output": output, "usage": usage, "error": null, "incomplete_details": null,
    })
}

/// Builds a response in one piece.
pub fn whole(ask: &Ask, reply: &Reply, number: u64) -> Value {
    response(ask, number, "completed", &[item(reply, number)])
}

/// The numbered events of a response.
struct Numbered {
    steps: Steps,
    next: u64,
}

impl Numbered {
    fn send(&mut self, kind: &str, mut data: Value) {
        data["type"] = kind.into();
        data["sequence_number"] = self.next.into();
        self.next += 1;
        self.steps.named(kind, &data);
    }
}

/// Builds a streamed response.
pub fn steps(ask: &Ask, reply: &Reply, number: u64) -> Vec<Step> {
    let mut out = Numbered {
        steps: Steps::default(),
        next: 0,
    };
    let done = item(reply, number);
    let id = done["id"].clone();
    for kind in ["response.created", "response.in_progress"] {
        out.send(
            kind,
            json!({ "response": response(ask, number, "in_progress", &[]) }),
        );
    }
    let mut begun = done.clone();
    begun["status"] = "in_progress".into();
    for (member, empty) in [
        ("content", json!([])),
        ("arguments", json!("")),
        ("input", json!("")),
    ] {
        if begun.get(member).is_some() {
            begun[member] = empty;
        }
    }
    out.send(
        "response.output_item.added",
        json!({ "output_index": 0, "item": begun }),
    );
    match reply {
        Reply::Text { pieces, slow } => {
            let at = |more: &Value| {
                let mut data = json!({ "item_id": id, "output_index": 0, "content_index": 0 });
                for (name, value) in more.as_object().into_iter().flatten() {
                    data[name] = value.clone();
                }
                data
            };
            let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
            out.send("response.content_part.added", at(&json!({ "part": empty })));
            for piece in pieces {
                out.send("response.output_text.delta", at(&json!({ "delta": piece })));
                if *slow {
                    out.steps.pause_before_last();
                }
            }
            out.send(
                "response.output_text.done",
                at(&json!({ "text": reply.whole_text() })),
            );
            out.send(
                "response.content_part.done",
                at(&json!({ "part": done["content"][0] })),
            );
        }
        Reply::Call { input, .. } => {
            let (kind, member) = match input {
                Input::Arguments(_) => ("response.function_call_arguments", "arguments"),
                Input::Free(_) => ("response.custom_tool_call_input", "input"),
            };
            let text = input.as_text();
            out.send(
                &format!("{kind}.delta"),
                json!({ "item_id": id, "output_index": 0, "delta": text }),
            );
            let mut data = json!({ "item_id": id, "output_index": 0 });
            data[member] = text.into();
            out.send(&format!("{kind}.done"), data);
        }
    }
    out.send(
        "response.output_item.done",
        json!({ "output_index": 0, "item": done }),
    );
    out.send(
        "response.completed",
        json!({ "response": whole(ask, reply, number) }),
    );
    out.steps.into_vec()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, call, events};
    use super::*;

    fn names(events: &[(String, Value)]) -> Vec<&str> {
        events.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_request_is_read() {
        let ask = read(&json!({
            "model": "gpt", "stream": true,
            "input": [
                { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "say 0" }] },
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "say one" }] },
                { "role": "user", "content": "say two" },
                { "type": "function_call_output", "call_id": "c", "output": "ok" },
                { "type": "custom_tool_call_output", "call_id": "c", "output": { "exit": 0 } },
            ],
            "tools": [
                { "type": "function", "name": "exec_command", "parameters": { "type": "object" } },
                { "type": "custom", "name": "apply_patch", "format": { "type": "grammar" } },
                { "type": "web_search" },
            ],
            "text": { "format": { "type": "json_schema", "schema": { "type": "object" } } },
        }));
        assert_eq!(
            ask.said,
            [
                Said::Person("say one".into()),
                Said::Person("say two".into()),
                Said::Result("ok".into()),
                Said::Result(r#"{"exit":0}"#.into()),
            ]
        );
        assert_eq!(ask.tools.len(), 2);
        assert_eq!(ask.tools[1].schema, None);
        assert_eq!(ask.json, Some(json!({ "type": "object" })));
        assert_eq!(
            read(&json!({ "input": "say x" })).said,
            [Said::Person("say x".into())]
        );
    }

    #[test]
    fn text_is_framed() {
        let events = events(&steps(&asked("gpt"), &Reply::text("Hello, world!"), 7));
        assert_eq!(
            names(&events),
            [
                "response.created",
                "response.in_progress",
                "response.output_item.added",
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "response.output_item.done",
                "response.completed",
            ]
        );
        for (number, (name, data)) in events.iter().enumerate() {
            assert_eq!(
                (&data["type"], &data["sequence_number"]),
                (&json!(name), &json!(number))
            );
        }
        assert_eq!(events[2].1["item"]["content"], json!([]));
        assert_eq!(events[4].1["delta"], "Hello, world");
        assert_eq!(events[9].1["response"]["output"], json!([events[8].1["item"]]));
        assert_eq!(events[9].1["response"]["usage"]["total_tokens"], 20);
        assert_eq!(events[0].1["response"]["usage"], Value::Null);
    }

    #[test]
    fn a_call_is_framed() {
        let events = events(&steps(&asked("gpt"), &call(), 7));
        assert_eq!(
            names(&events)[2..6],
            [
                "response.output_item.added",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "response.output_item.done",
            ]
        );
        assert_eq!(events[2].1["item"]["arguments"], "");
        assert_eq!(
            events[5].1["item"],
            json!({
                "type": "function_call", "id": "fc_7", "call_id": "call_7", "status": "completed",
                "name": "bash", "arguments": r#"{"command":"ls"}"#,
            })
        );
    }

    #[test]
    fn a_call_with_free_text_is_framed() {
        let free = Reply::Call {
            name: "apply_patch".into(),
            input: Input::Free("*** Begin Patch".into()),
        };
        let events = events(&steps(&asked("gpt"), &free, 7));
        assert_eq!(events[3].0, "response.custom_tool_call_input.delta");
        assert_eq!(events[4].1["input"], "*** Begin Patch");
        assert_eq!(events[5].1["item"]["type"], "custom_tool_call");
        assert_eq!(events[5].1["item"]["input"], "*** Begin Patch");
    }
}
