//! Turns as editors see them: the updates, then the end.

use acpd_model::{
    ErrorCode, EventKind, ItemEvent, ItemStart, Limits, MessageType, Origin, Role, TurnEvent, TurnId,
};
use acpd_proto::surface::contract::Surface;
use acpd_proto::thread::Command;
use serde_json::json;

use super::stage::{ABLE, SIMPLE, Stage, play, play_in};
use crate::support::{Scene, message, thought, tool};

/// Runs a turn with updates of many kinds.
fn work(s: &mut Stage) {
    s.then(|scene| {
        scene.update(&thought("hm"));
        scene.chunk("on it");
        scene.later(20);
        scene.update(&tool(
            "t",
            false,
            r#","title":"ls","kind":"read","status":"in_progress""#,
        ));
        scene.update(&tool("t", true, r#","status":"completed""#));
        scene.update(r#"{"sessionUpdate":"plan","entries":[]}"#);
        scene.chunk("done");
        scene.stops_with("end_turn");
    });
}

const WORK: [&str; 6] = [
    "agent_thought_chunk hm",
    "agent_message_chunk on it",
    "tool_call in_progress",
    "tool_call_update completed",
    "plan",
    "agent_message_chunk done",
];

#[test]
fn a_prompt_is_answered_after_the_updates_of_its_turn() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let from = s.count(who);
        let id = s.prompt(who, "do it");
        assert_eq!(s.answer_to(who, &id), None);
        work(s);
        let mut expected = WORK.map(str::to_owned).to_vec();
        expected.push(format!("end_turn to {id}"));
        assert_eq!(
            s.heard_from(who, from),
            expected,
            "its own words are not repeated to it"
        );
    });
}

#[test]
fn the_id_of_a_running_prompt_is_refused_and_the_prompt_is_still_answered() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.prompt(who, "do it");
        // The schema of a response is that of the last request with its id.
        s.strict = false;
        let again = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/list","params":{{}}}}"#);
        s.says(who, &again);
        let refused = s.answer_to(who, &id).unwrap();
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        let from = s.count(who);
        work(s);
        let mut expected = WORK.map(str::to_owned).to_vec();
        expected.push(format!("end_turn to {id}"));
        assert_eq!(s.heard_from(who, from), expected);
        s.says(who, &again);
        let last = s.editors[who].got.last().unwrap();
        assert_eq!(last["id"], id);
        assert!(last["result"]["sessions"].is_array(), "{last}");
    });
}

#[test]
fn text_that_is_held_back_comes_before_the_answer() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.prompt(who, "do it");
        s.then(|scene| {
            for word in ["one ", "two ", "three"] {
                scene.chunk(word);
            }
            scene.stops_with("max_tokens");
        });
        let heard = s.heard_from(who, s.count(who) - 3);
        let stop = format!("max_tokens to {id}");
        assert_eq!(
            heard,
            [
                "agent_message_chunk one ",
                "agent_message_chunk two three",
                stop.as_str()
            ]
        );
    });
}

#[test]
fn two_editors_see_the_same_and_each_prompt_is_answered_to_its_sender() {
    play(|s| {
        let first = Stage::at_work(SIMPLE, s);
        let second = s.editor(ABLE);
        assert!(s.ask_session(second, "session/resume", r#","cwd":"/workspace""#)["result"].is_object());
        let (one, two) = (s.count(first), s.count(second));
        let a = s.prompt(first, "from the first");
        let b = s.prompt(second, "from the second");
        work(s);
        s.then(|scene| {
            scene.chunk("again");
            scene.stops_with("refusal");
        });
        let work = || WORK.map(str::to_owned).to_vec();
        let rest = || vec!["agent_message_chunk again".to_owned()];
        let ends = |name: &str, id| vec![format!("{name} to {id}")];
        let theirs = vec!["user_message_chunk from the second".to_owned()];
        let seen_by_first = [work(), ends("end_turn", &a), theirs, rest()].concat();
        assert_eq!(s.heard_from(first, one), seen_by_first);
        let theirs = vec!["user_message_chunk from the first".to_owned()];
        let seen_by_second = [theirs, work(), rest(), ends("refusal", &b)].concat();
        assert_eq!(s.heard_from(second, two), seen_by_second);
    });
}

#[test]
fn each_block_of_anothers_prompt_names_its_author() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            let blocks = [
                r#"{"type":"text","text":"look","annotations":{"priority":1.10}}"#,
                r#"{"type":"resource_link","uri":"file:///x","name":"x"}"#,
            ];
            let blocks = blocks.map(|block| acpd_model::RawJson::parse(block).unwrap());
            scene.start_turn(blocks.to_vec(), None).unwrap();
            scene.stops_with("end_turn");
        });
        let [.., first, second] = &s.editors[who].got[..] else {
            panic!()
        };
        assert_eq!(first["params"]["update"]["content"]["text"], "look");
        assert_eq!(second["params"]["update"]["content"]["uri"], "file:///x");
        assert_eq!(
            first["params"]["update"]["messageId"],
            second["params"]["update"]["messageId"]
        );
        let meta = &first["params"]["update"]["_meta"]["acpd"];
        assert_eq!(
            (&meta["turnId"], &meta["client"]),
            (&json!("turn_1"), &json!("test"))
        );
        let texts = &s.editors[who].texts;
        assert!(texts[texts.len() - 2].contains(r#""annotations":{"priority":1.10}"#));
    });
}

#[test]
fn a_cancel_ends_only_the_editors_own_turns() {
    play(|s| {
        let first = Stage::at_work(SIMPLE, s);
        let second = s.editor(SIMPLE);
        s.ask_session(second, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        let running = s.prompt(first, "long");
        let waiting = s.prompt(second, "one");
        let waiting_too = s.prompt(second, "two");
        s.notify(second, "session/cancel");
        for id in [&waiting, &waiting_too] {
            assert_eq!(
                s.answer_to(second, id).unwrap()["result"],
                json!({ "stopReason": "cancelled" })
            );
        }
        assert_eq!(s.answer_to(first, &running), None);
        assert!(s.scene.sent_as("session/cancel").is_empty());
        s.notify(first, "session/cancel");
        assert_eq!(s.answer_to(first, &running), None, "the agent has the last word");
        s.then(|scene| {
            scene.chunk("stopping");
            scene.stops_with("cancelled");
        });
        let end = format!("cancelled to {running}");
        assert_eq!(
            s.heard(first)[s.count(first) - 2..],
            ["agent_message_chunk stopping", end.as_str()]
        );
    });
}

#[test]
fn a_cancelled_prompt_is_answered_cancelled_whatever_the_agent_does() {
    type Agent = fn(&mut Scene);
    let agents: [(&str, Agent); 5] = [
        ("never answers", |scene| scene.later(30_000)),
        ("is killed", |scene| scene.exits("killed by SIGKILL")),
        ("answers an error", |scene| {
            scene.refuse("session/prompt", -32603, "Internal error");
        }),
        ("answers nonsense", |scene| scene.answer("session/prompt", "[]")),
        ("is stopped with the daemon", |scene| {
            scene.ask(Command::Stop).unwrap();
        }),
    ];
    for (name, agent) in agents {
        play(|s| {
            let who = Stage::at_work(ABLE, s);
            let id = s.prompt(who, "do it");
            s.then(|scene| scene.update(&tool("t", false, r#","title":"ls","status":"in_progress""#)));
            s.notify(who, "session/cancel");
            assert_eq!(s.answer_to(who, &id), None);
            s.then(agent);
            let answer = s.answer_to(who, &id).unwrap();
            assert_eq!(answer["result"]["stopReason"], "cancelled", "{name}: {answer}");
        });
    }
}

#[test]
fn a_watching_editor_can_interrupt_the_turn() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("from elsewhere");
        });
        s.notify(who, "session/cancel");
        assert_eq!(s.scene.sent_as("session/cancel").len(), 1);
        s.then(|scene| scene.stops_with("cancelled"));
    });
}

#[test]
fn a_prompt_is_cancelled_by_its_id() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let first = s.prompt(who, "one");
        let second = s.prompt(who, "two");
        s.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{second}}}}}"#),
        );
        assert_eq!(
            s.answer_to(who, &second).unwrap()["result"]["stopReason"],
            "cancelled"
        );
        assert_eq!(s.answer_to(who, &first), None);
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(
            s.answer_to(who, &first).unwrap()["result"]["stopReason"],
            "end_turn"
        );
    });
}

#[test]
fn a_cancel_before_the_turn_is_known_takes_effect_when_it_is() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.slow = true;
        let id = s.prompt(who, "too quick");
        s.notify(who, "session/cancel");
        s.slow = false;
        s.catch_up();
        assert_eq!(s.scene.sent_as("session/cancel").len(), 1);
        s.then(|scene| scene.stops_with("cancelled"));
        assert_eq!(
            s.answer_to(who, &id).unwrap()["result"]["stopReason"],
            "cancelled"
        );
    });
}

#[test]
fn a_failed_turn_is_an_error_and_closes_open_items() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let id = s.prompt(who, "do it");
        s.then(|scene| {
            scene.update(&tool("t", false, r#","title":"ls","status":"in_progress""#));
            scene.exits("killed by SIGSEGV");
        });
        let answer = s.answer_to(who, &id).unwrap();
        assert_eq!(answer["error"]["code"], ErrorCode::Internal.rpc());
        assert_eq!(answer["error"]["message"], "killed by SIGSEGV");
        let heard = s.heard(who);
        let end = format!("error -32603 to {id}");
        assert_eq!(
            heard[heard.len() - 4..],
            ["tool_call in_progress", "notice", "tool_call_update failed", &end]
        );
    });
}

#[test]
fn a_prompt_that_is_refused_is_answered_with_the_reason() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        assert_eq!(
            s.ask_session(who, "session/prompt", r#","prompt":[]"#)["error"]["code"],
            -32602
        );
        assert_eq!(
            s.ask_session(who, "session/prompt", r#","prompt":[{"type":"x"}]"#)["error"]["code"],
            -32602
        );
        let id = s.prompt(who, "good");
        s.then(|scene| scene.stops_with("end_turn"));
        assert!(s.answer_to(who, &id).unwrap()["result"].is_object());
    });
}

#[test]
fn auth_required_is_returned_to_the_prompting_editor() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.exits("exit status 0");
        });
        let id = s.prompt(who, "do it");
        s.then(|scene| {
            let hello = r#"{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key"}]}"#;
            scene.answer("initialize", hello);
            scene.refuse("session/new", -32000, "sign in");
        });
        assert_eq!(s.answer_to(who, &id).unwrap()["error"]["code"], -32000);
    });
}

#[test]
fn a_closed_session_is_silent_and_its_prompts_are_cancelled() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.prompt(who, "do it");
        let from = s.count(who);
        assert!(s.ask_session(who, "session/close", "")["result"].is_object());
        s.then(|scene| {
            scene.chunk("late");
            scene.later(20);
            scene.stops_with("cancelled");
        });
        assert_eq!(s.heard_from(who, from)[0], format!("cancelled to {id}"));
        assert_eq!(s.count(who), from + 2);
        assert_eq!(s.scene.sent_as("session/cancel").len(), 1);
        assert_eq!(
            s.ask_session(who, "session/prompt", r#","prompt":[]"#)["error"]["code"],
            -32002
        );
        assert!(s.ask_session(who, "session/close", "")["result"].is_object());
    });
}

#[test]
fn a_thread_that_cannot_be_followed_leaves_no_request_unanswered() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.prompt(who, "do it");
        let failure = acpd_model::Failure::new(ErrorCode::Internal, "the log cannot be read");
        let thread = s.scene.id;
        s.editors[who].peer.handle_closed(thread, &failure);
        s.pump();
        assert_eq!(
            s.answer_to(who, &id).unwrap()["error"]["message"],
            "the log cannot be read"
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_deleted_session_is_closed() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.prompt(who, "do it");
        assert!(s.ask_session(who, "session/delete", "")["result"].is_object());
        assert_eq!(
            s.answer_to(who, &id).unwrap()["result"]["stopReason"],
            "cancelled"
        );
        s.then(|scene| {
            scene.update(&message("late"));
            scene.stops_with("cancelled");
        });
    });
}

#[test]
fn a_new_session_is_answered_before_anything_is_said_in_it() {
    play(|s| {
        let who = s.connect(Role::Owner);
        s.ask(who, "initialize", SIMPLE);
        // The agent sends updates before its response.
        s.slow = true;
        let id = s.request(who, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        s.slow = false;
        s.catch_up();
        s.then(|scene| {
            scene.update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#)
        });
        let heard = s.heard(who);
        assert_eq!(
            heard[1..],
            [format!("answer to {id}"), "available_commands_update".to_owned()]
        );
        assert_eq!(
            s.editors[who].got[1]["result"]["_meta"]["acpd"]["threadId"],
            s.session()
        );
    });
}

#[test]
fn the_author_of_a_queued_prompt_is_sent_to_all() {
    play(|s| {
        let first = Stage::at_work(ABLE, s);
        let second = s.editor(SIMPLE);
        s.ask_session(second, "session/resume", r#","cwd":"/workspace""#);
        s.prompt(first, "one");
        let waits = s.prompt(second, "two");
        let before = s.count(first);
        s.then(|scene| scene.stops_with("end_turn"));
        let shown = &s.editors[first].got[before + 1];
        assert_eq!(
            (
                &shown["params"]["update"]["sessionUpdate"],
                &shown["params"]["update"]["_meta"]["acpd"]["client"]
            ),
            (&json!("user_message_chunk"), &json!("simple")),
            "{shown}"
        );
        s.then(|scene| {
            scene.chunk("2");
            scene.stops_with("end_turn");
        });
        assert!(s.answer_to(second, &waits).is_some());
        let of_turn = s.scene.log.iter().filter(|event| event.turn == Some(TurnId(2)));
        let by_daemon = of_turn.filter(|event| {
            matches!(
                event.kind,
                EventKind::Turn(TurnEvent::Queued { .. } | TurnEvent::Started { .. })
                    | EventKind::Item(
                        ItemEvent::UserMessageAdded { .. }
                            | ItemEvent::Started {
                                start: ItemStart::Message {
                                    role: MessageType::UserMessage,
                                    ..
                                },
                                ..
                            }
                    )
            )
        });
        for event in by_daemon {
            assert!(
                matches!(&event.by, Origin::Client(caller) if caller.client == "simple"),
                "{event:?}"
            );
        }
    });
}

#[test]
fn the_rest_of_an_answer_comes_before_the_response_or_continues_its_message() {
    let tail = Limits::default().turn_tail_millis;
    let part = |text: &str| message(text).replacen('{', r#"{"messageId":"m","#, 1);
    play_in(Scene::with_limits(Limits::default()), |s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.prompt(who, "do it");
        let from = s.count(who);
        s.then(|scene| {
            scene.update(&part("the e"));
            scene.answers_prompt("end_turn");
        });
        assert_eq!(s.answer_to(who, &id), None, "more may come");
        s.then(|scene| {
            scene.update(&part("n"));
            scene.later(tail);
        });
        s.then(|scene| {
            scene.later(5_000);
            scene.update(&part("d"));
            scene.later(tail);
        });
        let expected = [
            "agent_message_chunk the e".to_owned(),
            "agent_message_chunk n".to_owned(),
            format!("end_turn to {id}"),
            "agent_message_chunk d".to_owned(),
        ];
        assert_eq!(s.heard_from(who, from), expected);
        let texts = s.editors[who].got[from..].iter();
        let updates = texts.map(|message| &message["params"]["update"]);
        let ids: Vec<_> = updates
            .filter(|update| update.is_object())
            .map(|update| &update["messageId"])
            .collect();
        assert_eq!(ids, ["m"; 3], "the editor adds all of it to one message");
    });
}
