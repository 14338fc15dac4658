//! What an editor behind `acpd acp` has asked and answers, while the daemon or its connection is gone.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::editor_pipe::Pipe;
use crate::support::{Client, Daemon, Wire, signal, wired};

/// Returns the number of turns in a thread.
fn turns(daemon: &Daemon, thread: &str) -> usize {
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = Client::new(daemon).call("thread/read", &params);
    read["thread"]["turns"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_prompt_that_a_killed_daemon_had_not_read_is_carried_out_once_by_the_next_one() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place, &["acp"]);
    let session = pipe.editor.open(&daemon);
    assert_eq!(pipe.editor.turn(&session, "say before").0, "before");
    // What the pipe sends now stays in the socket.
    signal(daemon.pid(), Signal::STOP);
    let prompts = ["say kept", "say next"].map(|text| pipe.editor.prompt(&session, text));
    daemon.kill();
    pipe.wait_for("daemon lost");
    daemon.restart();
    for prompt in prompts {
        let end = pipe
            .editor
            .answer(prompt)
            .expect("the next daemon carries it out");
        assert_eq!(end["stopReason"], "end_turn");
    }
    assert_eq!(pipe.editor.said(), "keptnext", "in their order");
    assert_eq!(turns(&daemon, &session), 3);
}

/// Starts a pipe that reaches the daemon over a wire.
fn far_pipe(daemon: &Daemon, wire: &Wire) -> Pipe {
    let mut command = daemon.place.command(&["acp", "--agent", "fake"]);
    command
        .env("ACPD_CONNECT", wire.url())
        .env("ACPD_TOKEN", daemon.place.token().trim());
    let mut pipe = Pipe::of(command);
    pipe.editor.greet();
    pipe
}

/// Of such a turn, an editor whose daemon is replaced sees the same.
#[test]
fn a_turn_that_runs_while_the_connection_is_lost_answers_the_editor_once() {
    let (daemon, wire) = wired();
    let mut pipe = far_pipe(&daemon, &wire);
    let session = pipe.editor.open(&daemon);
    let prompt = pipe.editor.prompt(&session, "say one; permission; say two");
    let question = pipe.editor.wait_for("session/request_permission");
    pipe.editor.take();
    wire.cut();
    pipe.wait_for("daemon lost");
    let mut other = Client::new(&daemon);
    let steered = json!({ "threadId": session, "text": "say three" });
    other.call("turn/start", &steered);
    // The user answers while there is no daemon.
    pipe.editor.pick(&question, "allow_once");
    wire.mend();
    let end = pipe.editor.answer(prompt).expect("the turn has ended well");
    assert_eq!(end["stopReason"], "end_turn");
    pipe.editor.wait_for_text("three");
    let again = pipe.editor.turn(&session, "say four").0;
    assert_eq!(again, "four");
    assert_eq!(turns(&daemon, &session), 3);
}

/// Returns the agent's text in messages.
fn text_of(messages: &[Value]) -> String {
    let updates = messages.iter().map(|message| &message["params"]["update"]);
    let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks
        .filter_map(|update| update["content"]["text"].as_str())
        .collect()
}

#[test]
fn an_editor_sees_each_update_once_however_often_its_connection_is_lost() {
    let (daemon, wire) = wired();
    let mut pipe = far_pipe(&daemon, &wire);
    let session = pipe.editor.open(&daemon);
    let prompt = pipe.editor.prompt(&session, "stream n=300 ms=10");
    let mut seen = Vec::new();
    for part in [" word 20", " word 60", " word 100"] {
        seen.extend(pipe.editor.until(|message| {
            let text = message["params"]["update"]["content"]["text"].as_str();
            text.is_some_and(|text| text.contains(part))
        }));
        wire.cut();
        pipe.wait_for("daemon lost");
        wire.mend();
    }
    pipe.editor.answer(prompt).expect("the turn ends well");
    seen.extend(pipe.editor.take());
    let expected: String = (1..=300).map(|number| format!(" word {number}")).collect();
    assert_eq!(text_of(&seen), expected);
}

/// The agent's requests have ids of the connection, and the editor may take its time.
#[test]
fn a_late_answer_is_not_taken_for_that_of_another_request() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::start(&daemon.place, &["acp"]);
    let able = json!({ "fs": { "readTextFile": true, "writeTextFile": false } });
    let info = json!({ "name": "test-editor", "version": "1" });
    let hello = json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": able });
    pipe.editor.call("initialize", &hello);
    let session = pipe.editor.open(&daemon);
    let prompt = pipe.editor.prompt(&session, "read path=there");
    let first = pipe.editor.wait_for("fs/read_text_file");
    daemon.kill();
    pipe.wait_for("daemon lost");
    daemon.restart();
    assert!(pipe.editor.answer(prompt).is_err(), "the turn has ended");
    let cancelled = pipe.editor.wait_for("$/cancel_request");
    assert_eq!(cancelled["params"]["requestId"], first["id"]);
    let prompt = pipe.editor.prompt(&session, "read path=there");
    let second = pipe.editor.wait_for("fs/read_text_file");
    assert_ne!(first["id"], second["id"]);
    pipe.editor.respond(&first, &json!({ "content": "of before" }));
    pipe.editor.respond(&second, &json!({ "content": "now" }));
    pipe.editor.wait_for_text("read 3 bytes: now");
    pipe.editor.answer(prompt).expect("the turn ends well");
}
