//! Rollback: turns leave the conversation and stay in the log.

use acpd_model::event::Fidelity;
use acpd_model::{ErrorCode, EventKind, Failure, ItemEvent, Limits, ThreadEvent, TurnId};
use acpd_proto::projection::text_block;
use acpd_proto::thread::{Command, Reply};
use serde_json::json;

use crate::support::{FULL, Scene, check, check_in};

pub fn turn(s: &mut Scene, prompt: &str, answer: &str) {
    s.prompt(prompt);
    s.chunk(answer);
    s.stops_with("end_turn");
}

fn roll_back(s: &mut Scene, last_kept: Option<u32>) -> Result<Fidelity, Failure> {
    let last_kept = last_kept.map(TurnId);
    match s.ask(Command::RollBack { last_kept })? {
        Reply::RolledBack(fidelity) => Ok(fidelity),
        other => panic!("{other:?}"),
    }
}

fn three_turns(s: &mut Scene) {
    s.open_session();
    for n in 1..=3 {
        turn(s, &format!("prompt {n}"), &format!("answer {n}"));
    }
}

fn shown(s: &Scene) -> Vec<u32> {
    let turns = s.transcript().turns;
    turns
        .iter()
        .filter_map(|turn| turn.id)
        .map(|turn| turn.0)
        .collect()
}

/// Sends a prompt in place of an earlier one.
fn replace(s: &mut Scene, turn: u32, prompt: &str) -> Result<TurnId, Failure> {
    let input = vec![text_block(prompt)];
    Ok(s.start_turn_instead(Some(TurnId(turn)), input, None)?.id)
}

/// Returns the complete input of the agent's last prompt.
fn sent_history(s: &Scene) -> String {
    s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"].to_string()
}

#[test]
fn dropped_turns_leave_the_view_and_the_agent_receives_the_rest() {
    let scene = check(|s| {
        three_turns(s);
        s.update(
            r#"{"sessionUpdate":"plan","entries":[{"content":"x","priority":"low","status":"pending"}]}"#,
        );
        let logged = s.log.len();
        assert_eq!(roll_back(s, Some(1)).unwrap(), Fidelity::Recalled);
        assert_eq!((s.stops, s.log.len()), (1, logged + 1));
        let params = &s.params("thread/rolledBack")[0];
        assert_eq!(params["lastKeptTurnId"], "turn_1");
        assert_eq!(params["by"]["principal"], "owner");
        assert_eq!(shown(s), [1]);
        let live = s.thread.live();
        assert_eq!(
            (
                live.summary.turns,
                live.plans.as_slice().len(),
                live.summary.session_id.clone()
            ),
            (1, 0, None)
        );
        s.exits("exit status 0");
        assert_eq!(s.prompt("instead"), TurnId(4), "no number is used twice");
        s.answer("initialize", FULL);
        assert!(s.sent_as("session/resume").is_empty() && s.sent_as("session/load").is_empty());
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let prompt = sent_history(s);
        for (words, is) in [
            ("prompt 1", true),
            ("answer 1", true),
            ("answer 2", false),
            ("prompt 3", false),
            ("instead", true),
        ] {
            assert_eq!(prompt.contains(words), is, "{words}: {prompt}");
        }
        assert!(!s.notices().contains(&"agentForgot".to_owned()), "nobody wonders");
        s.stops_with("end_turn");
        assert_eq!(shown(s), [1, 4]);
        assert_eq!(s.thread.live().summary.turns, 2);
    });
    let words = scene
        .log
        .iter()
        .filter(|event| event.turn == Some(TurnId(2)))
        .count();
    assert!(words > 3, "the log keeps what was dropped");
}

#[test]
fn a_rollback_of_all_turns_starts_afresh() {
    check(|s| {
        three_turns(s);
        assert_eq!(roll_back(s, None).unwrap(), Fidelity::Exact);
        assert_eq!(s.params("thread/rolledBack")[0]["lastKeptTurnId"], json!(null));
        s.exits("exit status 0");
        assert_eq!((shown(s), s.thread.live().summary.name.clone()), (vec![], None));
        s.prompt("anew");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let prompt = &s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"];
        assert_eq!(prompt, &json!([{ "type": "text", "text": "anew" }]));
        s.stops_with("end_turn");
        assert_eq!(s.thread.live().summary.name.as_deref(), Some("anew"));
    });
}

#[test]
fn again_and_again() {
    check(|s| {
        three_turns(s);
        roll_back(s, Some(2)).unwrap();
        s.exits("exit status 0");
        roll_back(s, Some(1)).unwrap();
        for removed in [2, 3, 4, 0] {
            assert_eq!(
                roll_back(s, Some(removed)).unwrap_err().code,
                ErrorCode::NotFound,
                "{removed}"
            );
        }
        assert_eq!(shown(s), [1]);
        s.prompt("four");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.stops_with("end_turn");
        turn(s, "five", "5");
        assert_eq!(shown(s), [1, 4, 5]);
        let before = s.next_seq();
        assert_eq!(roll_back(s, Some(5)).unwrap(), Fidelity::Exact);
        assert_eq!(s.next_seq(), before, "nothing is dropped, nothing happens");
        roll_back(s, Some(4)).unwrap();
        assert_eq!(shown(s), [1, 4]);
    });
}

#[test]
fn a_prompt_replaces_an_earlier_one_and_what_followed_it() {
    check(|s| {
        three_turns(s);
        assert_eq!(replace(s, 2, "another prompt 2").unwrap(), TurnId(4));
        assert_eq!(
            s.params("thread/rolledBack")[0]["lastKeptTurnId"],
            json!("turn_1")
        );
        assert_eq!(shown(s), [1, 4]);
        s.exits("exit status 0");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let prompt = sent_history(s);
        let has = |words: &str| prompt.contains(words);
        assert!(has("answer 1") && has("another prompt 2"), "{prompt}");
        assert!(!has("answer 2") && !has("answer 3"), "{prompt}");
        s.stops_with("end_turn");
        assert_eq!(shown(s), [1, 4]);
    });
}

#[test]
fn a_prompt_replaces_the_first_one() {
    let limits = Limits {
        recall_bytes: 0,
        ..Scene::limits()
    };
    // Agents need no history for that.
    check_in(Scene::with_limits(limits), |s| {
        three_turns(s);
        assert_eq!(replace(s, 1, "begin anew").unwrap(), TurnId(4));
        assert_eq!(s.params("thread/rolledBack")[0]["lastKeptTurnId"], json!(null));
        s.exits("exit status 0");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let prompt = &s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"];
        assert_eq!(prompt, &json!([{ "type": "text", "text": "begin anew" }]));
        s.stops_with("end_turn");
        assert_eq!(shown(s), [4]);
        assert_eq!(s.thread.live().summary.name.as_deref(), Some("begin anew"));
    });
}

#[test]
fn a_prompt_replaces_one_behind_dropped_turns() {
    check(|s| {
        three_turns(s);
        roll_back(s, Some(1)).unwrap();
        s.exits("exit status 0");
        s.prompt("prompt 4");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        s.stops_with("end_turn");
        turn(s, "prompt 5", "answer 5");
        assert_eq!(replace(s, 4, "another prompt 4").unwrap(), TurnId(6));
        assert_eq!(
            s.params("thread/rolledBack")[1]["lastKeptTurnId"],
            json!("turn_1")
        );
        assert_eq!(shown(s), [1, 6]);
        s.exits("exit status 0");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-3"}"#);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_prompt_that_is_refused_drops_nothing() {
    let limits = Limits {
        recall_bytes: 0,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        three_turns(s);
        let before = s.next_seq();
        let refused = replace(s, 2, "x").unwrap_err();
        assert_eq!(
            (refused.code, refused.message.contains("recall_bytes")),
            (ErrorCode::Unsupported, true)
        );
        for unknown in [0, 4, 9] {
            assert_eq!(replace(s, unknown, "x").unwrap_err().code, ErrorCode::NotFound);
        }
        let no_input = s.start_turn_instead(Some(TurnId(1)), vec![], None);
        assert_eq!(no_input.unwrap_err().code, ErrorCode::InvalidParams);
        assert_eq!((shown(s), s.next_seq()), (vec![1, 2, 3], before));
    });
}

#[test]
fn a_prompt_replaces_none_while_a_turn_runs_or_waits() {
    check(|s| {
        three_turns(s);
        s.prompt("four");
        s.prompt("five");
        for replaced in [1, 4, 5] {
            let refused = replace(s, replaced, "x").unwrap_err();
            assert_eq!(
                (refused.code, refused.message.contains("interrupt it first")),
                (ErrorCode::Conflict, true),
                "{refused:?}"
            );
        }
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        assert_eq!(shown(s), [1, 2, 3, 4, 5]);
    });
}

/// A connection may end between the request and its response; the client then sends the request again.
#[test]
fn a_repeated_prompt_replaces_once() {
    check(|s| {
        three_turns(s);
        let send = |s: &mut Scene| {
            let input = vec![text_block("once")];
            s.start_turn_instead(Some(TurnId(2)), input, Some("mine"))
        };
        assert_eq!(send(s).unwrap().id, TurnId(4));
        assert_eq!(send(s).unwrap().id, TurnId(4));
        assert_eq!(s.params("thread/rolledBack").len(), 1);
        assert_eq!(shown(s), [1, 4]);
        s.exits("exit status 0");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        s.stops_with("end_turn");
        assert_eq!(send(s).unwrap().id, TurnId(4));
    });
}

#[test]
fn it_conflicts_with_a_running_turn() {
    check(|s| {
        three_turns(s);
        s.prompt("four");
        assert_eq!(roll_back(s, Some(1)).unwrap_err().code, ErrorCode::Conflict);
        s.stops_with("end_turn");
        roll_back(s, Some(1)).unwrap();
    });
}

#[test]
fn it_is_unsupported_if_agents_receive_no_history() {
    let limits = Limits {
        recall_bytes: 0,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        three_turns(s);
        let refused = roll_back(s, Some(1)).unwrap_err();
        assert_eq!(
            (refused.code, refused.message.contains("recall_bytes")),
            (ErrorCode::Unsupported, true)
        );
        assert_eq!(shown(s), [1, 2, 3]);
        assert_eq!(
            roll_back(s, None).unwrap(),
            Fidelity::Exact,
            "there is nothing to tell"
        );
    });
}

/// The agent was stopped because it remembers the dropped turns. Its final updates belong to no conversation.
#[test]
fn updates_of_an_exiting_agent_are_not_shown() {
    check(|s| {
        three_turns(s);
        roll_back(s, Some(1)).unwrap();
        let before = s.next_seq();
        s.chunk("and another thing about prompt 3");
        assert_eq!(s.methods_from(before), ["agent/notification"]);
        s.exits("exit status 0");
        assert_eq!(s.transcript().turns[0].items.len(), 2);
    });
}

#[test]
fn a_command_that_still_runs_ends_with_its_turn() {
    use acpd_proto::thread::HostReply;
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.prompt("run");
        s.machine = Some(|_| HostReply::Created);
        s.calls(
            "1",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"sleep","args":["9"]}"#,
        );
        s.stops_with("end_turn");
        roll_back(s, Some(1)).unwrap();
        let ended = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Item(ItemEvent::Completed { .. })))
            .count();
        let began = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Item(ItemEvent::Started { .. })))
            .count();
        assert_eq!(began, ended);
        s.exits("exit status 0");
    });
}

#[test]
fn the_same_client_turn_id_is_a_new_turn_once_the_old_one_is_dropped() {
    check(|s| {
        s.open_session();
        let input = || vec![text_block("x")];
        s.start_turn(input(), Some("mine")).unwrap();
        s.stops_with("end_turn");
        assert_eq!(s.start_turn(input(), Some("mine")).unwrap().id, TurnId(1));
        roll_back(s, None).unwrap();
        assert_eq!(s.start_turn(input(), Some("mine")).unwrap().id, TurnId(2));
    });
}

#[test]
fn a_restart_forgets_nothing_of_it() {
    let scene = check(|s| {
        three_turns(s);
        roll_back(s, Some(2)).unwrap();
    });
    let mut again = Scene::restarted(&scene.log);
    assert_eq!(shown(&again), [1, 2]);
    again.prompt("go on");
    again.answer("initialize", FULL);
    again.answer("session/new", r#"{"sessionId":"s-2"}"#);
    let prompt = sent_history(&again);
    assert!(
        prompt.contains("answer 2") && !prompt.contains("answer 3"),
        "{prompt}"
    );
    let sent_history = again.kinds().find_map(|kind| match kind {
        EventKind::Thread(ThreadEvent::TurnsRolledBack { fidelity, .. }) => Some(*fidelity),
        _ => None,
    });
    assert_eq!(sent_history, Some(Fidelity::Recalled));
}

/// Dropped turns must not displace the remaining ones.
#[test]
fn long_turns_that_were_dropped_take_no_room() {
    let limits = Limits {
        recall_bytes: 200,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        s.open_session();
        turn(s, "first", "kept words");
        turn(s, "second", &"dropped ".repeat(100));
        roll_back(s, Some(1)).unwrap();
        s.exits("exit status 0");
        s.prompt("next");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let prompt = sent_history(s);
        assert!(
            prompt.contains("kept words") && !prompt.contains("dropped"),
            "{prompt}"
        );
        s.stops_with("end_turn");
    });
}
