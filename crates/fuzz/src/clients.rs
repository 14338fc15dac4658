//! Input from clients: frames of the app protocol, messages of editors.

use std::sync::Arc;
use std::time::Duration;

use acpd_model::json::well_formed;
use acpd_model::{Failure, RawJson, Role, ThreadId};
use acpd_proto::projection::Live;
use acpd_proto::surface::contract::{Gate, Output, Surface};
use acpd_proto::surface::reply::{Opened, Reply};
use acpd_proto::surface::request::Request;
use acpd_proto::surface::{acp, app, codex};
use acpd_proto::time::Now;
use acpd_proto::wire::{Found, Message, read_unclean_message};
use serde_json::Value;
use uuid::Uuid;

use crate::Target;

/// Frames of the app protocol, one per line. Invariants: every request gets one response, and every response is one
/// JSON-RPC message.
pub const APP_FRAMES: Target = Target {
    name: "app_frames",
    run: app_frames,
    words: &[
        "\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"",
        "\"params\":{",
        "\"threadId\":\"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4\"",
        "\"decision\":\"accept\"",
        "\"optionId\":\"x\"",
        "policy/explain",
        "turn/start",
        "\"input\":[{\"type\":\"text\",\"text\":\"a\"}]",
        "\"result\":",
        "null",
        "\\ud800",
        "é",
    ],
};

/// Messages of an editor, one per line: the bodies of ACP over HTTP, WebSocket frames, or the lines of `acp.sock`.
/// Invariants: every request gets one response, and every response is one JSON-RPC message.
pub const ACP_MESSAGES: Target = Target {
    name: "acp_messages",
    run: acp_messages,
    words: &[
        "\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"",
        "session/new",
        "session/prompt",
        "session/cancel",
        "session/resume",
        "\"replayFrom\":{\"type\":\"_acpd/after\",\"seq\":1}",
        "\"sessionId\":\"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4\"",
        "\"cwd\":\"/w\"",
        "\"mcpServers\":[]",
        "\"prompt\":[{\"type\":\"text\",\"text\":\"a\"}]",
        "\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"y\"}",
        "\"_meta\":{\"acpd\":{}}",
        "$/cancel_request",
        "null",
        "\\ud800",
    ],
};

/// Messages of a Codex client, one per line. Invariants: every request gets one response, every message is one line of JSON, and
/// nothing is requested of the daemon for which the client has no role.
pub const CODEX_FRAMES: Target = Target {
    name: "codex_frames",
    run: codex_frames,
    words: &[
        "\n",
        "{\"id\":1,\"method\":\"",
        "\"params\":{",
        "\"threadId\":\"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4\"",
        "thread/start",
        "thread/resume",
        "thread/list",
        "thread/queue/add",
        "turn/start",
        "turn/steer",
        "\"input\":[{\"type\":\"text\",\"text\":\"a\"}]",
        "\"approvalPolicy\":\"never\"",
        "\"sandbox\":\"danger-full-access\"",
        "\"cursor\":\"x\"",
        "\"result\":{\"decision\":\"accept\"}",
        "null",
        "\\ud800",
    ],
};

const NOW: Now = Now {
    mono: Duration::from_secs(5),
    wall: 1_700_000_000_000,
};

/// Returns the ids of requests in `frames`, in order; as JSON values, since spaces may change.
fn requests(frames: &[&str]) -> Vec<Value> {
    let mut ids = Vec::new();
    for frame in frames {
        let frame = well_formed(frame);
        if Message::parse(&frame).is_ok() {
            ids.extend(request(&frame));
            continue;
        }
        match read_unclean_message(&frame) {
            Ok(mended) => ids.extend(mended.texts.iter().filter_map(|text| request(text))),
            Err(unreadable) => {
                if let Found::Request { id } = unreadable.found {
                    ids.extend(serde_json::from_str::<Value>(&id).ok());
                }
            }
        }
    }
    ids
}

/// Returns the id of a message, if it is a request.
fn request(text: &str) -> Option<Value> {
    match Message::parse(text) {
        Ok(Message::Request { id, .. }) => serde_json::from_str(id.get()).ok(),
        _ => None,
    }
}

/// Adds the id of a response to `answers`.
fn take_answer(message: &[u8], answers: &mut Vec<Value>) {
    let text = std::str::from_utf8(message).expect("a message is UTF-8");
    assert!(!text.trim_end().contains('\n'), "a message is one line");
    let message: Value = serde_json::from_str(text).expect("a message is JSON");
    assert_eq!(message["jsonrpc"], "2.0");
    if message.get("method").is_none() {
        assert!(
            message.get("result").is_some() != message.get("error").is_some(),
            "{message}"
        );
        answers.push(message["id"].clone());
    }
}

/// Checks that each id gets as many responses as requests.
fn each_is_answered(frames: &[&str], answers: &[Value]) {
    let requests = requests(frames);
    for id in &requests {
        let asked = requests.iter().filter(|other| *other == id).count();
        let answered = answers.iter().filter(|other| *other == id).count();
        // A response to input that is not a request has no id.
        assert!(
            answered == asked || id.is_null(),
            "{id}: asked {asked} times, answered {answered} times"
        );
    }
}

/// Maximum number of frames, within a connection's limits: beyond them the responses differ.
const FRAMES: usize = 32;

fn gate() -> Gate {
    Gate::new(Arc::default(), Arc::new(|| ThreadId(Uuid::from_u128(99))))
}

fn app_frames(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let frames: Vec<&str> = input.lines().take(FRAMES).collect();
    for role in [Role::Observer, Role::Owner] {
        let mut peer = app::Peer::new("fuzz".into(), role, gate());
        peer.handle_message(
            r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"clientInfo":{"name":"x"}}}"#,
            NOW,
        );
        peer.handle_message(r#"{"jsonrpc":"2.0","method":"initialized"}"#, NOW);
        let mut answers = Vec::new();
        for frame in &frames {
            peer.handle_message(frame, NOW);
            while let Some(output) = peer.poll_output() {
                match output {
                    Output::Send(message) => take_answer(&message, &mut answers),
                    Output::Request { call, .. } => peer.handle_reply(call, Ok(Reply::Done)),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(peer.gate().in_progress(), 0);
        each_is_answered(&frames, &answers);
    }
}

/// Opens a connection with one session.
const BEGINNING: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}"#,
    r#"{"jsonrpc":"2.0","id":"open","method":"session/resume","params":{"sessionId":"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4","cwd":"/w","mcpServers":[]}}"#,
];

/// Does the same in version 2.
const BEGINNING_V2: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":2,"info":{"name":"e","version":"1"}}}"#,
    BEGINNING[1],
];

fn acp_messages(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let messages: Vec<&str> = input.lines().take(FRAMES).collect();
    let cases = [
        (Role::Observer, BEGINNING),
        (Role::Owner, BEGINNING),
        (Role::Owner, BEGINNING_V2),
    ];
    for (role, beginning) in cases {
        let start = acp::ConnectionStart {
            offers_v2: true,
            ..acp::ConnectionStart::default()
        };
        let mut peer = acp::Peer::new("fuzz".into(), role, "c".into(), gate()).starting(start);
        let mut answers = Vec::new();
        for message in beginning.iter().chain(&messages) {
            peer.handle_message(message, NOW);
            while let Some(output) = peer.poll_output() {
                match output {
                    Output::Send(message) => take_answer(&message, &mut answers),
                    Output::Request { call, request, .. } => peer.handle_reply(call, done(&request)),
                    other => panic!("no agent asks anything: {other:?}"),
                }
            }
        }
        each_is_answered(&messages, &answers);
    }
}

fn codex_frames(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let frames: Vec<&str> = input.lines().take(FRAMES).collect();
    for role in [Role::Observer, Role::Owner] {
        let host = codex::Host {
            home: "/home/u".to_owned(),
            default_agent: None,
        };
        let mut peer = codex::Peer::new("fuzz".into(), role, host, gate());
        let mut answers = Vec::new();
        let hello =
            r#"{"id":"hello","method":"initialize","params":{"clientInfo":{"name":"tui","version":"1"}}}"#;
        for frame in std::iter::once(&hello).chain(&frames) {
            peer.handle_message(frame, NOW);
            while let Some(output) = peer.poll_output() {
                match output {
                    Output::Send(message) => {
                        let text = std::str::from_utf8(&message).expect("a message is UTF-8");
                        assert!(!text.trim_end().contains(['\n', '\r']), "a message is one line");
                        let message: Value = serde_json::from_str(text).expect("a message is JSON");
                        if message.get("method").is_none() {
                            answers.push(message["id"].clone());
                        }
                    }
                    Output::Request { call, request, .. } => {
                        assert!(role.may(request.role()), "{role} may not: {request:?}");
                        peer.handle_reply(call, done(&request));
                    }
                    other => panic!("no agent asks anything: {other:?}"),
                }
            }
        }
        assert_eq!(peer.gate().in_progress(), 0);
        each_is_answered(&frames, &answers);
    }
}

/// Returns the response of a daemon with one thread.
fn done(request: &Request) -> Result<Reply, Failure> {
    match request {
        Request::Initialize => Ok(Reply::Initialized(RawJson::trusted("{}"))),
        Request::OpenThread(open) => Ok(Reply::Opened(Box::new(Opened {
            live: Arc::new(Live::new(open.thread)),
            cursor: 0,
            turns: None,
            turn: None,
            fidelity: None,
            claimed: Vec::new(),
        }))),
        _ => Err(Failure::not_found("it")),
    }
}
