//! Prompts that a client repeats with the same key, because it did not see the answer.

use serde_json::{Value, json};

use super::stage::{SIMPLE, Stage, play};

/// Sends a prompt with a key. Returns the id of the request.
fn prompt(s: &mut Stage, who: usize, text: &str, key: &Value) -> Value {
    let params = json!({
        "sessionId": s.session(),
        "prompt": [{ "type": "text", "text": text }],
        "_meta": { "acpd": { "idempotencyKey": key } },
    });
    s.request(who, "session/prompt", &params.to_string())
}

/// Connects another editor that has loaded the session.
fn another(s: &mut Stage) -> usize {
    let who = s.editor(SIMPLE);
    s.ask_session(who, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
    who
}

fn stop_reason(s: &Stage, who: usize, id: &Value) -> Option<Value> {
    Some(s.answer_to(who, id)?["result"]["stopReason"].clone())
}

#[test]
fn a_prompt_that_is_repeated_on_a_new_connection_is_done_once() {
    play(|s| {
        let key = json!("k1");
        let first = Stage::at_work(SIMPLE, s);
        let lost = prompt(s, first, "do it", &key);
        // While its turn runs, both are answered when it ends.
        let second = another(s);
        let again = prompt(s, second, "do it", &key);
        assert_eq!(stop_reason(s, second, &again), None);
        s.then(|scene| scene.stops_with("max_tokens"));
        assert_eq!(stop_reason(s, first, &lost), Some(json!("max_tokens")));
        assert_eq!(stop_reason(s, second, &again), Some(json!("max_tokens")));
        // Afterwards at once, with the same result.
        let third = another(s);
        let late = prompt(s, third, "do it", &key);
        assert_eq!(stop_reason(s, third, &late), Some(json!("max_tokens")));
        assert_eq!(s.scene.sent_as("session/prompt").len(), 1);
        // Another key is another prompt.
        let other = prompt(s, third, "do it", &json!("k2"));
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(stop_reason(s, third, &other), Some(json!("end_turn")));
        assert_eq!(s.scene.sent_as("session/prompt").len(), 2);
    });
}

#[test]
fn a_repeated_prompt_on_the_same_connection_has_its_own_answer() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let key = json!("k");
        let ids = [prompt(s, who, "x", &key), prompt(s, who, "x", &key)];
        s.then(|scene| scene.stops_with("end_turn"));
        for id in &ids {
            assert_eq!(stop_reason(s, who, id), Some(json!("end_turn")));
        }
        assert_eq!(s.scene.sent_as("session/prompt").len(), 1);
    });
}

#[test]
fn the_failure_of_a_turn_is_also_the_answer_to_its_repetition() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let first = prompt(s, who, "x", &json!("k"));
        s.then(|scene| scene.exits("crashed"));
        let late = another(s);
        let id = prompt(s, late, "x", &json!("k"));
        let error = s.answer_to(late, &id).unwrap()["error"].take();
        assert_eq!(error["code"], -32603);
        assert_eq!(
            error["message"],
            s.answer_to(who, &first).unwrap()["error"]["message"]
        );
    });
}

#[test]
fn a_key_is_a_short_text() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        for key in [json!(7), json!(""), json!("x".repeat(257))] {
            let id = prompt(s, who, "x", &key);
            let error = s.answer_to(who, &id).unwrap()["error"].take();
            assert_eq!(error["code"], -32602, "{error}");
        }
        // What is no object of acpd's is the agent's own.
        for meta in [
            json!(null),
            json!({ "acpd": 7 }),
            json!({ "acpd": { "idempotencyKey": null } }),
        ] {
            let text = json!({ "type": "text", "text": "x" });
            let params = json!({ "sessionId": s.session(), "prompt": [text], "_meta": meta });
            let id = s.request(who, "session/prompt", &params.to_string());
            s.then(|scene| scene.stops_with("end_turn"));
            assert_eq!(stop_reason(s, who, &id), Some(json!("end_turn")), "{meta}");
        }
    });
}
