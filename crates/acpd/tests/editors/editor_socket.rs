//! Editors at the socket in the data directory, over lines of JSON.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{self, Client, Daemon, Editor, Place};

#[test]
fn an_editor_works_and_another_one_sees_it() {
    let daemon = Daemon::start();
    let socket = daemon.place.data().join("acp.sock");
    let mode = std::fs::metadata(socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut first = Editor::socket(&daemon.place);
    let hello = first.greet();
    assert_eq!(hello["protocolVersion"], 1);
    let session = first.open(&daemon);
    assert_eq!(
        first.turn(&session, "say hello"),
        ("hello".to_owned(), json!({ "stopReason": "end_turn" }))
    );

    let mut second = Editor::socket(&daemon.place);
    second.greet();
    let params = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    second.call("session/load", &params);
    assert_eq!(second.chunks("user_message_chunk"), "say hello");
    let (said, _) = first.turn(&session, "say again");
    assert_eq!(said, "again");
    second.wait_for_text("again");
}

/// Returns the kind and status of each tool call update among an editor's messages.
fn calls(messages: &[Value]) -> Vec<(&str, &str)> {
    let updates = messages.iter().map(|message| &message["params"]["update"]);
    let calls = updates.filter(|update| update["toolCallId"].is_string());
    calls
        .map(|update| ["sessionUpdate", "status"].map(|name| update[name].as_str().unwrap_or("")))
        .map(|[kind, status]| (kind, status))
        .collect()
}

#[test]
fn a_call_that_only_a_question_named_ends_for_editors() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    for (option, status) in [("allow_once", "completed"), ("reject_once", "failed")] {
        let prompt = editor.prompt(&session, "permission bare=true");
        let mut got = editor.until(|message| message["method"] == "session/request_permission");
        let question = got.last().expect("it came").clone();
        editor.pick(&question, option);
        editor.answer(prompt).expect("the turn ends well");
        got.extend(editor.take());
        let expected = [("tool_call", "pending"), ("tool_call_update", status)];
        assert_eq!(calls(&got), expected, "{option}");
    }
}

#[test]
fn a_prompt_that_the_agent_echoes_appears_once() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    let blocks = json!([
        { "type": "text", "text": "mirror" },
        { "type": "resource_link", "uri": "file:///a", "name": "a" },
    ]);
    let params = json!({ "sessionId": session, "prompt": blocks });
    editor.call("session/prompt", &params);
    let mut later = Editor::socket(&daemon.place);
    later.greet();
    let named = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    later.call("session/load", &named);
    let told = later.take();
    let blocks = told.iter().map(|message| &message["params"]["update"]);
    let blocks = blocks.filter(|update| update["sessionUpdate"] == "user_message_chunk");
    let kinds: Vec<&Value> = blocks.map(|update| &update["content"]["type"]).collect();
    assert_eq!(kinds, ["text", "resource_link"]);
}

#[test]
fn the_agent_is_the_named_one_the_default_or_the_only_one() {
    let two = |more: &str| {
        let place = Place::new("");
        let agents = ["a", "b"].map(|name| place.agent(name, &["--pace", "0"], &[]));
        place.configure(&format!("{more}\n{}", agents.concat()));
        Daemon::at(place)
    };
    let agent_of = |daemon: &Daemon, editor: &mut Editor| {
        let session = editor.open(daemon);
        let shown = support::acpd(&daemon.place, &["show", &session, "--json"]).stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        shown["agentType"].as_str().unwrap_or_default().to_owned()
    };
    let daemon = two("");
    let mut editor = Editor::socket(&daemon.place);
    let error = editor.refused("initialize", &json!({ "protocolVersion": 1 }));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("there are a, b"), "{message}");
    let mut editor = Editor::socket(&daemon.place);
    editor.send(r#"{"acpd":{"agent":"b"}}"#);
    editor.greet();
    assert_eq!(agent_of(&daemon, &mut editor), "b");

    let daemon = two("default_agent = \"b\"");
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    assert_eq!(agent_of(&daemon, &mut editor), "b");
    for (said, told) in [
        (r#"{"acpd":{"agent":"c"}}"#, "\"c\""),
        (r#"{"acpd":{"angel":"c"}}"#, "angel"),
    ] {
        let mut editor = Editor::socket(&daemon.place);
        editor.send(said);
        let error = editor.refused("initialize", &json!({ "protocolVersion": 1 }));
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
    }
}

#[test]
fn a_session_is_split_off_and_deleted() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    editor.turn(&session, "say one");
    let named = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    let forked = editor.call("session/fork", &named);
    let fork = forked["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(fork, session);
    assert_eq!(editor.turn(&fork, "say two").0, "two");
    // A cursor is acpd's own, whatever the agent can.
    let at = |cursor: &str| {
        let mut params = named.clone();
        params["cursorId"] = cursor.into();
        params
    };
    let error = editor.refused("session/fork", &at("turn_9"));
    assert_eq!(error["code"], -32602, "{error}");
    let forked = editor.call("session/fork", &at("turn_1"));
    let other = forked["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(editor.turn(&other, "say three").0, "three");
    editor.call("session/delete", &json!({ "sessionId": other }));
    editor.call("session/delete", &json!({ "sessionId": session }));
    let error = editor.refused("session/load", &named);
    assert!(
        error["message"].as_str().unwrap().contains("does not exist"),
        "{error}"
    );
    let listed = editor.call("session/list", &json!({}));
    let ids: Vec<_> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|listed| listed["sessionId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [fork.as_str()]);
}

#[test]
fn invalid_and_too_long_messages_are_answered() {
    let daemon = Daemon::with("[limits]\nclient_message_bytes = 4096");
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    editor.send("nonsense");
    editor.send(&format!("\"{}\"", "x".repeat(5000)));
    // The connection stays usable.
    assert_eq!(editor.turn(&session, "say on").0, "on");
}

#[test]
fn the_last_words_of_a_daemon_reach_its_editors() {
    let mut daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    let prompt = editor.prompt(&session, "say begun; slow ms=600000");
    editor.wait_for_text("begun");
    // A connection that has sent nothing does not delay the shutdown.
    let mut silent = UnixStream::connect(daemon.place.data().join("acp.sock")).unwrap();
    daemon.stop();
    let error = editor.answer(prompt).unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("acpd was restarted"),
        "{error}"
    );
    editor.drain();
    assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0);
}

/// A socket that reads nothing while the lock is held.
struct Pausing(UnixStream, Arc<Mutex<()>>);

impl Read for Pausing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        drop(self.1.lock());
        self.0.read(buffer)
    }
}

#[test]
fn a_cancel_gets_through_a_flood() {
    // The daemon does not disconnect it for reading nothing.
    let daemon = Daemon::with("[limits]\nwrite_secs = 3600\n");
    let stream = UnixStream::connect(daemon.place.data().join("acp.sock")).unwrap();
    let reading = Arc::new(Mutex::new(()));
    let reader = Pausing(stream.try_clone().unwrap(), Arc::clone(&reading));
    let mut editor = Editor::lines(reader, stream);
    editor.greet();
    let session = editor.open(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&session, 0);
    let paused = reading.lock().unwrap();
    let prompt = editor.prompt(&session, "flood n=20000 bytes=1000; say over; slow ms=600000");
    other.until(|message| message.method == "item/agentMessage/delta" && message.text("text") == "over");
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    let end = other.wait_for("turn/completed");
    assert_eq!(end.params["turn"]["status"], "interrupted");
    drop(paused);
    assert_eq!(editor.answer(prompt).unwrap()["stopReason"], "cancelled");
}
