//! The handshake of a connection, and responses to invalid requests.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, Daemon};

#[test]
fn nothing_is_done_before_the_handshake_and_nothing_twice() {
    let daemon = Daemon::start();
    let mut client = Client::bare(&daemon);
    let early = client.refused("agent/list", &json!({}));
    assert_eq!(
        (&early["code"], &early["message"]),
        (&json!(-32003), &json!("Not initialized"))
    );
    let nameless = client.refused("initialize", &json!({}));
    assert_eq!(nameless["code"], -32602, "{nameless}");
    let hello = json!({ "clientInfo": { "name": "t", "version": "1" }, "capabilities": {} });
    let welcome = client.call("initialize", &hello);
    assert_eq!(welcome["serverInfo"]["name"], "acpd");
    assert!(welcome["protocolVersion"].is_u64(), "{welcome}");
    assert_eq!(welcome["limits"]["messageBytes"], 1 << 20);
    assert_eq!(welcome["identity"]["role"], "owner");
    let half = client.refused("agent/list", &json!({}));
    assert_eq!(half["code"], -32003, "before initialized: {half}");
    client.notify("initialized");
    let again = client.refused("initialize", &hello);
    assert_eq!(
        (&again["code"], &again["message"]),
        (&json!(-32003), &json!("Already initialized"))
    );
    assert_eq!(client.call("agent/list", &json!({}))["data"][0]["id"], "fake");
}

#[test]
fn invalid_requests_receive_a_typed_error_and_keep_the_connection() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    for (text, code) in [
        ("nope", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\"", -32700),
        ("[]", -32600),
        ("42", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"req_1\",\"result\":{}}", -32600),
    ] {
        client.send(Message::text(text)).unwrap();
        client.call("agent/list", &json!({}));
        let error = client
            .errors
            .pop()
            .unwrap_or_else(|| panic!("{text} was swallowed"));
        assert_eq!(error["code"], code, "{text}: {error}");
        assert!(error["data"]["code"].is_string(), "{error}");
    }
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("thread/start", json!({ "cwd": "/" }), -32602),
        (
            "thread/start",
            json!({ "agentType": "fake", "cwd": "relative" }),
            -32602,
        ),
        (
            "thread/start",
            json!({ "agentType": "fake", "cwd": "/no/such/dir" }),
            -32602,
        ),
        ("thread/start", json!({ "agentType": "none", "cwd": "/" }), -32002),
        ("thread/read", json!({}), -32602),
        ("thread/read", json!({ "threadId": "../etc/passwd" }), -32602),
        (
            "thread/read",
            json!({ "threadId": "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4" }),
            -32002,
        ),
        (
            "thread/resume",
            json!({ "threadId": "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4" }),
            -32002,
        ),
        ("turn/start", json!({ "text": "hi" }), -32602),
        (
            "item/approve",
            json!({ "requestId": "req_1", "approved": true }),
            -32602,
        ),
        ("agent/list", json!([1, 2]), -32602),
    ] {
        let error = client.refused(method, &params);
        assert_eq!(error["code"], code, "{method} {params}: {error}");
    }
}

#[test]
fn agents_are_listed_with_what_keeps_them_from_running() {
    let daemon = Daemon::with("[agents.gone]\ncommand = \"/no/such/agent\"\ntitle = \"Gone\"\n");
    let mut client = Client::new(&daemon);
    let listed = client.call("agent/list", &json!({}));
    // Configured agents come first, then agents of the registry.
    let [fake, gone, others @ ..] = &listed["data"].as_array().unwrap()[..] else {
        panic!("{listed}");
    };
    assert_eq!(
        (&fake["source"], &gone["source"]),
        (&json!("config"), &json!("config"))
    );
    assert!(
        others
            .iter()
            .any(|agent| agent["id"] == "gemini" && agent["source"] == "registry"),
        "{listed}"
    );
    assert_eq!((&fake["id"], &fake["installed"]), (&json!("fake"), &json!(true)));
    assert_eq!(
        (&gone["title"], &gone["installed"]),
        (&json!("Gone"), &json!(false))
    );
    assert!(
        gone["reason"].as_str().unwrap().contains("/no/such/agent"),
        "{gone}"
    );
    let error = client.refused("thread/start", &json!({ "agentType": "gone", "cwd": "/" }));
    assert_eq!(error["code"], -32008, "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("/no/such/agent"),
        "{error}"
    );
}
