//! Further behaviour that clients rely on; each test lists the calls that an SDK makes.

use serde_json::{Value, json};

use super::calls::{Calls, hello};
use super::part::Way;
use super::programs::Program::{self, Python, Rust, TypeScript};
use crate::support::{Daemon, Door, Place, body};

/// Error code of an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;
/// Error code of invalid params.
const INVALID_PARAMS: i64 = -32602;
/// Error code of a session that requires a sign-in.
const AUTH_REQUIRED: i64 = -32000;

/// Checks an error; each has details in words.
fn check_error(error: &Value, code: i64) {
    assert_eq!(error["code"], code, "{error}");
    assert!(error["data"]["details"].is_string(), "{error}");
}

/// The daemon forwards an unknown request to the agent, and returns the agent's own refusal: without a session, with
/// one and with two.
fn unknown_extension_requests(program: Program, way: Way) {
    let daemon = Daemon::start();
    let mut calls = Calls::start(program, &daemon, way, "fake");
    calls.greet(1, "interop");
    let check = |calls: &mut Calls, params: &Value| {
        let error = calls.refused(1, "_interop.example/ask", params);
        assert_eq!(error["code"], METHOD_NOT_FOUND, "{error}");
        // The message comes from the agent.
        let said = error["message"].as_str().unwrap_or_default();
        assert!(said.contains("no method _interop.example/ask"), "{error}");
    };
    check(&mut calls, &json!({ "sessions": 0 }));
    for sessions in 1..=2 {
        let session = calls.open(1, &daemon, &json!({}));
        check(&mut calls, &json!({ "sessions": sessions }));
        check(&mut calls, &json!({ "sessionId": session }));
    }
    calls.end();
}

#[test]
fn typescript_stdio_extension_requests() {
    unknown_extension_requests(TypeScript, Way::Stdio);
}

#[test]
fn typescript_http_extension_requests() {
    unknown_extension_requests(TypeScript, Way::Http);
}

#[test]
fn python_websocket_extension_requests() {
    unknown_extension_requests(Python, Way::WebSocket);
}

#[test]
#[ignore = "make test-interop"]
fn rust_stdio_extension_requests() {
    unknown_extension_requests(Rust, Way::Stdio);
}

#[test]
#[ignore = "make test-interop"]
fn rust_http_extension_requests() {
    unknown_extension_requests(Rust, Way::Http);
}

/// Signing in and out requires no session, and applies to later sessions.
fn sign_in_before_any_session(program: Program, way: Way) {
    let place = Place::new("");
    place.configure(&place.agent("locked", &["--sign-in"], &[]));
    let daemon = Daemon::at(place);
    let mut calls = Calls::start(program, &daemon, way, "locked");
    let hello = calls.greet(1, "interop");
    assert_eq!(hello["authMethods"][0]["id"], "key", "{hello}");
    assert!(
        hello["agentCapabilities"]["auth"]["logout"].is_object(),
        "{hello}"
    );
    calls.call(1, "authenticate", &json!({ "methodId": "key" }));
    calls.open(1, &daemon, &json!({}));

    calls.greet(2, "interop");
    calls.call(2, "logout", &json!({}));
    let params = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
    let error = calls.refused(2, "session/new", &params);
    assert_eq!(error["code"], AUTH_REQUIRED, "{error}");
    calls.end();
}

#[test]
fn typescript_stdio_sign_in() {
    sign_in_before_any_session(TypeScript, Way::Stdio);
}

#[test]
fn python_http_sign_in() {
    sign_in_before_any_session(Python, Way::Http);
}

/// The daemon responds to requests that follow `initialize` without waiting for its response, in order.
fn pipelined_requests(program: Program, way: Way) {
    let daemon = Daemon::start();
    let mut calls = Calls::start(program, &daemon, way, "fake");
    let new = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
    let requests = [
        calls.request(1, "initialize", &hello("interop")),
        calls.request(1, "session/new", &new),
        calls.request(1, "session/list", &json!({})),
    ];
    for id in requests {
        calls.answer(id).unwrap_or_else(|error| panic!("{error}"));
    }
    let ids = |name: &str| -> Vec<Value> {
        let frames = calls.frames.iter().filter_map(|line| line.get(name));
        let frames = frames.filter(|frame| frame.get("id").is_some());
        frames.map(|frame| frame["id"].clone()).collect()
    };
    assert_eq!(ids("sent")[0], ids("got")[0]);
    calls.end();
}

#[test]
fn typescript_stdio_pipelined_requests() {
    pipelined_requests(TypeScript, Way::Stdio);
}

#[test]
fn typescript_websocket_pipelined_requests() {
    pipelined_requests(TypeScript, Way::WebSocket);
}

#[test]
fn python_stdio_pipelined_requests() {
    pipelined_requests(Python, Way::Stdio);
}

#[test]
#[ignore = "make test-interop"]
fn rust_stdio_pipelined_requests() {
    pipelined_requests(Rust, Way::Stdio);
}

#[test]
#[ignore = "make test-interop"]
fn rust_websocket_pipelined_requests() {
    pipelined_requests(Rust, Way::WebSocket);
}

/// An error describes the problem, and lists the valid values.
fn refusals_say_why(program: Program, way: Way) {
    let daemon = Daemon::start();
    let mut calls = Calls::start(program, &daemon, way, "fake");
    calls.greet(1, "interop");
    let new = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
    let made = calls.call(1, "session/new", &new);
    let option = &made["configOptions"][0];
    let set = json!({
        "sessionId": made["sessionId"], "configId": option["id"], "value": "no-such-value",
    });
    let error = calls.refused(1, "session/set_config_option", &set);
    check_error(&error, INVALID_PARAMS);
    for offered in option["options"].as_array().expect("it offers values") {
        let value = offered["value"].as_str().expect("a value has a name");
        assert!(error.to_string().contains(value), "{value} is not in {error}");
    }
    check_error(
        &calls.refused(1, "session/new", &json!({ "cwd": 7 })),
        INVALID_PARAMS,
    );
    let unknown = json!({ "sessionId": "nobody-knows", "cwd": daemon.place.work() });
    let unknown = calls.refused(1, "session/resume", &unknown);
    check_error(&unknown, unknown["code"].as_i64().expect("an error has a code"));
    calls.end();
}

#[test]
fn typescript_stdio_refusals() {
    refusals_say_why(TypeScript, Way::Stdio);
}

#[test]
fn python_http_refusals() {
    refusals_say_why(Python, Way::Http);
}

/// A prompt that another client queued contains that client's name.
fn who_prompts(program: Program, way: Way) {
    let daemon = Daemon::start();
    let mut calls = Calls::start(program, &daemon, way, "fake");
    calls.greet(1, "first-editor");
    let session = calls.open(1, &daemon, &json!({}));
    let running = calls.prompt(1, &session, "say begun; slow ms=600000");
    calls.wait_for(1, "agent_message_chunk", "begun");
    calls.greet(2, "second-editor");
    let load = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    calls.call(2, "session/load", &load);
    let queued = calls.prompt(2, &session, "say queued");
    calls.notify(1, "session/cancel", &json!({ "sessionId": session }));
    assert_eq!(calls.answer(running).expect("it ends")["stopReason"], "cancelled");
    assert_eq!(calls.answer(queued).expect("it ends")["stopReason"], "end_turn");
    calls.wait_for(1, "agent_message_chunk", "queued");
    let prompts = calls.updates(1, "user_message_chunk");
    let [prompt] = prompts[..] else {
        panic!("{prompts:#?}");
    };
    assert_eq!(prompt["content"]["text"], "say queued");
    assert_eq!(prompt["_meta"]["acpd"]["client"], "second-editor", "{prompt}");
    calls.end();
}

#[test]
fn typescript_stdio_who_prompts() {
    who_prompts(TypeScript, Way::Stdio);
}

#[test]
fn python_websocket_who_prompts() {
    who_prompts(Python, Way::WebSocket);
}

/// A client that cannot set headers authenticates by an address with a ticket.
fn ticket_in_the_address(program: Program) {
    let daemon = Daemon::start();
    let tickets = Door {
        path: "/api/tickets".to_owned(),
        ..Door::of(&daemon)
    };
    let (status, made) = tickets.ask("POST", &[("Content-Length", "0")], "");
    assert_eq!(status, 200, "{made}");
    let ticket = body(&made)["ticket"].clone();
    let ticket = ticket.as_str().expect("a ticket is a text");
    let url = format!("http://{}/acp?agent=fake&ticket={ticket}", daemon.address());
    let mut calls = Calls::with_address(program, &daemon, &url);
    calls.greet(1, "interop");
    let session = calls.open(1, &daemon, &json!({}));
    let turn = calls.prompt(1, &session, "say hello");
    assert_eq!(calls.answer(turn).expect("it ends")["stopReason"], "end_turn");
    calls.wait_for(1, "agent_message_chunk", "hello");
    calls.end();
}

#[test]
fn typescript_http_ticket() {
    ticket_in_the_address(TypeScript);
}

#[test]
fn python_http_ticket() {
    ticket_in_the_address(Python);
}

/// A client can request the agent's chunks one by one. Otherwise the daemon may merge them, with the same text.
fn single_chunks(program: Program, way: Way) {
    const CHUNKS: usize = 200;
    let daemon = Daemon::start();
    let mut calls = Calls::start(program, &daemon, way, "fake");
    for (on, more) in [
        (1, json!({ "_meta": { "acpd": { "chunks": "single" } } })),
        (2, json!({})),
    ] {
        calls.greet(on, "interop");
        let session = calls.open(on, &daemon, &more);
        let turn = calls.prompt(on, &session, &format!("stream n={CHUNKS} text=word; say done"));
        calls.answer(turn).expect("it ends");
    }
    let texts = |on| -> Vec<&str> {
        let chunks = calls.updates(on, "agent_message_chunk");
        let texts = chunks
            .iter()
            .filter_map(|chunk| chunk["content"]["text"].as_str());
        texts.collect()
    };
    assert_eq!(texts(1).len(), CHUNKS + 1);
    assert!(texts(2).len() <= CHUNKS + 1);
    assert_eq!(texts(1).concat(), texts(2).concat());
    calls.end();
}

#[test]
fn typescript_stdio_single_chunks() {
    single_chunks(TypeScript, Way::Stdio);
}

#[test]
fn python_http_single_chunks() {
    single_chunks(Python, Way::Http);
}

/// A session can be forked regardless of the agent's capabilities.
fn fork_is_offered(program: Program, way: Way) {
    let daemon = Daemon::start();
    let mut calls = Calls::start(program, &daemon, way, "fake");
    let hello = calls.greet(1, "interop");
    let offered = &hello["agentCapabilities"]["sessionCapabilities"]["fork"];
    assert!(offered.is_object(), "{hello}");
    let session = calls.open(1, &daemon, &json!({}));
    let turn = calls.prompt(1, &session, "say hello");
    calls.answer(turn).expect("it ends");
    let fork = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    let forked = calls.call(1, "session/fork", &fork);
    assert_ne!(forked["sessionId"], session, "{forked}");
    calls.end();
}

#[test]
fn typescript_stdio_fork() {
    fork_is_offered(TypeScript, Way::Stdio);
}
