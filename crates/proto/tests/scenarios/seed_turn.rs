//! The complete turn from the seed document, with its order and names.

use serde_json::{Value, json};

use crate::support::{check, tool};

#[test]
fn a_turn_with_an_edit_looks_like_the_seed() {
    let scene = check(|s| {
        s.open_turn();
        s.chunk("Here ");
        s.chunk("is the fix...");
        s.later(10);
        let diff = r#","content":[{"type":"diff","path":"src/auth.ts","oldText":"a\n","newText":"b\n"}]"#;
        s.update(&tool(
            "t1",
            false,
            &format!(r#","title":"edit_file","kind":"edit","status":"in_progress"{diff}"#),
        ));
        s.update(&tool("t1", true, r#","status":"completed""#));
        s.answer(
            "session/prompt",
            r#"{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}"#,
        );
    });
    let seed: Vec<(&str, Value)> = vec![
        ("turn/started", json!({ "turnId": "turn_1" })),
        (
            "item/started",
            json!({ "itemId": "item_2", "type": "agentMessage" }),
        ),
        (
            "item/agentMessage/delta",
            json!({ "itemId": "item_2", "text": "Here " }),
        ),
        (
            "item/agentMessage/delta",
            json!({ "itemId": "item_2", "text": "is the fix..." }),
        ),
        (
            "item/toolCall/started",
            json!({ "itemId": "item_3", "name": "edit_file" }),
        ),
        ("item/fileChange/started", json!({ "path": "src/auth.ts" })),
        (
            "item/fileChange/completed",
            json!({ "path": "src/auth.ts", "diff": "--- a/src/auth.ts\n+++ b/src/auth.ts\n@@ -1 +1 @@\n-a\n+b\n" }),
        ),
        ("item/toolCall/completed", json!({ "itemId": "item_3" })),
        (
            "item/completed",
            json!({ "itemId": "item_2", "text": "Here is the fix..." }),
        ),
        (
            "turn/completed",
            json!({ "turnId": "turn_1", "tokenUsage": { "inputTokens": 1, "outputTokens": 2, "totalTokens": 3 } }),
        ),
    ];
    let mut frames = scene.frames.iter();
    for (method, members) in seed {
        let shown = frames.find_map(|frame| {
            let message: Value = serde_json::from_slice(&frame.text).unwrap();
            let params = &message["params"];
            let same = |(key, value): (&String, &Value)| params.get(key) == Some(value);
            (frame.method == method && members.as_object().unwrap().iter().all(same)).then(|| params.clone())
        });
        let params = shown.unwrap_or_else(|| {
            panic!(
                "{method} {members} does not come, or not in its place: {:#?}",
                scene.methods()
            )
        });
        assert_eq!(params["threadId"], scene.id.to_string());
        assert!(params["seq"].is_u64() && params["ts"].is_i64());
        assert_eq!(params["turnId"], "turn_1");
    }
}

#[test]
fn everything_of_a_turn_in_order() {
    let scene = check(|s| {
        s.open_turn();
        s.chunk("hi");
        s.stops_with("end_turn");
    });
    assert_eq!(
        scene.methods(),
        [
            "thread/started",
            "thread/updated",
            "turn/started",
            "thread/status/changed",
            "item/started",
            "item/userMessage",
            "item/completed",
            "item/started",
            "item/agentMessage/delta",
            "item/completed",
            "turn/completed",
            "thread/status/changed",
        ]
    );
    let status: Vec<Value> = scene
        .params("thread/status/changed")
        .iter()
        .map(|params| params["status"].clone())
        .collect();
    assert_eq!(status, ["running", "idle"]);
    let ended = &scene.params("turn/completed")[0]["turn"];
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(ended["id"], "turn_1");
}
