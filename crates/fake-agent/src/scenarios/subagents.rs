//! Steps that begin and end subagents, whose sessions send what the steps between them do.

use serde_json::json;

use crate::scenarios::args::Args;
use crate::turn::{Flow, Turn};

pub fn begin(turn: &mut Turn, args: &Args) -> Flow {
    let number = turn.tool_id();
    let own = format!("{}/{number}", turn.id);
    let child = args.text("id", &own).to_owned();
    if args.get("silent").is_none() {
        turn.update(&json!({
            "sessionUpdate": "subagent_update", "sessionId": child, "title": args.text("title", "review"),
            "capabilities": { "cancel": {} }, "state": { "state": "running" },
        }));
    }
    let parent = std::mem::replace(&mut turn.id, child);
    turn.parents.push(parent);
    Ok(())
}

pub fn end(turn: &mut Turn, args: &Args) -> Flow {
    let Some(parent) = turn.parents.pop() else {
        return Ok(());
    };
    let child = std::mem::replace(&mut turn.id, parent);
    if args.get("working").is_none() {
        turn.update(&json!({
            "sessionUpdate": "subagent_update", "sessionId": child,
            "state": { "state": "idle", "stopReason": "end_turn" },
        }));
    }
    Ok(())
}
