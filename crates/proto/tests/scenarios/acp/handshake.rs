//! The handshake, its errors, and the requests around it.

use std::time::Duration;

use acpd_model::limits::EDITOR_EARLY;
use acpd_model::{ErrorCode, Failure, Limits, RawJson, Role};
use acpd_proto::agent::AgentRequest;
use acpd_proto::surface::contract::{Profile, Surface};
use acpd_proto::surface::request::{AgentFilter, ListThreads, Request};
use serde_json::{Value, json};

use super::stage::{ABLE, SIMPLE, Stage, play};

#[test]
fn the_agents_own_capabilities_and_what_the_daemon_adds() {
    play(|s| {
        let hello = r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"2"},"agentCapabilities":{"promptCapabilities":{"image":true}},"authMethods":[{"id":"key","name":"Key"}]}"#;
        s.hello = Ok(RawJson::parse(hello).unwrap());
        let who = s.connect(Role::Owner);
        let answer = s.ask(who, "initialize", ABLE);
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], 1);
        assert_eq!(result["agentInfo"], json!({ "name": "a", "version": "2" }));
        assert_eq!(result["authMethods"][0]["id"], "key");
        let capabilities = &result["agentCapabilities"];
        assert_eq!(capabilities["promptCapabilities"]["image"], true);
        assert_eq!(capabilities["loadSession"], true);
        let always = json!({ "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}, "title": {} });
        assert_eq!(capabilities["sessionCapabilities"], always);
        assert!(result["_meta"]["acpd"]["version"].is_string());
        let Profile {
            origin, abilities, ..
        } = s.editors[who].peer.profile();
        assert_eq!(
            (origin.client.as_str(), abilities.unwrap().reads_files),
            ("able", false)
        );
    });
}

#[test]
fn nothing_before_initialize_and_initialize_once() {
    play(|s| {
        let who = s.connect(Role::Owner);
        let early = s.ask(who, "session/list", "{}");
        assert_eq!(early["error"]["code"], -32600);
        s.notify(who, "session/cancel");
        assert!(s.ask(who, "initialize", SIMPLE)["result"].is_object());
        assert_eq!(s.ask(who, "initialize", SIMPLE)["error"]["code"], -32600);
        assert_eq!(s.requests, [Request::Initialize]);
    });
}

#[test]
fn requests_after_initialize_wait_for_its_response() {
    play(|s| {
        let who = s.connect(Role::Owner);
        s.slow = true;
        let hello = s.request(who, "initialize", SIMPLE);
        let again = s.request(who, "initialize", SIMPLE);
        let new = s.request(who, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        assert!(s.editors[who].got.is_empty());
        s.slow = false;
        s.catch_up();
        let order: Vec<_> = s.editors[who].got.iter().map(|message| &message["id"]).collect();
        assert_eq!(order, [&hello, &again, &new]);
        assert_eq!(s.answer_to(who, &again).unwrap()["error"]["code"], -32600);
        assert_eq!(
            s.answer_to(who, &new).unwrap()["result"]["sessionId"],
            s.session()
        );
    });
}

#[test]
fn requests_after_a_failed_initialize_are_refused_and_their_queue_is_bounded() {
    play(|s| {
        s.hello = Err(Failure::agent("no such program"));
        let who = s.connect(Role::Owner);
        s.slow = true;
        s.request(who, "initialize", SIMPLE);
        let waiting: Vec<_> = (0..EDITOR_EARLY)
            .map(|_| s.request(who, "session/list", "{}"))
            .collect();
        let last = s.ask(who, "session/list", "{}");
        assert_eq!(last["error"]["data"]["acpd"]["code"], "overloaded");
        s.slow = false;
        s.catch_up();
        for id in &waiting {
            assert_eq!(s.answer_to(who, id).unwrap()["error"]["code"], -32600);
        }
    });
}

#[test]
fn an_error_says_all_of_it_in_its_details() {
    play(|s| {
        s.hello = Err(Failure::agent("no such program").with_detail("install it"));
        let who = s.connect(Role::Owner);
        let error = s.ask(who, "initialize", SIMPLE)["error"].clone();
        assert_eq!(error["data"]["details"], "no such program: install it");
        assert_eq!(error["data"]["acpd"]["detail"], "install it");
        let error = s.ask(who, "session/list", "{}")["error"].clone();
        assert_eq!(error["data"]["details"], error["message"]);
    });
}

/// Capabilities whose methods would use the agent's session id where an editor uses the thread's id.
#[test]
fn unserved_capabilities_are_not_declared() {
    play(|s| {
        let hello = r#"{"protocolVersion":1,"agentCapabilities":{"providers":{},"sessionCapabilities":{"archive":{},"title":{},"status":{},"systemPrompt":{},"x":1.10}}}"#;
        s.hello = Ok(RawJson::parse(hello).unwrap());
        let who = s.connect(Role::Owner);
        let answer = s.ask(who, "initialize", ABLE);
        let declared = &answer["result"]["agentCapabilities"];
        let session = declared["sessionCapabilities"].as_object().unwrap();
        let undeclared = ["archive", "status"].map(|name| session.contains_key(name));
        assert_eq!(undeclared, [false; 2]);
        assert!(session["title"].is_object());
        assert!(session.contains_key("systemPrompt") && session.contains_key("x"));
        assert!(declared["providers"].is_object());
    });
}

#[test]
fn an_agent_that_cannot_start_is_said_and_can_be_tried_again() {
    play(|s| {
        s.hello = Err(Failure::agent("no such program"));
        let who = s.connect(Role::Owner);
        let answer = s.ask(who, "initialize", SIMPLE);
        assert_eq!(answer["error"]["message"], "no such program");
        assert_eq!(answer["error"]["data"]["acpd"]["code"], "agent_failed");
        s.hello = Ok(RawJson::parse("{}").unwrap());
        assert!(s.ask(who, "initialize", SIMPLE)["result"].is_object());
    });
}

#[test]
fn lenient_clients_are_understood() {
    play(|s| {
        let who = s.editor(r#"{"protocolVersion":"1","capabilities":{"fs":{"readTextFile":true}}}"#);
        assert!(s.editors[who].peer.profile().abilities.unwrap().reads_files);
        let answer = s.ask(who, "session/new", r#"{"cwd":"."}"#);
        assert_eq!(answer["result"]["sessionId"], s.session());
        let Some(Request::StartThread(start)) = s.requests.last() else {
            panic!("{:?}", s.requests)
        };
        assert_eq!((start.cwd.as_str(), &start.session.mcp_servers), (".", &None));
    });
}

#[test]
fn ids_of_any_kind_come_back_as_they_were_written() {
    play(|s| {
        let who = s.editor(SIMPLE);
        s.strict = false;
        for id in [
            r#""a\u0062""#,
            "7",
            "-1",
            "1e2",
            "12345678901234567890123",
            "null",
            "[1]",
            r#"{"x":1.10}"#,
            "true",
        ] {
            s.says(
                who,
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/list"}}"#),
            );
            let text = s.editors[who].texts.last().unwrap();
            assert!(
                text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
                "{text}"
            );
        }
    });
}

#[test]
fn invalid_requests_are_refused() {
    play(|s| {
        let who = s.editor(SIMPLE);
        for (text, code) in [
            ("{", -32700),
            ("[]", -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#, -32600),
            (r#"{"jsonrpc":"2.0"}"#, -32600),
        ] {
            s.says(who, text);
            let last = s.editors[who].got.last().unwrap();
            assert_eq!(
                (&last["id"], &last["error"]["code"]),
                (&Value::Null, &json!(code)),
                "{text}"
            );
        }
        for (method, params, code) in [
            ("session/hello", "{}", -32601),
            ("fs/read_text_file", "{}", -32601),
            ("_acpd/nothing", "{}", -32601),
            ("session/new", "{}", -32602),
            ("session/prompt", "[]", -32602),
            ("session/load", r#"{"sessionId":7}"#, -32602),
            ("session/load", r#"{"sessionId":"nobody's"}"#, -32002),
            (
                "session/load",
                r#"{"sessionId":"0192f0c1-c5d7-7c0a-a5e5-000000000000"}"#,
                -32002,
            ),
            (
                "session/prompt",
                r#"{"sessionId":"0192f0c1-c5d7-7c0a-a5e5-000000000000","prompt":[]}"#,
                -32002,
            ),
            ("session/set_mode", r#"{"sessionId":"x","modeId":"m"}"#, -32002),
        ] {
            assert_eq!(
                s.ask(who, method, params)["error"]["code"],
                code,
                "{method} {params}"
            );
        }
    });
}

#[test]
fn a_role_bounds_what_an_editor_does() {
    play(|s| {
        Stage::at_work(SIMPLE, s);
        let who = s.connect(Role::Observer);
        s.ask(who, "initialize", ABLE);
        assert!(s.ask_session(who, "session/load", "")["result"].is_object());
        for method in [
            "session/prompt",
            "session/set_mode",
            "_x",
            "session/delete",
            "authenticate",
        ] {
            assert_eq!(
                s.ask_session(who, method, "")["error"]["code"],
                ErrorCode::Forbidden.rpc(),
                "{method}"
            );
        }
        s.then(|scene| {
            scene.prompt("do it");
            scene.asks_permission("5", "t");
        });
        assert!(!s.heard(who).contains(&"session/request_permission".to_owned()));
        s.then(|scene| {
            scene.stops_with("end_turn");
        });
    });
}

#[test]
fn sessions_are_listed() {
    play(|s| {
        let who = s.editor(SIMPLE);
        let answer = s.ask(who, "session/list", r#"{"cwd":"/workspace","cursor":"c"}"#);
        // Nothing was said in this one yet.
        assert_eq!(answer["result"], json!({ "sessions": [], "nextCursor": "more" }));
        let wanted = ListThreads {
            cwd: Some("/workspace".into()),
            cursor: Some("c".into()),
            agent: AgentFilter::Default,
            ..ListThreads::default()
        };
        assert_eq!(s.requests.last(), Some(&Request::ListThreads(wanted)));
    });
}

#[test]
fn modes_models_options_and_extensions_go_to_the_agent() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let session = s.session();
        let mut asked = Vec::new();
        for (method, more) in [
            ("session/set_mode", r#","modeId":"m""#),
            ("session/set_model", r#","modelId":"m""#),
            ("session/set_config_option", r#","configId":"c","value":"v""#),
            (
                "session/set_config_option",
                r#","configId":"c","type":"boolean","value":true"#,
            ),
            ("_vendor/do", r#","n":12345678901234567890123"#),
        ] {
            s.slow = true;
            let params = format!(r#"{{"sessionId":"{session}"{more}}}"#);
            s.request(who, method, &params);
            let Some(Request::AskAgent { thread, request, .. }) = s.requests.last() else {
                panic!("{:?}", s.requests)
            };
            assert_eq!((*thread, request.method()), (Some(s.scene.id), method));
            if let AgentRequest::Extension { params: sent, .. } = request {
                assert_eq!(sent.as_ref().unwrap().get(), params);
            }
            asked.push(method);
        }
        // Without a session id, such a request goes to any process of the connection's agent.
        s.request(who, "_vendor/other", "{}");
        assert!(matches!(
            s.requests.last(),
            Some(Request::AskAgent { thread: None, .. })
        ));
        s.request(who, "authenticate", r#"{"methodId":"key","_meta":{"k":1.10}}"#);
        let Some(Request::AskAgent {
            thread: None,
            request: AgentRequest::Authenticate { members, .. },
            ..
        }) = s.requests.last()
        else {
            panic!("{:?}", s.requests)
        };
        assert_eq!(members.as_ref().unwrap().get(), r#"{"_meta":{"k":1.10}}"#);
        for method in [
            "providers/list",
            "providers/set",
            "providers/disable",
            "auth/status",
        ] {
            s.request(who, method, r#"{"a":1.10}"#);
            let Some(Request::AskAgent {
                thread: None,
                request: request @ AgentRequest::Passthrough { params, .. },
                ..
            }) = s.requests.last()
            else {
                panic!("{:?}", s.requests)
            };
            let params = params.as_ref().unwrap().get();
            assert_eq!((request.method(), params), (method, r#"{"a":1.10}"#));
        }
        s.says(
            who,
            r#"{"jsonrpc":"2.0","method":"_vendor/note","params":{"a":1.10}}"#,
        );
        let Some(Request::NotifyAgent { method, params, .. }) = s.requests.last() else {
            panic!("{:?}", s.requests)
        };
        assert_eq!(
            (method.as_str(), params.as_ref().unwrap().get()),
            ("_vendor/note", r#"{"a":1.10}"#)
        );
    });
}

#[test]
fn errors_of_the_agent_are_passed_on_unchanged() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.request(who, "_vendor/do", "{}");
        let error =
            r#"{"code":-32602,"message":"no such value","data":{"b":1.10,"a":12345678901234567890123}}"#;
        s.then(|scene| scene.refuse_with("_vendor/do", error));
        assert!(s.answer_to(who, &id).is_some());
        let text = s.editors[who].texts.last().unwrap();
        assert!(text.ends_with(&format!(r#""error":{error}}}"#)), "{text}");
    });
}

#[test]
fn responses_to_extension_requests_are_passed_on_unchanged() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let id = s.request(who, "_vendor/do", "{}");
        s.then(|scene| scene.answer("_vendor/do", r#"{"b":1.10,"a":12345678901234567890123}"#));
        assert!(s.answer_to(who, &id).is_some());
        let text = s.editors[who].texts.last().unwrap();
        assert!(
            text.ends_with(r#""result":{"b":1.10,"a":12345678901234567890123}}"#),
            "{text}"
        );
    });
}

#[test]
fn too_many_unanswered_requests_are_refused() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.slow = true;
        for _ in 0..Limits::default().requests_in_flight {
            s.request(who, "session/list", "{}");
        }
        assert_eq!(
            s.ask(who, "session/list", "{}")["error"]["code"],
            ErrorCode::Overloaded.rpc()
        );
        s.slow = false;
        s.catch_up();
        assert!(s.ask(who, "session/list", "{}")["result"].is_object());
    });
}

/// The limits of requests are those of every client. An answer or a cancel is no request.
#[test]
fn editors_have_a_rate_of_requests() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.step = Duration::ZERO;
        let mut answered = 0;
        while s.ask(who, "session/list", "{}")["result"].is_object() {
            answered += 1;
            assert!(answered <= Limits::default().requests_per_window, "no limit");
        }
        let refused = s.ask(who, "session/list", "{}");
        assert_eq!(refused["error"]["code"], ErrorCode::RateLimited.rpc());
        s.notify(who, "session/cancel");
        assert!(matches!(s.requests.last(), Some(Request::Interrupt { .. })));
        s.step = Duration::from_secs(Limits::default().request_window_secs);
        assert!(s.ask(who, "session/list", "{}")["result"].is_object());
    });
}

/// The outcomes of an editor's requests are counted as those of every client.
#[test]
fn requests_of_editors_are_counted() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.ask(who, "session/list", "{}");
        s.ask(who, "session/steal", "{}");
        let prompt = s.prompt(who, "go");
        s.ask_session(who, "session/prompt", "");
        let gate = s.editors[who].peer.gate();
        let handled = gate.take_handled().into_iter();
        let handled: Vec<_> = handled.map(|handled| (handled.method, handled.error)).collect();
        let expected = [
            ("initialize", None),
            ("session/new", None),
            ("session/list", None),
            ("unknown", Some(ErrorCode::MethodNotFound)),
            ("session/prompt", Some(ErrorCode::InvalidParams)),
        ];
        assert_eq!(handled, expected);
        assert_eq!(gate.in_progress(), 1, "the prompt");
        s.then(|scene| scene.stops_with("end_turn"));
        assert!(s.answer_to(who, &prompt).is_some());
        let gate = s.editors[who].peer.gate();
        assert_eq!(gate.take_handled()[0].method, "session/prompt");
        assert_eq!(gate.in_progress(), 0);
    });
}
