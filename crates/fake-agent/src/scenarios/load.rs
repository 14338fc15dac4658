//! Steps that generate load for the benchmark.

use acpd_scripted_agent::content;
use serde_json::{Value, json};

use super::files;
use crate::clock;
use crate::scenarios::args::Args;
use crate::template::{COUNTER, Template};
use crate::turn::{End, Flow, Turn};
use crate::wire::{self, RpcError};

/// Placeholder for the text that pads a line to its length.
const PAD: &str = "~pad~";

/// About the bytes of an entry of a list.
const ENTRY_BYTES: usize = 60;

/// Placeholder for a time in nanoseconds, with as many digits as such a time has until the year 2286.
const TIME: &str = "1111111111111111111";

/// Returns one update of the tool call `id`; `meta` is a JSON object.
fn tool_line(turn: &Turn, id: &str, meta: &Value) -> String {
    let update = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": id, "_meta": meta,
        "rawOutput": { "n": COUNTER, "pad": PAD },
    });
    wire::update(&turn.id, &update).to_string()
}

fn open(turn: &mut Turn, title: &str) -> String {
    let id = turn.tool_id();
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "other",
        "status": "in_progress",
    }));
    id
}

fn close(turn: &Turn, id: &str) {
    turn.tool_update(id, json!({ "status": "completed" }));
}

pub fn flood(turn: &mut Turn, args: &Args) -> Flow {
    let (n, bytes) = (args.number("n", 100_000), args.number("bytes", 300));
    let kind = args.text("kind", "update");
    let text = wire::text(&format!("{COUNTER} delta...."));
    match kind {
        "update" => {
            let id = open(turn, "flood");
            let template = Template::new(&tool_line(turn, &id, &json!({})), PAD, bytes);
            pour(turn, &template, n)?;
            close(turn, &id);
            Ok(())
        }
        "call" => {
            let id = format!("call-{COUNTER}");
            let content = json!([{ "type": "content", "content": { "type": "text", "text": PAD } }]);
            let begun = json!({
                "sessionUpdate": "tool_call", "toolCallId": id, "title": "flood", "kind": "read",
                "status": "in_progress", "content": content,
            });
            let ended =
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" });
            let lines = [begun, ended].map(|update| wire::update(&turn.id, &update).to_string());
            pour(turn, &Template::new(&lines.join("\n"), PAD, bytes), n)
        }
        "diff" => {
            let id = format!("call-{COUNTER}");
            let (old, new) = (files::text(1, bytes), files::text(2, bytes) + COUNTER);
            let begun = json!({
                "sessionUpdate": "tool_call", "toolCallId": id, "title": "flood", "kind": "edit",
                "status": "in_progress", "content": content::diff(&turn.path("flood.txt"), &old, &new),
            });
            let ended =
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" });
            let lines = [begun, ended].map(|update| wire::update(&turn.id, &update).to_string());
            pour(turn, &Template::new(&lines.join("\n"), "", 0), n)
        }
        "plan" | "commands" => {
            let line = wire::update(&turn.id, &list(kind, bytes)).to_string();
            pour(turn, &Template::new(&line, "", 0), n)
        }
        "delta" => {
            let line = wire::update(&turn.id, &wire::chunk("agent_message_chunk", &text)).to_string();
            pour(turn, &Template::new(&line, "", 0), n)
        }
        "chunk" => {
            let text = wire::text(&format!("{COUNTER} {PAD}"));
            let line = wire::update(&turn.id, &wire::chunk("agent_message_chunk", &text)).to_string();
            pour(turn, &Template::new(&line, PAD, bytes), n)
        }
        "chunkmeta" => {
            let mut chunk = wire::chunk("agent_message_chunk", &text);
            chunk["_meta"] = json!({ "n": COUNTER, "pad": PAD });
            let line = wire::update(&turn.id, &chunk).to_string();
            pour(turn, &Template::new(&line, PAD, bytes), n)
        }
        other => Err(End::Fail(RpcError::params(format!("no kind {other:?}")))),
    }
}

/// Returns a plan or a list of commands with so many entries that it has about this many bytes.
fn list(kind: &str, bytes: usize) -> Value {
    let name = |k| {
        if k == 0 {
            COUNTER.to_owned()
        } else {
            format!("step{k}")
        }
    };
    let names = (0..bytes.div_ceil(ENTRY_BYTES)).map(name);
    if kind == "plan" {
        let entry = |name| json!({ "content": name, "priority": "low", "status": "pending" });
        json!({ "sessionUpdate": "plan", "entries": names.map(entry).collect::<Vec<_>>() })
    } else {
        let entry = |name| json!({ "name": name, "description": "One of very many commands" });
        let all: Vec<_> = names.map(entry).collect();
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": all })
    }
}

/// Writes all lines; checks for a cancellation between two batches.
fn pour(turn: &mut Turn, template: &Template, n: u64) -> Flow {
    template.flood(n, |batch| {
        turn.raw(batch);
        turn.pause(0)
    })
}

pub fn lone(turn: &mut Turn, args: &Args) -> Flow {
    let (n, ms, bytes) = (
        args.number("n", 200),
        args.number("ms", 10),
        args.number("bytes", 300),
    );
    // The digits of the time are patched into a finished line: building the line must not take time after the clock is
    // read.
    let (line, id) = match args.text("kind", "update") {
        "update" => {
            let id = open(turn, "lone");
            let line = tool_line(turn, &id, &json!({ "sentNs": TIME }));
            (line.replacen(&format!("\"{TIME}\""), TIME, 1), Some(id))
        }
        "delta" => {
            let text = wire::text(&format!("{COUNTER} sentNs:{TIME}; "));
            let chunk = wire::chunk("agent_message_chunk", &text);
            (wire::update(&turn.id, &chunk).to_string(), None)
        }
        other => return Err(End::Fail(RpcError::params(format!("no kind {other:?}")))),
    };
    let at = line.find(TIME).unwrap_or_default();
    let (pad, bytes) = if id.is_some() { (PAD, bytes) } else { ("", 0) };
    let template = Template::new(&line, pad, bytes);
    for k in 1..=n {
        turn.pause(ms)?;
        let mut line = template.line(k);
        let now = format!("{:0>1$}", clock::nanos(), TIME.len());
        line[at..at + TIME.len()].copy_from_slice(&now.as_bytes()[..TIME.len()]);
        turn.raw(&line);
    }
    if let Some(id) = id {
        close(turn, &id);
    }
    Ok(())
}
