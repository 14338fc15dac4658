//! An agent that speaks version 2 of ACP. The recordings are of the adapters of Claude Code and Codex with a scripted model; lines with
//! `client` are those of their client.

mod paths;

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, ItemEnd, ItemEvent, RawJson, SessionEvent};
use acpd_proto::agent::AcpVersion;
use acpd_proto::projection::SessionChange;
use acpd_proto::thread::Answer;
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check_in, official};

/// The report that the agent is idle.
const IDLE: &str = r#""state":"idle","stopReason":"end_turn""#;

const HELLO: &str = r#"{"protocolVersion":2,"info":{"name":"fake","version":"1"},"capabilities":{"session":{"prompt":{"image":{}},"mcp":{"stdio":{}}}}}"#;

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.acp = AcpVersion::Two;
    scene
}

/// Runs a scenario with an agent of version 2 that has a session, and a first turn.
fn check_turn(scenario: impl FnOnce(&mut Scene)) -> Scene {
    check_in(scene(), |s| {
        s.create();
        s.answer("initialize", HELLO);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("do it");
        scenario(s);
        follows_the_schemas(s);
    })
}

/// The agent answers the open prompt as version 2 does: it is in the conversation.
fn accepts(s: &mut Scene) {
    s.answer("session/prompt", r#"{"messageId":"m-1"}"#);
}

/// The agent has the open prompt, and works at it.
fn works(s: &mut Scene) {
    accepts(s);
    state(s, r#""state":"running""#);
}

fn state(s: &mut Scene, more: &str) {
    s.update(&format!(r#"{{"sessionUpdate":"state_update",{more}}}"#));
}

fn is_running(s: &Scene) -> bool {
    s.thread.live().turn.is_some()
}

/// Checks what the log has of the agent against version 1.
fn follows_the_schemas(s: &Scene) {
    let update = official::part(&official::read("v1.unstable"), "SessionUpdate");
    for raw in s.log.iter().filter_map(|event| event.raw.as_ref()) {
        let raw: Value = raw.read().unwrap();
        if raw["sessionUpdate"].is_string() {
            assert!(update.is_valid(&raw), "{raw}");
        }
    }
}

/// Plays a recording. Each question is answered with yes.
fn play(s: &mut Scene, recording: &str) {
    s.create();
    let mut questions = 0;
    for line in recording.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        if let Some(client) = message.get("client") {
            if let Some(text) = client["params"]["prompt"][0]["text"].as_str() {
                s.prompt(text);
            } else {
                questions += 1;
                s.decide(questions, Answer::Accept { always: false }).unwrap();
            }
        } else if let Some(result) = message.get("result") {
            let method = match message["id"].as_u64().unwrap() {
                0 => "initialize",
                1 => "session/new",
                _ => "session/prompt",
            };
            s.answer(method, &result.to_string());
            if method == "session/new" && s.awaits("session/set_config_option") {
                let mut options = result["configOptions"].clone();
                let sent = s.sent_as("session/set_config_option");
                options[0]["currentValue"] = sent[0].json["params"]["value"].clone();
                let answer = json!({ "configOptions": options });
                s.answer("session/set_config_option", &answer.to_string());
            }
        } else {
            s.says(line);
        }
    }
}

fn completed(s: &Scene) -> Vec<Value> {
    let ends = s.kinds().filter_map(|kind| match kind {
        EventKind::Item(ItemEvent::Completed { end, .. }) => Some(end),
        _ => None,
    });
    ends.filter_map(|end| match end {
        ItemEnd::ToolCall { call, .. } => Some(call.read().unwrap()),
        _ => None,
    })
    .collect()
}

#[test]
fn the_adapter_of_claude_code_works() {
    let s = check_in(scene(), |s| play(s, include_str!("claude.jsonl")));
    follows_the_schemas(&s);
    assert_eq!(s.settled_turns(), [TurnStatus::Completed; 4]);
    let calls = completed(&s);
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert_eq!(calls[0]["rawInput"]["command"], "truncate -s 1 /w/ran.txt");
    assert_eq!(calls[0]["status"], "failed");
    assert_eq!(calls[1]["content"][0]["path"], "/w/made.txt");
    assert_eq!(calls[1]["content"][0]["newText"], "made");
    assert_eq!(calls[1]["content"][0]["oldText"], Value::Null);
}

#[test]
fn the_adapter_of_codex_works() {
    let s = check_in(scene(), |s| play(s, include_str!("codex.jsonl")));
    follows_the_schemas(&s);
    assert_eq!(s.settled_turns(), [TurnStatus::Completed; 4]);
    let calls = completed(&s);
    assert_eq!(
        calls.len(),
        3,
        "two of the agent and one of its subagent: {calls:?}"
    );
    assert_eq!(calls[0]["title"], "truncate -s 1 /w/ran.txt");
    assert_eq!(calls[0]["status"], "completed");
    assert_eq!(calls[1]["content"][0]["newText"], "made\n");
    let commands = s
        .thread
        .live()
        .commands
        .clone()
        .map(|commands| commands.get().to_owned());
    assert!(
        commands.is_some_and(|commands| commands.contains("plan")),
        "the session has them"
    );
}

#[test]
fn the_log_names_the_version() {
    let s = check_turn(|_| {});
    let bound = s.kinds().find_map(|kind| match kind {
        EventKind::Session(SessionEvent::AgentBound { protocol, agent, .. }) => Some((*protocol, agent)),
        _ => None,
    });
    let (protocol, agent) = bound.unwrap();
    let agent: Value = agent.read().unwrap();
    assert_eq!(protocol, Some(2));
    assert_eq!(agent["agentInfo"]["name"], "fake");
    assert_eq!(agent["agentCapabilities"]["promptCapabilities"]["image"], true);
    assert_eq!(agent["agentCapabilities"]["promptCapabilities"]["audio"], false);
}

#[test]
fn a_turn_ends_when_the_agent_is_idle_after_it_has_the_prompt() {
    const ECHO: &str =
        r#"{"sessionUpdate":"user_message","messageId":"m-1","content":[{"type":"text","text":"do it"}]}"#;
    const RUNNING: &str = r#""state":"running""#;
    let orders: [fn(&mut Scene); 3] = [
        |s| {
            s.update(ECHO);
            accepts(s);
            state(s, RUNNING);
        },
        |s| {
            state(s, RUNNING);
            s.update(ECHO);
            accepts(s);
        },
        |s| {
            accepts(s);
            s.update(ECHO);
            state(s, RUNNING);
        },
    ];
    for order in orders {
        let s = check_turn(|s| {
            // The end of earlier work.
            state(s, IDLE);
            order(s);
            assert!(is_running(s));
            s.chunk("done");
            assert!(is_running(s));
            state(s, IDLE);
            assert!(!is_running(s));
            // A repetition.
            state(s, IDLE);
        });
        assert_eq!(s.settled_turns(), [TurnStatus::Completed]);
        assert_eq!(s.said(), ["done"]);
    }
}

#[test]
fn a_repeated_report_that_the_agent_is_idle_ends_no_turn() {
    const AGAIN: &str = r#""state":"idle","background":[]"#;
    let s = check_turn(|s| {
        works(s);
        state(s, r#""state":"idle","stopReason":"end_turn","background":[]"#);
        s.prompt("again");
        state(s, AGAIN);
        accepts(s);
        state(s, AGAIN);
        state(s, r#""state":"running","background":[]"#);
        s.chunk("done");
        assert!(is_running(s));
        state(s, r#""state":"idle","stopReason":"end_turn","background":[]"#);
        assert!(!is_running(s));
    });
    assert_eq!(s.settled_turns(), [TurnStatus::Completed; 2]);
    assert_eq!(s.said(), ["done"]);
}

#[test]
fn an_agent_that_does_not_say_that_it_works_ends_a_turn_that_it_has_answered_or_that_is_cancelled() {
    let s = check_turn(|s| {
        accepts(s);
        s.chunk("done");
        state(s, r#""state":"idle""#);
        s.prompt("again");
        accepts(s);
        s.interrupt();
        state(s, r#""state":"idle""#);
        assert!(!is_running(s));
    });
    assert_eq!(
        s.settled_turns(),
        [TurnStatus::Completed, TurnStatus::Interrupted]
    );
}

#[test]
fn a_prompt_that_is_cancelled_before_the_agent_takes_it_is_interrupted() {
    let s = check_turn(|s| {
        s.interrupt();
        s.refuse("session/prompt", -32800, "Request cancelled");
    });
    assert_eq!(s.settled_turns(), [TurnStatus::Interrupted]);
}

#[test]
fn an_idle_agent_with_an_error_fails_the_turn() {
    let s = check_turn(|s| {
        works(s);
        state(
            s,
            r#""state":"idle","stopReason":"error","error":{"code":-32603,"message":"the model is gone"}"#,
        );
    });
    assert_eq!(s.settled_turns(), [TurnStatus::Failed]);
    let turn = s.log.iter().find_map(|event| event.turn).unwrap();
    assert!(s.settled_error(turn).contains("the model is gone"));
}

#[test]
fn an_agent_of_another_version_is_refused() {
    for (hello, words) in [
        (FULL, "speaks ACP version 1, and acp in its configuration is 2"),
        (
            r#"{"protocolVersion":2,"agentCapabilities":{}}"#,
            "in the form of version 1",
        ),
        (
            r#"{"protocolVersion":2,"info":{"name":"a","version":"1"},"capabilities":{}}"#,
            "declares no sessions",
        ),
    ] {
        let s = check_in(scene(), |s| {
            s.create();
            s.answer("initialize", hello);
        });
        let notices = s.params("thread/notice");
        let message = notices[0]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert!(
            message.contains("remove acp from the agent's configuration"),
            "{message}"
        );
    }
}

#[test]
fn version_2_is_offered_only_if_it_is_configured() {
    for acp in [AcpVersion::Auto, AcpVersion::One] {
        let mut scene = Scene::new();
        scene.acp = acp;
        let s = check_in(scene, Scene::open_session);
        let params = &s.sent_as("initialize")[0].json["params"];
        assert_eq!(params["protocolVersion"], 1);
        assert_eq!(params["capabilities"], Value::Null);
    }
}

#[test]
fn a_session_is_resumed_without_a_replay() {
    check_turn(|s| {
        works(s);
        state(s, r#""state":"idle","stopReason":"end_turn""#);
        s.exits("it broke");
        s.prompt("go on");
        s.answer("initialize", HELLO);
        let params = s.sent_as("session/resume")[0].json["params"].clone();
        assert_eq!(params["replayFrom"], Value::Null);
        state(s, r#""state":"idle""#);
        s.answer("session/resume", "{}");
        assert_eq!(s.sent_as("session/prompt").len(), 2, "nothing more is awaited");
        works(s);
        state(s, r#""state":"idle","stopReason":"end_turn""#);
        assert!(!is_running(s));
    });
}

#[test]
fn a_slash_and_the_name_of_a_skill_invoke_it() {
    const RUNNING: &str = r#""state":"running""#;
    let s = check_turn(|s| {
        works(s);
        state(s, IDLE);
        s.update(
            r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"type":"skill","name":"deploy","description":"d"},{"type":"command","name":"plan","description":"d"}]}"#,
        );
        for (text, sent) in [
            (
                "/deploy to\nstaging",
                json!([{ "type": "skill", "name": "deploy" }, { "type": "text", "text": "to\nstaging" }]),
            ),
            ("/deploy", json!([{ "type": "skill", "name": "deploy" }])),
            ("/plan it", json!([{ "type": "text", "text": "/plan it" }])),
            ("/deployed", json!([{ "type": "text", "text": "/deployed" }])),
            ("/ deploy", json!([{ "type": "text", "text": "/ deploy" }])),
        ] {
            s.prompt(text);
            let prompts = s.sent_as("session/prompt");
            assert_eq!(prompts.last().unwrap().json["params"]["prompt"], sent);
            let turn = prompts.len();
            s.update(&format!(
                r#"{{"sessionUpdate":"user_message","messageId":"u-{turn}","content":{sent}}}"#
            ));
            accepts(s);
            state(s, RUNNING);
            state(s, IDLE);
        }
    });
    assert_eq!(s.settled_turns(), [TurnStatus::Completed; 6]);
    let messages = s.params("item/completed");
    let of_user = messages.iter().filter(|item| item["type"] == "userMessage");
    let texts: Vec<_> = of_user.map(|item| item["text"].as_str().unwrap()).collect();
    let once = [
        "do it",
        "/deploy to\nstaging",
        "/deploy",
        "/plan it",
        "/deployed",
        "/ deploy",
    ];
    assert_eq!(texts, once, "what the agent repeats is not shown again");
}

#[test]
fn an_mcp_server_without_a_path_is_refused_by_its_name() {
    let s = check_in(scene(), |s| {
        let servers = [
            r#"{"name":"files","command":"/bin/files","args":[],"env":[]}"#,
            r#"{"name":"notes","command":"acpd-notes","args":[],"env":[]}"#,
        ];
        s.create_with(SessionChange {
            mcp_servers: Some(servers.map(RawJson::trusted).into()),
            ..SessionChange::default()
        });
        s.answer("initialize", HELLO);
    });
    let message = s.params("thread/notice")[0]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains(r#"the MCP server "notes" has the command "acpd-notes""#),
        "{message}"
    );
    assert_eq!(s.sent_as("session/new").len(), 0);
}

/// A key lasts as long as the agent's session, and several threads may use one session.
#[test]
fn a_prompt_has_no_key_that_a_prompt_of_another_thread_could_have() {
    let s = check_turn(|_| {});
    let params = &s.sent_as("session/prompt")[0].json["params"];
    assert_eq!(params["idempotencyKey"], Value::Null);
}

#[test]
fn a_question_about_a_command_names_it() {
    check_turn(|s| {
        works(s);
        s.calls(
            "7",
            "session/request_permission",
            r#"{"sessionId":"s-1","title":"Run it?","description":"It is needed.","subject":{"type":"command","command":"make","cwd":"/w"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}"#,
        );
        let question = &s.thread.live().requests[&1].event;
        let raw: Value = question.raw.as_ref().unwrap().read().unwrap();
        assert_eq!(raw["toolCall"]["title"], "make");
        assert_eq!(
            raw["toolCall"]["rawInput"],
            json!({ "command": "make", "cwd": "/w" })
        );
        assert_eq!(raw["_meta"]["acpd"]["title"], "Run it?");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        assert_eq!(s.answer_to(&json!(7))["result"]["outcome"]["optionId"], "y");
        state(s, r#""state":"idle","stopReason":"end_turn""#);
    });
}
