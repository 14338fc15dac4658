//! Cursors of agents: exact forks and rollbacks.

use acpd_model::event::Fidelity;
use acpd_model::{ErrorCode, EventKind, Failure, Limits, SessionEvent, ThreadEvent, TurnId};
use acpd_proto::projection::{Spec, text_block};
use acpd_proto::thread::{Command, ForkPoint, Reply};
use serde_json::json;

use crate::support::{FULL, Scene, check, check_in};

const FORKS: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{},"resume":{},"close":{}}}}"#;

const LOADS: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"fork":{}}}}"#;

/// An agent that forks its session, and can open no earlier one.
const FORGETS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}"#;

fn open(s: &mut Scene, hello: &str) {
    s.create();
    s.answer("initialize", hello);
    s.answer("session/new", r#"{"sessionId":"s-1"}"#);
}

/// The agent answers with a message that has this id.
fn says(s: &mut Scene, id: &str) {
    s.update(&format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"said {id}"}},"messageId":"{id}"}}"#
    ));
}

/// The agent announces a cursor next to a message of its own.
fn announces(s: &mut Scene, cursor: &str, message: &str, side: &str) {
    s.update(&format!(
        concat!(
            r#"{{"sessionUpdate":"cursor_update","cursorId":"{}","anchor":{{"type":"agent_message","#,
            r#""messageId":"{}","position":"{}"}},"capabilities":{{"fork":{{}}}}}}"#
        ),
        cursor, message, side
    ));
}

/// Runs a turn with one message, and a cursor behind it.
fn turn(s: &mut Scene, number: u32) {
    s.prompt(&format!("prompt {number}"));
    says(s, &format!("m-{number}"));
    announces(s, &format!("c-{number}"), &format!("m-{number}"), "after");
    s.stops_with("end_turn");
}

fn turns(s: &mut Scene, hello: &str, count: u32) {
    open(s, hello);
    for number in 1..=count {
        turn(s, number);
    }
}

fn fork(s: &mut Scene, turn: u32) -> u64 {
    s.send(Command::Fork {
        turn: Some(TurnId(turn)),
    })
}

fn point(s: &Scene, call: u64) -> ForkPoint {
    match s.replies.get(&call) {
        Some(Ok(Reply::Fork(point))) => (**point).clone(),
        other => panic!("{other:?}"),
    }
}

fn roll_back(s: &mut Scene, last_kept: u32) -> u64 {
    s.send(Command::RollBack {
        last_kept: Some(TurnId(last_kept)),
    })
}

fn fidelity(s: &Scene, call: u64) -> Result<Fidelity, Failure> {
    match s.replies.get(&call).cloned() {
        Some(Ok(Reply::RolledBack(fidelity))) => Ok(fidelity),
        Some(Err(failure)) => Err(failure),
        other => panic!("{other:?}"),
    }
}

/// Returns the cursors that the agent was asked to fork its session at.
fn forked_at(s: &Scene) -> Vec<serde_json::Value> {
    let forks = s.sent_as("session/fork");
    forks
        .iter()
        .map(|fork| fork.json["params"]["cursorId"].clone())
        .collect()
}

fn notices(s: &Scene) -> Vec<String> {
    let code = |kind: &EventKind| match kind {
        EventKind::Session(SessionEvent::NoticeGiven { code, .. }) => Some(code.clone()),
        _ => None,
    };
    s.kinds().filter_map(code).collect()
}

/// Sends a prompt to an agent that was stopped. It resumes its session, and gets only the prompt.
fn resumes(s: &mut Scene, session: &str, prompt: &str) {
    s.prompt(prompt);
    s.answer("initialize", FORKS);
    assert_eq!(
        s.sent_as("session/resume").last().unwrap().json["params"]["sessionId"],
        session
    );
    s.answer("session/resume", "{}");
    s.later(100);
    let sent = s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"].clone();
    assert_eq!(sent, json!([{ "type": "text", "text": prompt }]));
    s.stops_with("end_turn");
}

#[test]
fn cursors_are_declared_to_agents() {
    check(|s| {
        open(s, FORKS);
        let hello = &s.sent_as("initialize")[0].json["params"];
        assert_eq!(hello["clientCapabilities"]["session"]["cursors"], json!({}));
        s.exits("exit status 0");
    });
}

#[test]
fn a_fork_of_a_prefix_is_a_fork_of_the_session_at_its_cursor() {
    check(|s| {
        turns(s, FORKS, 3);
        let call = fork(s, 2);
        let sent = s.sent_as("session/fork")[0].json["params"].clone();
        assert_eq!(
            sent,
            json!({ "sessionId": "s-1", "cursorId": "c-2", "cwd": "/workspace", "mcpServers": [] })
        );
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        s.answer("session/close", "{}");
        let at = point(s, call);
        assert_eq!(
            (at.forked.session_id.as_deref(), at.forked.fidelity),
            (Some("s-2"), Fidelity::Exact)
        );
        let scene = Scene::adopting(&s.log, at, None);
        check_in(scene, |new| {
            resumes(new, "s-2", "another way");
            // Cursors of the other session are none of this one.
            let call = fork(new, 1);
            assert_eq!(point(new, call).forked.fidelity, Fidelity::Recalled);
            assert_eq!(forked_at(new), [] as [serde_json::Value; 0]);
        });
        s.exits("exit status 0");
    });
}

/// A forked session announces its own cursors, next to the messages that it has taken along.
#[test]
fn a_fork_of_a_fork_uses_the_cursors_of_the_fork() {
    check(|s| {
        turns(s, FORKS, 3);
        let call = fork(s, 2);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        s.answer("session/close", "{}");
        let at = point(s, call);
        check_in(Scene::adopting(&s.log, at, None), |new| {
            new.prompt("on");
            new.answer("initialize", FORKS);
            let announced = concat!(
                r#"{"sessionUpdate":"cursor_update","cursorId":"d-1","anchor":{"type":"agent_message","messageId":"m-1","#,
                r#""position":"after"},"capabilities":{"fork":{}}}"#
            );
            new.says(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-2","update":{announced}}}}}"#
            ));
            new.answer("session/resume", "{}");
            new.later(400);
            new.stops_with("end_turn");
            let call = fork(new, 1);
            new.answer("session/fork", r#"{"sessionId":"s-3"}"#);
            new.answer("session/close", "{}");
            assert_eq!(forked_at(new), ["d-1"]);
            assert_eq!(point(new, call).forked.session_id.as_deref(), Some("s-3"));
            new.exits("exit status 0");
        });
        s.exits("exit status 0");
    });
}

#[test]
fn a_rollback_opens_the_fork_of_the_session() {
    check(|s| {
        turns(s, FORKS, 3);
        let call = roll_back(s, 1);
        assert_eq!(forked_at(s), ["c-1"]);
        assert!(!s.replies.contains_key(&call), "the agent is asked first");
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Exact));
        let live = s.thread.live();
        assert_eq!(
            (live.summary.session_id.as_deref(), live.forgotten),
            (Some("s-2"), false)
        );
        // What the old session still sends is of no interest.
        says(s, "late");
        announces(s, "c-9", "m-1", "after");
        s.exits("exit status 0");
        resumes(s, "s-2", "another way");
        assert_eq!(s.transcript().turns.len(), 2);
        // The cursors went with the session.
        let call = roll_back(s, 1);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        s.exits("exit status 0");
    });
}

#[test]
fn a_restart_of_the_daemon_keeps_cursors_and_rollbacks() {
    let scene = check(|s| {
        turns(s, FORKS, 3);
        let call = roll_back(s, 2);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Exact));
    });
    check_in(Scene::restarted(&scene.log), |s| resumes(s, "s-2", "on"));
    let before = check(|s| turns(s, FORKS, 2));
    check_in(Scene::restarted(&before.log), |s| {
        // The agent runs again, with the session that has the cursor.
        let call = roll_back(s, 1);
        s.answer("initialize", FORKS);
        s.answer("session/resume", "{}");
        s.later(100);
        assert_eq!(forked_at(s), ["c-1"]);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Exact));
        s.exits("exit status 0");
    });
    // A new session has no cursors: the agent is not asked.
    check_in(Scene::restarted(&before.log), |s| {
        let call = roll_back(s, 1);
        s.answer("initialize", FORKS);
        s.refuse("session/resume", -32002, "gone");
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(forked_at(s), [] as [serde_json::Value; 0]);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        assert!(notices(s).contains(&"cursorRefused".to_owned()));
        s.exits("exit status 0");
    });
}

#[test]
fn no_turn_needs_no_cursor() {
    check(|s| {
        turns(s, FORKS, 2);
        let rolled = s.ask(Command::RollBack { last_kept: None }).unwrap();
        assert_eq!(rolled, Reply::RolledBack(Fidelity::Exact));
        assert_eq!(s.thread.live().summary.session_id, None);
        s.exits("exit status 0");
    });
}

#[test]
fn an_agent_that_refuses_its_cursor_receives_the_history() {
    check(|s| {
        turns(s, FORKS, 3);
        let call = fork(s, 1);
        s.refuse("session/fork", -32602, "unknown cursor");
        assert_eq!(point(s, call).forked.fidelity, Fidelity::Recalled);
        let call = roll_back(s, 2);
        s.answer("session/fork", "{}");
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        assert_eq!(notices(s), ["cursorRefused", "cursorRefused"]);
        s.exits("exit status 0");
        s.prompt("on");
        s.answer("initialize", FORKS);
        s.answer("session/new", r#"{"sessionId":"s-4"}"#);
        let prompt = s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"].to_string();
        assert!(
            prompt.contains("said m-2") && !prompt.contains("said m-3"),
            "{prompt}"
        );
        s.stops_with("end_turn");
    });
}

/// Otherwise the session of this thread would be closed as a copy, and two threads would share it.
#[test]
fn a_session_is_no_fork_of_itself() {
    check(|s| {
        turns(s, FORKS, 2);
        let call = fork(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-1"}"#);
        let forked = point(s, call).forked;
        assert_eq!((forked.session_id, forked.fidelity), (None, Fidelity::Recalled));
        // So is a fork of the whole thread.
        let call = fork(s, 2);
        s.answer("session/fork", r#"{"sessionId":"s-1"}"#);
        assert_eq!(point(s, call).forked.session_id, None);
        let call = roll_back(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-1"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        assert_eq!(s.thread.live().summary.session_id, None);
        assert!(s.sent_as("session/close").is_empty());
        assert_eq!(notices(s), ["cursorRefused", "cursorRefused"]);
        s.exits("exit status 0");
    });
}

#[test]
fn an_agent_that_exits_meanwhile_receives_the_history() {
    check(|s| {
        turns(s, FORKS, 2);
        let call = roll_back(s, 1);
        s.exits("exit status 1");
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        assert_eq!(s.transcript().turns.len(), 1);
    });
}

#[test]
fn an_agent_that_does_not_answer_receives_the_history() {
    check(|s| {
        turns(s, FORKS, 2);
        let call = roll_back(s, 1);
        s.later(Scene::limits().agent_start_secs * 1000);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        s.exits("exit status 0");
    });
}

#[test]
fn a_fork_that_cannot_be_opened_again_is_not_used() {
    check(|s| {
        turns(s, FORGETS, 2);
        let call = roll_back(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        s.exits("exit status 0");
    });
}

/// The process of the forked thread forks the copy once more.
#[test]
fn an_agent_that_can_only_fork_opens_a_copy_at_a_cursor() {
    check(|s| {
        turns(s, FORGETS, 3);
        let call = fork(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        let at = point(s, call);
        assert_eq!(
            (at.forked.session_id.as_deref(), at.forked.fidelity),
            (Some("s-2"), Fidelity::Exact)
        );
        assert!(!notices(s).contains(&"cursorRefused".to_owned()));
        check_in(Scene::adopting(&s.log, at, None), |new| {
            new.prompt("on");
            new.answer("initialize", FORGETS);
            assert_eq!(new.sent_as("session/fork")[0].json["params"]["sessionId"], "s-2");
            new.answer("session/fork", r#"{"sessionId":"s-3"}"#);
            new.later(100);
            let prompt = &new.sent_as("session/prompt")[0].json["params"]["prompt"];
            assert_eq!(*prompt, json!([{ "type": "text", "text": "on" }]));
            new.stops_with("end_turn");
        });
        s.exits("exit status 0");
    });
}

#[test]
fn a_cursor_needs_no_history() {
    let limits = Limits {
        recall_bytes: 0,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        turns(s, FORKS, 3);
        let call = roll_back(s, 2);
        s.refuse("session/fork", -32602, "unknown cursor");
        assert_eq!(fidelity(s, call).unwrap_err().code, ErrorCode::Unsupported);
        assert_eq!(s.transcript().turns.len(), 3, "nothing was dropped");
        let call = roll_back(s, 2);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Exact));
        s.exits("exit status 0");
    });
}

#[test]
fn a_prompt_that_comes_first_ends_the_rollback() {
    check(|s| {
        turns(s, FORKS, 2);
        let call = roll_back(s, 1);
        s.prompt("meanwhile");
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call).unwrap_err().code, ErrorCode::Conflict);
        assert_eq!(s.thread.live().summary.session_id.as_deref(), Some("s-1"));
        s.answer("session/close", "{}");
        s.stops_with("end_turn");
        assert_eq!(s.transcript().turns.len(), 3);
    });
}

/// Whatever becomes of the fork, a turn that came after the request is not dropped.
#[test]
fn a_turn_that_has_come_and_gone_ends_the_rollback() {
    let outcomes: [fn(&mut Scene); 3] = [
        |s| {
            s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
            assert_eq!(
                s.sent_as("session/close")[0].json["params"]["sessionId"],
                "s-2",
                "the fork is not used"
            );
            s.answer("session/close", "{}");
        },
        |s| s.refuse("session/fork", -32602, "unknown cursor"),
        |s| s.exits("exit status 1"),
    ];
    for outcome in outcomes {
        for replaces in [None, Some(TurnId(2))] {
            check(|s| {
                turns(s, FORKS, 2);
                let call = match replaces {
                    None => roll_back(s, 1),
                    Some(_) => s.send(Command::StartTurn {
                        input: vec![text_block("better")],
                        meta: None,
                        client_turn_id: None,
                        replaces,
                    }),
                };
                s.prompt("meanwhile");
                says(s, "m-3");
                s.stops_with("end_turn");
                outcome(s);
                let failure = match s.replies.get(&call) {
                    Some(Err(failure)) => failure.clone(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(failure.code, ErrorCode::Conflict);
                assert_eq!(s.transcript().turns.len(), 3);
                assert_eq!(s.thread.live().last_turn, 3);
                assert_eq!(s.thread.live().summary.session_id.as_deref(), Some("s-1"));
            });
        }
    }
}

#[test]
fn a_prompt_in_place_of_another_one_goes_to_the_fork() {
    check(|s| {
        turns(s, FORKS, 3);
        let call = s.send(Command::StartTurn {
            input: vec![text_block("better")],
            meta: None,
            client_turn_id: Some("mine".into()),
            replaces: Some(TurnId(3)),
        });
        assert_eq!(forked_at(s), ["c-2"]);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        match s.replies.get(&call) {
            Some(Ok(Reply::Turn(view))) => assert_eq!(view.id, TurnId(4)),
            other => panic!("{other:?}"),
        }
        s.exits("exit status 0");
        s.answer("initialize", FORKS);
        s.answer("session/resume", "{}");
        s.later(100);
        let prompt = s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"].clone();
        assert_eq!(prompt, json!([{ "type": "text", "text": "better" }]));
        s.stops_with("end_turn");
        let kept: Vec<u32> = s
            .transcript()
            .turns
            .iter()
            .filter_map(|turn| turn.id)
            .map(|turn| turn.0)
            .collect();
        assert_eq!(kept, [1, 2, 4]);
        // The first turn of all needs no fork.
        let first = s.start_turn_instead(Some(TurnId(1)), vec![text_block("first")], None);
        assert_eq!(first.unwrap().id, TurnId(5));
        s.exits("exit status 0");
    });
}

#[test]
fn a_finished_turn_is_forked_while_another_one_runs() {
    check(|s| {
        turns(s, FORKS, 2);
        s.prompt("prompt 3");
        let call = fork(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        s.answer("session/close", "{}");
        assert_eq!(point(s, call).forked.fidelity, Fidelity::Exact);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_cursor_within_a_turn_or_next_to_nothing_forks_nothing() {
    check(|s| {
        open(s, FORKS);
        s.prompt("prompt 1");
        says(s, "m-1");
        announces(s, "c-1", "m-1", "after");
        s.update(r#"{"sessionUpdate":"tool_call","toolCallId":"t-1","title":"T","status":"completed"}"#);
        announces(s, "never", "m-9", "after");
        s.update(r#"{"sessionUpdate":"cursor_update","cursorId":"no anchor","capabilities":{"fork":{}}}"#);
        s.update(
            r#"{"sessionUpdate":"cursor_update","cursorId":"new","anchor":{"type":"_vendor","x":1},"capabilities":{"fork":{}}}"#,
        );
        s.stops_with("end_turn");
        turn(s, 2);
        let call = fork(s, 1);
        assert_eq!(point(s, call).forked.fidelity, Fidelity::Recalled);
        // The tool call ends the turn.
        s.update(concat!(
            r#"{"sessionUpdate":"cursor_update","cursorId":"t","anchor":{"type":"tool_call","toolCallId":"t-1","#,
            r#""position":"after"},"capabilities":{"fork":{}}}"#
        ));
        let call = fork(s, 1);
        assert_eq!(forked_at(s), ["t"]);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        s.answer("session/close", "{}");
        assert_eq!(point(s, call).forked.fidelity, Fidelity::Exact);
        s.exits("exit status 0");
    });
}

#[test]
fn a_cursor_before_the_repeated_prompt_ends_the_turn_before() {
    check(|s| {
        open(s, FORKS);
        for number in 1..=2 {
            s.prompt(&format!("prompt {number}"));
            s.update(&format!(
                r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"prompt {number}"}},"messageId":"u-{number}"}}"#
            ));
            s.update(&format!(
                concat!(
                    r#"{{"sessionUpdate":"cursor_update","cursorId":"c-{0}","anchor":{{"type":"user_message","#,
                    r#""messageId":"u-{0}","position":"before"}},"capabilities":{{"fork":{{}}}}}}"#
                ),
                number
            ));
            s.chunk("yes");
            s.stops_with("end_turn");
        }
        let call = roll_back(s, 1);
        assert_eq!(forked_at(s), ["c-2"]);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Exact));
        s.exits("exit status 0");
    });
}

/// They come before the conversation is imported that they are next to.
#[test]
fn cursors_of_a_session_from_elsewhere_are_at_its_turns() {
    check(|s| {
        s.create_as(Spec {
            agent: "fake".into(),
            cwd: "/workspace".into(),
            session_id: Some("s-1".into()),
            ..Spec::default()
        });
        s.answer("initialize", LOADS);
        for number in 1..=2 {
            s.update(&format!(
                r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"prompt {number}"}}}}"#
            ));
            says(s, &format!("m-{number}"));
            announces(s, &format!("c-{number}"), &format!("m-{number}"), "after");
        }
        s.answer("session/load", "{}");
        s.later(400);
        assert_eq!(s.transcript().turns.len(), 2);
        let call = roll_back(s, 1);
        assert_eq!(forked_at(s), ["c-1"]);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Exact));
        s.exits("exit status 0");
    });
}

#[test]
fn a_cursor_can_be_withdrawn() {
    check(|s| {
        turns(s, FORKS, 2);
        s.update(r#"{"sessionUpdate":"cursor_update","cursorId":"c-1","capabilities":null}"#);
        let call = fork(s, 1);
        assert_eq!(point(s, call).forked.fidelity, Fidelity::Recalled);
        s.update(r#"{"sessionUpdate":"cursor_update","cursorId":"c-1","capabilities":{"fork":{}}}"#);
        let call = fork(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        s.answer("session/close", "{}");
        assert_eq!(point(s, call).forked.fidelity, Fidelity::Exact);
        s.exits("exit status 0");
    });
}

/// An id for another message, or for another cursor, leads to no fork at a wrong place.
#[test]
fn ids_that_are_used_again_lead_nowhere() {
    check(|s| {
        turns(s, FORKS, 1);
        s.prompt("prompt 2");
        says(s, "m-1");
        announces(s, "c-2", "m-1", "after");
        s.stops_with("end_turn");
        turn(s, 3);
        announces(s, "c-1", "m-3", "after");
        turn(s, 4);
        for number in [1, 2] {
            let call = fork(s, number);
            assert_eq!(point(s, call).forked.fidelity, Fidelity::Recalled, "{number}");
        }
        s.exits("exit status 0");
    });
}

/// The session that has the cursors has no items of subagents, even if their ids are equal.
#[test]
fn updates_of_subagents_move_no_cursor() {
    check(|s| {
        let subagent_says = |s: &mut Scene, id: &str| {
            s.says(&format!(
                concat!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"c","update":{{"#,
                    r#""sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"x"}},"messageId":"{}"}}}}}}"#
                ),
                id
            ));
        };
        open(s, FORKS);
        s.prompt("prompt 1");
        s.update(
            r#"{"sessionUpdate":"subagent_update","sessionId":"c","title":"review","state":{"state":"running"}}"#,
        );
        subagent_says(s, "m-1");
        says(s, "m-1");
        announces(s, "c-1", "m-1", "after");
        subagent_says(s, "m-2");
        s.stops_with("end_turn");
        turn(s, 2);
        turn(s, 3);
        for number in [1, 2] {
            let call = fork(s, number);
            s.answer("session/fork", &format!(r#"{{"sessionId":"s-1{number}"}}"#));
            s.answer("session/close", "{}");
            assert_eq!(point(s, call).forked.fidelity, Fidelity::Exact, "{number}");
        }
        assert_eq!(forked_at(s), ["c-1", "c-2"]);
        s.exits("exit status 0");
    });
}

#[test]
fn an_agent_without_forks_is_not_asked() {
    check(|s| {
        turns(s, FULL, 2);
        let call = roll_back(s, 1);
        assert_eq!(fidelity(s, call), Ok(Fidelity::Recalled));
        s.exits("exit status 0");
    });
}

#[test]
fn a_hundred_thousand_cursors_take_little_room() {
    // Without the checks of what clients receive, which take long for so many.
    let mut s = Scene::new();
    turns(&mut s, FORKS, 2);
    let before = s.thread.live().to_snapshot().unwrap().len();
    for number in 0..100_000 {
        let (message, cursor) = (1 + number % 3, format!("x-{number}"));
        announces(&mut s, &cursor, &format!("m-{message}"), "after");
    }
    let after = s.thread.live().to_snapshot().unwrap().len();
    assert!(after < before + 200, "{before} {after}");
    let call = fork(&mut s, 1);
    s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
    assert_eq!(point(&s, call).forked.fidelity, Fidelity::Exact);
    // An id that is too long is none.
    let long = "x".repeat(1 << 20);
    announces(&mut s, &long, "m-2", "after");
    assert!(s.thread.live().to_snapshot().unwrap().len() < before + 400);
}

#[test]
fn the_log_names_the_fork_of_the_session() {
    check(|s| {
        turns(s, FORKS, 2);
        roll_back(s, 1);
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        let sessions: Vec<_> = s
            .kinds()
            .filter_map(|kind| match kind {
                EventKind::Thread(ThreadEvent::TurnsRolledBack { session_id, .. }) => session_id.clone(),
                _ => None,
            })
            .collect();
        assert_eq!(sessions, ["s-2"]);
        s.exits("exit status 0");
    });
}
