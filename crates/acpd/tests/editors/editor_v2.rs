//! Editors that speak version 2 of ACP, over each transport. Each message is checked against the schema of version 2.

use serde_json::{Value, json};

use crate::editor_http::websocket;
use crate::editor_pipe::Pipe;
use crate::support::{Daemon, Door, Editor, Place};

/// Starts a daemon that offers version 2.
fn daemon() -> Daemon {
    let place = Place::new("");
    let agent = place.agent("fake", &["--pace", "0"], &[]);
    place.configure(&format!("[server]\nacp_v2 = true\n{agent}"));
    Daemon::at(place)
}

fn is_update(message: &Value, kind: &str) -> bool {
    message["params"]["update"]["sessionUpdate"] == kind
}

fn is_idle(message: &Value) -> bool {
    is_update(message, "state_update") && message["params"]["update"]["state"] == "idle"
}

/// Returns the agent's text in messages.
fn said(messages: &[Value]) -> String {
    let chunks = messages
        .iter()
        .filter(|message| is_update(message, "agent_message_chunk"));
    chunks
        .map(|message| {
            message["params"]["update"]["content"]["text"]
                .as_str()
                .unwrap_or_default()
        })
        .collect()
}

/// Plays a turn, a turn with a question, and opens the session again with its history.
fn plays(editor: &mut Editor, daemon: &Daemon) {
    assert_eq!(editor.greet_v2()["protocolVersion"], 2);
    let session = editor.open(daemon);
    let prompt = editor.prompt(&session, "say hello");
    let inserted = editor.answer(prompt).expect("it is part of the conversation");
    let got = editor.until(is_idle);
    assert_eq!(said(&got), "hello");
    assert_eq!(
        got.last().expect("the turn ended")["params"]["update"]["stopReason"],
        "end_turn"
    );
    let echo = got.iter().find(|message| is_update(message, "user_message"));
    assert_eq!(
        echo.expect("the prompt is told")["params"]["update"]["messageId"],
        inserted["messageId"]
    );

    let prompt = editor.prompt(&session, "permission");
    editor.answer(prompt).expect("it is part of the conversation");
    let question = editor.wait_for("session/request_permission");
    assert_eq!(question["params"]["subject"]["type"], "tool_call");
    editor.pick(&question, "allow_once");
    editor.until(is_idle);

    let params = json!({
        "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [], "replayFrom": { "type": "start" },
    });
    editor.call("session/resume", &params);
    let got = editor.until(|message| is_update(message, "replay_complete"));
    assert!(said(&got).starts_with("hello"), "{got:#?}");
    let params = json!({ "sessionId": session });
    editor.call("session/close", &params);
}

#[test]
fn version_2_works_at_the_socket() {
    let daemon = daemon();
    plays(&mut Editor::socket(&daemon.place), &daemon);
}

#[test]
fn version_2_works_over_http() {
    let daemon = daemon();
    plays(&mut Editor::http(&Door::of(&daemon)), &daemon);
}

#[test]
fn version_2_works_over_a_websocket() {
    let daemon = daemon();
    let (mut editor, _) = websocket(&daemon, "/acp", false);
    plays(&mut editor, &daemon);
}

#[test]
fn version_2_works_over_standard_input_and_output() {
    let daemon = daemon();
    let mut pipe = Pipe::start(&daemon.place, &["acp", "--agent", "fake"]);
    plays(&mut pipe.editor, &daemon);
}
