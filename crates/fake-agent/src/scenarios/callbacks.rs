//! Steps that call the client. They ignore the client's declared capabilities, as real agents do.

use acpd_scripted_agent::terminal;
use serde_json::{Value, json};

use super::tools;
use crate::clock;
use crate::scenarios::args::Args;
use crate::turn::{Choice, Flow, Turn};
use crate::wire;

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
    let said = terminal::run(turn, args.word(), &rest, reads)?;
    turn.say(&said.unwrap_or_else(|error| error.to_string()));
    Ok(())
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
