//! The mode of a session in which no user has chosen one.

use acpd_model::{EventKind, PreviousContent, SessionEvent};
use acpd_proto::agent::AgentRequest;
use acpd_proto::thread::{Answer, Command, HostReply};
use serde_json::json;

use crate::support::{FULL, Scene, check, tool};

const CLAUDE: &str = r#"{"protocolVersion":1,"agentInfo":{"name":"@agentclientprotocol/claude-agent-acp","version":"0.101.0"},"agentCapabilities":{"loadSession":true}}"#;
const OTHER: &str =
    r#"{"protocolVersion":1,"agentInfo":{"name":"other"},"agentCapabilities":{"loadSession":true}}"#;

/// Returns the answer that opens a session in a mode.
fn modes(current: &str, offered: &[&str]) -> String {
    let offered: Vec<_> = offered.iter().map(|id| json!({ "id": id, "name": id })).collect();
    json!({ "sessionId": "s-1", "modes": { "currentModeId": current, "availableModes": offered } })
        .to_string()
}

/// Returns the same with a config option.
fn option(current: &str, offered: &[&str]) -> String {
    let offered: Vec<_> = offered
        .iter()
        .map(|id| json!({ "value": id, "name": id }))
        .collect();
    let option = json!({
        "id": "how", "name": "Mode", "category": "mode", "type": "select", "currentValue": current, "options": offered,
    });
    json!({ "sessionId": "s-1", "configOptions": [option] }).to_string()
}

fn open(s: &mut Scene, hello: &str, session: &str) {
    s.create();
    s.answer("initialize", hello);
    s.answer("session/new", session);
}

fn mode(s: &Scene) -> Option<String> {
    s.thread.live().options().mode().and_then(|mode| mode.current)
}

#[test]
fn a_known_agent_that_would_decide_by_itself_gets_its_mode_that_asks() {
    check(|s| {
        open(s, CLAUDE, &modes("auto", &["auto", "default", "plan"]));
        s.prompt("hello");
        assert_eq!(
            s.sent_as("session/set_mode")[0].json["params"],
            json!({ "sessionId": "s-1", "modeId": "default" })
        );
        assert!(s.sent_as("session/prompt").is_empty(), "the mode comes first");
        s.answer("session/set_mode", "{}");
        assert_eq!(mode(s).as_deref(), Some("default"));
        assert_eq!(s.sent_as("session/prompt").len(), 1);
        assert!(s.notices().is_empty(), "{:?}", s.notices());
        s.answer("session/prompt", r#"{"stopReason":"end_turn"}"#);
    });
}

#[test]
fn a_mode_that_is_an_option_is_set_as_one() {
    check(|s| {
        open(
            s,
            CLAUDE,
            &option("bypassPermissions", &["bypassPermissions", "default"]),
        );
        assert_eq!(
            s.sent_as("session/set_config_option")[0].json["params"],
            json!({ "sessionId": "s-1", "configId": "how", "value": "default" })
        );
        s.answer(
            "session/set_config_option",
            &option("default", &["bypassPermissions", "default"]),
        );
        assert_eq!(mode(s).as_deref(), Some("default"));
    });
}

#[test]
fn modes_that_ask_or_only_read_stay() {
    for current in ["default", "plan"] {
        check(|s| {
            open(s, CLAUDE, &modes(current, &["auto", "default", "plan"]));
            assert!(s.sent_as("session/set_mode").is_empty(), "{current}");
            assert!(s.notices().is_empty(), "{current}");
        });
    }
}

#[test]
fn an_agent_that_cannot_ask_is_reported() {
    for (hello, current, offered) in [
        (CLAUDE, "auto", &["auto", "plan"][..]),
        (OTHER, "yolo", &["yolo", "default"]),
    ] {
        check(|s| {
            open(s, hello, &modes(current, offered));
            assert!(s.sent_as("session/set_mode").is_empty(), "{current}");
            assert_eq!(s.notices(), ["agentDecides"], "{current}");
        });
    }
}

#[test]
fn an_agent_that_refuses_the_mode_is_reported_and_works() {
    check(|s| {
        open(s, CLAUDE, &modes("auto", &["auto", "default"]));
        s.prompt("hello");
        s.refuse("session/set_mode", -32603, "not now");
        assert_eq!(s.notices(), ["modeNotSet"]);
        assert_eq!(mode(s).as_deref(), Some("auto"));
        assert_eq!(s.sent_as("session/prompt").len(), 1);
        s.answer("session/prompt", r#"{"stopReason":"end_turn"}"#);
    });
}

#[test]
fn the_configured_mode_comes_before_the_known_one() {
    check(|s| {
        s.mode = Some("plan".to_owned());
        open(s, CLAUDE, &modes("default", &["auto", "default", "plan"]));
        assert_eq!(s.sent_as("session/set_mode")[0].json["params"]["modeId"], "plan");
        s.answer("session/set_mode", "{}");
    });
    check(|s| {
        s.mode = Some("auto".to_owned());
        open(s, CLAUDE, &modes("auto", &["auto", "default"]));
        assert!(s.sent_as("session/set_mode").is_empty(), "the user wants it");
        assert!(s.notices().is_empty());
    });
    for session in [modes("ask", &["ask"]), r#"{"sessionId":"s-1"}"#.to_owned()] {
        check(|s| {
            s.mode = Some("plan".to_owned());
            open(s, OTHER, &session);
            assert!(s.sent_as("session/set_mode").is_empty(), "{session}");
            assert_eq!(s.notices(), ["modeNotSet"], "{session}");
        });
    }
}

#[test]
fn a_mode_that_a_user_has_chosen_stays() {
    check(|s| {
        open(s, CLAUDE, &modes("default", &["auto", "default"]));
        s.send(Command::AgentRequest(AgentRequest::SetMode {
            mode_id: "auto".to_owned(),
        }));
        s.answer("session/set_mode", "{}");
        assert_eq!(mode(s).as_deref(), Some("auto"));
        s.exits("exited with code 1");
        s.prompt("again");
        s.answer("initialize", CLAUDE);
        s.answer("session/load", &modes("auto", &["auto", "default"]));
        s.later(5_000);
        let chosen = s
            .log
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Session(SessionEvent::ModeChanged { .. })))
            .count();
        assert_eq!((chosen, mode(s).as_deref()), (1, Some("auto")));
        s.answer("session/prompt", r#"{"stopReason":"end_turn"}"#);
    });
}

#[test]
fn a_choice_that_waits_for_the_session_stays() {
    check(|s| {
        s.create();
        s.send(Command::AgentRequest(AgentRequest::SetMode {
            mode_id: "acceptEdits".to_owned(),
        }));
        s.answer("initialize", CLAUDE);
        s.answer("session/new", &modes("auto", &["auto", "acceptEdits", "default"]));
        let sent = s.sent_as("session/set_mode");
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].json["params"]["modeId"], "acceptEdits");
        s.answer("session/set_mode", "{}");
        assert_eq!(mode(s).as_deref(), Some("acceptEdits"));
    });
}

/// The agent does something of a kind in a tool call of its own.
fn does(s: &mut Scene, id: &str, kind: &str) {
    s.update(&tool(
        id,
        false,
        &format!(r#","title":"x","kind":"{kind}","status":"in_progress""#),
    ));
    s.update(&tool(id, true, r#","status":"completed""#));
}

#[test]
fn an_agent_that_is_known_never_to_ask_is_reported_once() {
    const PI: &str =
        r#"{"protocolVersion":1,"agentInfo":{"name":"pi-acp"},"agentCapabilities":{"loadSession":true}}"#;
    for session in [
        modes("high", &["low", "high"]),
        r#"{"sessionId":"s-1"}"#.to_owned(),
    ] {
        check(|s| {
            open(s, PI, &session);
            assert_eq!(s.notices(), ["agentDecides"], "{session}");
            s.exits("exited with code 1");
            s.prompt("again");
            s.answer("initialize", PI);
            s.answer("session/load", &session);
            s.later(5_000);
            does(s, "t", "execute");
            s.answer("session/prompt", r#"{"stopReason":"end_turn"}"#);
            let said = s.notices();
            assert_eq!(
                said.iter().filter(|code| *code == "agentDecides").count(),
                1,
                "{said:?}"
            );
        });
    }
}

#[test]
fn an_agent_that_acts_without_a_question_is_reported_once() {
    for (kind, deed) in [
        ("execute", Some("ran a command")),
        ("edit", Some("changed a file")),
        ("delete", Some("changed a file")),
        ("read", None),
        ("other", None),
    ] {
        for session in [
            modes("build", &["build", "plan"]),
            r#"{"sessionId":"s-1"}"#.to_owned(),
        ] {
            check(|s| {
                open(s, OTHER, &session);
                s.prompt("do it");
                s.update(&tool(
                    "u",
                    false,
                    &format!(r#","kind":"{kind}","status":"failed""#),
                ));
                assert!(s.notices().is_empty(), "it may not have run");
                does(s, "t1", kind);
                does(s, "t2", kind);
                s.stops_with("end_turn");
                s.prompt("once more");
                does(s, "t3", kind);
                s.stops_with("end_turn");
                let said = s.params("thread/notice");
                assert_eq!(said.len(), usize::from(deed.is_some()), "{kind}: {said:?}");
                if let Some(deed) = deed {
                    let message = said[0]["message"].as_str().unwrap();
                    assert!(message.contains(deed), "{message}");
                    assert!(said[0]["detail"].as_str().unwrap().contains("sandbox"));
                }
            });
        }
    }
}

#[test]
fn calls_answered_by_acpd_do_not_count_as_the_agents_decision() {
    check(|s| {
        s.open_turn();
        // Some agents ask under the id of another call.
        s.asks_permission("7", "asked");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        does(s, "t1", "execute");
        assert!(s.notices().is_empty());
        does(s, "t2", "edit");
        assert_eq!(s.notices(), ["agentDecides"], "only commands were asked about");
        s.stops_with("end_turn");
    });
    // The agent may remember what the user has always allowed.
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "asked");
        s.decide(1, Answer::Accept { always: true }).unwrap();
        s.stops_with("end_turn");
        s.prompt("once more");
        does(s, "t1", "execute");
        s.stops_with("end_turn");
        assert_eq!(s.notices(), ["notRemembered"]);
    });
    check(|s| {
        s.open_turn();
        super::terminals::create(s, 5);
        does(s, "t1", "execute");
        does(s, "t2", "edit");
        s.stops_with("end_turn");
        s.prompt("write");
        s.script.push_back(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        let params = r#"{"sessionId":"s-1","path":"/workspace/a","content":"x"}"#;
        s.calls("6", "fs/write_text_file", params);
        does(s, "t3", "edit");
        assert!(s.notices().is_empty(), "{:?}", s.notices());
        s.stops_with("end_turn");
    });
    // In a mode whose meaning is known, the user knows.
    for (hello, current) in [(CLAUDE, "default"), (CLAUDE, "plan"), (FULL, "ask")] {
        check(|s| {
            open(s, hello, &modes(current, &[current]));
            s.prompt("do it");
            does(s, "t", "execute");
            s.stops_with("end_turn");
            assert!(s.notices().is_empty(), "{current}");
        });
    }
}
