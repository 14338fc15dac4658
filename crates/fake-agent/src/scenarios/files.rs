//! Steps that change many files in one turn.

use serde_json::json;

use crate::scenarios::args::Args;
use crate::turn::{End, Flow, Turn};
use crate::wire::RpcError;

/// Characters of a line of a file.
const LINE: usize = 60;

/// Returns lines of text that hardly compress. Each `seed` has its own text.
pub fn text(seed: u64, bytes: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes);
    while text.len() + 1 < bytes {
        if text.len() % (LINE + 1) == LINE {
            text.push('\n');
            continue;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(char::from(LETTERS[(state >> 40) as usize % LETTERS.len()]));
    }
    text.push('\n');
    text
}

pub fn files(turn: &mut Turn, args: &Args) -> Flow {
    let (count, bytes) = (args.number("n", 400_u64), args.number("bytes", 6000));
    let (shows, writes) = match args.text("by", "write") {
        "write" => (false, true),
        "tool" => (true, false),
        "both" => (true, true),
        other => return Err(End::Fail(RpcError::params(format!("files by={other}")))),
    };
    for number in 0..count {
        let path = turn.path(&format!("files/{number}.txt"));
        let content = text(number, bytes);
        let shown = json!([{ "type": "diff", "path": path, "oldText": null, "newText": content }]);
        let id = shows.then(|| turn.tool_id());
        if let Some(id) = &id {
            turn.update(&json!({
                "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Write {path}"), "kind": "edit",
                "status": "in_progress", "content": shown, "locations": [{ "path": path }],
            }));
        }
        if writes
            && let Err(error) = turn.call("fs/write_text_file", json!({ "path": path, "content": content }))
        {
            return Err(End::Fail(error));
        }
        if let Some(id) = &id {
            turn.tool_update(id, json!({ "status": "completed" }));
        }
        turn.pause(args.number("ms", 0))?;
    }
    turn.say(&format!("changed {count} files"));
    Ok(())
}
