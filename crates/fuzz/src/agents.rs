//! What an agent writes to its stdout.

use acpd_model::Event;
use acpd_proto::wire::{Line, LineDecoder};

use crate::Target;
use crate::support::{Scene, check, willing};

/// In the middle of a turn. Holds: whatever comes, the thread's live view is what its log replays to, each line to the
/// agent fits ACP's schema, each frame to a client fits ours, items and turns are opened and closed once.
pub const LINES: Target = Target {
    name: "agent_lines",
    run: lines,
    words: WORDS,
};

/// While an agent loads an earlier session and repeats it. Holds: the same.
pub const HISTORIES: Target = Target {
    name: "agent_histories",
    run: histories,
    words: WORDS,
};

const WORDS: &[&str] = &[
    "\n",
    "\"sessionUpdate\":\"agent_message_chunk\"",
    "\"sessionUpdate\":\"user_message_chunk\"",
    "\"sessionUpdate\":\"tool_call\"",
    "\"sessionUpdate\":\"tool_call_update\"",
    "\"toolCallId\":\"t\"",
    "\"rawInput\":{\"command\":\"ls\"}",
    "\"content\":[{\"type\":\"diff\",\"path\":\"/w/a\",\"newText\":\"\"}]",
    "\"messageId\":\"m\"",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_turn\"}}\n",
    "\"_meta\":{}",
    "\\u0000",
    "\\ud800",
    "é",
    "1e999",
    "-0",
    "null",
    "[[[[",
];

/// Bytes of a line here at most, so that the bound is reached.
const LINE_BYTES: usize = 4 << 10;

fn lines(stdout: &[u8]) {
    cuts_do_not_matter(stdout);
    let scene = check(|scene| {
        scene.open_turn();
        scene.machine = Some(willing);
        let mut decoder = LineDecoder::new(LINE_BYTES);
        scene.streams(stdout, &mut decoder);
        scene.later(20);
        if scene.agent.is_some() {
            scene.exits("gone");
        }
    });
    is_kept(&scene);
}

fn histories(stdout: &[u8]) {
    const LOADS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}"#;
    let scene = check(|scene| {
        scene.create();
        scene.answer("initialize", LOADS);
        scene.answer("session/new", r#"{"sessionId":"s-1"}"#);
        scene.prompt("Please look at the parser");
        scene.chunk("It has a fault in line 7.");
        scene.stops_with("end_turn");
        scene.exits("exit status 0");
        scene.prompt("continue");
        scene.answer("initialize", LOADS);
        scene.machine = Some(willing);
        let mut decoder = LineDecoder::new(LINE_BYTES);
        scene.streams(stdout, &mut decoder);
        if scene.awaits("session/load") {
            scene.answer("session/load", "{}");
        }
        scene.later(5_000);
        if scene.agent.is_some() {
            scene.exits("gone");
        }
    });
    is_kept(&scene);
}

/// The log has every event as it was.
fn is_kept(scene: &Scene) {
    for event in &scene.log {
        let mut written = Vec::new();
        event.encode(&mut written).expect("an event can be written");
        let read = Event::decode(&written).expect("what was written can be read");
        assert_eq!(&read, event);
    }
}

/// A stream is the same lines however it is cut.
fn cuts_do_not_matter(stdout: &[u8]) {
    let mut whole = LineDecoder::new(LINE_BYTES);
    whole.push(stdout);
    let mut pieces = LineDecoder::new(LINE_BYTES);
    let mut cut = Vec::new();
    for piece in stdout.chunks(7) {
        pieces.push(piece);
        while let Some(line) = pieces.next_line() {
            cut.push(owned(&line));
        }
    }
    let mut at_once = Vec::new();
    while let Some(line) = whole.next_line() {
        at_once.push(owned(&line));
    }
    cut.extend(pieces.finish().map(|line| owned(&line)));
    at_once.extend(whole.finish().map(|line| owned(&line)));
    assert_eq!(cut, at_once, "cut in pieces equals at once");
}

/// A line's bytes, and how long it was if that was too long.
fn owned(line: &Line<'_>) -> (Vec<u8>, Option<u64>) {
    match line {
        Line::Whole(bytes) => {
            assert!(bytes.len() <= LINE_BYTES, "a line is within its bound");
            (bytes.to_vec(), None)
        }
        Line::TooLong { head, bytes } => (head.to_vec(), Some(*bytes)),
    }
}
