//! Commands that users run themselves: their turn, the policy, interrupts, and ends of the agent and the daemon.

use acpd_model::event::{Fidelity, TurnStatus};
use acpd_model::limits::{TERMINAL_BYTES, USER_COMMAND_BYTES, USER_COMMANDS};
use acpd_model::{ErrorCode, EventKind, Failure, ItemId, ItemOutcome, Origin, RequestEvent, TurnId};
use acpd_policy::Policy;
use acpd_proto::agent::TerminalExit;
use acpd_proto::projection::{DroppedTurns, Exchanges};
use acpd_proto::surface::export::Format;
use acpd_proto::surface::request::RequestKind;
use acpd_proto::thread::{
    Change, Command, HostCall, HostReply, Input, InterruptOptions, Reply, SteerDelivery, TerminalEvent,
};
use serde_json::{Value, json};

use super::export::{export, lines};
use super::terminals::exit;
use crate::support::{FULL, Scene, check, check_in, wake};

fn command(line: &str) -> Command {
    Command::RunCommand {
        line: line.to_owned(),
    }
}

/// Runs a command, and returns its item and turn.
fn runs(s: &mut Scene, line: &str) -> (ItemId, TurnId) {
    match s.ask(command(line)) {
        Ok(Reply::CommandStarted { item, turn }) => (item, turn),
        other => panic!("{line}: {other:?}"),
    }
}

/// Runs a command whose terminal is created. Returns the id of the terminal.
fn running(s: &mut Scene, line: &str) -> String {
    let (item, _) = runs(s, line);
    s.host_replies(Ok(HostReply::Created));
    format!("user_{}", item.0)
}

fn exits(s: &mut Scene, terminal_id: &str, exit: TerminalExit, output: &str) {
    let event = TerminalEvent::Exited {
        exit,
        output: output.to_owned(),
        truncated: false,
    };
    s.terminal_says(terminal_id, event);
}

fn terminated() -> TerminalExit {
    TerminalExit {
        code: None,
        signal: Some("SIGTERM".into()),
    }
}

/// Returns the terminals that the thread wants to kill.
fn kills(s: &Scene) -> Vec<&str> {
    let kills = s.waiting.iter().filter_map(|(_, call)| match call {
        HostCall::KillTerminal { terminal_id } => Some(terminal_id.as_str()),
        _ => None,
    });
    kills.collect()
}

fn rule(s: &mut Scene, policy: Value) {
    let policy: Policy = serde_json::from_value(policy).unwrap();
    s.rule(Some(policy));
}

/// Creates a thread whose agent is ready and has no turn.
fn ready(s: &mut Scene) {
    s.open_session();
}

#[test]
fn a_command_without_a_turn_has_a_turn_of_its_own() {
    check(|s| {
        ready(s);
        let from = s.next_seq();
        assert_eq!(runs(s, "make | tail"), (ItemId(1), TurnId(1)));
        let (_, create) = &s.waiting[0];
        let expected = HostCall::CreateTerminal {
            terminal_id: "user_1".into(),
            command: "/bin/sh".into(),
            args: vec!["-c".into(), "make | tail".into()],
            env: Vec::new(),
            cwd: "/workspace".into(),
            output_bytes: TERMINAL_BYTES,
        };
        assert_eq!(create, &expected);
        s.host_replies(Ok(HostReply::Created));
        s.terminal_says("user_1", TerminalEvent::Output("no rule\n".into()));
        s.later(100);
        exits(s, "user_1", exit(2), "no rule\n");
        assert_eq!(
            s.methods_from(from),
            [
                "turn/started",
                "thread/status/changed",
                "item/terminalCommand/started",
                "item/terminalCommand/output",
                "item/terminalCommand/completed",
                "turn/completed",
                "thread/status/changed",
            ]
        );
        let events = s.log.iter().filter(|event| event.seq >= from);
        let by_client = events.filter(|event| matches!(event.by, Origin::Client(_)));
        assert_eq!(by_client.count(), 4, "the turn, and all events of the item");
        let started = &s.params("item/terminalCommand/started")[0];
        let client = json!({ "kind": "client", "client": "test", "principal": "owner" });
        assert_eq!((&started["requestedBy"], &started["by"]), (&client, &client));
        assert_eq!(
            (&started["command"], &started["args"], &started["turnId"]),
            (&json!("make | tail"), &json!([]), &json!("turn_1"))
        );
        let done = &s.params("item/terminalCommand/completed")[0];
        assert_eq!(
            (&done["exitCode"], &done["outcome"], &done["by"]),
            (&json!(2), &json!("failed"), &client)
        );
        assert_eq!(s.ending(TurnId(1)), (TurnStatus::Completed, None, None));
        assert_eq!(s.released, ["user_1"]);
        assert!(s.sent_as("session/prompt").is_empty(), "the agent learns nothing");
    });
}

#[test]
fn a_command_during_a_turn_belongs_to_it_and_does_not_hold_it() {
    check(|s| {
        s.open_turn();
        let terminal = running(s, "sleep 9");
        s.chunk("done");
        s.stops_with("end_turn");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
        assert_eq!(s.params("item/terminalCommand/started")[0]["turnId"], "turn_1");
        assert!(s.thread.has_pending_work(), "the thread stays loaded for it");
        let failure = s.ask(Command::Change(Change::Archive)).unwrap_err();
        assert!(failure.message.contains("command of a user"), "{failure}");
        exits(s, &terminal, exit(0), "");
        assert!(!s.thread.has_pending_work());
        s.ask(Command::Change(Change::Archive)).unwrap();
        let failure = s.ask(command("ls")).unwrap_err();
        assert!(failure.message.contains("archived"), "{failure}");
    });
}

#[test]
fn a_prompt_waits_for_the_commands_of_a_turn() {
    check(|s| {
        ready(s);
        let first = running(s, "one");
        let (item, turn) = runs(s, "two");
        assert_eq!(turn, TurnId(1), "it joins the turn");
        s.host_replies(Ok(HostReply::Created));
        let queued = s.prompt("go on");
        let Ok(Reply::Steered { delivery, .. }) = s.ask(Command::Steer {
            input: vec![acpd_proto::projection::text_block("and then")],
            turn: None,
            client_turn_id: None,
        }) else {
            panic!("it is not queued")
        };
        assert_eq!(delivery, SteerDelivery::Queued);
        exits(s, &first, exit(0), "");
        assert!(!s.awaits("session/prompt"));
        exits(s, &format!("user_{}", item.0), exit(0), "");
        assert!(s.awaits("session/prompt"));
        assert_eq!(s.thread.live().turn.unwrap().id, queued);
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        assert_eq!(s.settled_turns(), [TurnStatus::Completed; 3]);
    });
}

#[test]
fn a_command_needs_no_agent_and_does_not_start_one() {
    check(|s| {
        ready(s);
        s.ask(Command::Rest).unwrap();
        s.exits("exit status 0");
        let terminal = running(s, "ls");
        exits(s, &terminal, exit(0), "a\n");
        assert_eq!(s.starts.len(), 1);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
    });
}

#[test]
fn an_agent_that_exits_leaves_commands_of_users_running() {
    check(|s| {
        s.open_turn();
        let inside = running(s, "inside");
        s.exits("exit status 1");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        exits(s, &inside, exit(0), "");
        s.later(60_000);
        let alone = running(s, "alone");
        s.ask(wake()).unwrap();
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.exits("exit status 1");
        assert!(s.thread.live().turn.is_some(), "its turn goes on");
        assert_eq!(s.starts.len(), 2, "no agent is started for it");
        exits(s, &alone, exit(0), "");
        let done = s.params("item/terminalCommand/completed");
        assert!(done.iter().all(|done| done["outcome"] == "completed"));
        assert_eq!(s.settled_turns(), [TurnStatus::Failed, TurnStatus::Completed]);
    });
}

#[test]
fn an_interrupt_kills_the_command_and_its_turn_ends_with_it() {
    check(|s| {
        ready(s);
        let terminal = running(s, "sleep 9");
        s.interrupt();
        assert_eq!(kills(s), [terminal.as_str()]);
        s.interrupt();
        assert_eq!(kills(s).len(), 1);
        s.host_replies(Ok(HostReply::Done));
        assert!(s.thread.live().turn.is_some(), "it is still ending");
        exits(s, &terminal, terminated(), "");
        let done = &s.params("item/terminalCommand/completed")[0];
        assert_eq!(
            (&done["outcome"], &done["signal"]),
            (&json!("interrupted"), &json!("SIGTERM"))
        );
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        let killed = s.params("thread/terminal/killed");
        assert_eq!(killed[0]["by"]["principal"], "owner");
        assert!(s.sent_as("session/cancel").is_empty());
    });
}

#[test]
fn an_interrupt_before_the_command_has_started_kills_it_then() {
    check(|s| {
        ready(s);
        runs(s, "sleep 9");
        s.interrupt();
        assert!(kills(s).is_empty());
        s.host_replies(Ok(HostReply::Created));
        assert_eq!(kills(s), ["user_1"]);
        s.host_replies(Err(Failure::not_found("terminal user_1")));
        exits(s, "user_1", terminated(), "");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
    });
}

#[test]
fn an_interrupt_at_once_waits_for_no_exit() {
    for created in [false, true] {
        check(|s| {
            ready(s);
            let (_, turn) = runs(s, "sleep 9");
            if created {
                s.host_replies(Ok(HostReply::Created));
                s.terminal_says("user_1", TerminalEvent::Output("so far".into()));
            }
            let options = InterruptOptions {
                at_once: true,
                ..InterruptOptions::default()
            };
            s.interrupt_with(Some(turn), options).unwrap();
            assert_eq!(s.status(turn), TurnStatus::Interrupted);
            assert_eq!(s.released, ["user_1"]);
            let done = &s.params("item/terminalCommand/completed")[0];
            let output = if created { "so far" } else { "" };
            assert_eq!(
                (&done["outcome"], &done["output"]),
                (&json!("interrupted"), &json!(output))
            );
            if !created {
                s.host_replies(Err(Failure::agent("the agent is gone")));
            }
            exits(s, "user_1", terminated(), "late");
            assert_eq!(s.params("item/terminalCommand/completed").len(), 1);
        });
    }
}

#[test]
fn an_interrupt_of_a_prompt_kills_commands_beside_it() {
    check(|s| {
        s.open_turn();
        let terminal = running(s, "sleep 9");
        s.interrupt();
        assert_eq!(kills(s), [terminal.as_str()]);
        assert_eq!(s.sent_as("session/cancel").len(), 1);
        s.stops_with("cancelled");
        exits(s, &terminal, terminated(), "");
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Interrupted);
    });
}

#[test]
fn an_interrupt_without_a_turn_kills_what_is_left_of_the_last_one() {
    for turn in [None, Some(TurnId(1))] {
        check(|s| {
            s.open_turn();
            let terminal = running(s, "sleep 9");
            s.stops_with("end_turn");
            let other = s.interrupt_turn(Some(TurnId(7))).unwrap_err();
            assert_eq!(other.code, ErrorCode::Conflict);
            s.interrupt_turn(turn).unwrap();
            assert_eq!(kills(s), [terminal.as_str()]);
            s.host_replies(Ok(HostReply::Done));
            exits(s, &terminal, terminated(), "");
            assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Interrupted);
            let over = s.interrupt_turn(turn).unwrap_err();
            assert_eq!(over.code, ErrorCode::Conflict);
        });
    }
}

#[test]
fn a_command_that_cannot_start_says_why() {
    check(|s| {
        ready(s);
        let (item, turn) = runs(s, "ls");
        let reason = "the terminal's cwd \"/workspace\" cannot be used: No such file or directory";
        s.host_replies(Err(Failure::invalid_params(reason)));
        assert_eq!(s.end_of(item).0, ItemOutcome::Failed);
        assert_eq!(s.params("item/terminalCommand/completed")[0]["output"], reason);
        assert_eq!(s.ending(turn), (TurnStatus::Failed, None, Some(reason)));
        assert_eq!(s.released, ["user_1"]);
    });
}

#[test]
fn a_policy_that_denies_the_line_refuses_it() {
    check(|s| {
        ready(s);
        rule(s, json!({ "deny": ["Bash(rm *)"] }));
        let failure = s.ask(command("ls && rm -rf x")).unwrap_err();
        assert_eq!(failure.code, ErrorCode::Forbidden);
        assert!(failure.message.contains("Bash(rm *)"), "{failure}");
        assert!(s.waiting.is_empty() && s.thread.live().turn.is_none());
        let notice = &s.params("thread/notice")[0];
        assert_eq!(
            (
                &notice["code"],
                &notice["by"]["rule"],
                &notice["requestedBy"]["client"]
            ),
            (&json!("callRefused"), &json!("Bash(rm *)"), &json!("test"))
        );
        let message = notice["message"].as_str().unwrap();
        assert!(
            message.starts_with(
                "owner wanted to run a command and was refused: the command `rm -rf x` is denied"
            ),
            "{message}"
        );
    });
}

#[test]
fn a_policy_that_allows_the_line_is_named_in_the_log() {
    check(|s| {
        ready(s);
        rule(s, json!({ "ask": ["Bash"], "allow": ["Bash(git *)"] }));
        let terminal = running(s, "git status");
        let permitted = s
            .log
            .iter()
            .find(|event| matches!(event.kind, EventKind::Request(RequestEvent::CallPermitted { .. })));
        let permitted = permitted.expect("the rule is recorded");
        let Origin::Policy(ruling) = &permitted.by else {
            panic!("{permitted:?}")
        };
        assert_eq!(ruling.rule.as_deref(), Some("Bash(git *)"));
        assert_eq!(permitted.turn, Some(TurnId(1)));
        exits(s, &terminal, exit(0), "");
    });
}

#[test]
fn a_line_that_needs_an_answer_runs() {
    for policy in [
        None,
        Some(json!({ "ask": ["Bash"] })),
        Some(json!({ "default": "ask" })),
        Some(json!("standard")),
    ] {
        check(|s| {
            ready(s);
            if let Some(policy) = &policy {
                rule(s, policy.clone());
            }
            let terminal = running(s, "cargo test");
            assert!(s.thread.live().requests.is_empty(), "nobody is asked");
            let permitted =
                |kind: &EventKind| matches!(kind, EventKind::Request(RequestEvent::CallPermitted { .. }));
            assert!(!s.kinds().any(permitted), "the user is the reason");
            exits(s, &terminal, exit(0), "");
        });
    }
}

/// Otherwise an operator could run what only an approver may allow.
#[test]
fn roles_that_run_commands_may_answer_questions() {
    let needed = RequestKind::RunCommand.role();
    assert!(needed.may(RequestKind::Answer.role()));
    assert!(needed.may(RequestKind::StartTurn.role()));
}

#[test]
fn a_program_named_by_a_path_is_resolved_first() {
    check(|s| {
        ready(s);
        rule(s, json!({ "deny": ["Bash(rm *)"] }));
        s.looks_up = false;
        s.links
            .insert("/workspace/./tidy".into(), Ok("/usr/bin/rm".into()));
        let denied = s.send(command("./tidy x"));
        let allowed = s.send(command("./other x"));
        let late = s.send(command("./late x"));
        assert!(!s.replies.contains_key(&denied), "it waits");
        s.look_up();
        assert_eq!(
            s.replies[&denied].as_ref().unwrap_err().code,
            ErrorCode::Forbidden
        );
        assert!(s.replies[&allowed].is_ok() && s.replies[&late].is_ok());
        for terminal in ["user_1", "user_2"] {
            s.host_replies(Ok(HostReply::Created));
            exits(s, terminal, exit(0), "");
        }
        s.looks_up = false;
        let archived = s.send(command("./last"));
        s.ask(Command::Change(Change::Archive)).unwrap();
        s.look_up();
        let failure = s.replies[&archived].as_ref().unwrap_err();
        assert!(failure.message.contains("archived"), "{failure}");
    });
}

#[test]
fn lines_and_commands_are_bounded() {
    check(|s| {
        ready(s);
        for (line, word) in [
            (" \n".to_owned(), "empty"),
            ("a\0b".to_owned(), "NUL"),
            ("x".repeat(USER_COMMAND_BYTES + 1), "limit"),
        ] {
            let failure = s.ask(command(&line)).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidParams);
            assert!(failure.message.contains(word), "{failure}");
        }
        let terminals: Vec<String> = (0..USER_COMMANDS).map(|_| running(s, "sleep 9")).collect();
        let failure = s.ask(command("ls")).unwrap_err();
        assert_eq!(failure.code, ErrorCode::Overloaded);
        exits(s, &terminals[0], exit(0), "");
        let last = running(s, "ls");
        for terminal in terminals[1..].iter().chain([&last]) {
            exits(s, terminal, exit(0), "");
        }
        assert_eq!(s.settled_turns(), [TurnStatus::Completed]);
    });
}

#[test]
fn output_beyond_the_limit_is_shown_and_only_its_end_is_kept() {
    check(|s| {
        ready(s);
        let terminal = running(s, "yes");
        let line = "y".repeat(TERMINAL_BYTES / 4);
        for _ in 0..6 {
            s.terminal_says(&terminal, TerminalEvent::Output(line.clone()));
        }
        s.later(1000);
        let logged: usize = s
            .params("item/terminalCommand/output")
            .iter()
            .map(|output| output["text"].as_str().unwrap().len())
            .sum();
        assert_eq!(logged, TERMINAL_BYTES);
        assert!(!s.shown.is_empty(), "the rest is shown live");
        let exited = TerminalEvent::Exited {
            exit: exit(0),
            output: "y".repeat(TERMINAL_BYTES),
            truncated: true,
        };
        s.terminal_says(&terminal, exited);
        let done = &s.params("item/terminalCommand/completed")[0];
        assert!(done["truncated"] == true && done["outputBlob"].is_string());
    });
}

#[test]
fn a_daemon_that_stops_ends_commands_of_users() {
    for beside_a_prompt in [false, true] {
        check(|s| {
            if beside_a_prompt {
                s.open_turn();
            } else {
                ready(s);
            }
            let terminal = running(s, "sleep 9");
            s.terminal_says(&terminal, TerminalEvent::Output("so far".into()));
            s.ask(Command::Stop).unwrap();
            let done = &s.params("item/terminalCommand/completed")[0];
            assert_eq!(
                (&done["outcome"], &done["output"], &done["by"]["kind"]),
                (&json!("interrupted"), &json!("so far"), &json!("client"))
            );
            assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
            assert!(!s.thread.has_pending_work());
            s.exits("exit status 0");
        });
    }
}

#[test]
fn a_daemon_that_was_killed_ends_commands_of_users_when_it_starts() {
    let killed = check(|s| {
        ready(s);
        running(s, "sleep 9");
    });
    check_in(Scene::restarted(&killed.log), |s| {
        let done = &s.params("item/terminalCommand/completed")[0];
        assert_eq!(
            (&done["outcome"], &done["truncated"], &done["by"]["principal"]),
            (&json!("interrupted"), &json!(true), &json!("owner"))
        );
        assert_eq!(
            s.ending(TurnId(1)),
            (
                TurnStatus::Interrupted,
                None,
                Some("acpd was restarted while this turn was running")
            )
        );
        let (item, turn) = runs(s, "ls");
        assert_eq!((item, turn), (ItemId(2), TurnId(2)), "no id is used again");
        s.host_replies(Ok(HostReply::Created));
        exits(s, "user_2", exit(0), "");
    });
}

#[test]
fn exports_name_the_user_of_a_command() {
    let scene = check(|s| {
        ready(s);
        let terminal = running(s, "ls | wc");
        exits(s, &terminal, exit(0), "3\n");
        rule(s, json!({ "deny": ["Bash(rm *)"] }));
        s.ask(command("rm x")).unwrap_err();
    });
    let lines = lines(&scene);
    let of_kind = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
    let client = json!({ "principal": "owner", "client": "test" });
    let created = of_kind("terminal:create");
    assert_eq!(
        (&created["requestedBy"], &created["command"]),
        (&client, &json!("ls | wc"))
    );
    assert_eq!(of_kind("terminal:exit")["by"]["kind"], "client");
    assert_eq!(of_kind("agent:refused")["requestedBy"], client);
    let page = export(&scene, Format::Markdown);
    assert!(
        page.contains("Command of `owner` with `test`: `ls | wc`"),
        "{page}"
    );
    assert!(
        page.contains("`owner` with `test` wanted to run a command and was refused"),
        "{page}"
    );
}

/// A turn of commands says nothing about the exchange with the agent before it.
#[test]
fn turns_of_commands_do_not_end_exchanges() {
    let exchanges = |fails: bool| {
        let scene = check(|s| {
            s.open_turn();
            s.refuse("session/prompt", -32603, "overloaded");
            if fails {
                runs(s, "ls");
                s.host_replies(Err(Failure::invalid_params("no terminal")));
            } else {
                let terminal = running(s, "ls");
                exits(s, &terminal, exit(0), "");
            }
        });
        let mut known = Exchanges::known(None, DroppedTurns::default());
        scene.log.iter().for_each(|event| known.fold(event));
        known.exchanges().clone()
    };
    assert_eq!(exchanges(true), exchanges(false));
}

#[test]
fn a_fork_does_not_continue_a_command_of_its_origin() {
    let mut point = None;
    let origin = check(|s| {
        s.open_turn();
        let terminal = running(s, "sleep 9");
        s.stops_with("end_turn");
        let Ok(Reply::Fork(fork)) = s.ask(Command::Fork {
            turn: Some(TurnId(1)),
        }) else {
            return;
        };
        point = Some(*fork);
        exits(s, &terminal, exit(0), "");
    });
    let point = point.unwrap();
    assert_eq!(point.forked.fidelity, Fidelity::Recalled);
    check_in(Scene::adopting(&origin.log, point, None), |s| {
        let done = s.params("item/terminalCommand/completed");
        assert_eq!(done.len(), 1);
        assert_eq!(done[0]["outcome"], "interrupted");
        let terminal = running(s, "ls");
        exits(s, &terminal, exit(0), "");
    });
}

#[test]
fn an_agent_cannot_reach_the_terminal_of_a_user() {
    check(|s| {
        s.open_turn();
        let terminal = running(s, "ls");
        let before = s.log.len();
        let params = json!({ "sessionId": "s-1", "terminalId": terminal }).to_string();
        s.calls("9", "terminal/output", &params);
        // The agent's side of the host does not know the terminal.
        assert!(matches!(s.waiting[0], (call, HostCall::TerminalOutput { .. }) if call < 1 << 62));
        s.host_replies(Err(Failure::not_found(&terminal)));
        assert_eq!(s.log.len(), before);
        s.stops_with("end_turn");
        exits(s, &terminal, exit(0), "");
    });
}

#[test]
fn a_late_reply_of_the_host_changes_nothing() {
    check(|s| {
        ready(s);
        let terminal = running(s, "ls");
        exits(s, &terminal, exit(0), "");
        let before = s.log.len();
        s.handle(Input::Host {
            call: (1 << 62) + 1,
            result: Ok(HostReply::Done),
        });
        assert_eq!(s.log.len(), before);
    });
}
