use serde_json::json;

use super::*;
use crate::attach::state::End;

#[test]
fn after_a_lost_connection_it_continues_where_it_was() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.say("turn_1", "item_1", "before");
    scene.lose("the daemon is not running");
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

    scene.reconnect();
    assert!(scene.effects().is_empty(), "the subscription continues by itself");
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
    scene.lose("lost");
    scene.lose("still lost");
    scene.reconnect();
    let (_, method, again) = scene.request();
    assert_eq!((method, &again), ("turn/start", &first));
    assert!(first["clientTurnId"].is_string());
    assert!(scene.app.prompt.is_empty());
}

#[test]
fn prompts_that_were_cut_off_keep_their_order() {
    let mut scene = Scene::open(&json!([]));
    for text in ["one", "two", "three"] {
        scene.typed(text);
        scene.key("Enter");
    }
    scene.effects();
    scene.lose("lost");
    scene.reconnect();
    let effects = scene.effects();
    let sent = effects.iter().filter_map(request_of);
    let texts: Vec<Value> = sent.map(|(_, _, params)| params["text"].clone()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

#[test]
fn a_message_into_the_turn_is_never_sent_twice() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.typed("careful");
    scene.key("M-s");
    scene.request();
    scene.lose("lost");
    assert_eq!(scene.app.prompt.text(), "careful");
    scene.reconnect();
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
    scene.lose("lost");
    scene.choose("M-1");
    scene.key("Enter");
    assert!(scene.effects().is_empty());
    assert!(!scene.app.questions[0].is_answered);
    scene.reconnect();
    let alice = json!({ "kind": "client", "principal": "alice", "client": "acpd-web" });
    scene.event(
        "serverRequest/resolved",
        json!({ "requestId": "req_1", "outcome": "accepted", "by": alice }),
    );
    assert_eq!(scene.app.questions.len(), 1);
    assert_eq!(scene.app.questions[0].request, "req_2");
}

#[test]
fn an_answer_that_was_cut_off_can_be_given_again() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.draw();
    scene.wait(1_000);
    scene.choose("M-1");
    scene.key("Enter");
    assert_eq!(scene.request().1, "item/approve");
    assert!(scene.app.questions[0].is_answered);
    scene.lose("lost");
    scene.reconnect();
    scene.choose("M-1");
    scene.key("Enter");
    assert_eq!(scene.request().1, "item/approve");
}

#[test]
fn a_subscription_that_ends_is_replaced_unless_the_thread_is_gone() {
    let mut scene = Scene::open(&json!([]));
    scene.say("turn_1", "item_1", "lost");
    scene
        .app
        .handle_unfollowed("another", &Failure::other("over"), scene.now);
    scene.draw();
    assert!(scene.effects().is_empty());
    scene
        .app
        .handle_unfollowed(THREAD, &Failure::other("over"), scene.now);
    assert_eq!(scene.status(), "over");
    assert!(scene.effects().is_empty(), "it waits before it tries again");
    scene.wait(2_500);
    scene.draw();
    let (token, method, _) = scene.request();
    assert_eq!(method, "thread/resume");
    scene.draw();
    assert!(scene.effects().is_empty(), "one request at a time");
    let items = json!([message("item_9", "agentMessage", "found")]);
    let thread = json!({ "turns": [turn("turn_1", &items)] });
    scene.reply(token, json!({ "thread": thread, "latestSeq": scene.seq }));
    scene.say("turn_1", "item_10", "next");
    let picture = scene.draw();
    assert!(
        picture.contains("found") && picture.contains("next") && !picture.contains("lost"),
        "{picture}"
    );
    let gone = Failure {
        message: "no thread has this id".to_owned(),
        kind: FailureKind::NotFound,
    };
    scene.app.handle_unfollowed(THREAD, &gone, scene.now);
    let end = End::Failed("no thread has this id".to_owned());
    assert_eq!(scene.effects(), [Effect::End(end)]);
}

#[test]
fn a_snapshot_that_is_awaited_survives_a_lost_connection() {
    let mut scene = Scene::open(&json!([]));
    scene.event("thread/rolledBack", json!({ "lastKeptTurnId": null }));
    scene.draw();
    let (token, ..) = scene.request();
    scene.lose("lost");
    scene.reconnect();
    scene.draw();
    assert!(scene.effects().is_empty(), "it is requested once");
    let items = json!([message("item_1", "agentMessage", "what is left")]);
    let thread = json!({ "turns": [turn("turn_1", &items)] });
    scene.reply(token, json!({ "thread": thread, "latestSeq": scene.seq }));
    assert!(scene.draw().contains("what is left"));
}

#[test]
fn a_log_that_works_again_is_not_reported_as_failed_after_a_reconnect() {
    let mut scene = Scene::with(json!({ "error": "disk full" }));
    assert!(scene.draw().contains("disk full"));
    scene.lose("lost");
    scene.reconnect();
    assert!(!scene.draw().contains("disk full"));
    let changed = notification("thread/log/changed", json!({ "error": "still full" }));
    scene.app.handle_notification(&changed, scene.now);
    assert!(scene.draw().contains("still full"));
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
    let params = json!({ "threadId": "another", "seq": 11, "by": { "kind": "daemon" } });
    scene
        .app
        .handle_notification(&notification("thread/deleted", params), scene.now);
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
