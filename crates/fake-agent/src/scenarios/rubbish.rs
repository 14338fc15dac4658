//! Invalid output that no agent should write, and some do.

use serde_json::json;

use crate::scenarios::args::Args;
use crate::turn::{Flow, Turn};
use crate::wire;

/// Sends a valid chunk, " ok k", after each invalid line, so that a lost one is visible.
pub fn garbage(turn: &mut Turn, _: &Args) -> Flow {
    for (at, line) in lines(&turn.id).iter().enumerate() {
        turn.raw(line);
        turn.raw(b"\n");
        turn.say(&format!(" ok {}", at + 1));
    }
    turn.say("still here");
    Ok(())
}

fn lines(session: &str) -> Vec<Vec<u8>> {
    let chunk = |text: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}{more}}}}}}}"#
        )
    };
    let hologram = json!({
        "sessionUpdate": "hologram", "depth": 3, "layers": [{ "odd": null }], "content": "not a block",
    });
    let wrong = json!({ "sessionUpdate": "agent_message_chunk", "content": 42 });
    let mut latin = chunk("caf@ @@", "").into_bytes();
    for (byte, broken) in latin
        .iter_mut()
        .filter(|byte| **byte == b'@')
        .zip([0xe9, 0xff, 0xfe])
    {
        *byte = broken;
    }
    vec![
        b"npm WARN deprecated something@1.2.3".to_vec(),
        Vec::new(),
        format!("[{},{}]", chunk("batched", ""), chunk("twice", "")).into_bytes(),
        b"42".to_vec(),
        br#"{"method":"_example.com/bare","params":{}}"#.to_vec(),
        wire::notification("_example.com/note", &json!({ "sessionId": session, "n": 1 }))
            .to_string()
            .into_bytes(),
        wire::update(session, &hologram).to_string().into_bytes(),
        wire::update(session, &wrong).to_string().into_bytes(),
        chunk(" big", r#","_meta":{"big":18446744073709551616,"small":1.10}"#).into_bytes(),
        br#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#.to_vec(),
        latin,
        chunk("nul \0 here", "").into_bytes(),
    ]
}
