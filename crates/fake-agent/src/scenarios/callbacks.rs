//! Steps that call the client. They ignore the client's declared capabilities, as real agents do.

use serde_json::{Value, json};

use super::tools;
use crate::clock;
use crate::scenarios::args::Args;
use crate::turn::{Choice, End, Flow, Turn};
use crate::wire::{self, RpcError};

/// Output limit of a terminal, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 20;
/// Maximum length of the output that the agent repeats, in bytes.
const SAID_BYTES: usize = 16 << 10;

/// Returns the options of a permission request; each id equals its kind.
fn options() -> Value {
    json!([
        { "optionId": "allow_once", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "allow_always", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "reject_once", "name": "Reject", "kind": "reject_once" },
        { "optionId": "reject_always", "name": "Always reject", "kind": "reject_always" },
    ])
}

pub fn read(turn: &mut Turn, args: &Args) -> Flow {
    let mut params = json!({ "path": turn.path(args.text("path", "README.md")) });
    for key in ["line", "limit"] {
        if args.get(key).is_some() {
            params[key] = json!(args.number::<u32>(key, 0));
        }
    }
    match turn.call("fs/read_text_file", params) {
        Ok(answer) => match answer["content"].as_str() {
            Some(content) => turn.say(&format!("read {} bytes: {content}", content.len())),
            None => turn.say(&format!("read no content: {answer}")),
        },
        Err(error) => turn.say(&error.to_string()),
    }
    Ok(())
}

pub fn write(turn: &mut Turn, args: &Args) -> Flow {
    let text = args.text("text", "written by fake-agent\n");
    let path = turn.path(args.text("path", "fake-agent.txt"));
    match turn.call("fs/write_text_file", json!({ "path": path, "content": text })) {
        Ok(_) => turn.say(&format!("wrote {} bytes", text.len())),
        Err(error) => turn.say(&error.to_string()),
    }
    Ok(())
}

pub fn permission(turn: &mut Turn, args: &Args) -> Flow {
    let (id, kind) = (turn.tool_id(), args.text("kind", "execute"));
    let path = turn.path(args.text("path", "src/example.rs"));
    let command = args.text("command", "echo hi");
    let title = tools::title(kind, &path, command);
    let mut call = json!({
        "toolCallId": id, "title": title, "kind": kind, "status": "pending",
        "rawInput": tools::raw_input(kind, &path, command), "locations": tools::locations(kind, &path),
    });
    if kind == "edit" {
        call["content"] = tools::result(kind, &path);
    }
    let bare = args.get("bare").is_some();
    if !bare {
        let mut opened = call.clone();
        opened["sessionUpdate"] = json!("tool_call");
        turn.update(&opened);
    }
    let mut options = options();
    for (at, key) in [(0, "yes"), (2, "no")] {
        if args.get(key).is_some() {
            options[at]["name"] = json!(args.text(key, ""));
        }
    }
    if args.get("same").is_some() {
        options[2]["optionId"] = options[1]["optionId"].clone();
    }
    let (status, said) = match turn.permission(&call, &options)? {
        Choice::Option(option) if option.starts_with("allow") => ("completed", format!("allowed ({option})")),
        Choice::Option(option) => ("failed", format!("rejected ({option})")),
        Choice::Failed(error) => ("failed", error.to_string()),
    };
    if bare {
        // The agent never sends a final status of the call.
    } else if status == "completed" {
        turn.tool_update(&id, json!({ "status": "in_progress" }));
        turn.tool_update(
            &id,
            json!({ "status": status, "content": tools::result(kind, &path) }),
        );
    } else {
        turn.tool_update(&id, json!({ "status": status }));
    }
    turn.say(&said);
    Ok(())
}

pub fn terminal(turn: &mut Turn, args: &Args) -> Flow {
    run(turn, args, true)
}

pub fn terminal_unread(turn: &mut Turn, args: &Args) -> Flow {
    run(turn, args, false)
}

fn run(turn: &mut Turn, args: &Args, reads: bool) -> Flow {
    let rest: Vec<&str> = args.words[1..].iter().map(String::as_str).collect();
    let said = in_terminal(turn, args.word(), &rest, reads)?;
    turn.say(&said.unwrap_or_else(|error| error.to_string()));
    Ok(())
}

/// Runs a command in a terminal of the client; returns how it ended and its output.
pub fn show_in_terminal(
    turn: &mut Turn,
    command: &str,
    args: &[&str],
) -> Result<Result<String, RpcError>, End> {
    in_terminal(turn, command, args, true)
}

fn in_terminal(
    turn: &mut Turn,
    command: &str,
    args: &[&str],
    reads: bool,
) -> Result<Result<String, RpcError>, End> {
    let id = turn.tool_id();
    let line = [&[command], args].concat().join(" ");
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": line, "kind": "execute",
        "status": "pending", "rawInput": { "command": command, "args": args },
    }));
    let create = json!({
        "command": command, "args": args, "cwd": turn.cwd, "outputByteLimit": OUTPUT_LIMIT,
        "env": [{ "name": "NO_COLOR", "value": "1" }],
    });
    let created = match turn.call("terminal/create", create) {
        Ok(created) => created,
        Err(error) => {
            turn.tool_update(&id, json!({ "status": "failed" }));
            return Ok(Err(error));
        }
    };
    let terminal = json!({ "terminalId": created["terminalId"] });
    let content = json!([{ "type": "terminal", "terminalId": created["terminalId"] }]);
    turn.tool_update(&id, json!({ "status": "in_progress", "content": content }));

    let exit = turn.ask("terminal/wait_for_exit", terminal.clone());
    let waited = turn.answer_or_cancel(exit);
    let cancelled = waited.is_none();
    let exited = match waited {
        Some(exited) => exited,
        None => turn
            .call("terminal/kill", terminal.clone())
            .and_then(|_| turn.answer(exit)),
    };
    let output = if reads {
        turn.call("terminal/output", terminal.clone())
    } else {
        Ok(Value::Null)
    };
    let good = exited.as_ref().is_ok_and(|exit| exit["exitCode"] == 0) && !cancelled;
    let status = if good { "completed" } else { "failed" };
    turn.tool_update(
        &id,
        json!({ "status": status, "rawOutput": exited.as_ref().ok() }),
    );
    let released = turn.call("terminal/release", terminal);
    if cancelled {
        return Err(End::cancelled());
    }
    Ok(exited
        .and_then(|exit| Ok((exit, output?)))
        .and_then(|(exit, output)| released.map(|_| outcome(&exit, &output))))
}

/// Formats an outcome: "exit 0: hi", "signal KILL: ", "exit 0 (truncated): ...". Keeps the end of long output.
fn outcome(exit: &Value, output: &Value) -> String {
    let how = match (exit["exitCode"].as_u64(), exit["signal"].as_str()) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit {code}"),
        (None, None) => "exit ?".into(),
    };
    let cut = if output["truncated"] == true {
        " (truncated)"
    } else {
        ""
    };
    let output = output["output"].as_str().unwrap_or_default();
    let end = output.ceil_char_boundary(output.len().saturating_sub(SAID_BYTES));
    format!("{how}{cut}: {}", &output[end..])
}

pub fn elicit(turn: &mut Turn, args: &Args) -> Flow {
    let url = args.word() == "url";
    let id = format!("elicit-{}", clock::nanos());
    let params = if url {
        json!({
            "mode": "url", "message": "Sign in first", "elicitationId": id,
            "url": "https://example.com/sign-in",
        })
    } else {
        json!({
            "mode": "form", "message": "Who are you?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": { "type": "string", "title": "Name", "minLength": 1 },
                    "colour": { "type": "string", "title": "Colour", "enum": ["red", "green"] },
                    "age": { "type": "integer", "minimum": 0 },
                    "sure": { "type": "boolean", "default": true },
                },
                "required": ["name"],
            },
        })
    };
    match turn.call("elicitation/create", params) {
        Ok(answer) => {
            if url {
                let done = wire::notification("elicitation/complete", &json!({ "elicitationId": id }));
                turn.send(&done);
            }
            let action = answer["action"].as_str().unwrap_or("?");
            match answer.get("content") {
                Some(content) => turn.say(&format!("elicited {action}: {content}")),
                None => turn.say(&format!("elicited {action}")),
            }
        }
        Err(error) => turn.say(&error.to_string()),
    }
    Ok(())
}

pub fn ext(turn: &mut Turn, _: &Args) -> Flow {
    let note = json!({ "sessionId": turn.id, "odd": [null, 1.10, { "deep": true }] });
    turn.send(&wire::notification("_example.com/note", &note));
    match turn.call("_example.com/ask", json!({ "question": "ready?" })) {
        Ok(answer) => turn.say(&format!("ext: {answer}")),
        Err(error) => turn.say(&error.to_string()),
    }
    Ok(())
}
