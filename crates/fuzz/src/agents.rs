//! Bytes that an agent writes to its stdout.

use acpd_model::Event;
use acpd_proto::agent::AcpVersion;
use acpd_proto::wire::{Line, LineDecoder};

use crate::Target;
use crate::support::{Scene, check, check_in, willing};

/// Input during a turn. Invariants: the thread's live state equals the replay of its log. Each line to the agent fits
/// ACP's schema, and each frame to a client fits the app protocol's. Items and turns are opened and closed once.
pub const LINES: Target = Target {
    name: "agent_lines",
    run: lines,
    words: WORDS,
};

/// Input while an agent loads and repeats an earlier session. The same invariants.
pub const HISTORIES: Target = Target {
    name: "agent_histories",
    run: histories,
    words: WORDS,
};

/// Input during a turn of an agent that speaks version 2 of ACP. The same invariants, but for the schema of lines to the agent.
pub const SECOND_VERSION: Target = Target {
    name: "agent_lines_v2",
    run: second_version,
    words: SECOND_WORDS,
};

const SECOND_WORDS: &[&str] = &[
    "\n",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"messageId\":\"m\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":{",
    "\"sessionUpdate\":\"state_update\",\"state\":\"idle\",\"background\":[{}]",
    "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\"",
    "\"sessionUpdate\":\"tool_call_content_chunk\",\"toolCallId\":\"t\"",
    "\"sessionUpdate\":\"terminal_update\",\"terminalId\":\"x\"",
    "\"sessionUpdate\":\"terminal_output_chunk\",\"terminalId\":\"x\",\"data\":\"YQ==\"",
    "\"sessionUpdate\":\"agent_message\",\"messageId\":\"m\"",
    "\"sessionUpdate\":\"user_message\",\"messageId\":\"m\"",
    "\"content\":[{\"type\":\"terminal\",\"terminalId\":\"x\"}]",
    "\"content\":[{\"type\":\"diff\",\"changes\":[{\"operation\":\"modify\",\"path\":\"/w/a\"}]}]",
    "\"patch\":{\"format\":\"git_patch\",\"text\":\"@@ -1 +1 @@\\n-a\\n+b\\n\"}",
    "\"subject\":{\"type\":\"command\",\"command\":\"ls\",\"cwd\":\"/w\"}",
    "\"status\":\"paused\"",
    "\"_meta\":{\"acpd\":{}}",
    "\\ud800",
    "null",
    "[[[[",
];

const WORDS: &[&str] = &[
    "\n",
    "\"sessionUpdate\":\"agent_message_chunk\"",
    "\"sessionUpdate\":\"user_message_chunk\"",
    "\"sessionUpdate\":\"tool_call\"",
    "\"sessionUpdate\":\"cursor_update\",\"cursorId\":\"c\",\"capabilities\":{\"fork\":{}}",
    "\"anchor\":{\"type\":\"agent_message\",\"messageId\":\"m\",\"position\":\"after\"}",
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

/// Maximum length of a line, in bytes; small, so that inputs reach it.
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

fn second_version(stdout: &[u8]) {
    const HELLO: &str =
        r#"{"protocolVersion":2,"info":{"name":"fake","version":"1"},"capabilities":{"session":{}}}"#;
    let mut scene = Scene::new();
    scene.acp = AcpVersion::Two;
    let scene = check_in(scene, |scene| {
        scene.create();
        scene.answer("initialize", HELLO);
        scene.answer("session/new", r#"{"sessionId":"s-1"}"#);
        scene.prompt("do it");
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

/// Checks that the log preserves every event.
fn is_kept(scene: &Scene) {
    for event in &scene.log {
        let mut written = Vec::new();
        event.encode(&mut written).expect("an event can be written");
        let read = Event::decode(&written).expect("what was written can be read");
        assert_eq!(&read, event);
    }
}

/// Checks that a stream yields the same lines however it is split.
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

/// Returns a line's bytes, and its length if it was too long.
fn owned(line: &Line<'_>) -> (Vec<u8>, Option<u64>) {
    match line {
        Line::Whole(bytes) => {
            assert!(bytes.len() <= LINE_BYTES, "a line is within its bound");
            (bytes.to_vec(), None)
        }
        Line::TooLong { head, tail, bytes } => ([*head, *tail].concat(), Some(*bytes)),
    }
}
