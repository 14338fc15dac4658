//! Requests of clients to an agent other than turns: modes, options, sessions, sign-in, extensions.

use acpd_model::event::Level;
use acpd_model::{ErrorCode, EventKind, Origin, RawJson, SessionEvent};
use acpd_proto::agent::{AgentEvent, AgentRequest, ConfigValue};
use acpd_proto::projection::Spec;
use acpd_proto::thread::{Command, Input, Reply};
use serde_json::{Value, json};

use crate::support::{Scene, check, wake};

/// The `session/new` result of an agent that has both config options and the older modes.
const OPTIONS: &str = r#"{"sessionId":"s-1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},"models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"One"},{"modelId":"m-2","name":"Two"}]},"configOptions":[{"id":"effort","name":"Effort","type":"select","currentValue":"low","options":[{"value":"low","name":"Low"},{"value":"high","name":"High"}]},{"id":"web","name":"Web","type":"boolean","currentValue":false,"big":18446744073709551616}]}"#;
const HELLO: &str = r#"{"protocolVersion":1,"agentCapabilities":{"auth":{"logout":{}},"sessionCapabilities":{"list":{},"delete":{},"close":{},"fork":{}}},"authMethods":[{"id":"key","name":"Key"},{"id":"web","name":"Web"}]}"#;

fn open(s: &mut Scene) {
    s.create();
    s.answer("initialize", HELLO);
    s.answer("session/new", OPTIONS);
}

fn set(config_id: &str, value: ConfigValue) -> Command {
    Command::AgentRequest(AgentRequest::SetConfigOption {
        config_id: config_id.into(),
        value,
    })
}

fn id(value: &str) -> ConfigValue {
    ConfigValue::Id(value.into())
}

fn offered(s: &Scene) -> Vec<(String, Value)> {
    let list = s.thread.live().options().to_list();
    let read = |option: &RawJson| option.read::<Value>().unwrap();
    list.iter()
        .map(read)
        .map(|mut option| {
            (
                option["id"].as_str().unwrap().to_owned(),
                option["currentValue"].take(),
            )
        })
        .collect()
}

#[test]
fn modes_and_models_of_older_agents_are_offered_as_options() {
    check(|s| {
        open(s);
        let expected = [
            ("effort", json!("low")),
            ("web", json!(false)),
            ("acpd.mode", json!("ask")),
            ("acpd.model", json!("m-1")),
        ];
        assert_eq!(offered(s), expected.map(|(id, value)| (id.to_owned(), value)));
        let own = s.thread.live().options().to_list()[1].get().to_owned();
        assert!(own.contains("18446744073709551616"), "{own}");

        let call = s.send(set("acpd.mode", id("code")));
        assert_eq!(
            s.sent_as("session/set_mode")[0].json["params"],
            json!({ "sessionId": "s-1", "modeId": "code" })
        );
        assert!(
            !s.replies.contains_key(&call),
            "not before the agent has confirmed"
        );
        s.answer("session/set_mode", "{}");
        assert!(s.replies[&call].is_ok());
        s.send(set("acpd.model", id("m-2")));
        s.answer("session/set_model", "{}");
        assert_eq!(
            offered(s)[2..],
            [
                ("acpd.mode".into(), json!("code")),
                ("acpd.model".into(), json!("m-2"))
            ]
        );
        assert!(matches!(s.log.last().unwrap().by, Origin::Client(_)));
    });
}

#[test]
fn a_config_option_of_the_category_mode_replaces_modes() {
    check(|s| {
        s.create();
        s.answer("initialize", HELLO);
        s.answer(
            "session/new",
            r#"{"sessionId":"s-1","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"}]},"configOptions":[{"id":"m","name":"Mode","category":"mode","type":"select","currentValue":"a","options":[]}]}"#,
        );
        assert_eq!(offered(s), [("m".to_owned(), json!("a"))]);
    });
}

#[test]
fn options_are_set_and_the_agents_list_replaces_the_old_one() {
    check(|s| {
        open(s);
        let call = s.send(set("web", ConfigValue::Boolean(true)));
        assert_eq!(
            s.sent_as("session/set_config_option")[0].json["params"],
            json!({ "sessionId": "s-1", "configId": "web", "type": "boolean", "value": true })
        );
        s.answer(
            "session/set_config_option",
            r#"{"configOptions":[{"id":"web","name":"Web","type":"boolean","currentValue":true}]}"#,
        );
        assert!(matches!(s.replies[&call], Ok(Reply::Agent(_))));
        assert_eq!(offered(s)[0], ("web".to_owned(), json!(true)));
        assert_eq!(
            s.params("thread/updated").last().unwrap()["configOptionUpdate"]["configOptions"][0]["id"],
            "web"
        );
    });
}

#[test]
fn a_mode_that_the_agent_did_not_offer_is_refused() {
    check(|s| {
        open(s);
        let sent = s.sent.len();
        for (command, code, word) in [
            (set("speed", id("high")), ErrorCode::InvalidParams, "effort, web"),
            (
                set("acpd.mode", id("yolo")),
                ErrorCode::InvalidParams,
                "ask, code",
            ),
            (
                set("acpd.mode", ConfigValue::Boolean(true)),
                ErrorCode::InvalidParams,
                "boolean",
            ),
            (
                Command::AgentRequest(AgentRequest::Authenticate {
                    method_id: "magic".into(),
                    members: None,
                }),
                ErrorCode::InvalidParams,
                "key, web",
            ),
            (
                Command::AgentRequest(AgentRequest::Extension {
                    method: "session/prompt".into(),
                    params: None,
                }),
                ErrorCode::InvalidParams,
                "underscore",
            ),
            (
                Command::Notify {
                    method: "session/cancel".into(),
                    params: None,
                },
                ErrorCode::InvalidParams,
                "underscore",
            ),
        ] {
            let failure = s.ask(command).unwrap_err();
            assert_eq!(failure.code, code, "{failure}");
            assert!(failure.message.contains(word), "{failure}");
        }
        assert_eq!(s.sent.len(), sent);
    });
    check(|s| {
        s.create();
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        let sent = s.sent.len();
        for (request, name) in [
            (AgentRequest::Logout, "auth.logout"),
            (
                AgentRequest::ListSessions {
                    cwd: None,
                    cursor: None,
                },
                "sessionCapabilities.list",
            ),
            (
                AgentRequest::DeleteSession {
                    session_id: "x".into(),
                },
                "sessionCapabilities.delete",
            ),
            (
                AgentRequest::ForkSession { cursor: None },
                "sessionCapabilities.fork",
            ),
            (AgentRequest::SetMode { mode_id: "x".into() }, "no modes"),
        ] {
            let failure = s.ask(Command::AgentRequest(request)).unwrap_err();
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(failure.message.contains(name), "{failure}");
        }
        assert_eq!(s.sent.len(), sent);
    });
}

#[test]
fn session_and_extension_requests_pass_unchanged() {
    check(|s| {
        open(s);
        let list = s.send(Command::AgentRequest(AgentRequest::ListSessions {
            cwd: Some("/w".into()),
            cursor: None,
        }));
        assert_eq!(
            s.sent_as("session/list")[0].json["params"],
            json!({ "cwd": "/w" })
        );
        s.answer("session/list", r#"{"sessions":[],"x":1.10}"#);
        assert_eq!(
            s.replies[&list],
            Ok(Reply::Agent(
                RawJson::parse(r#"{"sessions":[],"x":1.10}"#).unwrap()
            ))
        );
        s.send(Command::AgentRequest(AgentRequest::ForkSession { cursor: None }));
        assert_eq!(s.sent_as("session/fork")[0].json["params"]["sessionId"], "s-1");
        s.refuse("session/fork", -32603, "no");
        let params = RawJson::parse(r#"{"b":18446744073709551616,"a":1.10}"#).unwrap();
        let method = "_example.com/do".to_owned();
        let call = s.send(Command::AgentRequest(AgentRequest::Extension {
            method,
            params: Some(params.clone()),
        }));
        let sent = s.sent.last().unwrap().text.clone();
        assert!(
            sent.contains(r#""method":"_example.com/do","params":{"b":18446744073709551616,"a":1.10}"#),
            "{sent}"
        );
        s.answer("_example.com/do", "null");
        assert!(s.replies[&call].is_ok());
        let method = "_example.com/tell".to_owned();
        s.ask(Command::Notify {
            method,
            params: Some(params),
        })
        .unwrap();
        assert!(s.sent.last().unwrap().json.get("id").is_none());
    });
}

#[test]
fn names_of_acpd_are_not_sent_to_an_agent() {
    check(|s| {
        open(s);
        let sent = s.sent.len();
        for method in ["_acpd/mark", "_acpd/lease/acquire", "session/prompt"] {
            let (method, params) = (method.to_owned(), None);
            let notification = Command::Notify {
                method: method.clone(),
                params: None,
            };
            let request = Command::AgentRequest(AgentRequest::Extension { method, params });
            for command in [request, notification] {
                let failure = s.ask(command).unwrap_err();
                assert_eq!(failure.code, ErrorCode::InvalidParams, "{failure}");
            }
        }
        assert_eq!(s.sent.len(), sent);
    });
}

#[test]
fn the_next_prompt_waits_for_a_mode_that_was_asked_for() {
    check(|s| {
        open(s);
        s.send(Command::AgentRequest(AgentRequest::SetMode {
            mode_id: "code".into(),
        }));
        s.prompt("go");
        assert!(!s.awaits("session/prompt"));
        s.refuse("session/set_mode", -32603, "not now");
        assert!(s.awaits("session/prompt"), "also when it was refused");
    });
}

#[test]
fn an_unanswered_request_to_the_agent_times_out() {
    check(|s| {
        open(s);
        let slow = s.send(Command::AgentRequest(AgentRequest::ListSessions {
            cwd: None,
            cursor: None,
        }));
        s.later(60_000);
        let failure = s.replies[&slow].clone().unwrap_err();
        assert!(failure.message.contains("session/list within 60 s"), "{failure}");
        let lost = s.send(Command::AgentRequest(AgentRequest::Logout));
        s.exits("exit status 3");
        assert_eq!(s.replies[&lost].clone().unwrap_err().code, ErrorCode::AgentFailed);
        // If no process runs, the request starts one.
        let woken = s.send(Command::AgentRequest(AgentRequest::Logout));
        s.answer("initialize", HELLO);
        s.answer("session/new", OPTIONS);
        s.answer("logout", "{}");
        assert!(s.replies[&woken].is_ok());
    });
}

#[test]
fn an_agent_that_wants_a_sign_in_gets_one() {
    check(|s| {
        let made = s.create();
        s.answer("initialize", HELLO);
        s.refuse("session/new", -32000, "Authentication required");
        let failure = s.replies[&made].clone().unwrap_err();
        assert_eq!(failure.code, ErrorCode::SignInRequired);
        assert_eq!(
            failure.detail.as_deref(),
            Some("Authentication required; ways to sign in: key, web")
        );
        assert_eq!(failure.message, "Sign in to fake to continue");
        assert_eq!(s.notices(), ["signInRequired"]);
        let told = s.log.iter().find_map(|event| match &event.kind {
            EventKind::Session(SessionEvent::NoticeGiven { message, detail, .. }) => {
                Some((message.clone(), detail.clone()))
            }
            _ => None,
        });
        assert_eq!(
            told,
            Some((failure.message, failure.detail)),
            "one sentence, and the ways apart from it"
        );
        assert_eq!(s.stops, 0, "the process that waits for it is kept");

        let call = s.send(Command::AgentRequest(AgentRequest::Authenticate {
            method_id: "web".into(),
            members: None,
        }));
        assert_eq!(
            s.sent_as("authenticate")[0].json["params"],
            json!({ "methodId": "web" })
        );
        s.later(300_000);
        assert!(!s.replies.contains_key(&call), "a person needs time");
        s.answer("authenticate", "{}");
        assert!(s.replies[&call].is_ok());
        s.answer("session/new", OPTIONS);
        s.prompt("hello");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_sign_in_can_be_given_up() {
    check(|s| {
        let none = s.ask(Command::CancelSignIn).map(drop);
        s.create();
        s.answer("initialize", HELLO);
        s.refuse("session/new", -32000, "Authentication required");
        let early = s.ask(Command::CancelSignIn).map(drop);
        for refused in [none, early] {
            assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
        }
        let sign_in = || {
            Command::AgentRequest(AgentRequest::Authenticate {
                method_id: "web".into(),
                members: None,
            })
        };
        let call = s.send(sign_in());
        assert_eq!(s.ask(Command::CancelSignIn), Ok(Reply::Done));
        let failure = s.replies[&call].clone().unwrap_err();
        assert_eq!(failure.message, "the sign-in was cancelled");
        assert_eq!(s.stops, 1, "ACP cannot cancel it");
        s.exits("it was stopped");
        // The next sign-in has a process of its own.
        let call = s.send(sign_in());
        s.answer("initialize", HELLO);
        s.refuse("session/new", -32000, "Authentication required");
        s.answer("authenticate", "{}");
        assert!(s.replies[&call].is_ok());
    });
}

#[test]
fn sign_in_output_is_read_and_not_recorded() {
    check(|s| {
        s.create();
        s.answer("initialize", HELLO);
        s.refuse("session/new", -32000, "Authentication required");
        let sign_in = || {
            Command::AgentRequest(AgentRequest::Authenticate {
                method_id: "web".into(),
                members: None,
            })
        };
        let read = |s: &mut Scene| match s.ask(Command::ReadSignIn) {
            Ok(Reply::SignIn { in_progress, lines }) => (in_progress, lines),
            other => panic!("{other:?}"),
        };
        assert_eq!(read(s), (false, Vec::new()));
        s.send(sign_in());
        let line = "open https://a.example and enter ABCD-EFGH".to_owned();
        s.handle(Input::Agent(AgentEvent::SignInPrinted(line.clone())));
        assert_eq!(read(s), (true, vec![line]));
        s.refuse("authenticate", -32000, "the code has expired");
        assert!(!read(s).0);
        // A new sign-in begins with new lines.
        s.send(sign_in());
        assert_eq!(read(s), (true, Vec::new()));
        assert_eq!(s.notices(), ["signInRequired"]);
        assert!(!serde_json::to_string(&s.log).unwrap().contains("ABCD-EFGH"));
    });
}

#[test]
fn a_sign_in_that_waits_for_the_agent_can_be_cancelled() {
    check(|s| {
        s.create();
        let call = s.send(Command::AgentRequest(AgentRequest::Authenticate {
            method_id: "web".into(),
            members: None,
        }));
        assert_eq!(s.ask(Command::CancelSignIn), Ok(Reply::Done));
        assert!(s.replies[&call].is_err());
        assert_eq!(s.stops, 0, "the agent has nothing to do with it");
        s.answer("initialize", HELLO);
        s.answer("session/new", OPTIONS);
        s.prompt("hello");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_turn_without_a_sign_in_fails_and_the_next_one_tries_another_process() {
    check(|s| {
        s.create();
        let turn = s.prompt("hello");
        s.answer("initialize", HELLO);
        s.refuse("session/new", -32000, "Authentication required");
        assert!(s.settled_error(turn).contains("Sign in to fake to continue"));
        s.prompt("again");
        assert_eq!(s.stops, 1, "somebody may have signed in elsewhere");
        s.exits("exit status 0");
        assert_eq!(s.starts.len(), 2);
        s.answer("initialize", HELLO);
        s.answer("session/new", OPTIONS);
        s.stops_with("end_turn");
    });
}

#[test]
fn mcp_servers_with_an_unsupported_transport_are_refused() {
    use acpd_proto::projection::Spec;
    for (server, speaks, ok) in [
        (r#"{"name":"a","command":"/x","args":[],"env":[]}"#, "{}", true),
        (
            r#"{"type":"http","name":"b","url":"http://x","headers":[]}"#,
            "{}",
            false,
        ),
        (
            r#"{"type":"http","name":"b","url":"http://x","headers":[]}"#,
            r#"{"http":true}"#,
            true,
        ),
        (
            r#"{"type":"sse","name":"c","url":"http://x","headers":[]}"#,
            r#"{"http":true}"#,
            false,
        ),
        (
            r#"{"type":"acp","name":"d"}"#,
            r#"{"http":true,"sse":true}"#,
            false,
        ),
    ] {
        check(|s| {
            let made = s.create_as(Spec {
                agent: "fake".into(),
                cwd: "/workspace".into(),
                mcp_servers: vec![RawJson::parse(server).unwrap()],
                ..Spec::default()
            });
            s.answer(
                "initialize",
                &format!(r#"{{"protocolVersion":1,"agentCapabilities":{{"mcpCapabilities":{speaks}}}}}"#),
            );
            assert_eq!(s.awaits("session/new"), ok, "{server}");
            if ok {
                s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            } else {
                let failure = s.replies[&made].clone().unwrap_err();
                assert_eq!(failure.code, ErrorCode::Unsupported);
                assert!(failure.message.contains("mcpCapabilities"), "{failure}");
                s.exits("exit status 0");
            }
        });
    }
}

#[test]
fn a_failed_way_to_reopen_a_session_is_reported() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.exits("exit status 1");
        s.ask(wake()).unwrap();
        s.answer("initialize", crate::support::FULL);
        s.refuse("session/resume", -32601, "Method not found");
        s.answer("session/load", "{}");
        s.later(1000);
        let notice = |event: &acpd_model::Event| match &event.kind {
            EventKind::Session(SessionEvent::NoticeGiven {
                level: Level::Info,
                code,
                message,
                ..
            }) if code == "notReopened" => Some(message.clone()),
            _ => None,
        };
        let notice: Vec<String> = s.log.iter().filter_map(notice).collect();
        assert_eq!(notice.len(), 1);
        assert!(
            notice[0].contains("session/resume: Method not found"),
            "{notice:?}"
        );
    });
}

#[test]
fn signing_in_is_not_cut_off_by_others() {
    check(|s| {
        s.create();
        s.answer("initialize", HELLO);
        s.refuse("session/new", -32000, "Authentication required");
        let method_id = "web".into();
        let call = s.send(Command::AgentRequest(AgentRequest::Authenticate {
            method_id,
            members: None,
        }));
        s.ask(wake()).unwrap();
        assert_eq!(s.stops, 0, "another window was opened");
        s.answer("authenticate", "{}");
        assert!(s.replies[&call].is_ok());
        s.prompt("at once");
        assert_eq!(s.stops, 0);
        s.answer("session/new", OPTIONS);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_request_during_the_exit_of_a_process_waits_for_the_next_one() {
    check(|s| {
        open(s);
        s.ask(Command::Rest).unwrap();
        let mode_id = "code".into();
        let call = s.send(Command::AgentRequest(AgentRequest::SetMode { mode_id }));
        s.exits("exit status 0");
        s.answer("initialize", HELLO);
        s.answer("session/new", OPTIONS);
        s.answer("session/set_mode", "{}");
        assert!(s.replies[&call].is_ok());
    });
}

#[test]
fn a_fork_has_the_workspace_of_its_session() {
    let spec = || Spec {
        agent: "fake".into(),
        cwd: "/workspace".into(),
        additional_directories: vec!["/more".into()],
        ..Spec::default()
    };
    for (declared, directories) in [
        (r#"{"fork":{},"additionalDirectories":{}}"#, json!(["/more"])),
        (r#"{"fork":{}}"#, Value::Null),
    ] {
        check(|s| {
            s.create_as(spec());
            let hello = format!(
                r#"{{"protocolVersion":1,"agentCapabilities":{{"sessionCapabilities":{declared}}}}}"#
            );
            s.answer("initialize", &hello);
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            s.send(Command::AgentRequest(AgentRequest::ForkSession { cursor: None }));
            let params = &s.sent_as("session/fork")[0].json["params"];
            assert_eq!(params["additionalDirectories"], directories);
            s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        });
    }
}

#[test]
fn a_value_that_is_not_offered_is_refused_and_says_which_are() {
    const GROUPED: &str = r#"{"sessionId":"s-1","configOptions":[{"id":"model","name":"M","type":"select","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}]},{"id":"odd","name":"O","type":"slider","currentValue":3},{"id":"bare","name":"B","type":"select","currentValue":"x","options":[]}]}"#;
    check(|s| {
        open(s);
        for (option, value, says) in [
            ("effort", id("huge"), "low, high"),
            ("effort", ConfigValue::Boolean(true), "low, high"),
            ("web", id("true"), "a boolean"),
        ] {
            let call = s.send(set(option, value));
            let failure = s.replies[&call].as_ref().unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidParams);
            assert!(failure.message.contains(says), "{failure}");
        }
        assert!(s.sent_as("session/set_config_option").is_empty());
    });
    check(|s| {
        s.create();
        s.answer("initialize", HELLO);
        s.answer("session/new", GROUPED);
        let call = s.send(set("model", id("c")));
        assert!(s.replies[&call].as_ref().unwrap_err().message.contains("a, b"));
        // The agent validates options that acpd cannot parse.
        for (option, value) in [("model", id("b")), ("odd", id("7")), ("bare", id("y"))] {
            s.send(set(option, value));
            s.answer("session/set_config_option", "{}");
        }
        assert_eq!(s.sent_as("session/set_config_option").len(), 3);
    });
}
