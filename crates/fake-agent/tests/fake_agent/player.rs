//! The player, with a recording of the TypeScript SDK's example agent.

use serde_json::{Value, json};

use crate::driver::{Agent, RpcResult, Turn, code, nothing};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sdk-agent.jsonl");

fn play(args: &[&str]) -> Agent {
    Agent::bare(&[&["--play", RECORDING], args].concat())
}

fn allow(method: &str, params: &Value) -> RpcResult {
    match method {
        "session/request_permission" => {
            Ok(json!({ "outcome": { "outcome": "selected", "optionId": "allow" } }))
        }
        _ => nothing(method, params),
    }
}

/// Reads the recorded entries of a process.
fn entries(proc: u64) -> Vec<Value> {
    let text = std::fs::read_to_string(RECORDING).expect("the recording is there");
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("its lines are JSON"));
    entries.filter(|entry| entry["proc"] == proc).collect()
}

/// Returns the agent's recorded messages of a process.
fn recorded(proc: u64) -> Vec<Value> {
    entries(proc)
        .iter()
        .filter(|entry| entry["dir"] == "a2c")
        .map(|entry| entry["msg"].clone())
        .collect()
}

fn whole_turn(turn: &Turn) {
    assert_eq!(turn.stop(), "end_turn");
    assert_eq!(turn.asked(), ["session/request_permission"]);
    assert_eq!(turn.updates().count(), 7);
    assert!(turn.said().ends_with("The changes have been applied."));
}

#[test]
fn the_recorded_client_gets_the_recorded_agent() {
    for proc in 1..=4 {
        let mut agent = play(&["--proc", &proc.to_string()]);
        for entry in entries(proc) {
            if entry["dir"] == "c2a" {
                agent.send(&entry["msg"]);
            } else {
                assert_eq!(agent.message(), entry["msg"]);
            }
        }
        agent.close();
        assert!(agent.line().is_empty());
    }
}

#[test]
fn a_client_that_does_its_own_thing() {
    let mut agent = play(&[]);
    // String ids, to check that they are returned unchanged.
    agent.send(&json!({ "jsonrpc": "2.0", "id": "one", "method": "initialize", "params": {} }));
    let answer = agent.message();
    assert_eq!(answer["id"], "one");
    assert_eq!(answer["result"], recorded(1)[0]["result"]);
    let id = agent.session();
    assert_eq!(id, "4f401e5175801e2dced15db15f47fbe7");
    let turn = agent.prompt_with(&id, "hello", allow);
    whole_turn(&turn);
    assert_eq!(turn.messages, recorded(1)[2..=9]);
    // The recording has many messages between its two prompts, and this client sends none of them.
    whole_turn(&agent.prompt_with(&id, "again", allow));
    assert_eq!(
        code(&agent.request("session/fork", json!({ "sessionId": id }))),
        -32601
    );
    assert_eq!(agent.prompt_with(&id, "once more", allow).error(), -32601);
    agent.close();
    assert!(agent.wait().0.success());
}

#[test]
fn the_agent_waits_for_the_answer() {
    let mut agent = play(&["--proc", "4"]);
    agent.request("initialize", json!({})).unwrap();
    let id = agent.session();
    let prompt = agent.start_turn(&id, "hello");
    let request = loop {
        let message = agent.message();
        if message["method"] == "session/request_permission" {
            break message;
        }
    };
    // A response with another id must not count.
    agent.reply(&json!({ "id": 99 }), Ok(json!({})));
    agent.reply(
        &request,
        Ok(json!({ "outcome": { "outcome": "selected", "optionId": "allow" } })),
    );
    let turn = agent.finish(prompt, nothing);
    assert_eq!(turn.stop(), "end_turn");
    assert_eq!(
        code(&agent.request("session/close", json!({ "sessionId": id }))),
        -32601
    );
}

#[test]
fn playback_continues_without_the_client() {
    let mut agent = play(&["--proc", "4", "--patience", "20"]);
    agent.request("initialize", json!({})).unwrap();
    let id = agent.session();
    let prompt = agent.start_turn(&id, "hello");
    let mut last = agent.message();
    while last["id"] != prompt || last.get("result").is_none() {
        last = agent.message();
    }
    assert_eq!(last["result"]["stopReason"], "end_turn");
}

#[test]
fn playback_follows_the_given_speed() {
    // The recording takes a third of a second.
    let mut agent = play(&["--proc", "4", "--speed", "2"]);
    let begun = std::time::Instant::now();
    agent.request("initialize", json!({})).unwrap();
    assert!(begun.elapsed().as_millis() >= 100, "{:?}", begun.elapsed());
}

#[test]
fn unplayable_recordings_are_refused() {
    for args in [
        &["--proc", "9"][..],
        &["--speed", "x"],
        &["--play", "/no/such/file"],
    ] {
        let (status, stderr) = play(args).wait();
        assert_eq!(status.code(), Some(2), "{stderr}");
    }
}
