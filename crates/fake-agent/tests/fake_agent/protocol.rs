//! Handshake, sessions and their state.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::driver::{Agent, code, nothing};

/// Returns an empty directory of this test.
fn dir(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // On the first run it does not exist.
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn at(id: &str) -> Value {
    json!({ "sessionId": id, "cwd": "/w", "mcpServers": [] })
}

#[test]
fn the_handshake_comes_first() {
    let mut agent = Agent::bare(&["--name", "other"]);
    let early = agent.request("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
    assert_eq!(code(&early), -32600);
    assert_eq!(code(&agent.request("initialize", json!({}))), -32602);
    let answer = agent
        .request("initialize", json!({ "protocolVersion": 99 }))
        .unwrap();
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentInfo"]["name"], "other");
    assert_eq!(answer["agentCapabilities"]["loadSession"], true);
    assert_eq!(
        answer["agentCapabilities"]["sessionCapabilities"],
        json!({ "list": {}, "close": {}, "resume": {} })
    );
    // This client did not declare support for boolean options.
    let session = agent
        .request("session/new", json!({ "cwd": "/w", "mcpServers": [] }))
        .unwrap();
    assert_eq!(session["configOptions"].as_array().unwrap().len(), 1);
    assert_eq!(
        agent.request("authenticate", json!({ "methodId": "x" })),
        Ok(json!({}))
    );
}

#[test]
fn invalid_messages_are_answered_and_survived() {
    let mut agent = Agent::start(&[]);
    agent.send(&json!([1]));
    assert_eq!(agent.message()["error"]["code"], -32600);
    agent.notify("nope", json!({}));
    agent.reply(&json!({ "id": 77 }), Ok(json!({})));
    assert_eq!(code(&agent.request("nope", json!({}))), -32601);
    agent.close();
    let (status, stderr) = agent.wait();
    assert!(status.success());
    assert!(stderr.contains("77"), "{stderr}");
}

#[test]
fn params_are_checked() {
    let (mut agent, id) = Agent::with_session(&[]);
    for (method, params) in [
        ("session/new", json!({ "cwd": "w", "mcpServers": [] })),
        ("session/new", json!({ "cwd": "/w" })),
        ("session/prompt", json!({ "sessionId": id })),
        ("session/load", json!({ "sessionId": id, "cwd": "/w" })),
        ("session/set_mode", json!({ "sessionId": id, "modeId": "fly" })),
        (
            "session/set_config_option",
            json!({ "sessionId": id, "configId": "model", "value": "big" }),
        ),
        ("session/list", json!({ "cursor": "what" })),
    ] {
        assert_eq!(
            code(&agent.request(method, params.clone())),
            -32602,
            "{method} {params}"
        );
    }
    for method in [
        "session/prompt",
        "session/load",
        "session/resume",
        "session/close",
        "session/set_mode",
    ] {
        let params = json!({
            "sessionId": "../x", "cwd": "/w", "mcpServers": [], "prompt": [], "modeId": "code",
        });
        assert_eq!(code(&agent.request(method, params)), -32002, "{method}");
    }
}

#[test]
fn modes_and_options() {
    let mut agent = Agent::start(&[]);
    let session = agent
        .request("session/new", json!({ "cwd": "/w", "mcpServers": [] }))
        .unwrap();
    assert_eq!(session["modes"]["currentModeId"], "ask");
    assert_eq!(session["configOptions"][1]["type"], "boolean");
    let id = &session["sessionId"];
    let set = |key: &str, value: Value| json!({ "sessionId": id, "configId": key, "value": value, "type": "boolean" });
    agent
        .request("session/set_config_option", set("verbose", json!(true)))
        .unwrap();
    let model = json!({ "sessionId": id, "configId": "model", "value": "fake-large" });
    let options = agent.request("session/set_config_option", model).unwrap();
    assert_eq!(options["configOptions"][0]["currentValue"], "fake-large");
    assert_eq!(options["configOptions"][1]["currentValue"], true);

    let answer = agent.request("session/set_mode", json!({ "sessionId": id, "modeId": "code" }));
    assert_eq!(answer, Ok(json!({})));
    assert_eq!(
        agent.message()["params"]["update"],
        json!({ "sessionUpdate": "current_mode_update", "currentModeId": "code" })
    );
}

#[test]
fn load_replays_and_resume_does_not_in_another_process() {
    let dir = dir("load");
    let state = ["--state", dir.to_str().unwrap()];
    let (mut agent, id) = Agent::with_session(&state);
    agent.prompt(&id, "say one; say \" two\"; mode code; title My title");
    // The file exists before the response: the process may be killed at any time.
    drop(agent);

    let mut agent = Agent::start(&state);
    let other = agent.session();
    assert_ne!(other, id);
    let load = agent.ask("session/load", at(&id));
    let turn = agent.finish(load, nothing);
    let replayed: Vec<(&str, &str)> = turn
        .updates()
        .map(|u| {
            (
                u["sessionUpdate"].as_str().unwrap(),
                u["content"]["text"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        replayed,
        [
            (
                "user_message_chunk",
                "say one; say \" two\"; mode code; title My title"
            ),
            ("agent_message_chunk", "one two"),
        ]
    );
    assert_eq!(turn.answer.unwrap()["modes"]["currentModeId"], "code");
    assert_eq!(agent.prompt(&id, "say three").said(), "three");

    let mut agent = Agent::start(&state);
    let resume = agent.ask("session/resume", at(&id));
    let turn = agent.finish(resume, nothing);
    assert!(turn.messages.is_empty());
    assert!(turn.answer.is_ok());
    let list = agent.request("session/list", json!({ "cwd": "/w" })).unwrap();
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let session = sessions.iter().find(|s| s["sessionId"] == id.as_str()).unwrap();
    assert_eq!(session["title"], "My title");
    assert!(session["updatedAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        agent.request("session/list", json!({ "cwd": "/x" })).unwrap(),
        json!({ "sessions": [] })
    );
}

#[test]
fn a_turn_that_kills_the_process_is_remembered() {
    let dir = dir("crash");
    let state = ["--state", dir.to_str().unwrap()];
    let (mut agent, id) = Agent::with_session(&state);
    let asked = agent.start_turn(&id, "tool; crash");
    while !agent.line().is_empty() {}
    assert_eq!(asked, 3);
    let mut agent = Agent::start(&state);
    agent.request("session/load", at(&id)).unwrap();
    let turn = agent.prompt(&id, "tool");
    assert_eq!(turn.of("tool_call")[0]["toolCallId"], "call-2-1");
}

#[test]
fn a_session_is_forked_at_its_cursors_also_by_another_process() {
    let dir = dir("cursors");
    let flags = ["--cursors", "--state", dir.to_str().unwrap()];
    let greeted = |cursors: Value| {
        let mut agent = Agent::bare(&flags);
        let able = json!({ "session": { "cursors": cursors } });
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": able });
        let hello = agent.request("initialize", hello).unwrap();
        let session = &hello["agentCapabilities"]["sessionCapabilities"];
        assert_eq!(session["fork"], json!({}));
        agent
    };
    let mut agent = greeted(json!({}));
    let id = agent.session();
    let turn = agent.prompt(&id, "say one");
    assert_eq!(turn.of("agent_message_chunk")[0]["messageId"], "m-1");
    let cursor = turn.of("cursor_update")[0].clone();
    assert_eq!(
        cursor["anchor"],
        json!({ "type": "agent_message", "messageId": "m-1", "position": "after" })
    );
    agent.prompt(&id, "say two");
    let mut agent = greeted(json!({}));
    let resume = agent.ask("session/resume", at(&id));
    let announced = agent.finish(resume, nothing);
    assert_eq!(announced.of("cursor_update")[0], &cursor);
    let fork_at = |cursor: &Value| {
        let mut params = at(&id);
        params["cursorId"] = cursor.clone();
        params
    };
    for (cursor, expected) in [
        (&cursor["cursorId"], "say one"),
        (&Value::Null, "say one | say two"),
    ] {
        let fork = agent.request("session/fork", fork_at(cursor)).unwrap();
        let fork = fork["sessionId"].as_str().unwrap();
        assert_eq!(agent.prompt(fork, "recall").said(), expected);
    }
    for cursor in [json!("no such"), json!(7)] {
        assert_eq!(code(&agent.request("session/fork", fork_at(&cursor))), -32602);
    }
    // A client that does not know cursors gets none.
    let mut agent = greeted(Value::Null);
    let id = agent.session();
    let turn = agent.prompt(&id, "recall");
    assert_eq!(turn.said(), "nothing");
    assert!(turn.of("cursor_update").is_empty());
}

#[test]
fn a_locked_session_is_forked_by_another_process_and_opened_after_the_first() {
    let dir = dir("locked");
    let flags = ["--fork", "--lock", "--state", dir.to_str().unwrap()];
    let mut first = Agent::start(&flags);
    let id = first.session();
    first.prompt(&id, "say one");
    first
        .request("session/close", json!({ "sessionId": id }))
        .unwrap();
    assert!(first.request("session/resume", at(&id)).is_ok());
    let mut second = Agent::start(&flags);
    for method in ["session/resume", "session/load"] {
        assert_eq!(code(&second.request(method, at(&id))), -32600, "{method}");
    }
    let fork = second.request("session/fork", at(&id)).unwrap();
    assert_eq!(
        second
            .prompt(fork["sessionId"].as_str().unwrap(), "recall")
            .said(),
        "say one"
    );
    assert_eq!(
        code(&first.request("session/resume", at(fork["sessionId"].as_str().unwrap()))),
        -32600
    );
}

#[test]
fn long_lists_have_pages() {
    let mut agent = Agent::start(&[]);
    for _ in 0..60 {
        agent.session();
    }
    let page = agent.request("session/list", json!({})).unwrap();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 50);
    let page = agent
        .request("session/list", json!({ "cursor": page["nextCursor"] }))
        .unwrap();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 10);
    assert_eq!(page.get("nextCursor"), None);
}

#[test]
fn without_load() {
    let mut agent = Agent::bare(&["--no-load"]);
    let answer = agent
        .request("initialize", json!({ "protocolVersion": 1 }))
        .unwrap();
    assert_eq!(answer["agentCapabilities"]["loadSession"], false);
    assert_eq!(
        answer["agentCapabilities"]["sessionCapabilities"].get("resume"),
        None
    );
    let id = agent.session();
    for method in ["session/load", "session/resume"] {
        assert_eq!(code(&agent.request(method, at(&id))), -32601);
    }
}

#[test]
fn no_session_is_made_without_a_sign_in_that_holds_for_other_processes() {
    let dir = dir("sign-in");
    let flags = ["--sign-in", "--state", dir.to_str().unwrap()];
    let mut agent = Agent::start(&flags);
    let new = json!({ "cwd": "/w", "mcpServers": [] });
    assert_eq!(code(&agent.request("session/new", new.clone())), -32000);
    assert_eq!(
        code(&agent.request("authenticate", json!({ "methodId": "x" }))),
        -32602
    );
    assert!(
        agent
            .request("authenticate", json!({ "methodId": "key" }))
            .is_ok()
    );
    let mut other = Agent::start(&flags);
    assert!(other.request("session/new", new.clone()).is_ok());
    assert!(other.request("logout", json!({})).is_ok());
    assert_eq!(code(&agent.request("session/new", new)), -32000);
    assert_eq!(code(&Agent::start(&[]).request("logout", json!({}))), -32601);
}

#[test]
fn early_updates_come_before_the_session() {
    let mut agent = Agent::start(&["--early"]);
    let id = agent.ask("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
    let turn = agent.finish(id, nothing);
    assert_eq!(turn.of("available_commands_update").len(), 1);
    assert_eq!(
        turn.messages[0]["params"]["sessionId"],
        turn.answer.unwrap()["sessionId"]
    );
}

#[test]
fn close_cancels_and_load_opens_again() {
    let (mut agent, id) = Agent::with_session(&[]);
    let prompt = agent.start_turn(&id, "slow");
    agent.message();
    let close = agent.ask("session/close", json!({ "sessionId": id }));
    let mut answers = [agent.message(), agent.message()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["id"], prompt);
    assert_eq!(answers[0]["result"]["stopReason"], "cancelled");
    assert_eq!(answers[1]["id"], close);
    assert_eq!(agent.prompt(&id, "say x").error(), -32002);
    agent.request("session/load", at(&id)).unwrap();
    assert_eq!(agent.prompt(&id, "say x").said(), "x");
}

#[test]
fn sessions_run_side_by_side_and_one_turn_each() {
    let (mut agent, one) = Agent::with_session(&[]);
    let two = agent.session();
    let slow = agent.start_turn(&one, "slow");
    agent.message();
    let second = agent.prompt(&one, "say x");
    assert_eq!(second.error(), -32600);
    assert_eq!(second.answer.unwrap_err()["message"], "a turn is already running");
    assert_eq!(agent.prompt(&two, "say y").said(), "y");
    agent.notify("session/cancel", json!({ "sessionId": one }));
    assert_eq!(agent.finish(slow, nothing).stop(), "cancelled");
}

#[test]
fn the_command_line() {
    let agent = Agent::bare(&["--help"]);
    let (status, _) = agent.wait();
    assert!(status.success());
    let (status, stderr) = Agent::bare(&["--what"]).wait();
    assert_eq!(status.code(), Some(2));
    assert!(stderr.contains("--what"), "{stderr}");
}
