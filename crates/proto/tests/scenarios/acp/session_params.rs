//! The session parameters of an editor, and how they reach the agent.

use acpd_model::limits::SESSION_PARAMS_BYTES;
use acpd_model::{EventKind, SessionEvent};
use acpd_proto::agent::ConfigValue;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::{Change, Command};
use serde_json::{Value, json};

use super::stage::{SIMPLE, Stage, play};
use crate::support::{FULL, Scene};

const SERVER: &str = r#"{"name":"x","command":"/bin/x","args":[],"env":[]}"#;

/// Returns the params of the last request of `method` to the agent.
fn params(s: &Stage, method: &str) -> Value {
    let sent = s.scene.sent_as(method);
    sent.last().expect("it was asked").json["params"].clone()
}

fn load(s: &mut Stage, who: usize, more: &str) -> Value {
    s.ask_session(who, "session/load", &format!(r#","cwd":"/workspace"{more}"#))
}

#[test]
fn members_unknown_to_acp_reach_the_agent_unchanged() {
    play(|s| {
        let who = s.editor(SIMPLE);
        let answer = s.ask(
            who,
            "session/new",
            r#"{"cwd":"/workspace","mcpServers":[],"hint":{"append":"be kind"},"n":12345678901234567890123,"_meta":{"k":1.10}}"#,
        );
        assert!(answer["result"].is_object());
        let sent = s.scene.sent_as("session/new")[0].text.clone();
        assert!(
            sent.ends_with(r#""_meta":{"k":1.10},"hint":{"append":"be kind"},"n":12345678901234567890123}}"#),
            "{sent}"
        );
        // Another process receives the same params.
        s.then(|scene| scene.exits("it broke"));
        s.then(|scene| {
            scene.prompt("go on");
            scene.answer("initialize", FULL);
        });
        assert_eq!(
            params(s, "session/resume")["hint"],
            json!({ "append": "be kind" })
        );
    });
}

#[test]
fn a_member_under_another_spelling_of_its_name_is_not_unknown() {
    play(|s| {
        let who = s.editor(SIMPLE);
        let twice = r#"{"cwd":"/workspace","mcpServers":[],"\u0063wd":"/etc"}"#;
        let message = s.ask(who, "session/new", twice)["error"]["message"].to_string();
        assert!(message.contains("duplicate field"), "{message}");
        s.ask(
            who,
            "session/new",
            r#"{"\u0063wd":"/workspace","mcpServers":[],"session\u0049d":"other"}"#,
        );
        let sent = s.scene.sent_as("session/new")[0].text.clone();
        assert_eq!(
            sent.matches("cwd").count() + sent.matches("other").count(),
            1,
            "{sent}"
        );
    });
}

#[test]
fn initial_values_of_options_keep_their_order_and_are_no_unknown_members() {
    play(|s| {
        let who = s.editor(SIMPLE);
        let open =
            |options: &str| format!(r#"{{"cwd":"/workspace","mcpServers":[],"configOptions":{options}}}"#);
        for bad in [
            r#"[{"configId":"z","value":"1"},{"configId":"z","value":"2"}]"#,
            r#"[{"configId":"z"}]"#,
            r#"{"z":"1"}"#,
        ] {
            assert_eq!(
                s.ask(who, "session/new", &open(bad))["error"]["code"],
                -32602,
                "{bad}"
            );
        }
        let options = r#"[{"configId":"z","value":"1"},{"configId":"a","type":"boolean","value":true}]"#;
        s.ask(who, "session/new", &open(options));
        let start = s.requests.iter().find_map(|request| match request {
            Request::StartThread(start) => Some(start),
            _ => None,
        });
        let start = start.expect("a thread was started");
        let expected = [
            ("z".to_owned(), ConfigValue::Id("1".to_owned())),
            ("a".to_owned(), ConfigValue::Boolean(true)),
        ];
        assert_eq!(start.initial, expected);
        assert_eq!(start.session.members, None);
    });
}

#[test]
fn an_editor_that_loads_a_thread_made_elsewhere_has_its_mcp_servers_in_it() {
    play(|s| {
        s.then(Scene::open_session);
        let who = s.editor(SIMPLE);
        load(s, who, &format!(r#","mcpServers":[{SERVER}],"hint":"s""#));
        // The agent is idle, so the session is opened again with the new params.
        assert_eq!(s.scene.stops, 1);
        s.then(|scene| {
            scene.exits("it was told to");
            scene.answer("initialize", FULL);
        });
        let resumed = params(s, "session/resume");
        assert_eq!(
            (&resumed["mcpServers"][0]["name"], &resumed["hint"]),
            (&json!("x"), &json!("s"))
        );
        s.then(|scene| scene.answer("session/resume", "{}"));
        // Loading it again with the same params changes nothing.
        load(s, who, &format!(r#","mcpServers":[{SERVER}],"hint":"s""#));
        assert_eq!(s.scene.stops, 1);
        let set = |kind: &EventKind| matches!(kind, EventKind::Session(SessionEvent::ParamsSet(_)));
        assert_eq!(s.scene.log.iter().filter(|event| set(&event.kind)).count(), 1);
        let shown = s.scene.params("thread/updated");
        let session = shown.iter().find_map(|params| params.get("session")).unwrap();
        assert_eq!(*session, json!({ "cwd": null, "mcpServers": ["x"] }));
    });
}

#[test]
fn a_turn_is_never_broken_off_for_that() {
    play(|s| {
        s.then(Scene::open_turn);
        let who = s.editor(SIMPLE);
        load(s, who, &format!(r#","mcpServers":[{SERVER}]"#));
        assert_eq!(s.scene.stops, 0);
        s.then(|scene| {
            scene.prompt("and then");
            scene.stops_with("end_turn");
        });
        // The restart happens between the turns. The queued turn gets the session with the servers.
        assert_eq!(s.scene.stops, 1);
        s.then(|scene| {
            scene.exits("it was told to");
            scene.answer("initialize", FULL);
            scene.answer("session/resume", "{}");
            scene.later(200);
        });
        assert_eq!(s.scene.sent_as("session/prompt").len(), 2);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn an_agent_that_would_forget_is_not_restarted_for_that() {
    play(|s| {
        s.then(|scene| {
            scene.create();
            scene.answer("initialize", r#"{"protocolVersion":1}"#);
            scene.answer("session/new", r#"{"sessionId":"s-1"}"#);
        });
        let who = s.editor(SIMPLE);
        load(s, who, &format!(r#","mcpServers":[{SERVER}]"#));
        assert_eq!(
            (s.scene.stops, s.scene.notices()),
            (0, vec!["sessionParamsLater".to_owned()])
        );
        s.then(|scene| scene.exits("it broke"));
        s.then(|scene| {
            scene.prompt("go on");
            scene.answer("initialize", r#"{"protocolVersion":1}"#);
        });
        assert_eq!(params(s, "session/new")["mcpServers"][0]["name"], "x");
        s.then(|scene| {
            scene.answer("session/new", r#"{"sessionId":"s-2"}"#);
            scene.stops_with("end_turn");
        });
    });
}

#[test]
fn a_thread_that_was_put_away_is_still_looked_at() {
    play(|s| {
        s.then(|scene| {
            scene.open_session();
            scene.send(Command::Change(Change::Archive));
            scene.exits("it was told to");
        });
        let who = s.editor(SIMPLE);
        for more in ["", &format!(r#","mcpServers":[{SERVER}]"#)] {
            let answer = load(s, who, more);
            assert!(answer["result"].is_object(), "{answer}");
        }
        assert!(s.scene.thread.live().spec.session_mcp_servers().is_empty());
    });
}

#[test]
fn members_for_one_request_do_not_change_the_session() {
    play(|s| {
        s.then(Scene::open_session);
        let who = s.editor(SIMPLE);
        for n in 0..3 {
            load(
                s,
                who,
                &format!(r#","_meta":{{"traceparent":"00-{n}","\u0062aggage":"b"}}"#),
            );
        }
        let set = |kind: &EventKind| matches!(kind, EventKind::Session(SessionEvent::ParamsSet(_)));
        assert!(!s.scene.log.iter().any(|event| set(&event.kind)));
    });
}

#[test]
fn session_params_above_the_limit_are_refused() {
    play(|s| {
        s.then(Scene::open_session);
        let who = s.editor(SIMPLE);
        let large = format!(r#","_meta":{{"x":"{}"}}"#, "x".repeat(SESSION_PARAMS_BYTES));
        let answer = load(s, who, &large);
        assert_eq!(answer["error"]["code"], -32602);
    });
}

#[test]
fn servers_that_the_agent_cannot_reach_are_refused_and_change_nothing() {
    play(|s| {
        s.then(Scene::open_session);
        // The capabilities of the agent's last run count as well.
        s.then(|scene| scene.exits("it broke"));
        let who = s.editor(SIMPLE);
        s.strict = false;
        let answer = load(
            s,
            who,
            r#","mcpServers":[{"type":"carrier-pigeon","name":"p","url":"x","headers":[]}]"#,
        );
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("carrier-pigeon")
        );
        assert_eq!(s.scene.stops, 0);
    });
}

#[test]
fn each_chunk_is_its_own_where_an_editor_wants_that() {
    let play_with = |meta: &str| {
        let mut texts = Vec::new();
        play(|s| {
            let who = s.editor(SIMPLE);
            s.ask(
                who,
                "session/new",
                &format!(r#"{{"cwd":"/workspace","mcpServers":[]{meta}}}"#),
            );
            s.prompt(who, "go");
            for word in ["one ", "two ", "three ", "four"] {
                s.then(|scene| scene.chunk(word));
            }
            s.then(|scene| scene.stops_with("end_turn"));
            let got = s.editors[who].got.iter();
            texts = got
                .filter(|message| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
                .map(|message| {
                    message["params"]["update"]["content"]["text"]
                        .as_str()
                        .unwrap()
                        .to_owned()
                })
                .collect();
        });
        texts
    };
    assert_eq!(
        play_with(r#","_meta":{"acpd":{"chunks":"single"}}"#),
        ["one ", "two ", "three ", "four"]
    );
    assert_eq!(play_with(""), ["one ", "two three four"]);
}
