//! What users do to running commands: they type into their terminals, and end them.

use acpd_model::limits::TERMINAL_INPUT_BYTES;
use acpd_model::{ErrorCode, EventKind, Failure, HostEvent, ItemStart, Origin};
use acpd_proto::thread::{Command, HostCall, HostReply, Reply, TerminalAct, TerminalEvent};
use serde_json::json;

use super::export::lines;
use super::terminals::{create, exit};
use crate::support::{Scene, check};

fn act(terminal_id: &str, act: TerminalAct) -> Command {
    Command::UseTerminal {
        terminal_id: terminal_id.to_owned(),
        act,
    }
}

fn type_in(terminal_id: &str, text: &str) -> Command {
    act(terminal_id, TerminalAct::TypeIn(text.to_owned()))
}

/// Opens a turn in which a command of the agent runs.
fn with_command(s: &mut Scene) -> String {
    s.open_turn();
    create(s, 5);
    let id = s.answer_to(&json!(5))["result"]["terminalId"].clone();
    id.as_str().unwrap().to_owned()
}

/// Returns whether clients that load the thread now see the command waiting, and for a secret.
fn waiting_now(s: &Scene) -> Option<bool> {
    let turns = s.transcript().turns;
    let items = turns.iter().flat_map(|turn| &turn.items);
    let mut commands = items.filter(|item| matches!(item.start, ItemStart::TerminalCommand { .. }));
    commands.next_back().unwrap().waiting()
}

#[test]
fn a_waiting_command_is_shown_until_it_continues() {
    for goes_on in [
        TerminalEvent::Output("more\n".into()),
        TerminalEvent::InputEnded,
        TerminalEvent::Exited {
            exit: exit(0),
            output: "name? ".into(),
            truncated: false,
        },
    ] {
        check(|s| {
            let id = with_command(s);
            s.terminal_says(&id, TerminalEvent::Output("name? ".into()));
            s.terminal_says(&id, TerminalEvent::Waiting { secret: true });
            let waiting = &s.params("thread/terminal/waiting")[0];
            assert_eq!(waiting["terminalId"], id.as_str());
            assert!(waiting["itemId"].is_string() && waiting.get("by").is_none());
            assert_eq!(waiting_now(s), Some(true));
            s.terminal_says(&id, goes_on.clone());
            s.later(200);
            assert_eq!(waiting_now(s), None, "{goes_on:?}");
        });
    }
}

#[test]
fn output_beyond_the_log_ends_a_wait_as_well() {
    check(|s| {
        let id = with_command(s);
        s.terminal_says(&id, TerminalEvent::Output("x".repeat(100)));
        s.terminal_says(&id, TerminalEvent::Waiting { secret: false });
        assert_eq!(waiting_now(s), Some(false));
        s.terminal_says(&id, TerminalEvent::Output("more".into()));
        s.later(200);
        assert_eq!(waiting_now(s), None);
    });
}

#[test]
fn typed_input_reaches_the_command_and_not_the_log() {
    check(|s| {
        let id = with_command(s);
        s.terminal_says(&id, TerminalEvent::Waiting { secret: true });
        let call = s.send(type_in(&id, "hush\n"));
        assert!(!s.replies.contains_key(&call), "the host has not typed yet");
        let typed = HostCall::TypeIn {
            terminal_id: id.clone(),
            text: "hush\n".into(),
        };
        assert_eq!(s.waiting[0].1, typed);
        s.host_replies(Ok(HostReply::Done));
        assert_eq!(s.replies[&call], Ok(Reply::Done));
        assert_eq!(waiting_now(s), None);
        let input = &s.params("thread/terminal/input")[0];
        assert_eq!(input["by"]["client"], "test");
        let recorded = serde_json::to_string(&s.log).unwrap();
        assert!(!recorded.contains("hush"), "{recorded}");
        let input = lines(s).into_iter().find(|line| line["type"] == "terminal:input");
        assert_eq!(input.expect("it is exported")["terminalId"], id.as_str());
    });
}

#[test]
fn untypable_input_is_refused() {
    check(|s| {
        let id = with_command(s);
        for (terminal, text, code) in [
            (id.as_str(), String::new(), ErrorCode::InvalidParams),
            (
                &id,
                "x".repeat(TERMINAL_INPUT_BYTES + 1),
                ErrorCode::InvalidParams,
            ),
            ("term_99", "x".into(), ErrorCode::NotFound),
            ("", "x".into(), ErrorCode::NotFound),
        ] {
            let refused = s.ask(type_in(terminal, &text)).unwrap_err();
            assert_eq!(refused.code, code, "{terminal:?}: {}", refused.message);
        }
        let call = s.send(type_in(&id, &"x".repeat(TERMINAL_INPUT_BYTES)));
        let full = Failure::new(ErrorCode::Overloaded, "full");
        s.host_replies(Err(full.clone()));
        assert_eq!(s.replies[&call], Err(full));
        let inputs = s.log.iter();
        let inputs =
            inputs.filter(|event| matches!(event.kind, EventKind::Host(HostEvent::TerminalInput { .. })));
        assert_eq!(inputs.count(), 1, "only what reached the host, perhaps in part");
    });
}

#[test]
fn a_user_types_into_a_command_of_a_user_and_ends_it() {
    check(|s| {
        s.open_session();
        let line = "ssh host".to_owned();
        let Ok(Reply::CommandStarted { item, .. }) = s.ask(Command::RunCommand { line }) else {
            panic!("it starts");
        };
        s.host_replies(Ok(HostReply::Created));
        let id = format!("user_{}", item.0);
        let call = s.send(type_in(&id, "yes\n"));
        s.host_replies(Ok(HostReply::Done));
        assert_eq!(s.replies[&call], Ok(Reply::Done));
        assert_eq!(s.ask(act(&id, TerminalAct::Kill)), Ok(Reply::Done));
        let killed = HostCall::KillTerminal {
            terminal_id: id.clone(),
        };
        assert_eq!(s.waiting[0].1, killed);
        let event = TerminalEvent::Exited {
            exit: exit(1),
            output: String::new(),
            truncated: false,
        };
        s.terminal_says(&id, event);
        assert_eq!(
            s.params("item/terminalCommand/completed")[0]["outcome"],
            "interrupted"
        );
        let gone = s.ask(type_in(&id, "late\n")).unwrap_err();
        assert_eq!(gone.code, ErrorCode::NotFound);
    });
}

#[test]
fn a_user_ends_a_command_of_the_agent() {
    check(|s| {
        let id = with_command(s);
        let call = s.send(act(&id, TerminalAct::Kill));
        assert!(matches!(&s.waiting[0].1, HostCall::KillTerminal { terminal_id } if *terminal_id == id));
        s.host_replies(Ok(HostReply::Done));
        assert_eq!(s.replies[&call], Ok(Reply::Done));
        let killed = s
            .log
            .iter()
            .find(|event| matches!(event.kind, EventKind::Host(HostEvent::TerminalKilled { .. })));
        assert!(matches!(killed.expect("it is recorded").by, Origin::Client(_)));
        // The agent is not asked, and its own requests go on.
        assert_eq!(s.params("thread/terminal/killed")[0]["by"]["client"], "test");
    });
}

#[test]
fn nothing_is_typed_once_the_agent_is_gone() {
    check(|s| {
        let id = with_command(s);
        s.exits("it crashed");
        let refused = s.ask(type_in(&id, "x")).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
    });
}
