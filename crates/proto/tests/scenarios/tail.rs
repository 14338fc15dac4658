//! The end of a turn after the agent's answer to its prompt, and turns that the agent begins without a prompt.

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, ItemEvent, Limits, Origin, SessionEvent, ThreadStatus, TurnEvent, TurnId};
use acpd_proto::agent::AgentEvent;
use acpd_proto::thread::{Answer, Command, Input, InterruptOptions};
use serde_json::json;

use crate::support::{FULL, Scene, check_in, message, tool};

/// The time for which a turn stays open after the agent's answer.
pub fn tail() -> u64 {
    Limits::default().turn_tail_millis
}

/// Runs a scenario with the default tail.
pub fn check(scenario: impl FnOnce(&mut Scene)) -> Scene {
    check_in(Scene::with_limits(Limits::default()), scenario)
}

pub fn with_id(id: &str, text: &str) -> String {
    message(text).replacen('{', &format!(r#"{{"messageId":"{id}","#), 1)
}

/// Returns the turn of each complete message of the agent, with its text.
pub fn messages(s: &Scene) -> Vec<(Option<u32>, String)> {
    s.log
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Item(ItemEvent::Completed {
                end: acpd_model::ItemEnd::Message { role, content },
                ..
            }) if *role == acpd_model::MessageType::AgentMessage => {
                let text: serde_json::Value = content[0].read().unwrap();
                let text = text["text"].as_str().unwrap().to_owned();
                Some((event.turn.map(|turn| turn.0), text))
            }
            _ => None,
        })
        .collect()
}

pub fn status(s: &Scene) -> ThreadStatus {
    s.thread.live().summary.status
}

#[test]
fn text_after_the_answer_belongs_to_the_turn_and_its_message() {
    for chunk in [message, |text: &str| with_id("m", text)] {
        check(|s| {
            s.open_turn();
            s.update(&chunk("the end is ne"));
            s.answers_prompt("end_turn");
            assert!(s.settled_turns().is_empty(), "it is open");
            s.later(tail() / 3);
            s.update(&chunk("ar"));
            s.update(&tool("t", false, r#","status":"completed""#));
            s.later(tail());
            assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
            assert_eq!(messages(s), [(Some(1), "the end is near".to_owned())]);
            assert_eq!(s.thread.live().last_turn, 1);
            assert_eq!(status(s), ThreadStatus::Idle);
        });
    }
}

#[test]
fn text_in_the_tail_prolongs_it_up_to_a_limit() {
    check(|s| {
        s.open_turn();
        s.answers_prompt("end_turn");
        let (begun, mut sent) = (s.now.mono, 0);
        while s.settled_turns().is_empty() {
            s.chunk("x");
            sent += 1;
            s.later(tail() - 1);
        }
        let took = s.now.mono.saturating_sub(begun).as_millis();
        assert!((1_000..2_000).contains(&took), "{took} ms");
        s.later(tail());
        assert_eq!(messages(s), [(Some(1), "x".repeat(sent))]);
    });
    check(|s| {
        s.open_turn();
        s.chunk("x");
        s.answers_prompt("end_turn");
        s.later(tail() - 1);
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        assert!(s.settled_turns().is_empty());
        s.later(1);
        assert_eq!(
            s.status(TurnId(1)),
            TurnStatus::Completed,
            "usage does not prolong it"
        );
    });
}

#[test]
fn a_queued_prompt_waits_for_the_tail() {
    check(|s| {
        s.open_turn();
        let next = s.prompt("next");
        s.chunk("a");
        s.answers_prompt("end_turn");
        assert!(!s.awaits("session/prompt"));
        s.chunk("b");
        s.later(tail());
        assert_eq!(s.open_prompt().map(|(_, turn)| turn), Some(next));
        assert_eq!(messages(s), [(Some(1), "ab".to_owned())]);
        s.stops_with("end_turn");
    });
}

#[test]
fn an_interrupt_ends_the_tail_at_once_with_the_answer() {
    check(|s| {
        s.open_turn();
        s.answers_prompt("max_tokens");
        s.interrupt_turn(Some(TurnId(1))).unwrap();
        assert_eq!(s.status(TurnId(1)), TurnStatus::Limited);
        assert!(s.sent_as("session/cancel").is_empty());
        assert!(s.interrupt_turn(None).is_err(), "no turn runs");
    });
}

#[test]
fn an_agent_that_exits_ends_the_tail_with_its_answer() {
    check(|s| {
        s.open_turn();
        let next = s.prompt("next");
        s.chunk("done");
        s.answers_prompt("end_turn");
        s.exits("exit status 0");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
        assert_eq!(messages(s), [(Some(1), "done".to_owned())]);
        assert!(s.thread.live().turn.is_some_and(|turn| turn.id == next));
    });
}

#[test]
fn the_answer_to_an_interrupted_turn_ends_it_at_once() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.answers_prompt("cancelled");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
    });
}

#[test]
fn without_a_tail_the_answer_ends_the_turn() {
    let limits = Limits {
        turn_tail_millis: 0,
        ..Limits::default()
    };
    check_in(Scene::with_limits(limits), |s| {
        s.open_turn();
        s.answers_prompt("end_turn");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
    });
}

#[test]
fn later_work_is_a_turn_of_its_own_that_ends_by_silence() {
    check(|s| {
        s.open_turn();
        s.chunk("first");
        s.stops_with("end_turn");
        s.chunk("later ");
        let started = s
            .kinds()
            .any(|kind| matches!(kind, EventKind::Turn(TurnEvent::Started { .. })));
        assert!(started && s.thread.live().last_turn == 2);
        assert_eq!(status(s), ThreadStatus::Running);
        for _ in 0..5 {
            s.later(tail() - 1);
            s.chunk("and ");
        }
        assert_eq!(s.settled_turns().len(), 1, "each update prolongs it");
        s.later(tail());
        assert_eq!(s.settled_turns(), [TurnStatus::Completed; 2]);
        assert_eq!(status(s), ThreadStatus::Idle);
        assert_eq!(messages(s)[1], (Some(2), "later and and and and and ".to_owned()));
        let begun = s
            .log
            .iter()
            .rev()
            .find(|e| matches!(e.kind, EventKind::Turn(TurnEvent::Started { .. })));
        assert_eq!(begun.unwrap().by, Origin::Agent);
    });
}

#[test]
fn invisible_updates_begin_no_turn() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        s.update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#);
        s.says("rubbish");
        assert_eq!(s.thread.live().last_turn, 1);
    });
}

#[test]
fn a_prompt_ends_a_turn_without_one() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.chunk("by the way");
        let next = s.prompt("next");
        assert_eq!(next, TurnId(3));
        assert_eq!(s.status(TurnId(2)), TurnStatus::Completed);
        assert!(s.awaits("session/prompt"), "it does not wait");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_turn_without_a_prompt_can_be_interrupted_and_blocks_nothing() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.chunk("by the way");
        s.interrupt();
        assert_eq!(s.status(TurnId(2)), TurnStatus::Interrupted);
        assert_eq!(s.sent_as("session/cancel").len(), 1);
        s.chunk("and");
        s.ask(Command::Change(acpd_proto::thread::Change::Archive))
            .unwrap();
        assert_eq!(s.status(TurnId(3)), TurnStatus::Completed);
    });
}

#[test]
fn a_question_between_turns_is_a_waiting_thread() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.asks_permission("7", "t");
        assert_eq!(status(s), ThreadStatus::Waiting);
        s.later(60_000);
        assert_eq!(status(s), ThreadStatus::Waiting, "its turn waits for the answer");
        assert!(!s.thread.is_idle());
        s.decide(1, Answer::Accept { always: false }).unwrap();
        assert_eq!(s.answer_to(&json!(7))["result"]["outcome"]["outcome"], "selected");
        s.update(&tool("t", true, r#","status":"completed""#));
        s.later(tail());
        assert_eq!(status(s), ThreadStatus::Idle);
        assert_eq!(s.settled_turns(), [TurnStatus::Completed; 2]);
    });
}

#[test]
fn a_question_in_the_tail_keeps_the_turn_open() {
    check(|s| {
        s.open_turn();
        s.answers_prompt("end_turn");
        s.asks_permission("7", "t");
        s.later(60_000);
        assert_eq!(status(s), ThreadStatus::Waiting);
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert!(s.settled_turns().is_empty());
        s.later(tail());
        assert_eq!(s.settled_turns(), [TurnStatus::Completed]);
    });
}

#[test]
fn a_question_before_the_session_is_open_is_a_waiting_thread() {
    check(|s| {
        s.create();
        s.answer("initialize", crate::support::FULL);
        s.calls(
            "7",
            "elicitation/create",
            r#"{"mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{}}}"#,
        );
        assert_eq!(status(s), ThreadStatus::Waiting);
        s.decide(1, Answer::Cancel).unwrap();
        assert_eq!(status(s), ThreadStatus::Idle);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(s.thread.live().last_turn, 0);
    });
}

/// A shared process that is about to end waits for each of its threads.
#[test]
fn a_thread_leaves_a_process_that_ends_after_its_tail() {
    check(|s| {
        s.open_turn();
        s.answers_prompt("end_turn");
        s.handle(Input::Agent(AgentEvent::Retiring));
        assert_eq!(s.stops, 0, "more may come");
        s.later(tail());
        assert_eq!(s.stops, 1);
    });
}

#[test]
fn a_tool_call_without_a_prompt_may_be_silent_while_it_runs() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.update(&tool("t", false, r#","title":"make","status":"in_progress""#));
        s.later(60_000);
        assert_eq!(status(s), ThreadStatus::Running);
        s.update(&tool("t", true, r#","status":"completed""#));
        s.later(tail());
        assert_eq!(s.settled_turns(), [TurnStatus::Completed; 2]);
    });
}

#[test]
fn ended_work_begins_no_turn_and_has_no_outcome() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"make","status":"in_progress""#));
        s.update(r#"{"sessionUpdate":"plan","entries":[]}"#);
        s.interrupt();
        s.stops_with("cancelled");
        s.update(&tool("t", true, r#","status":"failed""#));
        s.update(r#"{"sessionUpdate":"plan","entries":[]}"#);
        s.calls(
            "7",
            "session/request_permission",
            r#"{"sessionId":"s-1","options":[]}"#,
        );
        assert_eq!(s.thread.live().last_turn, 1);
        s.chunk("by the way");
        s.later(tail());
        assert_eq!(s.thread.live().last_turn, 2);
        let summary = &s.thread.live().summary;
        assert_eq!(
            summary.last_turn,
            Some(TurnStatus::Interrupted),
            "what the user asked for"
        );
    });
}

#[test]
fn an_agent_that_never_pauses_does_not_keep_its_turn_open() {
    check(|s| {
        s.open_turn();
        s.answers_prompt("end_turn");
        // The timer has no chance.
        s.now.mono += std::time::Duration::from_millis(tail() + 2_000);
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        assert_eq!(s.settled_turns(), [TurnStatus::Completed]);
    });
}

/// Returns by whom each turn was ended.
fn ended_by(s: &Scene) -> Vec<Origin> {
    let ends = s.log.iter();
    ends.filter(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Settled { .. })))
        .map(|event| event.by.clone())
        .collect()
}

const CODE: [&str; 2] = ["```let par", "sed = 1;```"];

/// Checks that the two parts of a code block are one message of the first turn, for clients as well.
fn is_whole(s: &Scene) {
    assert_eq!(messages(s), [(Some(1), CODE.concat())]);
    let done = s.params("item/completed");
    let said: Vec<_> = done
        .iter()
        .filter(|item| item["type"] == "agentMessage")
        .map(|item| (item["turnId"].as_str(), item["text"].as_str()))
        .collect();
    assert_eq!(said, [(Some("turn_1"), Some(&*CODE.concat()))]);
    assert_eq!(s.settled_turns(), [TurnStatus::Interrupted]);
    assert_eq!(s.thread.live().last_turn, 1);
}

#[test]
fn a_stop_of_the_daemon_does_not_cut_a_message() {
    for exits in [true, false] {
        check(|s| {
            s.open_turn();
            s.chunk(CODE[0]);
            s.ask(Command::Stop).unwrap();
            assert_eq!(s.stops, 1);
            assert!(s.settled_turns().is_empty(), "the rest may be in the pipe");
            s.chunk(CODE[1]);
            if exits {
                s.exits("exit status 0");
            } else {
                let end = s.thread.turn_end().unwrap();
                s.thread.handle_turn_end(s.now);
                assert!(s.settled_turns().is_empty(), "it is not due");
                s.until(end);
            }
            is_whole(s);
            assert_eq!(ended_by(s), [Origin::Daemon]);
            assert_eq!(
                s.settled_error(TurnId(1)),
                "acpd was restarted while this turn was running"
            );
        });
    }
}

#[test]
fn a_stop_waits_for_no_message_that_has_ended() {
    check(|s| {
        s.open_turn();
        s.chunk("I look");
        s.update(&tool("t", false, r#","title":"ls","status":"in_progress""#));
        s.ask(Command::Stop).unwrap();
        assert_eq!(s.settled_turns(), [TurnStatus::Interrupted]);
    });
}

#[test]
fn text_of_an_agent_that_does_not_stop_is_kept_and_not_shown() {
    check(|s| {
        s.open_turn();
        s.chunk("a");
        s.ask(Command::Stop).unwrap();
        s.later(tail());
        assert_eq!(s.settled_turns(), [TurnStatus::Interrupted]);
        for _ in 0..3 {
            s.chunk("b");
        }
        s.exits("killed by SIGKILL");
        assert_eq!(messages(s), [(Some(1), "a".to_owned())]);
        let kept = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Session(SessionEvent::AgentNotified { .. })));
        assert_eq!(kept.count(), 3);
        assert_eq!(s.thread.live().last_turn, 1);
    });
}

#[test]
fn a_message_that_is_repeated_while_the_agent_stops_is_shown_once() {
    let mut repeating = Scene::with_limits(Limits::default());
    repeating.quirks.repeats_messages = true;
    check_in(repeating, |s| {
        s.open_turn();
        s.chunk("ha");
        s.chunk(" ha");
        s.ask(Command::Stop).unwrap();
        s.chunk("ha ha");
        s.exits("exit status 0");
        assert_eq!(messages(s), [(Some(1), "ha ha".to_owned())]);
    });
}

/// The next turn waits until the process has gone, and begins with text of its own agent.
#[test]
fn late_text_of_an_agent_does_not_answer_the_next_prompt() {
    let at_once = InterruptOptions {
        at_once: true,
        ..InterruptOptions::default()
    };
    check(|s| {
        s.open_turn();
        s.chunk("a");
        let next = s.prompt("next");
        s.interrupt_with(None, at_once).unwrap();
        s.later(tail());
        assert_eq!(s.settled_turns(), [TurnStatus::Interrupted]);
        assert_eq!(s.thread.live().turn.map(|turn| turn.id), Some(next));
        for _ in 0..3 {
            s.chunk("b");
        }
        assert_eq!(messages(s), [(Some(1), "a".to_owned())]);
        s.exits("killed by SIGKILL");
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.chunk("c");
        s.answers_prompt("end_turn");
        s.later(tail());
        assert_eq!(s.status(next), TurnStatus::Completed);
        assert_eq!(
            messages(s),
            [(Some(1), "a".to_owned()), (Some(2), "c".to_owned())]
        );
    });
}

#[test]
fn an_interrupt_does_not_cut_a_message() {
    check(|s| {
        s.open_turn();
        s.chunk(CODE[0]);
        s.interrupt();
        s.answers_prompt("cancelled");
        assert!(s.settled_turns().is_empty());
        s.chunk(CODE[1]);
        s.later(tail());
        is_whole(s);
    });
    let at_once = InterruptOptions {
        at_once: true,
        ..InterruptOptions::default()
    };
    check(|s| {
        s.open_turn();
        s.chunk(CODE[0]);
        s.interrupt_with(None, at_once).unwrap();
        assert_eq!(s.stops, 1);
        s.chunk(CODE[1]);
        s.exits("killed by SIGKILL");
        is_whole(s);
        assert!(matches!(ended_by(s)[..], [Origin::Client(_)]));
    });
    // A second interrupt waits for nothing.
    check(|s| {
        s.open_turn();
        s.chunk("a");
        s.interrupt_with(None, at_once).unwrap();
        s.interrupt();
        assert_eq!(s.settled_turns(), [TurnStatus::Interrupted]);
    });
}
