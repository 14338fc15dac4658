//! The paths on which acpd asks an agent of version 2 for something other than a turn. Each line that the agent gets is checked against
//! the schema.

use acpd_model::event::{Binding, Fidelity};
use acpd_model::{EventKind, RawJson, SessionEvent, TurnId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::Spec;
use acpd_proto::thread::{Answer, Command, ForkPoint, Reply};
use serde_json::{Value, json};

use super::{IDLE, check_turn, follows_the_schemas, scene, state, works};
use crate::support::{SESSION, Scene, check_in};

/// An agent that does all that acpd asks for.
const ABLE: &str = r#"{"protocolVersion":2,"info":{"name":"fake","version":"1"},"capabilities":{"session":{"fork":{},"delete":{},"options":{},"title":{},"mcp":{"stdio":{}}},"auth":{"status":{}},"providers":{}},"authMethods":[{"methodId":"web","type":"agent","name":"Web"}]}"#;

/// Runs a scenario with such an agent, which has a session.
fn check_able(scenario: impl FnOnce(&mut Scene)) -> Scene {
    check_in(scene(), |s| {
        s.create();
        s.answer("initialize", ABLE);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        scenario(s);
        follows_the_schemas(s);
    })
}

/// Runs a turn with one message, and a cursor behind it.
fn turn(s: &mut Scene, number: u32) {
    s.prompt(&format!("prompt {number}"));
    works(s);
    s.update(&format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"answer {number}"}},"messageId":"m-{number}"}}"#
    ));
    s.update(&format!(
        r#"{{"sessionUpdate":"cursor_update","cursorId":"c-{number}","anchor":{{"type":"agent_message","messageId":"m-{number}","position":"after"}},"capabilities":{{"fork":{{}}}}}}"#
    ));
    state(s, IDLE);
}

fn params(s: &Scene, method: &str) -> Value {
    s.sent_as(method).last().unwrap().json["params"].clone()
}

fn point(s: &Scene, call: u64) -> ForkPoint {
    match s.replies.get(&call) {
        Some(Ok(Reply::Fork(point))) => (**point).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_from_elsewhere_is_resumed_with_a_replay() {
    let s = check_in(scene(), |s| {
        let call = s.create_as(Spec {
            agent: "fake".into(),
            cwd: "/workspace".into(),
            session_id: Some(SESSION.into()),
            ..Spec::default()
        });
        s.answer("initialize", ABLE);
        assert_eq!(
            params(s, "session/resume")["replayFrom"],
            json!({ "type": "start" })
        );
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        for update in [
            json!({ "sessionUpdate": "user_message", "messageId": "u", "content": text("look") }),
            json!({ "sessionUpdate": "agent_message", "messageId": "m", "content": text("seen") }),
            json!({ "sessionUpdate": "replay_complete" }),
            json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" }),
        ] {
            s.update(&update.to_string());
        }
        assert!(!s.replies.contains_key(&call));
        s.answer("session/resume", "{}");
        assert!(s.replies[&call].is_ok());
        assert_eq!(s.thread.live().summary.turns, 1);
        turn(s, 2);
        follows_the_schemas(s);
    });
    assert_eq!(s.said(), ["seen", "answer 2"]);
}

#[test]
fn a_fork_and_a_rollback_are_at_a_cursor() {
    check_able(|s| {
        for number in 1..=3 {
            turn(s, number);
        }
        let call = s.send(Command::Fork {
            turn: Some(TurnId(2)),
        });
        assert_eq!(params(s, "session/fork")["cursorId"], "c-2");
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        s.answer("session/close", "{}");
        let at = point(s, call);
        assert_eq!(at.forked.fidelity, Fidelity::Exact);
        let mut copy = Scene::adopting(&s.log, at, None);
        copy.acp = s.acp;
        check_in(copy, is_forked_again);
        let call = s.send(Command::RollBack {
            last_kept: Some(TurnId(1)),
        });
        assert_eq!(params(s, "session/fork")["cursorId"], "c-1");
        s.answer("session/fork", r#"{"sessionId":"s-4"}"#);
        assert_eq!(s.replies[&call], Ok(Reply::RolledBack(Fidelity::Exact)));
        s.exits("exit status 0");
    });
}

/// The agent refuses to open the copy of a session, and forks it.
fn is_forked_again(copy: &mut Scene) {
    copy.prompt("another way");
    copy.answer("initialize", ABLE);
    assert_eq!(params(copy, "session/resume")["sessionId"], "s-2");
    copy.refuse(
        "session/resume",
        -32600,
        "the session is in use by another process",
    );
    assert_eq!(
        params(copy, "session/fork"),
        json!({ "sessionId": "s-2", "cwd": "/workspace", "mcpServers": [] })
    );
    copy.answer("session/fork", r#"{"sessionId":"s-3"}"#);
    let bound = |kind: &EventKind| match kind {
        EventKind::Session(SessionEvent::AgentBound { how, .. }) => Some(*how),
        _ => None,
    };
    let bound: Vec<Binding> = copy.kinds().filter_map(bound).collect();
    assert_eq!(bound.last(), Some(&Binding::Fork));
    assert_eq!(params(copy, "session/prompt")["sessionId"], "s-3");
    copy.exits("exit status 0");
}

#[test]
fn a_form_is_answered() {
    check_turn(|s| {
        works(s);
        s.calls(
            "9",
            "elicitation/create",
            r#"{"sessionId":"s-1","mode":"form","message":"Which key?","requestedSchema":{"type":"object","properties":{"key":{"type":"string"}}}}"#,
        );
        state(s, r#""state":"requires_action""#);
        s.decide(1, Answer::Provide(json!({ "key": "k" }).into()))
            .unwrap();
        let answer = s.answer_to(&json!(9));
        assert_eq!(
            answer["result"],
            json!({ "action": "accept", "content": { "key": "k" } })
        );
        state(s, r#""state":"running""#);
        state(s, IDLE);
    });
}

#[test]
fn a_user_signs_in_and_out() {
    let s = check_in(scene(), |s| {
        s.create();
        s.answer("initialize", ABLE);
        s.refuse("session/new", -32000, "Authentication required");
        s.send(Command::AgentRequest(AgentRequest::Authenticate {
            method_id: "web".into(),
            members: None,
        }));
        assert_eq!(params(s, "auth/login"), json!({ "methodId": "web" }));
        s.answer("auth/login", "{}");
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.send(Command::AgentRequest(AgentRequest::Logout));
        s.answer("auth/logout", "{}");
    });
    assert_eq!(s.sent_as("session/new").len(), 2);
}

#[test]
fn sessions_are_listed_and_deleted() {
    check_able(|s| {
        let list = s.send(Command::AgentRequest(AgentRequest::ListSessions {
            cwd: Some("/w".into()),
            cursor: None,
        }));
        let listed = r#"{"sessions":[{"sessionId":"s-9","cwd":"/w"}]}"#;
        s.answer("session/list", listed);
        assert_eq!(
            s.replies[&list],
            Ok(Reply::Agent(RawJson::parse(listed).unwrap()))
        );
        let delete = s.send(Command::AgentRequest(AgentRequest::DeleteSession {
            session_id: "s-9".into(),
        }));
        s.answer("session/delete", "{}");
        assert!(s.replies[&delete].is_ok());
    });
}

#[test]
fn a_stop_cancels_the_subagents_that_can_be_cancelled() {
    check_turn(|s| {
        works(s);
        s.update(
            r#"{"sessionUpdate":"subagent_update","sessionId":"a","title":"review","state":{"state":"running"},"capabilities":{"cancel":{}}}"#,
        );
        s.interrupt();
        let cancelled = s.sent_as("session/cancel");
        let cancelled: Vec<&Value> = cancelled
            .iter()
            .map(|sent| &sent.json["params"]["sessionId"])
            .collect();
        assert_eq!(cancelled, ["a", SESSION]);
        s.update(
            r#"{"sessionUpdate":"subagent_update","sessionId":"a","state":{"state":"idle","stopReason":"cancelled"}}"#,
        );
        state(s, r#""state":"idle","stopReason":"cancelled""#);
    });
}
