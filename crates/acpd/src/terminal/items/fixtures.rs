//! Messages of the daemon for tests, which name only the members that they are about.

use acpd_client::protocol::Notification;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Adds the members that a message of the daemon always has.
pub fn complete(method: &str, params: &mut Value) {
    let mut missing = json!({ "threadId": "t", "ts": 1 });
    let more = match method {
        "item/started" | "item/completed" => json!({ "type": "agentMessage", "outcome": "completed" }),
        "item/toolCall/started" | "item/updated" | "item/toolCall/completed" => {
            json!({ "type": "toolCall", "status": "pending", "outcome": "completed" })
        }
        "item/fileChange/started" | "item/fileChange/completed" => {
            json!({ "type": "fileChange", "path": "/w/x", "outcome": "completed" })
        }
        "item/terminalCommand/started" | "item/terminalCommand/completed" => {
            json!({ "type": "terminalCommand", "terminalId": "term_1", "outcome": "completed" })
        }
        "item/terminalCommand/output" => json!({ "itemId": "item_1", "terminalId": "term_1", "text": "" }),
        "thread/notice" => json!({ "level": "info", "code": "x", "message": "m" }),
        "thread/deleted" => json!({ "session": "notAsked", "by": { "kind": "daemon" } }),
        "thread/rolledBack" => json!({ "fidelity": "full", "by": { "kind": "daemon" } }),
        "serverRequest/resolved" => json!({ "requestId": "req_1", "by": { "kind": "daemon" } }),
        "turn/started" | "turn/queued" | "turn/completed" => {
            if let Some(turn) = params["turn"].as_object_mut() {
                turn.entry("status").or_insert_with(|| json!("completed"));
            }
            json!({})
        }
        _ if method.ends_with("/requestApproval") => {
            json!({ "requestId": "req_1", "title": "", "options": [], "subjects": [] })
        }
        "item/tool/requestUserInput" => json!({ "requestId": "req_1", "title": "" }),
        _ => json!({}),
    };
    // Output without a number is only shown live.
    if method != "item/terminalCommand/output" {
        missing["seq"] = json!(1);
    }
    for members in [missing, more] {
        for (name, value) in members.as_object().into_iter().flatten() {
            if params.get(name).is_none() {
                params[name] = value.clone();
            }
        }
    }
}

fn completed(method: &str, mut params: Value) -> Value {
    complete(method, &mut params);
    params
}

/// Returns a notification.
pub fn notification(method: &str, params: Value) -> Notification {
    let params = completed(method, params);
    let read = Notification::from_params(method, &params);
    let is_known = !matches!(read, Notification::Unrecognized { .. });
    assert!(is_known, "{method} has other members than these: {params}");
    read
}

/// Returns the params of a notification.
pub fn read<T: DeserializeOwned>(method: &str, params: Value) -> T {
    object(completed(method, params))
}

/// Returns an object of the protocol, of which all members are given.
pub fn object<T: DeserializeOwned>(members: Value) -> T {
    serde_json::from_value(members).expect("it has the members of its type")
}
