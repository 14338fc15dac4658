//! Agents that do not respond, fail repeatedly, or have lost the conversation.

use acpd_model::TurnId;
use acpd_model::event::TurnStatus;
use acpd_proto::agent::AgentEvent;
use acpd_proto::thread::{HostReply, Input};
use serde_json::Value;

use crate::support::{FULL, SESSION, Scene, check, message, thought, tool, wake};

const SILENCE: u64 = 7200 * 1000;

#[test]
fn a_silent_agent_is_cancelled_and_the_turn_fails() {
    check(|s| {
        s.open_turn();
        s.later(SILENCE - 1);
        s.chunk("still here");
        s.later(SILENCE - 1);
        assert!(s.sent_as("session/cancel").is_empty());
        s.later(1);
        assert_eq!(s.sent_as("session/cancel").len(), 1);
        assert!(s.notices().contains(&"agentSilent".to_owned()));
        s.stops_with("cancelled");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        assert_eq!(
            s.settled_error(TurnId(1)),
            "the agent made no progress for 7200 s"
        );
        s.prompt("next");
        s.stops_with("end_turn");
    });
}

/// Returns how often the thread has said that its agent is read more slowly.
fn slowed(s: &Scene) -> usize {
    let notices = s.notices();
    notices.iter().filter(|code| *code == "agentSlowed").count()
}

#[test]
fn a_turn_says_once_that_its_agent_is_read_more_slowly() {
    check(|s| {
        s.open_turn();
        for _ in 0..2 {
            s.handle(Input::Agent(AgentEvent::Slowed));
            assert_eq!(slowed(s), 1);
        }
        s.stops_with("end_turn");
        s.handle(Input::Agent(AgentEvent::Slowed));
        assert_eq!(slowed(s), 1, "no turn is slower");
        s.prompt("next");
        s.handle(Input::Agent(AgentEvent::Slowed));
        assert_eq!(slowed(s), 2);
        s.stops_with("end_turn");
    });
}

/// Returns an update of a session as a line of the agent.
fn line(session: &str, update: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{update}}}}}"#
    )
}

fn plan(status: &str) -> String {
    format!(
        r#"{{"sessionUpdate":"plan","entries":[{{"content":"look","priority":"low","status":"{status}"}}]}}"#
    )
}

/// Starts a turn with a plan, the running tool call `t`, and `u`, which has ended.
fn at_work(s: &mut Scene) {
    s.open_turn();
    s.update(&plan("pending"));
    s.update(&tool("u", false, r#","title":"look","status":"completed""#));
    s.update(&tool("t", false, r#","title":"make""#));
    s.update(&tool("t", true, r#","status":"in_progress""#));
}

/// Returns lines of an agent that are no progress in the state of [`at_work`], however often they come.
fn noise() -> Vec<String> {
    let updates = [
        r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#.to_owned(),
        r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#.to_owned(),
        r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#.to_owned(),
        r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#.to_owned(),
        r#"{"sessionUpdate":"session_info_update","title":"busy"}"#.to_owned(),
        r#"{"sessionUpdate":"vendor_heartbeat","at":1}"#.to_owned(),
        message(""),
        plan("pending"),
        tool("t", true, r#","status":"in_progress""#),
        tool("u", true, r#","title":"look","status":"completed""#),
    ];
    let other = [
        r#"{"jsonrpc":"2.0","method":"_vendor/heartbeat","params":{"at":1}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":98}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":97,"method":"fs/read_text_file","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.to_owned(),
        "no message at all".to_owned(),
    ];
    let own = updates.iter().map(|update| line(SESSION, update));
    own.chain(other).collect()
}

#[test]
fn an_agent_that_only_makes_noise_is_silent() {
    for line in noise() {
        check(|s| {
            at_work(s);
            for _ in 0..4 {
                s.says(&line);
                assert!(s.sent_as("session/cancel").is_empty(), "{line}");
                s.later(SILENCE / 4);
            }
            assert_eq!(s.sent_as("session/cancel").len(), 1, "{line}");
            assert!(s.notices().contains(&"agentSilent".to_owned()), "{line}");
            s.stops_with("cancelled");
            assert_eq!(s.status(TurnId(1)), TurnStatus::Failed, "{line}");
            assert_eq!(
                s.settled_error(TurnId(1)),
                "the agent made no progress for 7200 s",
                "{line}"
            );
        });
    }
}

#[test]
fn an_agent_that_makes_progress_is_not_silent() {
    for update in [
        message("text"),
        thought("hm"),
        plan("completed"),
        tool("v", false, r#","title":"look again""#),
        tool("t", true, r#","title":"make all""#),
        tool("t", true, r#","status":"completed""#),
    ] {
        check(|s| {
            at_work(s);
            s.later(SILENCE - 1);
            s.update(&update);
            s.later(SILENCE - 1);
            assert!(s.sent_as("session/cancel").is_empty(), "{update}");
            s.later(1);
            assert_eq!(s.sent_as("session/cancel").len(), 1, "{update}");
            s.stops_with("cancelled");
        });
    }
}

#[test]
fn a_deadline_says_what_the_thread_waits_for() {
    fn reason(s: &Scene) -> Option<&'static str> {
        s.thread.poll_deadline().map(|(_, reason)| reason)
    }
    check(|s| {
        s.open_turn();
        assert_eq!(reason(s), Some("the agent must send something"));
        for word in ["first ", "second "] {
            s.chunk(word);
        }
        assert_eq!(reason(s), Some("text waits to be merged"));
        s.later(SILENCE);
        assert_eq!(reason(s), Some("the agent must end a cancelled turn"));
        s.stops_with("cancelled");
        assert_eq!(reason(s), None);
        for _ in 0..2 {
            s.exits("exit status 1");
            s.send(wake());
        }
        assert_eq!(reason(s), Some("the agent may start again"));
        s.later(1_000);
        assert_eq!(reason(s), None);
        s.exits("exit status 1");
    });
}

#[test]
fn a_silent_agent_that_ignores_the_cancel_is_terminated() {
    check(|s| {
        s.open_turn();
        s.later(SILENCE);
        s.later(30_000);
        assert_eq!(s.stops, 1);
        assert!(s.settled_error(TurnId(1)).contains("it was terminated"));
        s.exits("SIGKILL");
    });
}

#[test]
fn waiting_for_a_user_or_for_the_daemon_is_not_silence() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "t");
        s.later(10 * SILENCE);
        assert!(s.sent_as("session/cancel").is_empty());
        s.decide(1, acpd_proto::thread::Answer::Accept { always: false })
            .unwrap();
        s.later(1);
        assert!(
            s.sent_as("session/cancel").is_empty(),
            "the agent had no time yet"
        );
        s.calls(
            "8",
            "terminal/wait_for_exit",
            r#"{"sessionId":"s-1","terminalId":"term_9"}"#,
        );
        s.later(10 * SILENCE);
        assert!(s.sent_as("session/cancel").is_empty());
        s.host_replies(Ok(HostReply::Done));
        s.later(SILENCE);
        assert_eq!(s.sent_as("session/cancel").len(), 1);
        s.stops_with("cancelled");
    });
}

#[test]
fn an_agent_that_fails_again_and_again_is_started_less_often() {
    check(|s| {
        s.open_session();
        s.exits("exit status 1");
        for wait in [0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            let starts = s.starts.len();
            s.send(wake());
            if wait > 0 {
                s.later(wait - 1);
                assert_eq!(s.starts.len(), starts, "not before {wait} ms");
                s.later(1);
            }
            assert_eq!(s.starts.len(), starts + 1, "after {wait} ms");
            s.exits("exit status 1");
        }
        s.later(30_000);
        s.send(wake());
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.prompt("hello");
        s.stops_with("end_turn");
        s.exits("exit status 1");
        let starts = s.starts.len();
        s.send(wake());
        assert_eq!(s.starts.len(), starts + 1, "a turn that worked makes up for it");
        s.exits("exit status 1");
    });
}

fn forget(s: &mut Scene, hello: &str) {
    s.open_turn();
    s.chunk("the answer is 42");
    s.update(&tool(
        "t",
        false,
        r#","title":"Look","kind":"read","status":"completed""#,
    ));
    s.stops_with("end_turn");
    s.exits("exit status 0");
    s.send(wake());
    s.answer("initialize", hello);
    s.answer("session/new", r#"{"sessionId":"s-2"}"#);
}

fn prompted(s: &Scene) -> Vec<Value> {
    let prompt = &s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"];
    prompt.as_array().unwrap().clone()
}

#[test]
fn an_agent_with_a_new_session_receives_the_history_apart_from_the_prompt() {
    let plain = r#"{"protocolVersion":1}"#;
    let embeds =
        r#"{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"embeddedContext":true}}}"#;
    for (hello, kind, at) in [(plain, "text", "/text"), (embeds, "resource", "/resource/text")] {
        check(|s| {
            forget(s, hello);
            assert!(s.notices().contains(&"agentForgot".to_owned()));
            s.prompt("and why?");
            let blocks = prompted(s);
            assert_eq!(blocks.len(), 2);
            assert_eq!(blocks[0]["type"], kind);
            let history = blocks[0].pointer(at).unwrap().as_str().unwrap();
            for part in [
                "## User\n\ndo it",
                "## Assistant\n\nthe answer is 42",
                "(tool call: Look, completed)",
            ] {
                assert!(history.contains(part), "{history}");
            }
            assert!(!history.contains("and why?"), "{history}");
            assert_eq!(blocks[1]["text"], "and why?");
            let words = s.params("item/userMessage");
            assert_eq!(words.last().unwrap()["text"], "and why?");
            s.stops_with("end_turn");
            s.prompt("once more");
            assert_eq!(prompted(s).len(), 1, "it is told once");
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn an_unfinished_prompt_with_history_sends_the_history_again() {
    check(|s| {
        forget(s, r#"{"protocolVersion":1}"#);
        s.prompt("and why?");
        s.exits("exit status 1");
        s.prompt("again");
        s.later(1000);
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-3"}"#);
        let blocks = prompted(s);
        assert!(
            blocks[0]["text"].as_str().unwrap().contains("and why?"),
            "{blocks:?}"
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn the_history_for_an_agent_is_bounded_and_can_be_disabled() {
    for (bytes, expected) in [(0, 1), (60, 2)] {
        let scene = Scene::with_limits(acpd_model::Limits {
            recall_bytes: bytes,
            ..Scene::limits()
        });
        crate::support::check_in(scene, |s| {
            forget(s, r#"{"protocolVersion":1}"#);
            s.prompt("and why?");
            let blocks = prompted(s);
            assert_eq!(blocks.len(), expected);
            if expected == 2 {
                let history = blocks[0]["text"].as_str().unwrap();
                assert!(
                    history.contains("the beginning is left out") && !history.contains("do it"),
                    "{history}"
                );
            }
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_turn_that_is_interrupted_while_the_history_is_read_is_part_of_it_afterwards() {
    check(|s| {
        forget(s, r#"{"protocolVersion":1}"#);
        s.reads_late = true;
        let sent = s.sent_as("session/prompt").len();
        s.prompt("and why?");
        s.interrupt();
        assert_eq!(
            s.params("turn/completed").last().unwrap()["turn"]["status"],
            "interrupted"
        );
        // What was read for the interrupted turn comes now.
        s.read();
        s.prompt("again");
        assert_eq!(
            s.sent_as("session/prompt").len(),
            sent,
            "no prompt without the history"
        );
        s.read();
        let blocks = prompted(s);
        let history = blocks[0]["text"].as_str().unwrap();
        assert!(history.contains("and why?"), "{history}");
        assert_eq!(blocks[1]["text"], "again");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_history_that_was_read_for_an_agent_that_has_exited_is_not_used() {
    check(|s| {
        forget(s, r#"{"protocolVersion":1}"#);
        s.reads_late = true;
        s.prompt("and why?");
        s.exits("exit status 1");
        s.read();
        s.reads_late = false;
        s.prompt("again");
        s.later(1000);
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-3"}"#);
        let blocks = prompted(s);
        let history = blocks[0]["text"].as_str().unwrap();
        assert!(history.contains("and why?"), "{history}");
        s.stops_with("end_turn");
    });
}

#[test]
fn an_unreadable_history_is_not_sent_and_is_reported() {
    check(|s| {
        s.unreadable = Some(acpd_model::Failure::new(
            acpd_model::ErrorCode::Internal,
            "the disk is gone",
        ));
        forget(s, r#"{"protocolVersion":1}"#);
        s.prompt("and why?");
        assert_eq!(prompted(s).len(), 1, "the prompt alone");
        let notice = s.params("thread/notice").pop().unwrap();
        assert_eq!(
            (&notice["code"], &notice["level"]),
            (&"notRecalled".into(), &"warning".into())
        );
        assert!(notice["message"].as_str().unwrap().contains("the disk is gone"));
        s.stops_with("end_turn");
        s.prompt("and now?");
        let history = prompted(s);
        assert_eq!(history.len(), 2, "it is tried again with the next prompt");
        assert!(history[0].to_string().contains("and why?"), "{history:?}");
        s.stops_with("end_turn");
        s.prompt("and then?");
        assert_eq!(prompted(s).len(), 1, "it knows by now");
        s.stops_with("end_turn");
    });
}
