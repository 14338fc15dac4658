//! Permission requests of an agent.

use acpd_model::event::{Outcome, TurnStatus};
use acpd_model::{ErrorCode, EventKind, ItemId, ItemOutcome, RequestEvent, SessionEvent, TurnId};
use acpd_proto::projection::Transcript;
use acpd_proto::thread::{Answer, Command};
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check, tool};

/// Returns the response to the agent's request 7.
fn sent_outcome(scene: &Scene) -> &Value {
    &scene.answer_to(&json!(7))["result"]["outcome"]
}

fn open_question(scene: &mut Scene) {
    scene.open_turn();
    scene.update(&tool(
        "t",
        false,
        r#","title":"rm x","kind":"execute","status":"pending""#,
    ));
    scene.asks_permission("7", "t");
}

#[test]
fn a_question_from_before_a_turn_waits_in_the_turn() {
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        s.calls(
            "7",
            "elicitation/create",
            r#"{"mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{}}}"#,
        );
        s.later(3_000);
        s.prompt("do it");
        s.later(5_000);
        s.decide(1, Answer::Cancel).unwrap();
        s.later(2_000);
        let running = s.thread.live().turn.unwrap();
        assert_eq!((running.waited_ms, running.waiting_since), (5_000, None));
    });
}

#[test]
fn a_turn_says_how_long_questions_waited() {
    check(|s| {
        open_question(s);
        let since = s.now.wall;
        s.later(60_000);
        s.asks_permission("8", "u");
        s.later(5_000);
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.later(10_000);
        // One question is still open, so this is one wait.
        let running = s.thread.live().turn.unwrap();
        assert_eq!((running.waited_ms, running.waiting_since), (0, Some(since)));
        s.decide(2, Answer::Accept { always: false }).unwrap();
        s.later(7_000);
        s.asks_permission("9", "v");
        s.later(2_000);
        let running = s.thread.live().turn.unwrap();
        assert_eq!(
            (running.waited_ms, running.waited_until(s.now.wall)),
            (75_000, 77_000)
        );
        // A page of the running turn says the same.
        let mut page = Transcript::default();
        s.log.iter().for_each(|event| page.fold(event));
        page.add_present(s.thread.live());
        let turn = page.into_turns().pop().unwrap();
        assert_eq!(
            (turn.waited_ms, turn.waiting_since),
            (75_000, running.waiting_since)
        );
        s.exits("crashed");
        let ended = &s.params("turn/completed")[0]["turn"];
        assert_eq!(ended["waitedMs"], 77_000);
        assert_eq!(s.thread.live().turn, None);
    });
    check(|s| {
        s.open_turn();
        s.later(5_000);
        s.stops_with("end_turn");
        s.later(5_000);
        assert_eq!(s.params("turn/completed")[0]["turn"]["waitedMs"], Value::Null);
    });
}

#[test]
fn each_decision_picks_the_agents_own_option() {
    for (answer, option, outcome) in [
        (Answer::Accept { always: false }, "ao", "accepted"),
        (Answer::Accept { always: true }, "aa", "accepted"),
        (Answer::Decline { always: false }, "ro", "declined"),
        (Answer::Decline { always: true }, "ra", "declined"),
        (Answer::Option("aa".into()), "aa", "accepted"),
        (Answer::Option("ra".into()), "ra", "declined"),
    ] {
        check(|s| {
            open_question(s);
            s.decide(1, answer).unwrap();
            assert_eq!(
                sent_outcome(s),
                &json!({ "outcome": "selected", "optionId": option })
            );
            let resolved = &s.params("serverRequest/resolved")[0];
            assert_eq!(resolved["outcome"], outcome);
            assert_eq!(
                resolved["by"],
                json!({ "kind": "client", "principal": "owner", "client": "test" })
            );
            let answered = s.sent.iter().find(|sent| sent.answers.is_some()).unwrap().after;
            assert!(
                s.log[..answered]
                    .iter()
                    .any(|event| matches!(event.kind, EventKind::Request(RequestEvent::Settled { .. }))),
                "the decision is in the log before the agent hears of it"
            );
        });
    }
    check(|s| {
        open_question(s);
        s.decide(1, Answer::Cancel).unwrap();
        assert_eq!(sent_outcome(s), &json!({ "outcome": "cancelled" }));
        assert_eq!(s.params("serverRequest/resolved")[0]["outcome"], "cancelled");
    });
}

#[test]
fn a_question_shows_what_it_is_about() {
    check(|s| {
        open_question(s);
        let asked = &s.params("item/commandExecution/requestApproval")[0];
        assert_eq!(asked["itemId"], "item_2");
        assert_eq!(asked["title"], "rm x");
        assert_eq!(
            asked["options"][1],
            json!({ "optionId": "ao", "name": "Once", "kind": "allow_once" })
        );
        let status: Vec<Value> = s
            .params("thread/status/changed")
            .iter()
            .map(|p| p["status"].clone())
            .collect();
        assert_eq!(status, ["running", "waiting"]);
        s.decide(1, Answer::Accept { always: false }).unwrap();
        assert_eq!(
            s.params("thread/status/changed").last().unwrap()["status"],
            "running"
        );
    });
}

#[test]
fn the_kind_of_tool_decides_the_method() {
    for (kind, method) in [
        ("execute", "item/commandExecution/requestApproval"),
        ("edit", "item/fileChange/requestApproval"),
        ("delete", "item/fileChange/requestApproval"),
        ("move", "item/fileChange/requestApproval"),
        ("fetch", "item/permissions/requestApproval"),
        ("hologram", "item/permissions/requestApproval"),
    ] {
        check(|s| {
            s.open_turn();
            s.update(&tool("t", false, &format!(r#","title":"x","kind":"{kind}""#)));
            let options = r#"[{"optionId":"y","name":"Yes","kind":"allow_once"}]"#;
            s.calls(
                "7",
                "session/request_permission",
                &format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"}},"options":{options}}}"#),
            );
            assert_eq!(s.params(method).len(), 1, "{kind}");
        });
    }
}

#[test]
fn an_option_that_was_not_offered_leaves_the_question_open() {
    check(|s| {
        open_question(s);
        let refused = s.decide(1, Answer::Option("hm".into())).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams);
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(1, Answer::Option("ro".into())).unwrap();
    });
}

#[test]
fn the_second_answer_is_refused_as_late() {
    check(|s| {
        open_question(s);
        s.decide(1, Answer::Accept { always: false }).unwrap();
        let before = s.log.len();
        let late = s.decide(1, Answer::Decline { always: false }).unwrap_err();
        assert_eq!(late.code, ErrorCode::AlreadyResolved);
        assert_eq!(s.log.len(), before);
        assert_eq!(sent_outcome(s)["optionId"], "ao");
        assert_eq!(s.decide(2, Answer::Cancel).unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(s.decide(0, Answer::Cancel).unwrap_err().code, ErrorCode::NotFound);
        let mut other = acpd_model::RequestId {
            thread: s.id,
            number: 1,
        };
        other.thread.0 = uuid::Uuid::nil();
        let foreign = s.ask(Command::Answer {
            request: other,
            answer: Answer::Cancel,
            scope: None,
        });
        assert!(foreign.is_err(), "a question of another thread");
    });
}

#[test]
fn an_interrupt_cancels_the_question_and_approves_nothing() {
    check(|s| {
        open_question(s);
        s.interrupt();
        assert_eq!(sent_outcome(s), &json!({ "outcome": "cancelled" }));
        assert_eq!(s.sent_as("session/cancel").len(), 1);
        assert!(s.kinds().any(|kind| matches!(
            kind,
            EventKind::Request(RequestEvent::Settled {
                outcome: Outcome::Cancelled,
                ..
            })
        )));
        s.stops_with("cancelled");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        assert_eq!(
            s.decide(1, Answer::Accept { always: false }).unwrap_err().code,
            ErrorCode::AlreadyResolved
        );
    });
}

#[test]
fn a_question_that_comes_after_the_interrupt_is_cancelled_at_once() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.asks_permission("7", "t");
        assert_eq!(
            sent_outcome(s),
            &json!({ "outcome": "cancelled" }),
            "nobody is asked about a turn that is to end"
        );
        assert_eq!(s.thread.live().requests.len(), 0);
        let resolved = &s.params("serverRequest/resolved")[0];
        assert_eq!(
            (&resolved["outcome"], &resolved["by"]["kind"]),
            (&"cancelled".into(), &"daemon".into())
        );
        s.stops_with("cancelled");
    });
}

#[test]
fn an_agent_that_dies_while_it_asks_voids_the_question() {
    check(|s| {
        open_question(s);
        s.exits("exit status 1");
        let resolved = &s.params("serverRequest/resolved")[0];
        assert_eq!(
            (&resolved["outcome"], &resolved["reason"]),
            (&"void".into(), &"exit status 1".into())
        );
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        assert_eq!(
            s.decide(1, Answer::Accept { always: false }).unwrap_err().code,
            ErrorCode::AlreadyResolved
        );
        assert!(
            s.sent.iter().all(|sent| sent.answers.is_none()),
            "nothing was approved"
        );
    });
}

#[test]
fn an_agent_may_withdraw_its_question() {
    check(|s| {
        open_question(s);
        s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#);
        assert_eq!(s.answer_to(&json!(7))["error"]["code"], -32800);
        assert_eq!(s.params("serverRequest/resolved")[0]["outcome"], "void");
        assert_eq!(
            s.params("thread/status/changed").last().unwrap()["status"],
            "running"
        );
        let late = s.decide(1, Answer::Accept { always: false }).unwrap_err();
        assert_eq!(late.code, ErrorCode::AlreadyResolved);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_turn_that_ends_while_it_asks_leaves_no_question_and_no_call_open() {
    check(|s| {
        open_question(s);
        s.stops_with("end_turn");
        assert_eq!(s.params("serverRequest/resolved")[0]["outcome"], "void");
        assert_eq!(
            sent_outcome(s),
            &json!({ "outcome": "cancelled" }),
            "JSON-RPC wants an answer to every request"
        );
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
    });
}

#[test]
fn a_question_before_its_tool_call_makes_the_call() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "t");
        assert_eq!(s.params("item/toolCall/started")[0]["name"], "rm x");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.update(&tool(
            "t",
            false,
            r#","title":"rm x","kind":"execute","status":"in_progress""#,
        ));
        s.update(&tool("t", true, r#","status":"completed""#));
        assert_eq!(
            s.params("item/toolCall/started").len(),
            1,
            "one call, however it was announced"
        );
        assert_eq!(s.params("item/toolCall/completed").len(), 1);
        s.stops_with("end_turn");
    });
}

#[test]
fn updates_alone_are_enough_for_a_call_that_was_asked_about() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "t");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.update(&tool(
            "t",
            true,
            r#","status":"completed","rawOutput":{"ok":true}"#,
        ));
        let done = &s.params("item/toolCall/completed")[0];
        assert_eq!(done["toolCall"]["title"], "rm x");
        assert_eq!(done["toolCall"]["rawOutput"], json!({ "ok": true }));
        s.stops_with("end_turn");
    });
}

#[test]
fn an_id_that_never_appears_ends_with_its_turn() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "ghost");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.stops_with("cancelled");
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Interrupted);
        assert_eq!(s.ending(TurnId(1)).1, Some("cancelled"));
    });
}

/// Returns the final status of a call, once it has ended.
fn ended(scene: &Scene, item: &str) -> Option<Value> {
    let done = scene.params("item/toolCall/completed");
    let call = done.iter().find(|params| params["itemId"] == item)?;
    assert_eq!(call["toolCall"]["status"], call["status"], "{call}");
    Some(call["status"].clone())
}

/// Observed with hermes and gemini: only the request names the call, and no update follows.
#[test]
fn a_refused_call_that_only_the_question_named_has_failed() {
    for answer in [
        Answer::Decline { always: false },
        Answer::Decline { always: true },
        Answer::Cancel,
    ] {
        check(|s| {
            s.open_turn();
            s.asks_permission("7", "ghost");
            assert_eq!(ended(s, "item_2"), None);
            s.decide(1, answer).unwrap();
            assert_eq!(ended(s, "item_2"), Some(json!("failed")));
            assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Failed);
            s.update(&tool("ghost", true, r#","status":"in_progress""#));
            s.update(&tool("ghost", true, r#","status":"completed""#));
            let status = &s.params("item/updated").pop().unwrap()["status"];
            assert_eq!(status, "failed", "it does not go back");
            s.update(&tool("ghost", false, r#","title":"again","status":"pending""#));
            assert_eq!(s.params("item/toolCall/started").len(), 2, "another call");
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn an_interrupt_ends_a_call_that_only_the_question_named() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "ghost");
        s.interrupt();
        assert_eq!(ended(s, "item_2"), Some(json!("failed")));
        s.stops_with("cancelled");
    });
}

#[test]
fn an_allowed_call_that_only_the_question_named_ends_with_its_turn() {
    for (reason, status) in [("end_turn", "completed"), ("max_tokens", "completed")] {
        check(|s| {
            s.open_turn();
            s.asks_permission("7", "ghost");
            s.decide(1, Answer::Accept { always: false }).unwrap();
            assert_eq!(ended(s, "item_2"), None, "its updates may still come");
            s.stops_with(reason);
            assert_eq!(ended(s, "item_2"), Some(json!(status)));
            assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Completed);
        });
    }
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "ghost");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.refuse("session/prompt", -32603, "boom");
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Failed);
    });
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "ghost");
        s.stops_with("end_turn");
        assert_eq!(ended(s, "item_2"), Some(json!("failed")), "nobody allowed it");
    });
}

#[test]
fn a_call_that_the_agent_reported_is_ended_by_the_agent() {
    check(|s| {
        open_question(s);
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert_eq!(ended(s, "item_2"), None);
        s.update(&tool("t", true, r#","status":"failed""#));
        assert_eq!(ended(s, "item_2"), Some(json!("failed")));
        s.stops_with("end_turn");
    });
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "t");
        s.update(&tool("t", true, r#","status":"in_progress""#));
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert_eq!(ended(s, "item_2"), None, "the agent has reported on it meanwhile");
        s.stops_with("end_turn");
    });
}

/// Observed with `OpenHands`: every request of a session names the same tool call, which appears nowhere else.
#[test]
fn an_id_that_is_asked_about_again_and_again_is_a_call_each_time() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "confirmation");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.stops_with("end_turn");
        s.prompt("more");
        s.asks_permission("8", "confirmation");
        let asked = &s.params("item/commandExecution/requestApproval")[1];
        assert_eq!(asked["title"], "rm x", "it says what it is about");
        assert_eq!(
            (&asked["turnId"], &asked["itemId"]),
            (&"turn_2".into(), &"item_4".into())
        );
        s.decide(2, Answer::Decline { always: false }).unwrap();
        s.stops_with("end_turn");
        assert_eq!(
            s.transcript().turns[1].items.len(),
            2,
            "it is read where it was asked"
        );
    });
}

#[test]
fn a_final_status_in_a_question_does_not_end_the_call() {
    check(|s| {
        s.open_turn();
        let call = r#"{"toolCallId":"t","title":"x","kind":"edit","status":"completed"}"#;
        s.calls(
            "7",
            "session/request_permission",
            &format!(r#"{{"sessionId":"s-1","toolCall":{call},"options":[]}}"#),
        );
        assert_eq!(
            s.params("item/toolCall/completed").len(),
            0,
            "it is only asked about"
        );
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert_eq!(
            sent_outcome(s),
            &json!({ "outcome": "cancelled" }),
            "there is no option to say no with"
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn every_question_can_be_rejected() {
    let only = |kind: &str| format!(r#"[{{"optionId":"y","name":"Go","kind":"{kind}"}}]"#);
    for options in [
        "[]".to_owned(),
        only("allow_once"),
        only("allow_always"),
        only("_odd"),
        r#"[{"optionId":"y","name":"Go"}]"#.to_owned(),
    ] {
        check(|s| {
            s.open_turn();
            let question =
                format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"}},"options":{options}}}"#);
            s.calls("7", "session/request_permission", &question);
            let offered = &s.params("item/permissions/requestApproval")[0]["options"];
            let last = offered.as_array().unwrap().last().unwrap();
            assert_eq!(last["kind"], "reject_once", "{offered}");
            let id = last["optionId"].as_str().unwrap().to_owned();
            s.decide(1, Answer::Option(id.as_str().into())).unwrap();
            assert_eq!(sent_outcome(s), &json!({ "outcome": "cancelled" }), "{options}");
            assert_eq!(s.params("serverRequest/resolved")[0]["by"]["kind"], "client");
            s.stops_with("end_turn");
        });
    }
    check(|s| {
        s.open_turn();
        let options = only("reject_once");
        let question =
            format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"}},"options":{options}}}"#);
        s.calls("7", "session/request_permission", &question);
        let offered = &s.params("item/permissions/requestApproval")[0]["options"];
        assert_eq!(offered.as_array().unwrap().len(), 1, "{offered}");
        s.decide(1, Answer::Decline { always: false }).unwrap();
        s.stops_with("end_turn");
    });
}

/// Some agents end the turn after a denial, and leave the call open.
#[test]
fn a_denied_call_that_the_agent_leaves_open_has_changed_nothing() {
    let diff = r#","title":"Edit a.rs","kind":"edit","status":"pending","content":[{"type":"diff","path":"/workspace/a.rs","oldText":"one\n","newText":"two\n"}]"#;
    for (answer, outcome) in [
        (Answer::Decline { always: false }, "failed"),
        (Answer::Accept { always: false }, "completed"),
    ] {
        check(|s| {
            s.open_turn();
            s.update(&tool("t", false, diff));
            s.asks_permission("7", "t");
            s.decide(1, answer).unwrap();
            s.stops_with("end_turn");
            for method in ["item/toolCall/completed", "item/fileChange/completed"] {
                assert_eq!(s.params(method)[0]["outcome"], outcome, "{method}");
            }
            assert_eq!(s.params("turn/diff/updated").is_empty(), outcome == "failed");
        });
    }
}

/// A subagent works in a session of its own, in the same process.
#[test]
fn a_subagents_question_is_asked_in_the_thread_of_its_parent() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"of the parent","kind":"execute""#));
        let question = r#"{"sessionId":"s-child","toolCall":{"toolCallId":"t","title":"rm x","kind":"execute","rawInput":{"command":"rm x"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}"#;
        s.calls("7", "session/request_permission", question);
        let asked = &s.params("item/commandExecution/requestApproval")[0];
        assert_eq!(asked["title"], "Subagent \"s-child\": rm x");
        assert_ne!(asked["itemId"], "item_2", "the call of the parent is another one");
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert_eq!(
            sent_outcome(s),
            &json!({ "outcome": "selected", "optionId": "n" })
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn several_questions_are_answered_in_any_order() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "a");
        s.asks_permission("\"eight\"", "b");
        s.decide(2, Answer::Decline { always: false }).unwrap();
        assert_eq!(
            s.params("thread/status/changed").last().unwrap()["status"],
            "waiting"
        );
        s.decide(1, Answer::Accept { always: false }).unwrap();
        assert_eq!(sent_outcome(s)["optionId"], "ao");
        assert_eq!(
            s.answer_to(&json!("eight"))["result"]["outcome"]["optionId"],
            "ro"
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn a_question_without_a_tool_call_is_refused() {
    check(|s| {
        s.open_turn();
        for (id, params) in [
            (
                "7",
                r#"{"sessionId":"s-1","toolCall":{"title":"x"},"options":[]}"#,
            ),
            ("8", r#"{"sessionId":"s-1","options":[]}"#),
            ("9", r#"{"toolCall":{"toolCallId":"t"},"options":[]}"#),
            ("10", "null"),
        ] {
            s.calls(id, "session/request_permission", params);
            let answer = s.answer_to(&serde_json::from_str(id).unwrap());
            assert_eq!(answer["error"]["code"], -32602, "{params}");
        }
        assert_eq!(s.thread.live().last_request, 0);
        let refused =
            |kind: &&EventKind| matches!(kind, EventKind::Session(SessionEvent::CallRefused { .. }));
        assert_eq!(s.kinds().filter(refused).count(), 4, "each is recorded");
        assert!(s.params("item/toolCall/started").is_empty(), "and is no call");
        s.stops_with("end_turn");
    });
}
