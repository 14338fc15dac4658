//! Remembered answers that apply to every thread of an agent.

use acpd_model::{ErrorCode, Origin};
use acpd_policy::{AGENT_IDS, Policy, Remembered, Scope};
use acpd_proto::thread::{Answer, Command, Reply};
use serde_json::{Value, json};

use crate::support::{Scene, check};

fn begin(s: &mut Scene) {
    let policy: Policy = serde_json::from_value(json!({ "ask": ["Bash"] })).unwrap();
    s.rule(Some(policy));
    s.open_turn();
}

fn asks_to_run(s: &mut Scene, id: i64, command: &str) {
    let options = json!([
        { "optionId": "ao", "name": "Once", "kind": "allow_once" },
        { "optionId": "ro", "name": "No", "kind": "reject_once" },
    ]);
    let call =
        json!({ "toolCallId": format!("t{id}"), "kind": "execute", "rawInput": { "command": command } });
    let params = json!({ "sessionId": "s-1", "toolCall": call, "options": options });
    s.calls(&id.to_string(), "session/request_permission", &params.to_string());
}

fn answer(s: &mut Scene, number: u32, answer: Answer, scope: Scope) {
    s.decide_for(number, answer, Some(scope)).unwrap();
}

fn list(s: &mut Scene) -> Value {
    let Ok(Reply::Remembered(rules)) = s.ask(Command::Remembered) else {
        panic!()
    };
    json!(rules)
}

#[test]
fn an_agent_wide_answer_is_recorded_listed_and_revoked() {
    check(|s| {
        begin(s);
        asks_to_run(s, 7, "cargo test");
        answer(s, 1, Answer::Accept { always: false }, Scope::Agent);
        assert_eq!(s.answer_to(&7.into())["result"]["outcome"]["optionId"], "ao");
        let id = AGENT_IDS + 1;
        let expected = json!({ "id": id, "scope": "agent", "allow": true, "rule": "Bash(cargo test)", "cwd": "/workspace" });
        assert_eq!(s.params("policy/remembered")[0]["answer"], expected);
        assert!(
            matches!(s.log.last().unwrap().by, Origin::Client { .. }),
            "{:?}",
            s.log.last()
        );
        assert!(
            s.thread.live().remembered.iter().next().is_none(),
            "it is not the thread's"
        );
        assert_eq!(list(s), json!([expected]));
        asks_to_run(s, 8, "cargo test");
        assert_eq!(s.answer_to(&8.into())["result"]["outcome"]["optionId"], "ao");
        assert_eq!(s.params("serverRequest/resolved")[1]["by"]["scope"], "agent");
        // An id is unique across all places that store answers.
        asks_to_run(s, 9, "make");
        answer(s, 3, Answer::Decline { always: false }, Scope::Thread);
        assert_eq!(list(s).as_array().unwrap().len(), 2);
        s.ask(Command::Revoke { id }).unwrap();
        assert_eq!(s.params("policy/revoked")[0]["id"], id);
        assert_eq!(list(s)[0]["rule"], "Bash(make)");
        assert_eq!(
            s.ask(Command::Revoke { id }).unwrap_err().code,
            ErrorCode::NotFound
        );
        asks_to_run(s, 10, "cargo test");
        assert_eq!(s.thread.live().requests.len(), 1, "somebody is asked again");
        s.decide(4, Answer::Cancel).unwrap();
    });
}

#[test]
fn changes_of_other_threads_to_agent_wide_answers_apply_at_once() {
    check(|s| {
        begin(s);
        let mut others = Remembered::for_agent();
        asks_to_run(s, 7, "cargo test");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        let rule = json!({ "id": AGENT_IDS + 1, "scope": "agent", "allow": false, "rule": "Bash(make)" });
        others.restore(serde_json::from_value(rule).unwrap(), "/workspace");
        s.policies.answers = others.into();
        let daemon = s.policies.daemon.clone();
        s.rule(daemon.clone());
        asks_to_run(s, 8, "make");
        assert_eq!(s.answer_to(&8.into())["result"]["outcome"]["optionId"], "ro");
        // A new answer does not revoke what this turn already allows; the removal of an answer does.
        let create = r#"{"sessionId":"s-1","command":"cargo","args":["test"]}"#;
        s.calls("9", "terminal/create", create);
        assert_eq!((s.waiting.len(), s.thread.live().requests.len()), (1, 0));
        s.policies.answers = Remembered::for_agent().into();
        s.rule(daemon);
        s.calls("10", "terminal/create", create);
        assert_eq!((s.waiting.len(), s.thread.live().requests.len()), (1, 1));
        s.interrupt();
        s.waiting.clear();
    });
}

#[test]
fn an_answer_that_cannot_be_stored_does_not_apply_and_is_reported() {
    check(|s| {
        begin(s);
        asks_to_run(s, 7, "cargo test");
        answer(s, 1, Answer::Accept { always: false }, Scope::Agent);
        s.answers_fail = true;
        let failed = s.ask(Command::Revoke { id: AGENT_IDS + 1 }).unwrap_err();
        assert_eq!(failed.message, "the disk is full");
        assert!(s.params("policy/revoked").is_empty());
        asks_to_run(s, 8, "make");
        answer(s, 2, Answer::Accept { always: false }, Scope::Agent);
        assert_eq!(
            s.answer_to(&8.into())["result"]["outcome"]["optionId"],
            "ao",
            "the question is answered"
        );
        assert_eq!(s.params("thread/notice").last().unwrap()["code"], "notRemembered");
        assert_eq!(list(s).as_array().unwrap().len(), 1);
    });
}
