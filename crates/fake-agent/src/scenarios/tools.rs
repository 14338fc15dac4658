//! Steps that send tool calls, both valid and irregular ones.

use acpd_scripted_agent::content::{diff, output};
use serde_json::{Value, json};

use crate::scenarios::args::Args;
use crate::turn::{Flow, Turn};

const OLD: &str = "fn main() {\n    println!(\"old\");\n}\n";
const NEW: &str = "fn main() {\n    println!(\"new\");\n}\n";

/// Returns the title of a call of this kind.
pub fn title(kind: &str, path: &str, command: &str) -> String {
    if kind == "execute" {
        command.to_owned()
    } else {
        format!("{kind} {path}")
    }
}

/// Returns the raw input of a call of this kind.
pub fn raw_input(kind: &str, path: &str, command: &str) -> Value {
    match kind {
        "execute" => json!({ "command": command }),
        "edit" => json!({ "path": path, "oldText": OLD, "newText": NEW }),
        _ => json!({ "path": path }),
    }
}

/// Returns the content of a completed call of this kind; empty for a kind without a file.
pub fn result(kind: &str, path: &str) -> Value {
    match kind {
        "edit" => diff(path, OLD, NEW),
        "execute" => output("hi\n"),
        _ => output(OLD),
    }
}

/// Returns the locations of a call of this kind.
pub fn locations(kind: &str, path: &str) -> Value {
    if kind == "execute" {
        json!([])
    } else {
        json!([{ "path": path, "line": 2 }])
    }
}

pub fn tool(turn: &mut Turn, args: &Args) -> Flow {
    let kind = args.text("kind", "edit");
    let id = args.get("id").map_or_else(|| turn.tool_id(), String::from);
    let path = turn.path(args.text("path", "src/example.rs"));
    let title = args
        .get("title")
        .map_or_else(|| title(kind, &path, "echo hi"), String::from);
    let status = args.text("status", "completed");
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "pending",
        "rawInput": raw_input(kind, &path, "echo hi"), "locations": locations(kind, &path),
    }));
    if status == "pending" {
        return Ok(());
    }
    turn.tool_update(&id, json!({ "status": "in_progress" }));
    if let Some(title) = args.get("then") {
        turn.tool_update(&id, json!({ "title": title }));
    }
    match status {
        "in_progress" => {}
        "failed" => turn.tool_update(
            &id,
            json!({ "status": "failed", "content": output(args.text("text", "it went wrong")) }),
        ),
        status => {
            let done = json!({
                "status": status, "content": result(kind, &path), "rawOutput": { "ok": true },
            });
            turn.tool_update(&id, done);
        }
    }
    Ok(())
}

pub fn seed(turn: &mut Turn, _: &Args) -> Flow {
    let id = turn.tool_id();
    let path = turn.path("src/auth.ts");
    turn.say("Here ");
    turn.say("is the fix...");
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "edit_file", "kind": "edit",
        "status": "in_progress", "rawInput": { "path": path }, "locations": [{ "path": path }],
    }));
    let (old, new) = ("export const ttl = 0;\n", "export const ttl = 3600;\n");
    turn.tool_update(
        &id,
        json!({ "status": "completed", "content": diff(&path, old, new) }),
    );
    Ok(())
}

/// Starts a read call with only the required fields.
fn open(turn: &Turn, id: &str, title: &str) {
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "read", "status": "in_progress",
    }));
}

pub fn dup(turn: &mut Turn, _: &Args) -> Flow {
    let id = turn.tool_id();
    open(turn, &id, "first");
    open(turn, &id, "second");
    turn.tool_update(&id, json!({ "status": "completed" }));
    Ok(())
}

pub fn orphan(turn: &mut Turn, _: &Args) -> Flow {
    let id = turn.tool_id();
    turn.tool_update(
        &id,
        json!({ "title": "orphan", "kind": "search", "status": "completed" }),
    );
    Ok(())
}

pub fn backwards(turn: &mut Turn, _: &Args) -> Flow {
    let id = turn.tool_id();
    open(turn, &id, "backwards");
    turn.tool_update(&id, json!({ "status": "completed" }));
    turn.tool_update(&id, json!({ "status": "pending" }));
    Ok(())
}
