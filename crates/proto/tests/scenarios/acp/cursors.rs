//! Cursors that acpd offers to editors, whatever the agent can.

use acpd_model::{Failure, ThreadId, TurnId};
use acpd_proto::surface::acp::ConnectionStart;
use acpd_proto::surface::contract::Surface;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::Command;
use serde_json::{Value, json};

use super::connection::{connection, request, sent};
use super::stage::{NOW, SIMPLE, Stage, play};
use crate::support::tool;

/// The `initialize` params of an editor with cursors. The official schema that the tests have is from before them.
const CURSORS: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"able","version":"1"},"clientCapabilities":{"#,
    r#""session":{"cursors":{}}}}"#
);

/// Returns the updates that an editor received.
fn updates(s: &Stage, who: usize) -> Vec<Value> {
    let got = s.editors[who].got.iter();
    got.filter(|message| message["method"] == "session/update")
        .map(|message| message["params"]["update"].clone())
        .collect()
}

/// Returns the cursors that an editor received: the id and the anchor of each.
fn cursors(s: &Stage, who: usize) -> Vec<(Value, Value)> {
    let updates = updates(s, who);
    let cursors = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "cursor_update");
    cursors
        .map(|update| (update["cursorId"].clone(), update["anchor"].clone()))
        .collect()
}

fn after(kind: &str, member: &str, id: &str) -> Value {
    json!({ "type": kind, member: id, "position": "after" })
}

#[test]
fn each_turn_ends_with_a_cursor_before_the_answer() {
    play(|s| {
        let who = Stage::at_work(CURSORS, s);
        let plain = s.editor(SIMPLE);
        s.ask_session(plain, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        let prompt = s.prompt(who, "one");
        s.then(|scene| {
            scene.chunk("a");
            scene.stops_with("end_turn");
        });
        let got = &s.editors[who].got;
        let (last, before) = (&got[got.len() - 1], &got[got.len() - 2]);
        assert_eq!(last["id"], prompt);
        assert_eq!(
            before["params"],
            json!({ "sessionId": s.session(), "update": {
                "sessionUpdate": "cursor_update", "cursorId": "turn_1",
                "anchor": after("agent_message", "messageId", "item_2"), "capabilities": { "fork": {} },
            } })
        );
        // The message has an id then, for these editors alone.
        let chunk = |who| {
            updates(s, who)
                .into_iter()
                .find(|update| update["content"]["text"] == "a")
        };
        assert_eq!(chunk(who).unwrap()["messageId"], "item_2");
        assert_eq!(chunk(plain).unwrap().get("messageId"), None);
        assert!(cursors(s, plain).is_empty());
    });
}

#[test]
fn the_anchor_is_the_last_that_the_editor_has() {
    play(|s| {
        let who = Stage::at_work(CURSORS, s);
        s.prompt(who, "one");
        s.then(|scene| {
            scene.chunk("a");
            scene.update(&tool("t-1", false, r#","title":"ls","status":"completed""#));
            scene.stops_with("end_turn");
        });
        s.prompt(who, "two");
        s.then(|scene| {
            scene.update(
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"},"messageId":"m-1"}"#,
            );
            scene.stops_with("end_turn");
        });
        // An id that the agent uses again is another one for editors.
        s.prompt(who, "three");
        s.then(|scene| {
            scene.update(&tool("t-1", false, r#","title":"ls","status":"completed""#));
            scene.stops_with("end_turn");
        });
        // The editor does not know acpd's id of its own prompt.
        s.prompt(who, "four");
        s.then(|scene| scene.stops_with("end_turn"));
        s.then(|scene| {
            scene.prompt("of another client");
            scene.stops_with("end_turn");
        });
        let expected = [
            ("turn_1", after("tool_call", "toolCallId", "t-1")),
            ("turn_2", after("agent_message", "messageId", "m-1")),
            ("turn_3", after("tool_call", "toolCallId", "item_7")),
            ("turn_5", after("user_message", "messageId", "item_9")),
        ];
        assert_eq!(
            cursors(s, who),
            expected.map(|(cursor, anchor)| (json!(cursor), anchor))
        );
        // An editor that loads the session has the prompts as well.
        let late = s.editor(CURSORS);
        s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        let mut all = cursors(s, late);
        assert_eq!(
            all.remove(3),
            (json!("turn_4"), after("user_message", "messageId", "item_8"))
        );
        assert_eq!(all, cursors(s, who));
    });
}

#[test]
fn cursors_of_dropped_turns_are_withdrawn() {
    play(|s| {
        let who = Stage::at_work(CURSORS, s);
        for text in ["one", "two", "three"] {
            s.prompt(who, text);
            s.then(|scene| {
                scene.chunk("a");
                scene.stops_with("end_turn");
            });
        }
        s.then(|scene| {
            let last_kept = Some(TurnId(1));
            scene.ask(Command::RollBack { last_kept }).unwrap();
        });
        let withdrawn: Vec<Value> = updates(s, who).into_iter().rev().take(2).collect();
        let gone = |cursor: &str| json!({ "sessionUpdate": "cursor_update", "cursorId": cursor, "capabilities": null });
        assert_eq!(withdrawn, [gone("turn_3"), gone("turn_2")]);
        s.scene.exits("exit status 0");
    });
}

/// The agent's cursors are those of its own session.
#[test]
fn the_agents_cursors_are_not_passed_on() {
    play(|s| {
        let who = Stage::at_work(CURSORS, s);
        s.prompt(who, "one");
        s.then(|scene| {
            scene.update(
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"},"messageId":"m-1"}"#,
            );
            scene.update(concat!(
                r#"{"sessionUpdate":"cursor_update","cursorId":"c-1","anchor":{"type":"agent_message","messageId":"m-1","#,
                r#""position":"after"},"capabilities":{"fork":{}}}"#
            ));
            scene.stops_with("end_turn");
        });
        let ids: Vec<Value> = cursors(s, who).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["turn_1"]);
    });
}

#[test]
fn a_fork_at_a_cursor_is_a_fork_after_its_turn() {
    let thread: ThreadId = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4".parse().unwrap();
    let mut peer = connection(ConnectionStart::default());
    let params = |cursor: &str| format!(r#"{{"sessionId":"{thread}","cwd":"/w","cursorId":{cursor}}}"#);
    let (_, whole) = request(&mut peer, 1, "session/fork", &params("null"));
    let (token, forked) = request(&mut peer, 2, "session/fork", &params("\"turn_3\""));
    let (Request::ForkThread(whole), Request::ForkThread(forked)) = (whole, forked) else {
        panic!("no forks");
    };
    assert_eq!((whole.turn, forked.turn), (None, Some(TurnId(3))));
    let passed_on = forked.session.unwrap().change.members;
    assert_eq!(passed_on, None, "the agent's session has other cursors");
    // The turn was dropped, or never began.
    peer.handle_reply(token, Err(Failure::not_found(TurnId(3))));
    let error = sent(&mut peer)[0]["error"].clone();
    assert_eq!(error["code"], -32602);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no cursor \"turn_3\""), "{error}");
    let (token, _) = request(&mut peer, 3, "session/fork", &params("\"turn_3\""));
    peer.handle_reply(token, Err(Failure::not_found(format!("thread {thread}"))));
    assert_eq!(sent(&mut peer)[0]["error"]["code"], -32002);
    for odd in ["\"\"", "\"c-1\"", "\"turn_x\"", "7", "{}"] {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":4,"method":"session/fork","params":{}}}"#,
            params(odd)
        );
        peer.handle_message(&text, NOW);
        assert_eq!(sent(&mut peer)[0]["error"]["code"], -32602, "{odd}");
    }
}
