//! The rest of an answer that comes after its turn.

use acpd_model::event::TurnStatus;
use acpd_model::{ItemEnd, Limits, MessageType, ThreadStatus, TurnId};
use acpd_proto::projection::Turn;
use acpd_proto::thread::Command;

use crate::support::{FULL, Scene, check_in, tool};
use crate::tail::{check, messages, status, tail, with_id};

/// Ids that no other messages have.
const EARLIER: &str = "msg_ebce90c06001kXvb1Zr0tQmPwA";
const RANDOM: &str = "msg_ebce90c09001gryYsSnuDhEeCe";

/// Returns the agent's text in each turn, as the thread shows it afterwards.
fn texts(s: &Scene) -> Vec<(u32, String)> {
    let mut texts = Vec::new();
    for turn in s.transcript().into_turns() {
        let ends = turn.items.iter().filter_map(|item| item.end.as_ref());
        let said = ends.filter_map(|(_, end)| match end {
            ItemEnd::Message { role, content } if *role != MessageType::UserMessage => {
                let text: serde_json::Value = content[0].read().unwrap();
                Some(text["text"].as_str().unwrap().to_owned())
            }
            _ => None,
        });
        let said: String = said.collect();
        if !said.is_empty() {
            texts.push((turn.id.unwrap().0, said));
        }
    }
    texts
}

#[test]
fn a_message_that_continues_after_its_turn_stays_in_it() {
    check(|s| {
        s.open_turn();
        s.update(&with_id("m", "the end is ne"));
        s.stops_with("end_turn");
        s.later(5_000);
        s.update(&with_id("m", "a"));
        assert_eq!(s.thread.live().last_turn, 1, "it begins no turn");
        assert_eq!(status(s), ThreadStatus::Idle);
        s.later(tail() - 1);
        s.update(&with_id("m", "r"));
        s.update(&with_id("m", ""));
        s.later(tail());
        let expected = [(Some(1), "the end is ne".to_owned()), (Some(1), "ar".to_owned())];
        assert_eq!(messages(s), expected, "silence ends it");
        s.later(60_000);
        s.update(&with_id("m", "!"));
        s.prompt("next");
        assert_eq!(
            messages(s).last().unwrap(),
            &(Some(1), "!".to_owned()),
            "or the next prompt"
        );
        s.update(&with_id("n", "yes"));
        s.stops_with("end_turn");
        assert_eq!(
            texts(s),
            [(1, "the end is near!".to_owned()), (2, "yes".to_owned())]
        );
    });
}

/// However the agent's output is divided by its answer, and however late the rest is, each text is shown once, in its turn.
#[test]
fn the_answer_may_come_anywhere_in_the_text() {
    const PARTS: [&str; 4] = ["ab", "c", "de", "f"];
    for id in [RANDOM, "m"] {
        for before in 0..=PARTS.len() {
            for late in [0, tail() / 2, tail() * 20] {
                for is_queued in [false, true] {
                    // An id that may be a number of messages is certain only before the next prompt, or if the answer has begun.
                    let is_uncertain = id != RANDOM && is_queued || before == 0;
                    if is_uncertain && late > tail() {
                        continue;
                    }
                    check(|s| {
                        s.open_turn();
                        if is_queued {
                            s.prompt("next");
                        }
                        s.update(&with_id(EARLIER, "So: "));
                        for part in &PARTS[..before] {
                            s.update(&with_id(id, part));
                        }
                        s.answers_prompt("end_turn");
                        for part in &PARTS[before..] {
                            s.later(late);
                            s.update(&with_id(id, part));
                        }
                        s.later(tail() * 2);
                        if !is_queued {
                            s.prompt("next");
                        }
                        s.update(&with_id("0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4", "next"));
                        s.stops_with("end_turn");
                        let whole = format!("So: {}", PARTS.concat());
                        let expected = [(1, whole), (2, "next".to_owned())];
                        assert_eq!(texts(s), expected, "{id} {before} {late} {is_queued}");
                    });
                }
            }
        }
    }
}

#[test]
fn a_late_chunk_is_not_the_beginning_of_the_next_answer() {
    check(|s| {
        s.open_turn();
        s.prompt("next");
        s.update(&with_id(EARLIER, "The "));
        s.update(&with_id(RANDOM, "first"));
        s.stops_with("end_turn");
        assert!(s.awaits("session/prompt"), "the next turn runs");
        s.update(&with_id(RANDOM, " end"));
        s.update(&with_id("n", "sec"));
        s.update(&with_id(RANDOM, "."));
        s.update(&with_id("n", "ond"));
        s.stops_with("end_turn");
        assert_eq!(
            texts(s),
            [(1, "The first end.".to_owned()), (2, "second".to_owned())]
        );
        let second = messages(s).into_iter().filter(|(turn, _)| *turn == Some(2));
        assert_eq!(second.count(), 1, "nothing cuts it");
    });
}

#[test]
fn an_id_that_agents_count_from_one_is_a_message_of_the_running_turn() {
    check(|s| {
        s.open_turn();
        s.update(&with_id("msg-1", "first"));
        s.stops_with("end_turn");
        s.prompt("next");
        s.update(&with_id("msg-1", "second"));
        s.stops_with("end_turn");
        assert_eq!(texts(s), [(1, "first".to_owned()), (2, "second".to_owned())]);
        s.update(&with_id("msg-1", "third"));
        s.later(tail());
        assert_eq!(
            texts(s)[2],
            (3, "third".to_owned()),
            "such an agent's ids prove nothing"
        );
    });
    // The number of a message within its turn, which begins with a thought or not.
    check(|s| {
        let thought = |text: &str| with_id("0", text).replace("agent_message", "agent_thought");
        s.open_turn();
        s.update(&with_id("0", "first"));
        s.stops_with("end_turn");
        s.prompt("next");
        s.update(&thought("hm. "));
        s.update(&with_id("1", "second"));
        s.stops_with("end_turn");
        s.prompt("next");
        s.update(&with_id("0", "third"));
        s.stops_with("end_turn");
        let expected = ["first", "hm. second", "third"];
        let expected: Vec<_> = (1u32..).zip(expected.map(str::to_owned)).collect();
        assert_eq!(texts(s), expected);
    });
}

#[test]
fn an_id_that_all_messages_have_is_one_of_the_running_turn() {
    check(|s| {
        s.open_turn();
        for text in ["first", "second", "third"] {
            s.update(&with_id(RANDOM, text));
            s.stops_with("end_turn");
            s.prompt("next");
        }
        let expected = ["first", "second", "third"];
        let expected: Vec<_> = (1u32..).zip(expected.map(str::to_owned)).collect();
        assert_eq!(texts(s), expected);
        s.stops_with("end_turn");
    });
}

#[test]
fn an_id_of_a_subagent_says_nothing_about_the_main_agents() {
    check(|s| {
        s.open_turn();
        let report = |state: &str| {
            format!(
                r#"{{"sessionUpdate":"subagent_update","sessionId":"a","title":"review","state":{{"state":"{state}"}}}}"#
            )
        };
        s.update(&report("running"));
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"a","update":{}}}}}"#,
            with_id(RANDOM, "its own")
        ));
        s.update(&report("idle"));
        s.update(&with_id(RANDOM, "the end is ne"));
        s.stops_with("end_turn");
        s.later(5_000);
        s.update(&with_id(RANDOM, "ar"));
        assert_eq!(s.thread.live().last_turn, 1, "it begins no turn");
        s.later(tail());
        assert_eq!(messages(s).last(), Some(&(Some(1), "ar".to_owned())));
    });
}

#[test]
fn text_of_another_process_continues_nothing() {
    check(|s| {
        s.open_turn();
        s.update(&with_id(RANDOM, "first"));
        s.stops_with("end_turn");
        s.exits("exit status 0");
        s.prompt("next");
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.update(&with_id(RANDOM, "second"));
        s.stops_with("end_turn");
        assert_eq!(texts(s), [(1, "first".to_owned()), (2, "second".to_owned())]);
    });
}

#[test]
fn a_rest_belongs_to_no_turn_that_was_rolled_back() {
    check(|s| {
        s.open_turn();
        s.update(&with_id("a", "kept"));
        s.stops_with("end_turn");
        s.prompt("dropped");
        s.update(&with_id(RANDOM, "gone"));
        s.stops_with("end_turn");
        s.ask(Command::RollBack {
            last_kept: Some(TurnId(1)),
        })
        .unwrap();
        s.update(&with_id(RANDOM, "late"));
        s.later(tail());
        assert!(texts(s).iter().all(|(turn, _)| *turn != 2), "{:?}", texts(s));
    });
}

#[test]
fn a_prompt_after_an_interrupt_waits_for_the_rest() {
    for is_queued in [true, false] {
        check(|s| {
            s.open_turn();
            if is_queued {
                s.prompt("next");
            }
            s.update(&tool("t", false, r#","title":"ls","status":"in_progress""#));
            s.interrupt();
            s.answers_prompt("cancelled");
            assert_eq!(
                s.status(TurnId(1)),
                TurnStatus::Interrupted,
                "the user does not wait"
            );
            if !is_queued {
                s.prompt("next");
            }
            assert!(!s.awaits("session/prompt"), "more may come");
            s.update(&tool("t", true, r#","status":"failed""#));
            s.chunk("Stopp");
            s.later(tail() / 2);
            s.chunk("ed.");
            s.later(tail() / 2 + 1);
            assert_eq!(s.open_prompt().map(|(_, turn)| turn), Some(TurnId(2)));
            s.chunk("Hello.");
            s.stops_with("end_turn");
            assert_eq!(texts(s), [(1, "Stopped.".to_owned()), (2, "Hello.".to_owned())]);
        });
    }
}

#[test]
fn the_rest_of_a_failed_turn_stays_in_it() {
    check(|s| {
        s.open_turn();
        s.update(&with_id("m", "a"));
        s.answers_prompt_with(br#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}"#);
        s.update(&with_id("m", "b"));
        s.later(tail());
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        assert_eq!(messages(s), [(Some(1), "ab".to_owned())]);
        s.update(&with_id("m", "c"));
        s.later(tail());
        assert_eq!(texts(s), [(1, "abc".to_owned())]);
    });
}

#[test]
fn a_whole_message_that_is_repeated_after_its_turn_is_shown_once() {
    let mut repeating = Scene::with_limits(Limits::default());
    repeating.quirks.repeats_messages = true;
    check_in(repeating, |s| {
        s.open_turn();
        s.update(&with_id("m", "ha"));
        s.update(&with_id("m", " ha"));
        s.stops_with("end_turn");
        s.update(&with_id("m", "ha ha"));
        s.later(tail());
        assert_eq!(messages(s), [(Some(1), "ha ha".to_owned())]);
        assert_eq!(s.thread.live().last_turn, 1);
    });
}

#[test]
fn a_tool_call_that_ends_in_the_next_turn_stays_in_its_own() {
    check(|s| {
        s.open_turn();
        s.prompt("next");
        s.update(&tool("t", false, r#","title":"make","status":"in_progress""#));
        s.stops_with("end_turn");
        s.update(&tool("t", true, r#","status":"completed","rawOutput":"made""#));
        s.chunk("next");
        s.stops_with("end_turn");
        let turns = s.transcript().into_turns();
        let made = |turn: &Turn| {
            let ends = turn.items.iter().filter_map(|item| item.end.as_ref());
            let calls = ends.filter(
                |(_, end)| matches!(end, ItemEnd::ToolCall { call, .. } if call.get().contains("made")),
            );
            calls.count()
        };
        assert_eq!(turns.iter().map(made).collect::<Vec<_>>(), [1, 0]);
    });
}
