//! The demo turn: a small story that edits a file in a scratch folder, for real.
//!
//! In: a prompt. Out: a plan, a file, one question with a diff, a command in a terminal, and a
//! sentence. Never: touches a file outside its scratch folder, or replaces text that a user wrote in it.

use std::ffi::OsStr;
use std::path::Path;

use acpd_scripted_agent::turn::{Choice, End, Flow, Turn};
use acpd_scripted_agent::wire::RpcError;
use acpd_scripted_agent::{content, terminal};
use serde_json::{Value, json};

const PLAN: [&str; 3] = ["Read the notes", "Make the greeting warmer", "Look at the result"];

/// The scratch folder, and the file in it. The folder is below the working directory, or is the working directory: the
/// web UI starts the demo in a folder of this name.
const FOLDER: &str = "acpd-demo";
const FILE: &str = "notes.md";

const OLD: &str = "# Greetings\n\nHello.\n";
const NEW: &str = "# Greetings\n\nHello, world.\n\n- politely\n";

/// Returns the path of the file, relative to the working directory.
fn file_in(cwd: &str) -> String {
    if Path::new(cwd).file_name() == Some(OsStr::new(FOLDER)) {
        FILE.to_owned()
    } else {
        format!("{FOLDER}/{FILE}")
    }
}

/// Runs the demo turn.
pub fn run(turn: &mut Turn) -> Flow {
    let file = &*file_in(&turn.cwd);
    let texts: Vec<String> = turn.texts().map(String::from).collect();
    let asked = texts.join(" ");
    let quoted = if asked.trim().is_empty() {
        "(no text)".into()
    } else {
        asked.replace('\n', "\n> ")
    };
    for piece in pieces(
        "The demo agent has no model, so it cannot do this. It can show what an agent does: read, plan, edit, run.",
    ) {
        turn.think(piece);
        turn.pause(turn.pace)?;
    }
    turn.update(&content::plan(&PLAN, 0));
    speak(
        turn,
        &format!(
            "You said:\n\n> {quoted}\n\nThis is the demo agent: it has no model, and shows you a small edit instead. I \
             will look at `{file}` first.\n\n"
        ),
    )?;
    let said = match story(turn, file)? {
        Ok(said) => said,
        Err(error) => format!("The demo ends here, since a call failed: {error}\n"),
    };
    turn.update(&json!({
        "sessionUpdate": "usage_update", "used": 1_234 + asked.len(), "size": 200_000,
        "cost": { "amount": 0.0, "currency": "USD" },
    }));
    turn.update(&content::plan(&PLAN, PLAN.len()));
    speak(turn, &said)
}

/// Reads, edits and shows the file. Returns the last sentence, or the error of a call to the client.
fn story(turn: &mut Turn, file: &str) -> Result<Result<String, RpcError>, End> {
    let old = match read(turn, file)? {
        Ok(old) => old,
        Err(error) => return Ok(Err(error)),
    };
    turn.update(&content::plan(&PLAN, 1));
    speak(turn, "The greeting is short. I would like to change it.\n\n")?;
    match edit(turn, file, &old)? {
        Ok(true) => {}
        Ok(false) => return Ok(Ok(format!("Left as it is: `{file}` is unchanged.\n"))),
        Err(error) => return Ok(Err(error)),
    }
    turn.update(&content::plan(&PLAN, 2));
    speak(turn, "Now I look at the result.\n\n")?;
    let path = turn.path(file);
    Ok(terminal::run(turn, "cat", &[&path], true)?.map(|_| {
        format!("Done: `{file}` has a warmer greeting, and you can delete `{FOLDER}` whenever you like.\n")
    }))
}

/// Reads the notes. The first time, makes them.
fn read(turn: &mut Turn, file: &str) -> Result<Result<String, RpcError>, End> {
    let (id, path) = (turn.tool_id(), turn.path(file));
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "Read notes.md", "kind": "read",
        "status": "pending", "rawInput": { "path": path }, "locations": [{ "path": path }],
    }));
    turn.pause(pace_of_work(turn))?;
    turn.tool_update(&id, json!({ "status": "in_progress" }));
    turn.pause(pace_of_work(turn))?;
    let found = turn.call("fs/read_text_file", json!({ "path": path }));
    let text = match found.ok().as_ref().and_then(|found| found["content"].as_str()) {
        Some(text) => Ok(text.to_owned()),
        None => turn
            .call("fs/write_text_file", json!({ "path": path, "content": OLD }))
            .map(|_| OLD.to_owned()),
    };
    let done = match &text {
        Ok(text) => json!({ "status": "completed", "content": content::output(text) }),
        Err(error) => json!({ "status": "failed", "content": content::output(&error.to_string()) }),
    };
    turn.tool_update(&id, done);
    Ok(text)
}

/// Requests permission for an edit, and makes it; returns whether it was granted.
fn edit(turn: &mut Turn, file: &str, old: &str) -> Result<Result<bool, RpcError>, End> {
    // A user may have changed the file, or run the demo before: nothing of it is lost.
    let new = if old == OLD {
        NEW.to_owned()
    } else {
        format!("{}\n- once more\n", old.trim_end())
    };
    let (id, path) = (turn.tool_id(), turn.path(file));
    let call = json!({
        "toolCallId": id, "title": "Edit notes.md", "kind": "edit", "status": "pending",
        "rawInput": { "path": path, "oldText": old, "newText": new },
        "locations": [{ "path": path, "line": 3 }], "content": content::diff(&path, old, &new),
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
    if !allowed {
        turn.tool_update(&id, json!({ "status": "failed" }));
        return Ok(Ok(false));
    }
    turn.tool_update(&id, json!({ "status": "in_progress" }));
    turn.pause(pace_of_work(turn))?;
    let written = turn.call("fs/write_text_file", json!({ "path": path, "content": new }));
    let done: Value = match &written {
        Ok(_) => json!({ "status": "completed", "content": content::diff(&path, old, &new) }),
        Err(error) => json!({ "status": "failed", "content": content::output(&error.to_string()) }),
    };
    turn.tool_update(&id, done);
    Ok(written.map(|_| true))
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
