use serde_json::json;

use super::*;
use crate::attach::state::End;

#[test]
fn after_a_lost_connection_it_continues_where_it_was() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.say("turn_1", "item_1", "before");
    scene.app.handle_lost("the daemon is not running", scene.now);
    let picture = scene.draw();
    assert!(
        picture.contains("reconnecting… the daemon is not running"),
        "{picture}"
    );
    assert!(picture.contains("before") && picture.contains("◌ reconnecting"));
    // Nothing can be sent, and nothing is lost.
    scene.typed("later");
    scene.keys(&["Enter", "Esc", "Esc"]);
    assert!(scene.effects().is_empty());
    assert_eq!(scene.app.prompt.text(), "later");

    scene.app.handle_connected(true);
    let (token, method, params) = scene.request();
    assert_eq!(
        (method, params),
        (
            "thread/resume",
            json!({ "threadId": THREAD, "after": scene.seq, "startAgent": false })
        )
    );
    scene.reply(
        token,
        json!({ "thread": { "pendingRequestIds": [] }, "latestSeq": 20 }),
    );
    // An event that was received before is not folded twice.
    let seq = scene.seq;
    scene.event_at(
        seq,
        "item/agentMessage/delta",
        json!({ "turnId": "turn_1", "itemId": "item_1", "text": "before" }),
    );
    scene.event(
        "item/agentMessage/delta",
        json!({ "turnId": "turn_1", "itemId": "item_1", "text": " after" }),
    );
    let picture = scene.draw();
    assert!(
        picture.contains("before after\n") && !picture.contains("reconnecting"),
        "{picture}"
    );
}

#[test]
fn a_prompt_that_was_on_its_way_is_sent_again_as_the_same_turn() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("once");
    scene.key("Enter");
    let (_, _, first) = scene.request();
    scene.app.handle_lost("lost", scene.now);
    scene.app.handle_lost("still lost", scene.now);
    scene.app.handle_connected(true);
    let (token, ..) = scene.request();
    scene.reply(
        token,
        json!({ "thread": { "pendingRequestIds": [] }, "latestSeq": 10 }),
    );
    let (_, method, again) = scene.request();
    assert_eq!((method, &again), ("turn/start", &first));
    assert!(first["clientTurnId"].is_string());
    assert!(scene.app.prompt.is_empty());
}

#[test]
fn a_message_into_the_turn_is_never_sent_twice() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.typed("careful");
    scene.key("M-s");
    scene.request();
    scene.app.handle_lost("lost", scene.now);
    assert_eq!(scene.app.prompt.text(), "careful");
    scene.app.handle_connected(true);
    let (token, ..) = scene.request();
    scene.reply(
        token,
        json!({ "thread": { "pendingRequestIds": [] }, "latestSeq": 10 }),
    );
    assert!(scene.effects().is_empty());
    assert_eq!(
        scene.status(),
        "the connection was lost: look whether the message arrived"
    );
}

#[test]
fn a_question_that_was_resolved_meanwhile_is_gone_and_another_can_be_answered() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.permission("req_2");
    scene.draw();
    scene.wait(1_000);
    scene.app.handle_lost("lost", scene.now);
    scene.choose("M-1");
    scene.key("Enter");
    assert!(scene.effects().is_empty());
    assert!(!scene.app.questions[0].is_answered);
    scene.app.handle_connected(true);
    let (token, ..) = scene.request();
    scene.reply(
        token,
        json!({ "thread": { "pendingRequestIds": ["req_2"] }, "latestSeq": 10 }),
    );
    assert_eq!(scene.app.questions.len(), 1);
    assert_eq!(scene.app.questions[0].request, "req_2");
}

#[test]
fn missing_events_are_read_again() {
    let mut scene = Scene::open(&json!([]));
    scene.seq += 5;
    scene.say("turn_1", "item_1", "lost");
    scene.draw();
    let (token, method, params) = scene.request();
    assert_eq!((method, &params["after"]), ("thread/resume", &Value::Null));
    // Only one request at a time, however many events are missing.
    scene.say("turn_1", "item_2", "lost");
    scene.draw();
    assert!(scene.effects().is_empty());
    let items = json!([message("item_9", "agentMessage", "found")]);
    let thread = json!({ "turns": [turn("turn_1", &items)], "pendingRequestIds": [] });
    scene.reply(token, json!({ "thread": thread, "latestSeq": scene.seq }));
    scene.say("turn_1", "item_10", "next");
    let picture = scene.draw();
    assert!(
        picture.contains("found") && picture.contains("next") && !picture.contains("lost"),
        "{picture}"
    );
}

#[test]
fn a_reading_that_fails_is_tried_again_later_and_a_thread_that_is_gone_ends_it() {
    let mut scene = Scene::open(&json!([]));
    scene.event("thread/rolledBack", json!({ "lastKeptTurnId": null }));
    scene.draw();
    let (token, ..) = scene.request();
    scene.refuse(token, "too many requests", false);
    scene.draw();
    assert!(scene.effects().is_empty());
    assert_eq!(scene.status(), "too many requests");
    scene.wait(2_500);
    scene.draw();
    let (token, ..) = scene.request();
    scene.refuse(token, "no thread has this id", true);
    assert_eq!(
        scene.effects(),
        [Effect::End(End::Failed("no thread has this id".to_owned()))]
    );
}

#[test]
fn messages_about_other_threads_are_ignored() {
    let mut scene = Scene::open(&json!([]));
    let incoming = Incoming {
        method: "thread/deleted".to_owned(),
        params: json!({ "threadId": "another", "seq": 11 }),
        text: String::new(),
        id: None,
    };
    scene.app.handle_message(&incoming, scene.now);
    assert!(!scene.app.head.is_deleted);
    scene.event(
        "thread/deleted",
        json!({ "by": { "kind": "client", "principal": "owner", "client": "x" } }),
    );
    assert!(scene.draw().contains("✗ deleted"));
    assert_eq!(
        scene.status(),
        "the thread was deleted by owner (x); Ctrl+D leaves"
    );
}
