//! Objects of the daemon for tests, which name only the members that they are about.

use acpd_client::protocol::{Notification, Thread, ThreadResumed};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::THREAD;

/// Returns a notification about the thread.
pub fn notification(method: &str, mut params: Value) -> Notification {
    fill(&mut params, json!({ "threadId": THREAD, "ts": 0, "seq": 1 }));
    fill(&mut params, members_of(method));
    if params["turn"].is_object() {
        fill(&mut params["turn"], json!({ "status": "completed" }));
    }
    let read = Notification::from_params(method, &params);
    let is_known = !matches!(read, Notification::Unrecognized { .. });
    assert!(is_known, "{method} has other members than these: {params}");
    read
}

/// Returns the members that params of a method always have.
fn members_of(method: &str) -> Value {
    let by = json!({ "kind": "daemon" });
    match method {
        "item/started" => json!({ "type": "agentMessage" }),
        "item/toolCall/completed" => json!({ "type": "toolCall" }),
        "item/fileChange/completed" => json!({ "type": "fileChange", "path": "/w/x" }),
        "thread/notice" => json!({ "code": "x" }),
        "thread/deleted" => json!({ "session": "notAsked" }),
        "thread/rolledBack" => json!({ "fidelity": "full", "by": by }),
        "turn/interrupting" | "turn/queue/changed" => json!({ "by": by }),
        "serverRequest/resolved" => json!({ "requestId": "req_1", "by": by }),
        "item/tool/requestUserInput" => json!({ "title": "" }),
        _ if method.ends_with("/requestApproval") => json!({ "title": "", "options": [], "subjects": [] }),
        _ => json!({}),
    }
}

/// Returns a thread with these members.
pub fn thread(mut members: Value) -> Thread {
    let always = json!({
        "id": THREAD, "agentType": "demo", "cwd": "/code/site", "status": "idle", "archived": false, "createdAt": 1,
        "updatedAt": 1, "turnCount": 0, "latestSeq": 10, "additionalDirectories": [], "queuedTurnIds": [],
        "pendingRequestIds": [],
    });
    fill(&mut members, always);
    object(members)
}

/// Returns a subscribed thread from the members of the result that a test names.
pub fn resumed(mut result: Value) -> ThreadResumed {
    let thread = thread(result["thread"].take());
    result["thread"] = json!(thread);
    object(result)
}

/// Returns an object of the protocol.
pub fn object<T: DeserializeOwned>(members: Value) -> T {
    serde_json::from_value(members).expect("it has all members")
}

/// Adds members that are not there.
pub fn fill(object: &mut Value, members: Value) {
    let (Some(object), Value::Object(members)) = (object.as_object_mut(), members) else {
        panic!("both are objects");
    };
    for (name, value) in members {
        object.entry(name).or_insert(value);
    }
}
