//! A session that cannot be reopened does not make its thread unusable.

use acpd_model::event::Binding;
use acpd_model::{EventKind, SessionEvent};
use acpd_proto::thread::Command;
use serde_json::json;

use crate::support::{FULL, SESSION, Scene, check, message, wake};

fn reopened(scene: &mut Scene) {
    scene.open_turn();
    scene.chunk("first answer");
    scene.stops_with("end_turn");
    scene.exits("exit status 0");
    starts_again(scene);
}

/// Starts the next process, after any delay, and performs the handshake.
fn starts_again(scene: &mut Scene) {
    scene.ask(wake()).unwrap();
    if !scene.awaits("initialize") {
        scene.later(30_000);
    }
    scene.answer("initialize", FULL);
}

fn binding(scene: &Scene) -> Option<Binding> {
    let how = |kind: &EventKind| match kind {
        EventKind::Session(SessionEvent::AgentBound { how, .. }) => Some(*how),
        _ => None,
    };
    scene.kinds().filter_map(how).next_back()
}

fn patience(scene: &mut Scene) {
    scene.later(60_000);
}

#[test]
fn a_resume_that_is_never_answered_falls_through_to_load() {
    check(|s| {
        reopened(s);
        let resume = s.open_request("session/resume");
        patience(s);
        assert!(s.awaits("session/load"));
        s.chunk("first ");
        // The late response is not the response to load, and adds no event.
        let before = s.next_seq();
        s.says_answer(
            resume,
            &format!(r#"{{"jsonrpc":"2.0","id":{resume},"result":{{}}}}"#),
        );
        s.later(1000);
        assert_eq!(s.methods_from(before), Vec::<&str>::new());
        s.answer("session/load", "{}");
        s.later(250);
        assert_eq!(binding(s), Some(Binding::Load));
        assert_eq!(s.said(), ["first answer"]);
        s.prompt("next");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_load_that_is_never_answered_falls_through_to_a_new_session() {
    check(|s| {
        reopened(s);
        s.refuse("session/resume", -32601, "Method not found");
        let load = s.open_request("session/load");
        s.chunk("first ");
        patience(s);
        // Updates of the abandoned session do not belong to the new one, before or after the new one is open.
        s.chunk("answer");
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let bound = s.next_seq();
        s.chunk("answer");
        s.says_answer(load, &format!(r#"{{"jsonrpc":"2.0","id":{load},"result":{{}}}}"#));
        assert_eq!(s.methods_from(bound), Vec::<&str>::new());
        s.calls(
            "9",
            "fs/read_text_file",
            &format!(r#"{{"sessionId":"{SESSION}","path":"/workspace/a"}}"#),
        );
        assert_eq!(s.answer_to(&json!(9))["error"]["code"], -32602);
        assert_eq!(binding(s), Some(Binding::New));
        assert_eq!(s.said(), ["first answer"]);
    });
}

#[test]
fn a_request_of_a_session_that_was_given_up_is_refused_while_a_new_one_is_opened() {
    check(|s| {
        reopened(s);
        s.refuse("session/resume", -32601, "Method not found");
        patience(s);
        s.calls(
            "9",
            "fs/read_text_file",
            &format!(r#"{{"sessionId":"{SESSION}","path":"/workspace/a"}}"#),
        );
        assert_eq!(s.answer_to(&json!(9))["error"]["code"], -32602);
        assert!(s.waiting.is_empty());
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
    });
}

/// One broken session: the agent exits at each attempt to continue it.
#[test]
fn a_way_that_the_agent_does_not_survive_is_left_out_at_the_next_start() {
    check(|s| {
        reopened(s);
        assert!(s.awaits("session/resume"));
        s.exits("a panic");
        starts_again(s);
        assert!(!s.awaits("session/resume"));
        assert!(s.awaits("session/load"));
        s.exits("a panic");
        starts_again(s);
        assert!(s.awaits("session/new"));
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        assert_eq!(binding(s), Some(Binding::New));
        assert!(s.notices().contains(&"agentForgot".to_owned()));
        // The new session is a different one, so all methods are tried again.
        s.exits("exit status 0");
        starts_again(s);
        assert!(s.awaits("session/resume"));
    });
}

#[test]
fn a_way_that_was_not_answered_is_left_out_at_the_next_start() {
    check(|s| {
        reopened(s);
        patience(s);
        patience(s);
        assert!(s.awaits("session/new"));
        patience(s);
        assert_eq!(s.stops, 1, "an agent that opens no session at all is of no use");
        s.exits("killed");
        starts_again(s);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        assert_eq!(binding(s), Some(Binding::New));
    });
}

#[test]
fn an_end_that_was_wanted_breaks_no_way() {
    check(|s| {
        reopened(s);
        s.ask(Command::Stop).unwrap();
        s.exits("exit status 0");
        starts_again(s);
        assert!(s.awaits("session/resume"));
    });
}

#[test]
fn history_that_comes_after_the_answer_to_resume_is_not_stored_twice() {
    check(|s| {
        reopened(s);
        s.answer("session/resume", "{}");
        for wait in [99, 249, 249] {
            s.later(wait);
            s.update(&message("first answer"));
        }
        s.later(250);
        assert_eq!(binding(s), Some(Binding::Resume));
        assert_eq!(s.said(), ["first answer"]);
        s.prompt("next");
        s.chunk("second");
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["first answer", "second"]);
    });
}
