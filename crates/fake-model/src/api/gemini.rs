//! Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`.

use serde_json::{Value, json};

use super::TOKENS;
use crate::ask::{Ask, Said, Tool, list, result, text};
use crate::reply::{Reply, Step, Steps};

/// Parses a request. The path contains the model's name and whether to stream.
pub fn read(body: &Value) -> Ask {
    let mut said = Vec::new();
    for content in list(&body["contents"]) {
        if content["role"] == "model" {
            continue;
        }
        said.extend(list(&content["parts"]).iter().filter_map(|part| {
            if let Some(response) = part.get("functionResponse") {
                let response = &response["response"];
                let output = response.get("output").or(response.get("error"));
                return Some(result(output.unwrap_or(response)));
            }
            part["text"].as_str().map(|text| Said::Person(text.to_owned()))
        }));
    }
    let declared = list(&body["tools"])
        .iter()
        .flat_map(|tools| list(&tools["functionDeclarations"]));
    let tools = declared.map(|tool| {
        let schema = tool.get("parametersJsonSchema").or(tool.get("parameters"));
        Tool {
            name: text(&tool["name"]),
            schema: Some(schema.cloned().unwrap_or_default()),
        }
    });
    let config = &body["generationConfig"];
    let schema = config.get("responseJsonSchema").or(config.get("responseSchema"));
    let json =
        (config["responseMimeType"] == "application/json").then(|| schema.cloned().unwrap_or_default());
    Ask {
        said,
        tools: tools.collect(),
        json,
        stream: false,
        model: String::new(),
    }
}

fn frame(ask: &Ask, part: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": [part] } });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({
        "candidates": [candidate],
        "modelVersion": ask.model,
        "usageMetadata": {
            "promptTokenCount": TOKENS, "candidatesTokenCount": TOKENS, "totalTokenCount": 2 * TOKENS,
        },
    })
}

fn part(reply: &Reply) -> Value {
    match reply {
        Reply::Text { .. } => json!({ "text": reply.whole_text() }),
        Reply::Call { name, input } => json!({ "functionCall": { "name": name, "args": input.as_object() } }),
    }
}

/// Builds a response in one piece.
pub fn whole(ask: &Ask, reply: &Reply) -> Value {
    frame(ask, &part(reply), Some("STOP"))
}

/// Builds a streamed response.
pub fn steps(ask: &Ask, reply: &Reply) -> Vec<Step> {
    let mut steps = Steps::default();
    match reply {
        Reply::Text { pieces, slow } => {
            for piece in pieces {
                steps.data(&frame(ask, &json!({ "text": piece }), None));
                if *slow {
                    steps.pause_before_last();
                }
            }
            steps.data(&frame(ask, &json!({ "text": "" }), Some("STOP")));
        }
        Reply::Call { .. } => steps.data(&whole(ask, reply)),
    }
    steps.into_vec()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, call, events};
    use super::*;

    #[test]
    fn a_request_is_read() {
        let ask = read(&json!({
            "contents": [
                { "role": "user", "parts": [{ "text": "say one" }] },
                { "role": "model", "parts": [{ "text": "say nothing" }] },
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "f", "response": { "output": "ok" } } },
                    { "functionResponse": { "name": "f", "response": { "error": "bad" } } },
                ] },
            ],
            "tools": [
                { "functionDeclarations": [{ "name": "a", "parametersJsonSchema": { "type": "object" } }] },
                { "functionDeclarations": [{ "name": "b", "parameters": { "type": "OBJECT" } }] },
            ],
            "generationConfig": { "responseMimeType": "application/json", "responseSchema": { "type": "OBJECT" } },
        }));
        assert_eq!(
            ask.said,
            [
                Said::Person("say one".into()),
                Said::Result("ok".into()),
                Said::Result("bad".into())
            ]
        );
        assert_eq!(ask.tools[0].schema, Some(json!({ "type": "object" })));
        assert_eq!(ask.tools[1].schema, Some(json!({ "type": "OBJECT" })));
        assert_eq!(ask.json, Some(json!({ "type": "OBJECT" })));
    }

    #[test]
    fn text_is_framed() {
        let events = events(&steps(&asked("gemini"), &Reply::text("Hello, world!")));
        assert_eq!(
            events[0].1,
            json!({
                "candidates": [
                    { "index": 0, "content": { "role": "model", "parts": [{ "text": "Hello, world" }] } },
                ],
                "modelVersion": "gemini",
                "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20 },
            })
        );
        assert_eq!(events.len(), 3);
        assert_eq!(events[2].1["candidates"][0]["finishReason"], "STOP");
    }

    #[test]
    fn a_call_is_framed() {
        let events = events(&steps(&asked("gemini"), &call()));
        let [(_, only)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(
            only["candidates"][0]["content"]["parts"],
            json!([{ "functionCall": { "name": "bash", "args": { "command": "ls" } } }])
        );
        assert_eq!(only, &whole(&asked("gemini"), &call()));
    }
}
