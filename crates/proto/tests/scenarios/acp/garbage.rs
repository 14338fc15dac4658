//! Invalid input of an editor or an agent never causes a panic, and every request has a response.

use acpd_model::{Failure, RawJson, Role};
use acpd_proto::surface::acp::{Peer, frames};
use acpd_proto::surface::contract::{Output, Surface};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Request;
use proptest::prelude::*;
use serde_json::Value;

use super::stage::{ABLE, NOW, Stage, play};
use crate::support::{check, gate};

/// Returns odd JSON; with `wild`, also JSON that does not fit into a `Value`.
fn odd_json(wild: bool) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just(if wild { "1e999" } else { "1.10" }.to_owned()),
        Just("-0".to_owned()),
        Just(if wild { r#""\ud83d""# } else { "\"\"" }.to_owned()),
        Just(r#""0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4""#.to_owned()),
        Just(r#""req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4""#.to_owned()),
        Just(r#""text""#.to_owned()),
        "[a-z{}\\[\\]:,\"]{0,6}".prop_map(|text| Value::from(text).to_string()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let key = prop_oneof![
            Just("sessionId"),
            Just("prompt"),
            Just("cwd"),
            Just("mcpServers"),
            Just("type"),
            Just("text"),
            Just("outcome"),
            Just("optionId"),
            Just("requestId"),
            Just("value"),
            Just("\\u0073essionId"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key, inner), 0..4).prop_map(|members| {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| format!("\"{key}\":{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn method() -> impl Strategy<Value = String> {
    let known = [
        "initialize",
        "session/new",
        "session/load",
        "session/resume",
        "session/list",
        "session/close",
        "session/delete",
        "session/fork",
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
        "authenticate",
        "logout",
        "$/cancel_request",
        "_x",
        "_acpd/x",
        "",
    ];
    prop::sample::select(known.map(str::to_owned).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Odd params, odd ids, odd responses, and text that is not JSON.
    #[test]
    fn editors_may_write_anything(
        lines in prop::collection::vec((method(), odd_json(false), odd_json(false), 0..4_u8), 1..12),
        noise in ".{0,40}",
    ) {
        play(|s| {
            s.strict = false;
            let who = Stage::at_work(ABLE, s);
            s.then(|scene| {
                scene.prompt("do it");
                scene.asks_permission("5", "t");
            });
            let mut asked = 0;
            let before = s.count(who);
            for (method, id, params, shape) in lines {
                match shape {
                    0 => s.says(who, &format!(r#"{{"method":"{method}","params":{params}}}"#)),
                    1 => s.says(who, &format!(r#"{{"id":{id},"result":{params}}}"#)),
                    2 => s.says(who, &format!(r#"{{"id":{id},"error":{params}}}"#)),
                    _ => {
                        asked += 1;
                        s.says(who, &format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#));
                    }
                }
            }
            s.says(who, &noise);
            let answers = s.editors[who].texts[before..].iter().filter(|text| !text.contains(r#""method":"#));
            assert!(answers.count() <= asked + 1 + s.scene.settled_turns().len(), "no answer to nothing");
            if s.scene.thread.live().turn.is_some() && s.scene.awaits("session/prompt") {
                s.then(|scene| scene.stops_with("end_turn"));
            }
        });
    }

    /// JSON that does not fit into a `Value` must not cause a panic either.
    #[test]
    fn editors_may_write_wildly(lines in prop::collection::vec((method(), odd_json(true), odd_json(true)), 1..12)) {
        let mut peer = Peer::new("owner".into(), Role::Owner, "c".into(), gate());
        for (method, id, params) in lines {
            peer.handle_message(&format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#), NOW);
            peer.handle_message(&format!(r#"{{"id":{id},"result":{params}}}"#), NOW);
            while let Some(output) = peer.poll_output() {
                if let Output::Request { call, request, .. } = output && *request == Request::Initialize {
                    peer.handle_reply(call, RawJson::parse(params.clone()).map(Reply::Initialized).map_err(|_| Failure::agent("")));
                }
            }
        }
    }

    /// The daemon forwards any agent message as one valid JSON text.
    #[test]
    fn agents_may_say_anything(updates in prop::collection::vec(odd_json(true), 1..8), method in method()) {
        let scene = check(|scene| {
            scene.open_turn();
            for update in &updates {
                scene.update(update);
                scene.says(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{update}}}"#));
                scene.says(&format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{update}}}"#));
            }
            scene.exits("exit status 1");
        });
        for frame in frames(&scene.id.to_string(), &scene.log) {
            if let Some(text) = &frame.text {
                let text = std::str::from_utf8(text).unwrap();
                serde_json::from_str::<&serde_json::value::RawValue>(text).unwrap();
                assert!(!text.contains('\n'), "{text}");
            }
        }
    }
}

/// Responses of the daemon that do not match the request, or come twice.
#[test]
fn a_confused_daemon_confuses_nobody() {
    let mut peer = Peer::new("owner".into(), Role::Owner, "c".into(), gate());
    peer.handle_reply(7, Ok(Reply::Done));
    peer.handle_message(
        &format!(r#"{{"id":1,"method":"initialize","params":{ABLE}}}"#),
        NOW,
    );
    let Some(Output::Request { call: token, .. }) = peer.poll_output() else {
        panic!()
    };
    peer.handle_reply(token, Ok(Reply::Initialized(RawJson::parse("7").unwrap())));
    peer.handle_reply(token, Ok(Reply::Done));
    assert!(peer.poll_output().is_some());
    assert!(peer.poll_output().is_none());
    for method in ["session/new", "session/list"] {
        let text = format!(r#"{{"id":2,"method":"{method}","params":{{"cwd":"/"}}}}"#);
        peer.handle_message(&text, NOW);
        let Some(Output::Request { call: token, .. }) = peer.poll_output() else {
            panic!()
        };
        peer.handle_reply(token, Ok(Reply::Done));
        let Some(Output::Send(text)) = peer.poll_output() else {
            panic!()
        };
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(answer["error"]["code"], -32603, "{method}");
    }
}
