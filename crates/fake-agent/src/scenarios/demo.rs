//! The demo turn: shows typical agent activity, without effects.

use serde_json::json;

use super::{TABLE, state, tools};
use crate::turn::{Choice, Flow, Turn};

const PLAN: [&str; 3] = ["Read the notes", "Propose an edit", "Sum up"];

const OLD: &str = "# Greetings\n\nHello.\n";
const NEW: &str = "# Greetings\n\nHello, world.\n\n- politely\n";

/// Runs the demo turn. It reads and writes nothing outside the conversation.
pub fn run(turn: &mut Turn) -> Flow {
    let pace = turn.pace;
    let texts: Vec<String> = turn.texts().map(String::from).collect();
    let asked = texts.join(" ");
    let quoted = if asked.trim().is_empty() {
        "(no text)".into()
    } else {
        asked.replace('\n', "\n> ")
    };

    for piece in pieces(
        "The person wrote something that is no script. A little show is in order: a plan, a file, an edit.",
    ) {
        turn.think(piece);
        turn.pause(pace)?;
    }
    turn.update(&state::entries(&PLAN, 0));
    speak(
        turn,
        &format!("You said:\n\n> {quoted}\n\nI will look at the notes first.\n\n"),
    )?;

    read(turn)?;
    turn.update(&state::entries(&PLAN, 1));
    speak(turn, "The greeting is short. I would like to change it.\n\n")?;

    let edited = edit(turn)?;
    turn.update(&state::entries(&PLAN, 2));
    speak(turn, if edited { "Done" } else { "Left as it is" })?;
    speak(
        turn,
        ", so to speak: **this is the demo agent**, and no file was touched.\n\n",
    )?;
    speak(
        turn,
        "It also runs scripts, one step a line, for example:\n\n```\nplan\npermission kind=edit\nstream n=50 ms=20\n```\n\n",
    )?;
    let names: Vec<String> = TABLE
        .iter()
        .map(|scenario| format!("`{}`", scenario.name))
        .collect();
    speak(turn, &format!("Steps: {}.\n", names.join(", ")))?;
    turn.update(&json!({
        "sessionUpdate": "usage_update", "used": 1_234 + asked.len(), "size": 200_000,
        "cost": { "amount": 0.0, "currency": "USD" },
    }));
    turn.update(&state::entries(&PLAN, 3));
    Ok(())
}

fn read(turn: &mut Turn) -> Flow {
    let (id, path) = (turn.tool_id(), turn.path("notes.md"));
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "Read notes.md", "kind": "read",
        "status": "pending", "rawInput": { "path": path }, "locations": [{ "path": path }],
    }));
    turn.pause(pace_of_work(turn))?;
    turn.tool_update(&id, json!({ "status": "in_progress" }));
    turn.pause(pace_of_work(turn))?;
    turn.tool_update(
        &id,
        json!({ "status": "completed", "content": tools::output(OLD) }),
    );
    Ok(())
}

/// Requests permission for an edit; returns whether it was granted.
fn edit(turn: &mut Turn) -> Result<bool, crate::turn::End> {
    let (id, path) = (turn.tool_id(), turn.path("notes.md"));
    let call = json!({
        "toolCallId": id, "title": "Edit notes.md", "kind": "edit", "status": "pending",
        "rawInput": { "path": path, "oldText": OLD, "newText": NEW },
        "locations": [{ "path": path, "line": 3 }], "content": tools::diff(&path, OLD, NEW),
    });
    let mut opened = call.clone();
    opened["sessionUpdate"] = json!("tool_call");
    turn.update(&opened);
    let options = json!([
        { "optionId": "allow_once", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "allow_always", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "reject_once", "name": "Reject", "kind": "reject_once" },
    ]);
    let allowed =
        matches!(turn.permission(&call, &options)?, Choice::Option(option) if option.starts_with("allow"));
    if allowed {
        turn.tool_update(&id, json!({ "status": "in_progress" }));
        turn.pause(pace_of_work(turn))?;
        turn.tool_update(
            &id,
            json!({ "status": "completed", "content": tools::diff(&path, OLD, NEW) }),
        );
    } else {
        turn.tool_update(&id, json!({ "status": "failed" }));
    }
    Ok(allowed)
}

/// Returns the duration of a tool call, which is longer than the pause between chunks.
fn pace_of_work(turn: &Turn) -> u64 {
    turn.pace * 8
}

fn speak(turn: &mut Turn, text: &str) -> Flow {
    for piece in pieces(text) {
        turn.say(piece);
        turn.pause(turn.pace)?;
    }
    Ok(())
}

/// Splits text into two words at a time, like a model's tokens.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut spaces = rest.match_indices(' ').map(|(at, _)| at + 1);
        let end = spaces.nth(1).unwrap_or(rest.len());
        let (piece, left) = rest.split_at(end);
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}
