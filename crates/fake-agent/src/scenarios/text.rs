//! Steps that send messages and thoughts.

use serde_json::{Value, json};

use crate::scenarios::args::Args;
use crate::session::lock;
use crate::turn::{Flow, Turn};
use crate::wire;

/// A PNG with one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A WAV without samples.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub fn stream(turn: &mut Turn, args: &Args) -> Flow {
    chunks(turn, args, "agent_message_chunk", "word")
}

pub fn think(turn: &mut Turn, args: &Args) -> Flow {
    chunks(turn, args, "agent_thought_chunk", "thought")
}

fn chunks(turn: &mut Turn, args: &Args, kind: &str, word: &str) -> Flow {
    let (n, ms): (u64, u64) = (
        args.number("n", if word == "word" { 20 } else { 3 }),
        args.number("ms", 0),
    );
    let word = args.text("text", word);
    for k in 1..=n {
        if k > 1 {
            turn.pause(ms)?;
        }
        let text = format!(" {word} {k}");
        let mut update = wire::chunk(kind, &wire::text(&text));
        if let Some(id) = args.get("id") {
            update["messageId"] = json!(id);
        }
        if kind == "agent_message_chunk" {
            turn.remember(&text);
        }
        turn.update(&update);
    }
    Ok(())
}

pub fn say(turn: &mut Turn, args: &Args) -> Flow {
    turn.say(args.word());
    Ok(())
}

pub fn instructions(turn: &mut Turn, _: &Args) -> Flow {
    let prompt = lock(&turn.session).system_prompt.clone();
    let Some(prompt) = prompt else {
        turn.say("none");
        return Ok(());
    };
    let blocks = prompt["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    let mode = prompt["mode"].as_str().unwrap_or_default();
    turn.say(&format!("{mode}: {}", texts.join(" ")));
    Ok(())
}

pub fn recall(turn: &mut Turn, _: &Args) -> Flow {
    let remembered = lock(&turn.session).remembered().join(" | ");
    turn.say(if remembered.is_empty() {
        "nothing"
    } else {
        &remembered
    });
    Ok(())
}

pub fn mirror(turn: &mut Turn, _: &Args) -> Flow {
    let texts: Vec<&str> = turn.texts().collect();
    let text = wire::text(&texts.join("\n\n"));
    turn.update(&wire::chunk("user_message_chunk", &text));
    for block in turn.prompt.iter().filter(|block| block["type"] != "text") {
        turn.update(&wire::chunk("user_message_chunk", block));
    }
    Ok(())
}

pub fn echo(turn: &mut Turn, _: &Args) -> Flow {
    let types: Vec<&str> = turn
        .prompt
        .iter()
        .map(|block| block.get("type").and_then(Value::as_str).unwrap_or("?"))
        .collect();
    let text: Vec<&str> = turn.texts().collect();
    turn.say(&format!(
        "{} blocks ({}): {}",
        types.len(),
        types.join(", "),
        text.join("\n")
    ));
    Ok(())
}

pub fn env(turn: &mut Turn, args: &Args) -> Flow {
    let name = args.word();
    match std::env::var_os(name) {
        Some(value) => turn.say(&format!("{name}={}", value.to_string_lossy())),
        None => turn.say(&format!("{name} is not set")),
    }
    Ok(())
}

pub fn cwd(turn: &mut Turn, _: &Args) -> Flow {
    let process = std::env::current_dir().unwrap_or_default();
    turn.say(&format!("session {}, process {}", turn.cwd, process.display()));
    Ok(())
}

pub fn image(turn: &mut Turn, _: &Args) -> Flow {
    content(
        turn,
        &json!({ "type": "image", "mimeType": "image/png", "data": PIXEL }),
    )
}

pub fn audio(turn: &mut Turn, _: &Args) -> Flow {
    content(
        turn,
        &json!({ "type": "audio", "mimeType": "audio/wav", "data": SILENCE }),
    )
}

pub fn resource(turn: &mut Turn, _: &Args) -> Flow {
    let uri = format!("file://{}", turn.path("notes.txt"));
    content(
        turn,
        &json!({
            "type": "resource",
            "resource": { "uri": uri, "mimeType": "text/plain", "text": "one\ntwo\n" },
            "annotations": { "audience": ["user"], "priority": 0.5 },
        }),
    )?;
    content(
        turn,
        &json!({ "type": "resource_link", "uri": uri, "name": "notes.txt", "mimeType": "text/plain", "size": 8 }),
    )
}

fn content(turn: &Turn, block: &Value) -> Flow {
    turn.update(&wire::chunk("agent_message_chunk", block));
    Ok(())
}

pub fn longline(turn: &mut Turn, args: &Args) -> Flow {
    turn.update(&wire::chunk(
        "agent_message_chunk",
        &wire::text(&"x".repeat(args.number("bytes", 1_000_000))),
    ));
    Ok(())
}
