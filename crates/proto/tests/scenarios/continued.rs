//! A daemon that is killed while its agent works, and the next one, which continues with the same agent. The `twins` of each scene
//! compare such threads with one that was not killed; here is what differs, and what takes time.

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, Failure, ItemEvent, Limits, RawJson, TurnEvent, TurnId};
use acpd_proto::agent::{AgentCommand, AgentRequest};
use acpd_proto::projection::text_block;
use acpd_proto::thread::{Command, EditorCapabilities, Reply, ThreadMemo};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::steer::STEERS;
use crate::support::{FULL, SESSION, Scene, check, check_in, thought, tool};

/// Longer than the text of one delta waits.
const PAUSE: u64 = 1_000;

fn raw(value: Value) -> RawJson {
    value.into()
}

#[test]
fn each_append_of_a_conversation_is_continued() {
    let s = check(|s| {
        s.open_turn();
        for text in ["one", " two", " three"] {
            s.chunk(text);
            s.later(PAUSE);
            s.update(&thought(text));
            s.later(PAUSE);
        }
        s.prompt("second");
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        s.interrupt();
        s.stops_with("cancelled");
        s.stops_with("end_turn");
    });
    let begun = s
        .kinds()
        .position(|kind| matches!(kind, EventKind::Turn(_)))
        .unwrap();
    let rest = s.log.len() - begun;
    assert!(s.continued() * 3 > rest, "{} of {rest} events", s.continued());
}

/// Returns the prompts among commands.
fn prompts(commands: &[AgentCommand]) -> Vec<&AgentCommand> {
    let is_prompt = |command: &&AgentCommand| matches!(command, AgentCommand::Prompt { .. });
    commands.iter().filter(is_prompt).collect()
}

/// Returns the size of the last memo, in bytes.
fn memo_bytes(s: &Scene) -> usize {
    serde_json::to_string(s.memo.as_ref().unwrap()).unwrap().len()
}

#[test]
fn merged_text_is_in_each_append() {
    let play = |exact: bool| {
        check(|s| {
            if exact {
                s.survives();
            }
            s.open_turn();
            s.chunk("a");
            for text in ["b", "c"] {
                s.chunk(text);
            }
            s.update(&tool("t", false, r#","title":"x""#));
            s.chunk("d");
            s.chunk("e");
            s.later(PAUSE);
            s.stops_with("end_turn");
        })
    };
    let (exact, merged) = (play(true), play(false));
    assert_eq!(exact.said(), merged.said());
    assert_eq!(merged.deltas(), ["a", "bc", "de"]);
    assert_eq!(exact.deltas().concat(), "abcde");
    let ends = |s: &Scene| {
        s.log
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Item(ItemEvent::Completed { .. })))
            .count()
    };
    assert_eq!(ends(&exact), ends(&merged));
}

#[test]
fn text_without_another_event_is_merged_all_the_same() {
    let s = check(|s| {
        s.survives();
        s.open_turn();
        s.chunk("a");
        for text in ["b", "c", "d"] {
            s.chunk(text);
        }
        assert_eq!(s.deltas(), ["a"], "the rest waits");
        s.later(PAUSE);
        s.stops_with("end_turn");
    });
    assert_eq!(s.deltas(), ["a", "bcd"]);
}

#[test]
fn a_prompt_is_issued_again_as_it_was_sent() {
    let long = "é".repeat(2_000);
    for meta in [None, Some(json!({ "a": 1.0 })), Some(json!({ "long": long }))] {
        check(|s| {
            s.survives();
            s.open_session();
            let input = vec![
                text_block("do it"),
                raw(json!({ "type": "image", "data": "eA==", "mimeType": "a/b" })),
            ];
            let meta = meta.map(raw);
            s.ask(Command::StartTurn {
                input: input.clone(),
                meta: meta.clone(),
                client_turn_id: None,
                replaces: None,
            })
            .unwrap();
            let expected = AgentCommand::Prompt {
                turn: TurnId(1),
                prompt: input,
                meta,
            };
            assert!(memo_bytes(s) < 600, "{:?}", s.memo);
            for _ in 0..2 {
                assert_eq!(s.kill(5_000), std::slice::from_ref(&expected));
            }
            s.chunk("done");
            assert_eq!(
                s.kill(5_000),
                std::slice::from_ref(&expected),
                "the connection knows whether the agent has it"
            );
            s.stops_with("end_turn");
            assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
            assert_eq!(s.kill(0), []);
        });
    }
}

/// Opens another session, which does not know the first turn, and starts a turn with it.
fn forgotten(s: &mut Scene) {
    s.open_turn();
    s.chunk(&"An answer of some length. ".repeat(100));
    s.stops_with("end_turn");
    s.exits("killed");
    s.prompt("go on");
    s.answer("initialize", FULL);
    s.refuse("session/resume", -32601, "no");
    s.refuse("session/load", -32601, "no");
    s.answer("session/new", r#"{"sessionId":"s-2"}"#);
}

#[test]
fn the_earlier_conversation_is_issued_again_with_its_prompt() {
    check(|s| {
        s.survives();
        forgotten(s);
        let sent = s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"].clone();
        assert_eq!(sent.as_array().unwrap().len(), 2, "{sent}");
        // The prompt was sent after the last append.
        s.says(r#"{"jsonrpc":"2.0","method":"_vendor/note","params":{}}"#);
        assert!(memo_bytes(s) < 700, "the conversation is a blob: {:?}", s.memo);
        let again = s.kill(1_000);
        let [AgentCommand::Prompt { prompt, .. }] = &again[..] else {
            panic!("{again:?}");
        };
        assert_eq!(json!(prompt), sent);
        s.stops_with("end_turn");
        assert_eq!(s.status(TurnId(2)), TurnStatus::Completed);
    });
}

#[test]
fn while_the_conversation_is_collected_there_is_nothing_to_continue() {
    check(|s| {
        s.survives();
        s.reads_late = true;
        forgotten(s);
        assert_eq!(s.thread.memo(), None);
        s.read();
        assert!(s.thread.memo().is_some());
        s.stops_with("end_turn");
    });
}

#[test]
fn an_agent_without_an_open_session_is_not_continued() {
    check(|s| {
        s.survives();
        s.create();
        assert_eq!(s.thread.memo(), None);
        s.answer("initialize", FULL);
        assert_eq!(s.thread.memo(), None);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert!(s.thread.memo().is_some());
        s.ask(Command::Stop).unwrap();
        assert_eq!(s.thread.memo(), None);
        s.exits("exit status 0");
        assert_eq!(s.thread.memo(), None);
    });
}

#[test]
fn an_unread_prompt_ends_the_turn_and_the_agent() {
    check(|s| {
        s.survives();
        s.open_turn();
        s.chunk("well");
        let queued = s.prompt("next");
        s.thread = s.next_thread(1_000);
        let memo = s.memo.clone().unwrap();
        s.thread.resume(memo, s.now);
        s.settle();
        assert_eq!(s.stops, 1);
        assert_eq!(
            s.ending(TurnId(1)).2,
            Some("acpd was restarted while this turn was running")
        );
        s.exits("exit status 0");
        assert_eq!(s.starts.len(), 2, "the queue continues with another process");
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(PAUSE);
        s.stops_with("end_turn");
        assert_eq!(s.status(queued), TurnStatus::Completed);
    });
}

#[test]
fn a_stop_escalates_when_it_would_have() {
    let limit = Limits::default().cancel_secs * 1_000;
    check(|s| {
        s.survives();
        s.open_turn();
        s.interrupt();
        s.later(limit / 3);
        let again = s.kill(limit / 3);
        assert_eq!(again[1..], [AgentCommand::Cancel], "{again:?}");
        s.later(limit / 3 - 10);
        assert_eq!(s.stops, 0);
        s.later(20);
        assert_eq!(s.stops, 1);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        s.exits("killed");
    });
}

#[test]
fn an_agent_is_heard_before_a_time_that_has_passed_meanwhile_counts() {
    let limits = Limits {
        agent_silence_secs: 60,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        s.survives();
        s.open_turn();
        s.chunk("I work");
        s.later(20_000);
        s.kill(3_600_000);
        s.later(1_000);
        assert!(!s.notices().contains(&"agentSilent".to_owned()));
        s.chunk(" and work");
        s.later(59_000);
        assert!(!s.notices().contains(&"agentSilent".to_owned()));
        s.later(1_000);
        assert!(s.notices().contains(&"agentSilent".to_owned()));
        s.stops_with("cancelled");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
    });
    // Without a word, it is silent soon.
    let limits = Limits {
        agent_silence_secs: 60,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        s.survives();
        s.open_turn();
        s.chunk("I work");
        s.later(20_000);
        s.kill(25_000);
        s.later(26_000);
        assert!(
            s.notices().contains(&"agentSilent".to_owned()),
            "45 s, and then up to 25 s"
        );
        s.kill(0);
        s.stops_with("cancelled");
        assert_eq!(s.settled_error(TurnId(1)), "the agent made no progress for 60 s");
    });
}

#[test]
fn the_rest_of_a_turn_is_awaited_after_the_answer() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.survives();
        s.open_turn();
        s.chunk("almost");
        s.answers_prompt("end_turn");
        // The answer has no event of its own. It comes with the next one.
        s.says(r#"{"jsonrpc":"2.0","method":"_vendor/note","params":{}}"#);
        assert_eq!(s.kill(3_000), [], "the prompt is answered");
        assert!(s.thread.live().turn.is_some());
        s.chunk(" all of it");
        s.later(3_000 + 10 * Limits::default().turn_tail_millis);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
        assert_eq!(s.said(), ["almost all of it"]);
    });
}

#[test]
fn a_message_between_turns_continues_between_them() {
    check(|s| {
        s.survives();
        s.open_turn();
        s.stops_with("end_turn");
        s.chunk("By the way");
        let between = s.log.last().unwrap().turn;
        assert_eq!(s.kill(1_000), []);
        s.chunk(", it rains.");
        s.later(PAUSE);
        let deltas = s
            .log
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Item(ItemEvent::Delta { .. })));
        assert_eq!(
            deltas.map(|event| event.turn).collect::<Vec<_>>(),
            [None, None],
            "{between:?}"
        );
        assert_eq!(s.deltas(), ["By the way", ", it rains."]);
        s.prompt("next");
        s.stops_with("end_turn");
    });
}

#[test]
fn the_queue_continues_after_the_turn() {
    check(|s| {
        s.survives();
        s.open_turn();
        let queued = s.prompt("second");
        s.kill(1_000);
        s.stops_with("end_turn");
        s.kill(1_000);
        s.stops_with("end_turn");
        assert_eq!(s.status(queued), TurnStatus::Completed);
    });
}

#[test]
fn steering_continues_although_its_client_is_gone() {
    for outcome in ["injected", "promptRequired"] {
        check(|s| {
            s.survives();
            s.create();
            s.answer("initialize", STEERS);
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            s.prompt("begin");
            let steer = |s: &mut Scene, text: &str| {
                let input = vec![text_block(text)];
                s.send(Command::Steer {
                    input,
                    turn: None,
                    client_turn_id: Some(text.to_owned()),
                })
            };
            let call = steer(s, "but quickly");
            // What has no event of its own comes with the next one.
            s.chunk("yes");
            let again = s.kill(1_000);
            let request = AgentRequest::Steer {
                prompt: vec![text_block("but quickly")],
            };
            assert_eq!(again[1..], [AgentCommand::Request { ask: call, request }]);
            assert!(s.thread.first_call() > call);
            // The agent repeats what it was sent.
            let echo =
                r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"but quickly"}}"#;
            s.update(echo);
            s.answer("_session/steering", &format!(r#"{{"outcome":"{outcome}"}}"#));
            let texts = s.params("item/completed");
            let quick = texts
                .iter()
                .filter(|params| params["text"] == "but quickly")
                .count();
            assert_eq!(quick, usize::from(outcome == "injected"));
            s.stops_with("end_turn");
            if outcome == "promptRequired" {
                s.stops_with("end_turn");
                assert_eq!(s.settled_turns().len(), 2);
            }
        });
    }
}

#[test]
fn a_fork_whose_client_is_gone_is_closed() {
    let hello = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"fork":{},"close":{}}}}"#;
    check(|s| {
        s.survives();
        s.create();
        s.answer("initialize", hello);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("begin");
        s.stops_with("end_turn");
        let call = s.send(Command::Fork { turn: None });
        s.says(r#"{"jsonrpc":"2.0","method":"_vendor/note","params":{}}"#);
        let again = s.kill(1_000);
        let request = AgentRequest::ForkSession { cursor: None };
        assert_eq!(again, [AgentCommand::Request { ask: call, request }]);
        assert!(!s.replies.contains_key(&call));
        s.answer("session/fork", r#"{"sessionId":"copy"}"#);
        assert_eq!(s.sent_as("session/close")[0].json["params"]["sessionId"], "copy");
        assert!(s.thread.first_call() > call);
    });
}

#[test]
fn secrets_of_a_request_are_in_no_memo() {
    check(|s| {
        s.survives();
        s.open_turn();
        let params = Some(raw(json!({ "key": "secret" })));
        let method = "_vendor/sign_in".to_owned();
        s.send(Command::AgentRequest(AgentRequest::Extension { method, params }));
        s.chunk("a");
        let json = serde_json::to_string(s.memo.as_ref().unwrap()).unwrap();
        assert!(!json.contains("secret"), "{json}");
        let again = s.kill(0);
        assert_eq!(prompts(&again).len(), again.len());
        s.answer("_vendor/sign_in", "{}");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_setting_is_recorded_although_its_client_is_gone() {
    let modes = r#"{"sessionId":"s-1","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}}"#;
    check(|s| {
        s.survives();
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", modes);
        let request = AgentRequest::SetMode {
            mode_id: "b".to_owned(),
        };
        s.send(Command::AgentRequest(request.clone()));
        let turn = s.prompt("in the mode b");
        assert!(!s.awaits("session/prompt"));
        let again = s.kill(1_000);
        assert!(
            matches!(&again[..], [AgentCommand::Request { request: again, .. }] if *again == request),
            "{again:?}"
        );
        s.answer("session/set_mode", "{}");
        assert_eq!(s.thread.live().mode.as_deref(), Some("b"));
        s.stops_with("end_turn");
        assert_eq!(s.status(turn), TurnStatus::Completed);
    });
}

#[test]
fn a_notification_is_issued_again_only_after_its_append() {
    check(|s| {
        s.survives();
        s.open_turn();
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"running"},"capabilities":{"cancel":{}}}"#);
        s.interrupt();
        let cancels = |commands: &[AgentCommand]| {
            let is_cancel = |command: &&AgentCommand| matches!(command, AgentCommand::CancelSubagent { .. });
            commands.iter().filter(is_cancel).count()
        };
        let may = s.thread.live().lanes.all().any(|(_, lane)| lane.may_cancel);
        assert_eq!(cancels(&s.kill(0)), usize::from(may));
        s.chunk("a");
        s.later(PAUSE);
        assert_eq!(cancels(&s.kill(0)), 0);
        s.stops_with("cancelled");
    });
}

#[test]
fn a_turn_of_commands_of_users_ends_with_the_daemon() {
    check(|s| {
        s.survives();
        s.open_session();
        s.send(Command::RunCommand {
            line: "make".to_owned(),
        });
        assert!(matches!(
            s.replies.values().last(),
            Some(Ok(Reply::CommandStarted { .. }))
        ));
        s.waiting.clear();
        assert_eq!(s.kill(0), []);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        s.prompt("next");
        s.stops_with("end_turn");
        assert_eq!(s.status(TurnId(2)), TurnStatus::Completed);
    });
}

#[test]
fn editors_are_gone_and_their_lease_is_void() {
    check(|s| {
        s.survives();
        s.open_turn();
        let abilities = EditorCapabilities {
            reads_files: true,
            ..EditorCapabilities::default()
        };
        s.ask(Command::Attach {
            connection: "e".to_owned(),
            abilities,
        })
        .unwrap();
        assert!(s.thread.live().lease.is_some());
        s.kill(0);
        assert!(s.thread.live().lease.is_none());
        s.calls(
            "7",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a"}"#,
        );
        assert_eq!(s.waiting.len(), 1, "the daemon reads it");
        s.host_replies(Err(Failure::not_found("a")));
        s.stops_with("end_turn");
    });
}

#[test]
fn the_diff_of_a_turn_has_what_changed_before() {
    let edit = |s: &mut Scene, id: &str, old: &str, new: &str| {
        let diff = json!([{ "type": "diff", "path": "/workspace/a", "oldText": old, "newText": new }]);
        s.update(&tool(
            id,
            false,
            &format!(r#","kind":"edit","status":"completed","content":{diff}"#),
        ));
    };
    let play = |killed: bool| {
        check(|s| {
            s.survives();
            s.open_turn();
            for (id, old, new) in [("1", "a\n", "b\n"), ("2", "b\n", "c\n"), ("3", "c\n", "d\n")] {
                edit(s, id, old, new);
                if killed {
                    s.kill(10);
                }
            }
            s.stops_with("end_turn");
        })
    };
    let diff = |s: &Scene| {
        let found = s.kinds().find_map(|kind| match kind {
            EventKind::Turn(TurnEvent::DiffUpdated { diff }) => Some(diff.clone()),
            _ => None,
        });
        found.unwrap()
    };
    assert_eq!(diff(&play(true)), diff(&play(false)));
}

#[test]
fn a_thread_at_rest_continues_with_its_agent() {
    check(|s| {
        s.survives();
        s.open_turn();
        s.stops_with("end_turn");
        assert!(memo_bytes(s) < 100, "{:?}", s.memo);
        let before = s.next_seq();
        assert_eq!(s.kill(60_000), []);
        assert_eq!(s.next_seq(), before);
        s.prompt("again");
        assert_eq!(s.starts.len(), 1, "by the same process");
        s.stops_with("end_turn");
    });
}

#[test]
fn the_memo_of_a_streaming_turn_is_small_and_seldom_changes() {
    check(|s| {
        s.survives();
        s.open_turn();
        let (mut memos, mut last) = (0, None);
        for number in 0..200 {
            let id = format!(
                r#"{{"messageId":"msg_0192f0c1c5d77c0aa5e5f8d9a1b2c3{:02}","#,
                number / 20
            );
            s.update(&crate::support::message("word ").replacen('{', &id, 1));
            s.later(50);
            assert!(memo_bytes(s) <= 500 + 8 * 100, "{:?}", s.memo);
            if s.memo != last {
                last.clone_from(&s.memo);
                memos += 1;
            }
        }
        assert!(memos <= 24, "{memos} of 200 appends");
        s.stops_with("end_turn");
    });
    check(|s| {
        s.survives();
        s.open_turn();
        for _ in 0..100 {
            s.chunk("word ");
            s.later(50);
            assert!(memo_bytes(s) <= 300, "{:?}", s.memo);
        }
        s.stops_with("end_turn");
    });
}

/// Returns a memo of a turn in which much goes on.
fn busy() -> (Scene, Value) {
    let scene = check(|s| {
        s.survives();
        s.open_turn();
        s.chunk("a");
        s.update(&tool("t", false, r#","title":"x""#));
        s.asks_permission("7", "t");
        s.interrupt();
        s.chunk("b");
    });
    let memo = serde_json::to_value(scene.memo.as_ref().unwrap()).unwrap();
    (scene, memo)
}

/// Returns all places in a JSON value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| places(value, &format!("{at}/{name}"), found)),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(index, value)| places(value, &format!("{at}/{index}"), found)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever can write the log can write a memo. It is one of this thread or none.
    #[test]
    fn a_changed_memo_never_panics(edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..10), 1..4), reads: bool) {
        let (mut s, mut memo) = busy();
        for (at, what) in edits {
            let mut found = Vec::new();
            places(&memo, "", &mut found);
            let values = [
                json!(null), json!(0), json!(u64::MAX), json!(-1), json!(i64::MIN), json!(i64::MAX), json!("x"), json!([]), json!({ "new": 1 }), json!(true),
            ];
            let place: &String = at.get(&found[..]);
            *memo.pointer_mut(place).unwrap() = values[what].clone();
        }
        if let Ok(memo) = serde_json::from_str::<ThreadMemo>(&memo.to_string()) {
            let mut thread = s.next_thread(10);
            if reads {
                s.memo = Some(memo.clone());
                s.recall(&mut thread);
            }
            thread.resume(memo, s.now);
            s.thread = thread;
            s.store_events();
            while s.thread.poll_effect().is_some() {}
            s.chunk("c");
            s.later(1_000_000);
            s.exits("gone");
        }
    }
}

#[test]
fn a_memo_of_another_event_is_refused_without_its_session() {
    check(|s| {
        s.survives();
        s.open_turn();
        let mut thread = s.next_thread(0);
        let log = s.log.clone();
        log.iter()
            .filter(|event| event.turn.is_some())
            .for_each(|event| thread.recall(event));
        let memo = s.memo.clone().unwrap();
        thread.resume(memo, s.now);
        s.thread = thread;
        s.settle();
        assert_eq!((s.stops, s.status(TurnId(1))), (1, TurnStatus::Interrupted));
        s.exits(SESSION);
    });
}
