//! One thread with an editor over native ACP and a client of the app protocol. Each sees the other's actions, and
//! either can answer the agent's requests.

use serde_json::json;

use crate::support::{Client, Daemon, Editor};

const ASKS: &str = "permission kind=execute command=make; say done";

#[test]
fn a_thread_of_an_editor_is_watched_and_answered_by_a_client() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    let mut client = Client::new(&daemon);
    client.resume(&session, 0);

    let prompt = editor.prompt(&session, ASKS);
    editor.wait_for("session/request_permission");
    let question = client.question();
    assert_eq!(question.method, "item/commandExecution/requestApproval");
    client.respond(&question, &json!({ "decision": "accept" }));
    assert_eq!(editor.answer(prompt).unwrap()["stopReason"], "end_turn");
    let said = editor.said();
    assert!(said.starts_with("allowed") && said.ends_with("done"), "{said}");
    let resolved = client.wait_for("serverRequest/resolved");
    assert_eq!(resolved.params["by"]["client"], "test", "{:?}", resolved.params);
    client.wait_for("turn/completed");
}

#[test]
fn a_thread_of_a_client_is_watched_and_answered_by_an_editor() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let params = json!({ "sessionId": thread, "cwd": daemon.place.work(), "mcpServers": [] });
    editor.call("session/load", &params);

    let turn = client.start(&thread, ASKS);
    let before = editor.until(|message| message["method"] == "session/request_permission");
    let is_update = |message: &serde_json::Value| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "user_message_chunk" && update["content"]["text"] == ASKS
    };
    assert!(before.iter().any(is_update), "{before:#?}");
    let question = &before[before.len() - 1];
    editor.pick(question, "allow_once");
    let resolved = client.wait_for("serverRequest/resolved");
    assert_eq!(
        resolved.params["by"]["client"], "test-editor",
        "{:?}",
        resolved.params
    );
    let said = client.finish(&thread, &turn).said();
    assert!(said.starts_with("allowed") && said.ends_with("done"), "{said}");
    editor.wait_for_text("done");
}
