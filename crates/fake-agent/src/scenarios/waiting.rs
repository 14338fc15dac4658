//! Steps that wait, and their reactions to a cancellation.

use serde_json::json;

use crate::scenarios::args::Args;
use crate::turn::{Flow, Turn};

/// Steps that make their script ignore cancellations from its start, so that an early cancellation has no effect
/// either.
pub const DEAF: [&str; 2] = ["stubborn", "hang"];

pub fn wait(turn: &mut Turn, args: &Args) -> Flow {
    turn.pause(args.number("ms", 100))
}

pub fn steered(turn: &mut Turn, _: &Args) -> Flow {
    let words = turn.words()?;
    turn.say(&format!("heard: {words}"));
    Ok(())
}

/// Runs one slow tool call; a cancellation leaves it open, as in real agents.
fn work(turn: &mut Turn, ms: u64) -> Flow {
    let id = turn.tool_id();
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "work", "kind": "execute",
        "status": "in_progress", "rawInput": { "command": format!("sleep {}", ms / 1000) },
    }));
    turn.pause(ms)?;
    turn.tool_update(&id, json!({ "status": "completed" }));
    Ok(())
}

pub fn slow(turn: &mut Turn, args: &Args) -> Flow {
    work(turn, args.number("ms", 60_000))
}

pub fn late_cancel(turn: &mut Turn, args: &Args) -> Flow {
    let worked = work(turn, args.number("ms", 60_000));
    if worked.is_err() {
        turn.say("still ");
        turn.say("winding down");
    }
    worked
}

pub fn stubborn(turn: &mut Turn, args: &Args) -> Flow {
    work(turn, args.number("ms", 5_000))
}

pub fn hang(_: &mut Turn, _: &Args) -> Flow {
    loop {
        std::thread::park();
    }
}
