//! The agent's process exits at various moments.

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, EventKind, ItemId, ItemOutcome, SessionEvent, TurnId};
use acpd_proto::projection::text_block;
use acpd_proto::thread::{Command, HostReply, Reply};

use crate::support::{FULL, Scene, check, tool, wake};

/// Returns whether the last exit of the agent was expected.
fn expected(scene: &Scene) -> bool {
    let lost = scene.kinds().rev().find_map(|kind| match kind {
        EventKind::Session(SessionEvent::AgentLost { expected, .. }) => Some(*expected),
        _ => None,
    });
    lost.unwrap()
}

/// The agent restarts, resumes its session, and receives the next prompt.
fn comes_back(scene: &mut Scene) {
    scene.answer("initialize", FULL);
    scene.answer("session/resume", "{}");
    scene.later(100);
}

#[test]
fn in_the_middle_of_a_turn() {
    check(|s| {
        s.open_turn();
        s.chunk("let me");
        s.chunk(" see");
        s.update(&tool(
            "t",
            false,
            r#","title":"ls","kind":"execute","status":"in_progress""#,
        ));
        s.exits("killed by SIGSEGV");
        let (status, stop, error) = s.ending(TurnId(1));
        assert_eq!(
            (status, stop, error),
            (TurnStatus::Failed, None, Some("killed by SIGSEGV"))
        );
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Failed, "the message");
        assert_eq!(s.end_of(ItemId(3)).0, ItemOutcome::Failed, "the tool call");
        assert_eq!(s.said(), ["let me see"], "nothing that was held back is lost");
        assert!(!expected(s));
        let notice = s.params("thread/notice").pop().unwrap();
        assert_eq!(notice["code"], "agentLost");
        assert_eq!(notice["level"], "error");
        assert_eq!(notice["detail"], "last words\n");
        assert_eq!(s.methods().last(), Some(&"thread/status/changed"));
        assert!(!s.thread.has_agent(), "it is not started for nothing");

        let next = s.prompt("again");
        assert_eq!(s.starts[1].earlier_session.as_deref(), Some("s-1"));
        comes_back(s);
        s.chunk("there");
        s.stops_with("end_turn");
        assert_eq!(s.status(next), TurnStatus::Completed);
    });
}

#[test]
fn queued_turns_run_in_the_next_process() {
    check(|s| {
        s.open_turn();
        let second = s.prompt("second");
        let third = s.prompt("third");
        s.exits("exit status 1");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        assert_eq!(s.starts.len(), 2);
        comes_back(s);
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        assert_eq!(s.status(second), TurnStatus::Completed);
        assert_eq!(s.status(third), TurnStatus::Completed);
    });
}

#[test]
fn an_agent_that_always_dies_ends() {
    check(|s| {
        s.open_turn();
        for text in ["a", "b", "c"] {
            s.prompt(text);
        }
        for wait in [0, 0, 1000, 2000] {
            s.later(wait);
            s.exits("exit status 1");
        }
        assert_eq!(s.starts.len(), 4, "one process for each turn, and no more");
        assert!(
            s.settled_turns()
                .iter()
                .all(|status| *status == TurnStatus::Failed)
        );
        assert_eq!(s.settled_turns().len(), 4);
        assert!(!s.thread.has_agent());
    });
}

#[test]
fn between_turns() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        let before = s.next_seq();
        s.exits("exit status 0");
        assert_eq!(s.methods_from(before), ["thread/notice"]);
        assert_eq!(
            s.status(TurnId(1)),
            TurnStatus::Completed,
            "the turn stays what it was"
        );
    });
}

#[test]
fn while_it_starts() {
    check(|s| {
        let call = s.create();
        let turn = s.prompt("x");
        s.exits("exit status 127");
        let failure = s.replies[&call].clone().unwrap_err();
        assert_eq!(failure.code, ErrorCode::AgentFailed);
        assert_eq!(failure.detail.as_deref(), Some("last words\n"));
        assert_eq!(s.ending(turn).2, Some("exit status 127"));
        assert_eq!(s.starts.len(), 1, "a turn is not tried again by itself");
    });
}

#[test]
fn a_late_file_result_is_not_sent() {
    check(|s| {
        s.open_turn();
        s.calls(
            "5",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/old"}"#,
        );
        let (late, _) = s.waiting[0];
        s.exits("exit status 1");
        s.prompt("again");
        comes_back(s);
        s.calls(
            "6",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/new"}"#,
        );
        let content = "of the old file".to_owned();
        s.handle(acpd_proto::thread::Input::Host {
            call: late,
            result: Ok(HostReply::Read { content }),
        });
        assert!(
            s.sent.iter().all(|sent| sent.answers.is_none()),
            "the new process is not told what the old one asked for"
        );
        s.host_replies(Ok(HostReply::Read {
            content: "new".into(),
        }));
        assert_eq!(s.answer_to(&6.into())["result"]["content"], "new");
        s.stops_with("end_turn");
    });
}

#[test]
fn terminals_end_with_it() {
    check(|s| {
        s.open_turn();
        s.script.push_back(Ok(HostReply::Created));
        s.calls("5", "terminal/create", r#"{"sessionId":"s-1","command":"top"}"#);
        s.exits("exit status 1");
        let done = &s.params("item/terminalCommand/completed")[0];
        assert_eq!(done["outcome"], "interrupted");
        assert!(done["exitCode"].is_null());
    });
}

#[test]
fn an_idle_agent_is_stopped_and_restarted() {
    check(|s| {
        s.open_turn();
        s.ask(Command::Rest).unwrap();
        assert_eq!(s.stops, 0, "not while a turn runs");
        s.stops_with("end_turn");
        s.ask(Command::Rest).unwrap();
        assert_eq!(s.stops, 1);
        let turn = s.prompt("wait, one more");
        assert_eq!(s.starts.len(), 1, "not before the old process is gone");
        s.exits("exit status 0");
        assert!(expected(s));
        assert_eq!(s.starts.len(), 2, "the turn that came in between has a process");
        comes_back(s);
        s.stops_with("end_turn");
        assert_eq!(s.status(turn), TurnStatus::Completed);
        let level = &s.params("thread/notice")[0]["level"];
        assert_eq!(level, "info");
    });
}

#[test]
fn waking_starts_one_process() {
    check(|s| {
        s.open_session();
        s.exits("exit status 0");
        assert_eq!(s.ask(wake()), Ok(Reply::Done));
        assert_eq!(s.ask(wake()), Ok(Reply::Done));
        assert_eq!(s.starts.len(), 2);
        comes_back(s);
    });
}

#[test]
fn a_request_during_the_agents_exit_gets_the_next_process() {
    check(|s| {
        s.open_session();
        s.ask(Command::Rest).unwrap();
        s.ask(wake()).unwrap();
        assert_eq!(s.starts.len(), 1, "not beside the old one");
        s.exits("exit status 0");
        assert_eq!(s.starts.len(), 2);
        comes_back(s);
        s.exits("exit status 1");
        assert_eq!(s.starts.len(), 2, "it was wanted once");
    });
}

#[test]
fn a_daemon_that_stops_says_so() {
    check(|s| {
        s.open_turn();
        let waiting = s.prompt("later");
        s.update(&tool("t", false, ""));
        s.asks_permission("7", "t");
        assert_eq!(s.ask(Command::Stop), Ok(Reply::Done));
        let reason = "acpd was restarted while this turn was running";
        assert_eq!(s.ending(TurnId(1)), (TurnStatus::Interrupted, None, Some(reason)));
        let reason = "acpd was restarted before this was sent to the agent";
        assert_eq!(s.ending(waiting), (TurnStatus::Interrupted, None, Some(reason)));
        let turns = s.transcript().turns;
        let unsent = turns.iter().find(|turn| turn.id == Some(waiting)).unwrap();
        assert_eq!(unsent.input, [text_block("later")], "it can be sent again");
        assert_eq!(s.params("serverRequest/resolved")[0]["outcome"], "void");
        assert_eq!(s.stops, 1);
        s.exits("exit status 0");
        assert!(expected(s));
        assert_eq!(s.starts.len(), 1);
    });
}
