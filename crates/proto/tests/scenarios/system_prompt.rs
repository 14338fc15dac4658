//! Instructions of a client for the agent of a thread.

use std::time::Duration;

use acpd_model::{ErrorCode, RawJson, TurnId};
use acpd_proto::agent::{AgentConnection, AgentEvent, PromptSource, Start, SystemPromptMode, system_prompt};
use acpd_proto::projection::SessionChange;
use acpd_proto::thread::{Command, Reply};
use acpd_proto::time::Now;
use acpd_proto::wire::Line;
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check};

/// Returns the answer to `initialize` of an agent that declares `declared` as its `systemPrompt`, and resumes or loads sessions.
fn hello(declared: &Value, resumes: bool) -> String {
    let mut hello: Value = serde_json::from_str(FULL).unwrap();
    let session = &mut hello["agentCapabilities"]["sessionCapabilities"];
    session["systemPrompt"] = declared.clone();
    if !resumes {
        session["resume"] = Value::Null;
    }
    hello.to_string()
}

fn append() -> RawJson {
    system_prompt(SystemPromptMode::Append, "be kind").unwrap()
}

fn with(prompt: RawJson) -> SessionChange {
    SessionChange {
        system_prompt: Some(prompt),
        ..SessionChange::default()
    }
}

/// Returns the system prompt in the last request of `method` to the agent.
fn sent(s: &Scene, method: &str) -> Value {
    let sent = s.sent_as(method);
    sent.last().unwrap().json["params"]["systemPrompt"].clone()
}

fn whole(prompt: &RawJson) -> Value {
    prompt.read().unwrap()
}

#[test]
fn it_reaches_the_agent_each_time_the_session_is_opened() {
    for (resumes, method) in [(true, "session/resume"), (false, "session/load")] {
        check(|s| {
            let hello = hello(&json!({}), resumes);
            s.create_with(with(append()));
            s.answer("initialize", &hello);
            assert_eq!(sent(s, "session/new"), whole(&append()));
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            s.exits("it broke");
            s.prompt("go on");
            s.answer("initialize", &hello);
            assert_eq!(sent(s, method), whole(&append()), "{method}");
            s.answer(method, "{}");
            s.later(5_000);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_restarted_daemon_knows_it() {
    let log = check(|s| {
        s.create_with(with(append()));
        s.answer("initialize", &hello(&json!({}), true));
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    })
    .log;
    let s = Scene::restarted(&log);
    assert_eq!(s.thread.live().spec.session_system_prompt(), Some(&append()));
}

#[test]
fn an_agent_that_does_not_take_it_opens_no_session() {
    let overrides = || system_prompt(SystemPromptMode::Override, "be brief").unwrap();
    for (declared, prompt, missing) in [
        (json!(null), append(), "takes no system prompt"),
        (json!({}), overrides(), "systemPrompt.mode.override"),
    ] {
        check(|s| {
            let call = s.create_with(with(prompt));
            s.answer("initialize", &hello(&declared, true));
            let failure = s.replies[&call].clone().unwrap_err();
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(
                failure.message.contains("fake") && failure.message.contains(missing),
                "{failure}"
            );
            assert!(s.sent_as("session/new").is_empty());
        });
    }
    check(|s| {
        s.create_with(with(overrides()));
        s.answer("initialize", &hello(&json!({ "mode": { "override": {} } }), true));
        assert_eq!(sent(s, "session/new"), whole(&overrides()));
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    });
}

/// An older version of the agent continues the thread.
#[test]
fn a_session_is_continued_without_it_and_that_is_said() {
    check(|s| {
        s.create_with(with(append()));
        s.answer("initialize", &hello(&json!({}), true));
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.exits("it broke");
        s.prompt("go on");
        s.answer("initialize", FULL);
        assert_eq!(sent(s, "session/resume"), json!(null));
        s.answer("session/resume", "{}");
        s.later(300);
        assert!(s.notices().contains(&"systemPromptLeftOut".to_owned()));
        s.stops_with("end_turn");
    });
}

/// A fork from the history has no session yet.
#[test]
fn a_thread_whose_session_is_given_up_is_continued_without_it_too() {
    check(|s| {
        s.create_with(with(append()));
        s.answer("initialize", &hello(&json!({}), true));
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        for prompt in ["one", "two"] {
            s.prompt(prompt);
            s.chunk("done");
            s.stops_with("end_turn");
        }
        let forked = s.ask(Command::Fork {
            turn: Some(TurnId(1)),
        });
        let Ok(Reply::Fork(point)) = forked else {
            panic!("{forked:?}");
        };
        let mut new = Scene::adopting(&s.log, *point, None);
        new.prompt("go on");
        new.answer("initialize", FULL);
        assert_eq!(sent(&new, "session/new"), json!(null));
        new.answer("session/new", r#"{"sessionId":"s-9"}"#);
        assert!(new.notices().contains(&"systemPromptLeftOut".to_owned()));
        new.stops_with("end_turn");
    });
}

#[test]
fn a_configured_one_that_the_agent_does_not_take_is_named() {
    let start = Start {
        system_prompt: Some(append()),
        prompt_source: PromptSource::Configuration,
        ..Start::new("mine", "/", Duration::from_mins(1))
    };
    let now = Now {
        mono: Duration::ZERO,
        wall: 0,
    };
    let mut connection = AgentConnection::new(start, now);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{FULL}}}"#);
    connection.handle_line(&Line::Whole(answer.as_bytes()), now);
    let events = connection.take_events();
    let [AgentEvent::Failed(failure)] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(
        failure.message.contains("system_prompt of [agents.mine]"),
        "{failure}"
    );
}

#[test]
fn a_fork_of_the_session_has_it() {
    check(|s| {
        let mut hello: Value = serde_json::from_str(&hello(&json!({}), true)).unwrap();
        hello["agentCapabilities"]["sessionCapabilities"]["fork"] = json!({});
        s.create_with(with(append()));
        s.answer("initialize", &hello.to_string());
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("do it");
        s.stops_with("end_turn");
        s.send(Command::Fork { turn: None });
        assert_eq!(sent(s, "session/fork"), whole(&append()));
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
    });
}
