//! Interrupts of running, queued and unsent turns, with agents that comply, refuse, or ignore them.

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, EventKind, ItemId, ItemOutcome, Limits, Origin, TurnEvent, TurnId};
use acpd_proto::thread::Command;

use crate::support::{Scene, check, check_in, tool};

fn cancels(scene: &Scene) -> usize {
    scene.sent_as("session/cancel").len()
}

#[test]
fn the_agent_confirms() {
    check(|s| {
        s.open_turn();
        s.chunk("I beg");
        s.update(&tool("t", false, r#","title":"sleep""#));
        s.interrupt();
        assert_eq!(cancels(s), 1);
        let cancel = s.sent_as("session/cancel")[0].after;
        assert!(
            matches!(
                s.log[cancel - 1].kind,
                EventKind::Turn(TurnEvent::InterruptRequested {})
            ),
            "it is in the log before the agent hears of it"
        );
        assert!(matches!(s.log[cancel - 1].by, Origin::Client(_)));
        assert!(
            s.thread.live().turn.is_some(),
            "the turn ends when the agent says so"
        );
        s.chunk("an to");
        s.update(&tool("t", true, r#","rawOutput":"last words""#));
        s.stops_with("cancelled");
        assert_eq!(
            s.ending(TurnId(1)),
            (TurnStatus::Interrupted, Some("cancelled"), None)
        );
        assert_eq!(s.end_of(ItemId(3)).0, ItemOutcome::Interrupted, "the tool call");
        let done = s.params("item/completed");
        let said: Vec<_> = done
            .iter()
            .map(|p| (p["text"].as_str().unwrap(), p["outcome"].as_str().unwrap()))
            .collect();
        assert_eq!(
            said,
            [
                ("do it", "completed"),
                ("I beg", "completed"),
                ("an to", "interrupted")
            ],
            "what came after the cancel is kept"
        );
    });
}

#[test]
fn no_turn_is_cancelled_unasked() {
    check(|s| {
        s.open_turn();
        s.chunk("fine");
        s.stops_with("end_turn");
        s.prompt("again");
        s.stops_with("end_turn");
        assert_eq!(cancels(s), 0);
    });
}

#[test]
fn two_interrupts_send_the_agent_one_cancel() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.later(1000);
        s.interrupt_turn(Some(TurnId(1))).unwrap();
        assert_eq!(cancels(s), 1);
        s.stops_with("cancelled");
    });
}

#[test]
fn a_turn_that_ended_by_itself_keeps_its_stop_reason() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.stops_with("end_turn");
        assert_eq!(
            s.ending(TurnId(1)),
            (TurnStatus::Completed, Some("end_turn"), None)
        );
        s.later(60_000);
        assert_eq!(s.stops, 0, "the time-out is off");
    });
}

#[test]
fn an_error_instead_of_a_stop_reason_is_an_interruption_with_its_error() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.refuse("session/prompt", -32603, "Internal error");
        let (status, stop, error) = s.ending(TurnId(1));
        assert_eq!((status, stop), (TurnStatus::Interrupted, None));
        assert_eq!(error, Some("Internal error (-32603)"));
    });
}

/// Checks that turn 1 is interrupted without a response of the agent, and that a notice has the reason.
fn is_interrupted_with_a_notice(scene: &Scene, code: &str, reason: &str) {
    assert_eq!(scene.ending(TurnId(1)), (TurnStatus::Interrupted, None, None));
    let notices = scene.params("thread/notice");
    let notice = notices.iter().find(|notice| notice["code"] == code);
    let notice = notice.unwrap_or_else(|| panic!("no {code}: {notices:?}"));
    assert!(notice["message"].as_str().unwrap().contains(reason), "{notice}");
    assert_eq!(notices.len(), 1, "it is said once: {notices:?}");
}

#[test]
fn an_agent_that_never_confirms_is_stopped_and_the_turn_is_interrupted() {
    check(|s| {
        s.open_turn();
        s.chunk("la la");
        let next = s.prompt("next");
        s.interrupt();
        s.later(29_999);
        assert!(s.thread.live().turn.is_some() && s.stops == 0);
        s.later(1);
        assert_eq!(s.stops, 1);
        is_interrupted_with_a_notice(s, "cancelTimedOut", "ended it after 30 s");
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Interrupted, "the message");
        s.says(r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#);
        assert_eq!(
            s.ending(TurnId(1)).0,
            TurnStatus::Interrupted,
            "what comes later changes nothing"
        );
        s.exits("killed by SIGKILL");
        assert_eq!(s.starts.len(), 2, "the next turn gets a new process");
        assert_eq!(s.starts[1].earlier_session.as_deref(), Some("s-1"));
        s.answer("initialize", crate::support::FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.stops_with("end_turn");
        assert_eq!(s.status(next), TurnStatus::Completed);
    });
}

#[test]
fn an_agent_that_dies_after_the_cancel() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"sleep""#));
        s.interrupt();
        s.exits("killed by SIGSEGV");
        is_interrupted_with_a_notice(s, "agentLost", "killed by SIGSEGV");
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Interrupted, "the tool call");
        s.later(60_000);
        assert_eq!(s.stops, 0, "the time-out is off");
    });
}

#[test]
fn a_daemon_that_stops_after_the_cancel() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.ask(Command::Stop).unwrap();
        is_interrupted_with_a_notice(s, "daemonStopped", "acpd was restarted");
        assert_eq!(s.stops, 1);
    });
}

#[test]
fn a_daemon_that_was_killed_after_the_cancel() {
    let before = check(|s| {
        s.open_turn();
        s.chunk("let me");
        s.interrupt();
    });
    check_in(Scene::restarted(&before.log), |s| {
        is_interrupted_with_a_notice(s, "daemonStopped", "acpd was restarted");
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Interrupted, "the message");
        assert!(s.agent.is_none());
    });
}

#[test]
fn an_answer_that_cannot_be_read_is_an_interruption_with_its_error() {
    check(|s| {
        s.open_turn();
        s.interrupt();
        s.answer("session/prompt", "{}");
        let (status, stop, error) = s.ending(TurnId(1));
        assert_eq!((status, stop), (TurnStatus::Interrupted, None));
        assert!(error.unwrap().contains("without a stop reason"), "{error:?}");
    });
}

#[test]
fn a_client_that_cancels_a_silent_turn_has_interrupted_it() {
    for confirms in [true, false] {
        let limits = Limits {
            agent_silence_secs: 60,
            ..Scene::limits()
        };
        check_in(Scene::with_limits(limits), |s| {
            s.open_turn();
            s.later(60_000);
            assert_eq!(cancels(s), 1, "the daemon has cancelled it");
            s.interrupt();
            s.interrupt();
            assert_eq!(cancels(s), 1, "the agent is told once");
            let asked: Vec<_> = s.params("turn/interrupting");
            let asked: Vec<_> = asked.iter().map(|p| p["by"]["kind"].as_str().unwrap()).collect();
            assert_eq!(asked, ["daemon", "client"]);
            if confirms {
                s.stops_with("cancelled");
            } else {
                s.later(30_000);
                assert!(s.notices().contains(&"cancelTimedOut".to_owned()));
            }
            assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        });
    }
}

#[test]
fn a_turn_that_waits_is_taken_out_of_the_queue() {
    check(|s| {
        s.open_turn();
        let second = s.prompt("second");
        let third = s.prompt("third");
        s.interrupt_turn(Some(second)).unwrap();
        assert_eq!(s.status(second), TurnStatus::Interrupted);
        assert_eq!(
            s.thread.live().turn.unwrap().id,
            TurnId(1),
            "the running one goes on"
        );
        assert_eq!(cancels(s), 0);
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        assert_eq!(s.status(third), TurnStatus::Completed);
        assert_eq!(s.sent_as("session/prompt").len(), 2);
        let ended = s.params("turn/completed");
        assert!(ended[0]["turn"].get("startedAt").is_none(), "it never began");
    });
}

#[test]
fn while_the_agent_starts_nothing_is_sent() {
    check(|s| {
        s.create();
        s.prompt("one");
        let two = s.prompt("two");
        s.interrupt();
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted, "at once");
        s.answer("initialize", crate::support::FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(cancels(s), 0);
        assert_eq!(s.sent_as("session/prompt").len(), 1);
        s.stops_with("end_turn");
        assert_eq!(s.status(two), TurnStatus::Completed);
    });
}

#[test]
fn a_turn_that_does_not_run_cannot_be_interrupted() {
    check(|s| {
        s.open_session();
        assert_eq!(s.interrupt_turn(None).unwrap_err().code, ErrorCode::Conflict);
        s.prompt("x");
        assert_eq!(
            s.interrupt_turn(Some(TurnId(9))).unwrap_err().code,
            ErrorCode::Conflict
        );
        s.stops_with("end_turn");
        assert_eq!(
            s.interrupt_turn(Some(TurnId(1))).unwrap_err().code,
            ErrorCode::Conflict
        );
    });
}

#[test]
fn the_next_turn_follows_an_interrupted_one() {
    check(|s| {
        s.open_turn();
        let next = s.prompt("next");
        s.interrupt();
        assert_eq!(
            s.sent_as("session/prompt").len(),
            1,
            "not before the agent has confirmed"
        );
        s.stops_with("cancelled");
        s.chunk("yes");
        s.stops_with("end_turn");
        assert_eq!(s.status(next), TurnStatus::Completed);
        assert_eq!(s.said(), ["yes"]);
    });
}
