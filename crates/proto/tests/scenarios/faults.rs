//! Faults of earlier systems of this kind that no other module covers. xtask/tests/faults.md lists all of them.

use std::sync::Arc;

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, EventKind, Failure, ItemEvent, ItemId, SessionEvent, TurnId};
use acpd_policy::Policy;
use acpd_proto::thread::{Answer, HostCall, HostReply, Policies};
use serde_json::json;

use crate::support::{FULL, Scene, check, check_in, tool};

/// Sets a policy that requires approval for everything, and starts a turn.
fn asked_about_everything(s: &mut Scene) {
    let ask: Policy = serde_json::from_value(json!({ "ask": ["*"] })).unwrap();
    s.thread.set_policies(Arc::new(Policies {
        daemon: Some(ask),
        ..Policies::default()
    }));
    s.open_turn();
}

const RUN: &str = r#"{"sessionId":"s-1","command":"./deploy.sh"}"#;

#[test]
fn a_command_that_was_allowed_runs_once() {
    let scene = check(|s| {
        asked_about_everything(s);
        s.calls("7", "terminal/create", RUN);
        assert!(s.waiting.is_empty(), "not before somebody has said yes");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        let late = s.decide(1, Answer::Accept { always: false });
        assert_eq!(late.unwrap_err().code, ErrorCode::AlreadyResolved);
        let late = s.decide(1, Answer::Decline { always: false });
        assert_eq!(late.unwrap_err().code, ErrorCode::AlreadyResolved);
        assert_eq!(s.waiting.len(), 1, "one yes, one run");
        // If the command cannot run, the agent receives an error. The daemon does not try another way.
        s.host_replies(Err(Failure::invalid_params("the command failed to start")));
        assert_eq!(s.answer_to(&7.into())["error"]["code"], -32602);
        assert!(s.waiting.is_empty());
    });
    // A daemon that was killed does not run the command after its restart, wherever the log ends.
    for cut in 1..=scene.log.len() {
        let back = Scene::restarted(&scene.log[..cut]);
        assert!(back.waiting.is_empty(), "cut after {cut}");
        assert!(back.thread.live().requests.is_empty(), "cut after {cut}");
    }
}

#[test]
fn a_question_without_connected_clients_is_never_allowed() {
    // However a request ends, only a response approves it.
    let ends: [fn(&mut Scene); 4] = [
        |s| s.interrupt(),
        |s| s.stops_with("end_turn"),
        |s| s.exits("killed"),
        |s| s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#),
    ];
    for end in ends {
        check(|s| {
            asked_about_everything(s);
            s.asks_permission("7", "t");
            s.calls("8", "terminal/create", RUN);
            // A day passes. The watchdog does not count the agent's silence either, because it waits for the user.
            s.later(24 * 3600 * 1000);
            assert_eq!(s.thread.live().requests.len(), 2);
            end(s);
            let yes = |sent: &&crate::support::Sent| {
                sent.text.contains("\"selected\"") || sent.text.contains("terminalId")
            };
            assert_eq!(s.sent.iter().filter(yes).count(), 0);
            assert!(s.waiting.is_empty());
        });
    }
}

#[test]
fn another_session_is_not_served() {
    check(|s| {
        s.open_turn();
        s.script.push_back(Ok(HostReply::Created));
        s.calls("5", "terminal/create", r#"{"sessionId":"s-1","command":"top"}"#);
        let terminal = s.answer_to(&5.into())["result"]["terminalId"].clone();
        for (id, method) in (6..).zip([
            "terminal/output",
            "terminal/wait_for_exit",
            "terminal/kill",
            "terminal/release",
        ]) {
            let params = json!({ "sessionId": "s-9", "terminalId": terminal });
            s.calls(&id.to_string(), method, &params.to_string());
            let error = &s.answer_to(&id.into())["error"];
            assert_eq!(error["code"], -32602, "{method}");
            assert!(s.waiting.is_empty(), "{method}");
        }
        for (id, method, more) in [
            ("20", "fs/read_text_file", r#""path":"/workspace/a""#),
            (
                "21",
                "fs/write_text_file",
                r#""path":"/workspace/a","content":"x""#,
            ),
            ("22", "terminal/create", r#""command":"ls""#),
        ] {
            s.calls(id, method, &format!(r#"{{"sessionId":"s-9",{more}}}"#));
            assert!(
                s.waiting.is_empty() && s.thread.live().requests.is_empty(),
                "{method}"
            );
        }
        let refused = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Session(SessionEvent::CallRefused { .. })));
        assert_eq!(refused.count(), 7, "each is on record");
        s.interrupt();
        s.stops_with("cancelled");
        s.exits("exit status 0");
    });
}

#[test]
fn numbers_continue_after_a_restart() {
    let before = check(|s| {
        s.open_turn();
        s.chunk("one");
        s.asks_permission("7", "t");
        s.decide(1, Answer::Decline { always: false }).unwrap();
        s.stops_with("end_turn");
    });
    let (events, live) = (before.log.len(), before.thread.live());
    let (turns, items, requests) = (live.summary.turns, live.last_item, live.last_request);
    assert_eq!((turns, requests), (1, 1));
    check_in(Scene::restarted(&before.log), |s| {
        let turn = s.prompt("again");
        assert_eq!(turn, TurnId(turns + 1));
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.chunk("two");
        s.asks_permission("7", "t2");
        let added = &s.log[events..];
        assert_eq!(added[0].seq, events as u64 + 1);
        let new = added.iter().find_map(|event| match &event.kind {
            EventKind::Item(ItemEvent::Started { item, .. }) => Some(*item),
            _ => None,
        });
        assert_eq!(new, Some(ItemId(items + 1)));
        assert!(
            s.thread.live().requests.contains_key(&(requests + 1)),
            "an answer to an old question can never be one to a new question"
        );
        s.interrupt();
        s.stops_with("cancelled");
        assert_eq!(s.status(turn), TurnStatus::Interrupted);
    });
}

#[test]
fn user_messages_are_not_repeated_after_a_session_is_loaded() {
    let before = check(|s| {
        s.open_turn();
        s.chunk("first answer");
        s.stops_with("end_turn");
    });
    check_in(Scene::restarted(&before.log), |s| {
        s.prompt("and then?");
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "Method not found");
        for text in ["do ", "it"] {
            s.update(&format!(
                r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#
            ));
        }
        s.chunk("first answer");
        s.answer("session/load", "{}");
        s.later(250);
        s.chunk("second answer");
        s.stops_with("end_turn");
        let words: Vec<_> = s
            .params("item/completed")
            .into_iter()
            .map(|item| (item["type"].clone(), item["text"].clone()))
            .collect();
        assert_eq!(
            words,
            [
                (json!("userMessage"), json!("do it")),
                (json!("agentMessage"), json!("first answer")),
                (json!("userMessage"), json!("and then?")),
                (json!("agentMessage"), json!("second answer")),
            ]
        );
        let turns = s.transcript().turns;
        let items: Vec<usize> = turns.iter().map(|turn| turn.items.len()).collect();
        assert_eq!(items, [2, 2], "each word stands in the turn in which it was said");
    });
}

#[test]
fn arguments_reach_the_host_unchanged() {
    check(|s| {
        s.open_turn();
        let params =
            json!({ "sessionId": "s-1", "command": "echo", "args": ["a b", "; rm -rf x", "$(id)", ""] });
        s.calls("5", "terminal/create", &params.to_string());
        let HostCall::CreateTerminal { command, args, .. } = &s.waiting[0].1 else {
            panic!("{:?}", s.waiting);
        };
        assert_eq!(command, "echo");
        assert_eq!(args, &["a b", "; rm -rf x", "$(id)", ""]);
        s.interrupt();
        s.stops_with("cancelled");
        s.exits("exit status 0");
    });
}

/// After a tool call, more text with the same message id is new text, not a repetition.
#[test]
fn a_repetition_after_a_tool_call_is_text_also_in_the_same_message() {
    let mut repeating = Scene::new();
    repeating.quirks.repeats_messages = true;
    check_in(repeating, |s| {
        s.open_turn();
        let chunk = r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"hello"}}"#;
        s.update(chunk);
        s.update(&tool("t", false, r#","title":"x","status":"completed""#));
        s.update(chunk);
        s.stops_with("end_turn");
        assert_eq!(s.deltas(), ["hello", "hello"]);
    });
}
