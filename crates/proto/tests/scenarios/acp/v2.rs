//! Editors of version 2, with agents of version 1. The stage checks each message against the schema of version 2.

use std::collections::BTreeMap;

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, RawJson, RequestId, Role, TurnEvent, TurnId};
use acpd_proto::agent::{AgentRequest, TerminalExit};
use acpd_proto::projection::Live;
use acpd_proto::surface::acp::{ConnectionStart, METHODS_V2, Peer};
use acpd_proto::surface::contract::{Lane, Output, Source, Surface};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::{Change, Command, HostReply, TerminalEvent};
use serde_json::{Value, json};

use super::connection::{connection, deliver, opened, opened_as, request, sent};
use super::resumed::{event, settled};
use super::stage::{NOW, SIMPLE, Stage, play};
use crate::support::{NEW_THREAD, SESSION, gate, thought, tool};

pub const EDITOR: &str = concat!(
    r#"{"protocolVersion":2,"info":{"name":"two","version":"1"},"#,
    r#""capabilities":{"elicitation":{"form":{},"url":{}}}}"#
);

/// Returns an editor of version 2 that has created the session.
pub fn at_work(s: &mut Stage) -> usize {
    s.offers_v2 = true;
    Stage::at_work(EDITOR, s)
}

/// Returns a summary of each message to an editor, from message `from` on, without the cursors.
pub fn told(s: &Stage, who: usize, from: usize) -> Vec<String> {
    let all = s.editors[who].got[from..].iter().map(brief);
    all.filter(|brief| brief != "cursor_update").collect()
}

fn brief(message: &Value) -> String {
    let update = &message["params"]["update"];
    let Some(method) = message["method"].as_str() else {
        return match (&message["result"]["messageId"], &message["error"]["code"]) {
            (Value::String(_), _) => format!("inserted {}", message["id"]),
            (_, Value::Number(code)) => format!("error {code} to {}", message["id"]),
            _ => format!("answer to {}", message["id"]),
        };
    };
    if method != "session/update" {
        return method.to_owned();
    }
    let words = [
        &update["sessionUpdate"],
        &update["state"],
        &update["stopReason"],
        &update["status"],
        &update["content"]["text"],
        &update["content"][0]["text"],
    ];
    let words: Vec<&str> = words.iter().filter_map(|word| word.as_str()).collect();
    words.join(" ")
}

/// Returns the updates of a kind that an editor received.
pub fn updates(s: &Stage, who: usize, kind: &str) -> Vec<Value> {
    let got = s.editors[who].got.iter();
    let updates = got.map(|message| &message["params"]["update"]);
    updates
        .filter(|update| update["sessionUpdate"] == kind)
        .cloned()
        .collect()
}

/// The agent does work of several kinds.
fn work(s: &mut Stage) {
    s.then(|scene| {
        scene.update(&thought("hm"));
        scene.chunk("on it");
        scene.later(20);
        scene.update(&tool(
            "t",
            false,
            r#","title":"ls","kind":"read","status":"in_progress""#,
        ));
        scene.update(&tool("t", true, r#","status":"completed","title":null"#));
        scene.update(
            r#"{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"pending"}]}"#,
        );
        scene.chunk("done");
        scene.stops_with("end_turn");
    });
}

const WORK: [&str; 7] = [
    "agent_thought_chunk hm",
    "agent_message_chunk on it",
    "tool_call_update in_progress",
    "tool_call_update completed",
    "plan_update",
    "agent_message_chunk done",
    "state_update idle end_turn",
];

#[test]
fn the_version_is_the_editors_choice() {
    play(|s| {
        s.offers_v2 = true;
        let two = s.connect(Role::Owner);
        let result = s.ask(two, "initialize", EDITOR)["result"].clone();
        assert_eq!(result["protocolVersion"], 2);
        assert!(
            result["capabilities"]["session"]["prompt"].is_object(),
            "{result}"
        );
        let one = s.connect(Role::Owner);
        let raised = SIMPLE.replace(r#""protocolVersion":1"#, r#""protocolVersion":2"#);
        let result = s.ask(one, "initialize", &raised)["result"].clone();
        assert_eq!(result["protocolVersion"], 1);
        assert!(result["agentCapabilities"].is_object(), "{result}");
        let zero = s.connect(Role::Owner);
        let error = s.ask(zero, "initialize", r#"{"protocolVersion":0}"#)["error"].clone();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["supported"], json!([1, 2]));
        // It may try again.
        assert!(s.ask(zero, "initialize", EDITOR)["result"].is_object());
    });
}

#[test]
fn version_2_is_not_offered_unless_it_is_configured() {
    play(|s| {
        let who = s.connect(Role::Owner);
        assert_eq!(s.ask(who, "initialize", EDITOR)["result"]["protocolVersion"], 1);
    });
}

#[test]
fn methods_of_version_1_do_not_exist_in_version_2() {
    play(|s| {
        let who = at_work(s);
        for method in ["session/load", "session/set_mode", "authenticate", "logout"] {
            let answer = s.ask_session(
                who,
                method,
                r#","cwd":"/workspace","mcpServers":[],"modeId":"m","methodId":"m""#,
            );
            assert_eq!(answer["error"]["code"], -32601, "{method}");
        }
    });
}

/// Returns a connection of version 2, whose requests to the daemon a test answers by hand.
pub fn greeted(start: ConnectionStart) -> Peer {
    let start = ConnectionStart {
        offers_v2: true,
        ..start
    };
    let mut peer = Peer::new("owner".into(), Role::Owner, "c".into(), gate()).starting(start);
    let (call, _) = request(&mut peer, 0, "initialize", EDITOR);
    peer.handle_reply(call, Ok(Reply::Initialized(RawJson::parse("{}").unwrap())));
    sent(&mut peer);
    peer
}

/// Returns such a connection with an open session, and what the editor received when it was opened.
fn with_session(start: ConnectionStart) -> (Peer, Vec<Value>) {
    let mut live = Live::new(NEW_THREAD);
    live.last_seq = 4;
    with_session_in(start, live)
}

/// Returns the same of a thread in this state, of which the editor has all events.
fn with_session_in(start: ConnectionStart, live: Live) -> (Peer, Vec<Value>) {
    let mut peer = greeted(start);
    let params = json!({ "sessionId": NEW_THREAD, "cwd": "/w" }).to_string();
    let (call, _) = request(&mut peer, 1, "session/resume", &params);
    let cursor = live.last_seq;
    peer.handle_reply(call, Ok(opened_as(live, cursor, Vec::new())));
    let told = sent(&mut peer);
    (peer, told)
}

/// Delivers events, and returns what the editor receives.
fn hears(peer: &mut Peer, events: &[Event]) -> Vec<String> {
    let thread = NEW_THREAD.to_string();
    let source = Source::Events {
        thread: &thread,
        events,
    };
    let last = events.last().unwrap().seq;
    deliver(peer, NEW_THREAD, &Peer::encode(Lane::AcpV2, source), last);
    sent(peer).iter().map(brief).collect()
}

/// Returns the start state of a connection that continues another one.
fn continues() -> ConnectionStart {
    ConnectionStart {
        after: BTreeMap::from([(NEW_THREAD, 4)]),
        ..ConnectionStart::default()
    }
}

/// Returns the event that ends a turn which never started.
fn dropped(seq: u64, turn: TurnId) -> Event {
    let mut event = settled(seq, turn);
    if let EventKind::Turn(TurnEvent::Settled {
        status,
        stop_reason,
        started_at,
        ..
    }) = &mut event.kind
    {
        (*status, *stop_reason, *started_at) = (TurnStatus::Interrupted, None, None);
    }
    event
}

#[test]
fn a_connection_that_continues_another_tells_how_a_turn_has_ended_meanwhile() {
    let (mut peer, told) = with_session(continues());
    assert_eq!(told.iter().map(brief).collect::<Vec<_>>(), ["answer to 1"]);
    // The second prompt was cancelled while it was queued.
    assert_eq!(hears(&mut peer, &[dropped(5, TurnId(2))]), [""; 0]);
    assert_eq!(
        hears(&mut peer, &[settled(6, TurnId(1))]),
        ["state_update idle end_turn"]
    );
    // For another connection, the turn never ran.
    let (mut peer, told) = with_session(ConnectionStart::default());
    let told: Vec<_> = told.iter().map(brief).collect();
    assert_eq!(told, ["state_update idle", "answer to 1"]);
    assert_eq!(hears(&mut peer, &[settled(5, TurnId(1))]), [""; 0]);
}

#[test]
fn closing_a_session_stops_a_turn_of_the_editor_that_began_on_an_earlier_connection() {
    for (own, stops) in [(Some(TurnId(1)), true), (Some(TurnId(2)), false), (None, false)] {
        let own = own.map(|turn| (NEW_THREAD, turn));
        let mut live = Live::new(NEW_THREAD);
        live.last_seq = 3;
        let started = TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        };
        live.fold(&event(4, TurnId(1), EventKind::Turn(started)));
        let start = ConnectionStart {
            own: own.into_iter().collect(),
            ..continues()
        };
        let (mut peer, _) = with_session_in(start, live);
        let params = json!({ "sessionId": NEW_THREAD }).to_string();
        let (_, asked) = request(&mut peer, 2, "session/close", &params);
        let interrupted = matches!(
            asked,
            Request::Interrupt {
                turn: Some(TurnId(1)),
                ..
            }
        );
        assert_eq!(interrupted, stops, "{asked:?}");
    }
}

#[test]
fn a_session_that_is_closed_before_it_is_open_leaves_no_request_open() {
    let resume = json!({ "sessionId": NEW_THREAD, "cwd": "/w", "replayFrom": { "type": "start" } });
    let close = json!({ "sessionId": NEW_THREAD });
    let (two, _) = with_session(ConnectionStart::default());
    let one = connection(ConnectionStart::default());
    for (mut peer, method) in [(two, "session/resume"), (one, "session/load")] {
        let (call, _) = request(&mut peer, 5, method, &resume.to_string());
        // Nothing of the history has arrived yet.
        peer.handle_reply(call, Ok(opened(NEW_THREAD, 9, 0, Vec::new())));
        assert_eq!(sent(&mut peer), [Value::Null; 0], "{method}");
        let text = json!({ "jsonrpc": "2.0", "id": 6, "method": "session/close", "params": close });
        peer.handle_message(&text.to_string(), NOW);
        let Some(Output::Send(refused)) = peer.poll_output() else {
            panic!("{method} has no answer");
        };
        let refused: Value = serde_json::from_slice(&refused).unwrap();
        assert_eq!(
            (&refused["id"], refused["error"].is_object()),
            (&json!(5), true),
            "{method}"
        );
    }
}

#[test]
fn each_method_asks_for_what_its_row_says() {
    let params = json!({
        "sessionId": NEW_THREAD, "cwd": "/w", "prompt": [], "configId": "c", "type": "id", "value": "v", "title": "A",
        "terminalId": "term_1", "methodId": "m",
    });
    for method in METHODS_V2.iter().filter(|method| method.name != "initialize") {
        let (mut peer, _) = with_session(ConnectionStart::default());
        let (_, asked) = request(&mut peer, 2, method.name, &params.to_string());
        assert_eq!(asked.kind(), method.kind, "{}", method.name);
    }
}

#[test]
fn a_prompt_is_answered_when_it_is_part_of_the_conversation() {
    play(|s| {
        let who = at_work(s);
        let from = s.count(who);
        let id = s.prompt(who, "do it");
        let inserted = format!("inserted {id}");
        assert_eq!(
            told(s, who, from),
            ["state_update running", "user_message do it", inserted.as_str()]
        );
        let echo = &updates(s, who, "user_message")[0];
        assert_eq!(
            echo["messageId"],
            s.answer_to(who, &id).unwrap()["result"]["messageId"]
        );
        let from = s.count(who);
        work(s);
        assert_eq!(told(s, who, from), WORK);
        let chunks = updates(s, who, "agent_message_chunk");
        assert_ne!(chunks[0]["messageId"], chunks[1]["messageId"], "{chunks:?}");
        let call = updates(s, who, "tool_call_update").pop().unwrap();
        assert!(call.get("title").is_none(), "null would clear it: {call}");
    });
}

#[test]
fn a_queued_prompt_waits_for_its_turn_and_can_be_cancelled() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "first");
        let queued = s.prompt(who, "second");
        let dropped = s.prompt(who, "third");
        assert_eq!(s.answer_to(who, &queued), None);
        s.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{dropped}}}}}"#),
        );
        assert_eq!(s.answer_to(who, &dropped).unwrap()["error"]["code"], -32800);
        let from = s.count(who);
        s.then(|scene| scene.stops_with("end_turn"));
        let inserted = format!("inserted {queued}");
        assert_eq!(
            told(s, who, from),
            [
                "state_update idle end_turn",
                "state_update running",
                "user_message second",
                inserted.as_str()
            ]
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn cancelling_a_session_ends_what_runs_and_what_waits() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "first");
        let queued = s.prompt(who, "second");
        s.notify(who, "session/cancel");
        assert_eq!(s.answer_to(who, &queued).unwrap()["error"]["code"], -32800);
        let from = s.count(who);
        s.then(|scene| scene.stops_with("cancelled"));
        assert_eq!(told(s, who, from), ["state_update idle cancelled"]);
    });
}

#[test]
fn a_turn_that_fails_says_why() {
    play(|s| {
        let who = at_work(s);
        let id = s.prompt(who, "do it");
        s.then(|scene| scene.refuse("session/prompt", -32603, "out of memory"));
        assert!(s.answer_to(who, &id).unwrap()["result"].is_object());
        let last = updates(s, who, "state_update").pop().unwrap();
        assert_eq!(
            (&last["state"], &last["stopReason"]),
            (&json!("idle"), &json!("error"))
        );
        assert_eq!(last["error"]["message"], "out of memory");
    });
}

#[test]
fn prompts_of_others_and_their_state_arrive_as_well() {
    play(|s| {
        let one = Stage::at_work(SIMPLE, s);
        s.offers_v2 = true;
        let two = s.editor(EDITOR);
        s.ask_session(two, "session/resume", r#","cwd":"/workspace""#);
        let from = s.count(two);
        s.prompt(one, "do it");
        work(s);
        let mut expected = vec!["state_update running", "user_message do it"];
        expected.extend(WORK);
        assert_eq!(told(s, two, from), expected);
        let echo = &updates(s, two, "user_message")[0];
        assert_eq!(echo["_meta"]["acpd"]["client"], "simple");
    });
}

#[test]
fn a_session_is_resumed_with_its_history_or_without() {
    play(|s| {
        let one = at_work(s);
        s.prompt(one, "do it");
        work(s);
        let two = s.editor(EDITOR);
        let from = s.count(two);
        let answer = s.ask_session(
            two,
            "session/resume",
            r#","cwd":"/workspace","replayFrom":{"type":"start"}"#,
        );
        assert!(answer["result"]["configOptions"].is_array(), "{answer}");
        let heard = told(s, two, from);
        let end = ["replay_complete", "state_update idle"];
        assert_eq!(heard[heard.len() - 3..heard.len() - 1], end);
        assert!(heard.contains(&"user_message do it".to_owned()), "{heard:?}");
        assert!(
            heard.contains(&"agent_message_chunk done".to_owned()),
            "{heard:?}"
        );
        assert!(!heard.contains(&"state_update running".to_owned()), "{heard:?}");
        // Each message is emptied first, for an editor that has it.
        assert_eq!(updates(s, two, "agent_message").len(), 2);
        let seq = answer["result"]["_meta"]["acpd"]["seq"].clone();
        let from = s.count(two);
        let after = format!(r#","cwd":"/workspace","replayFrom":{{"type":"_acpd/after","seq":{seq}}}"#);
        s.ask_session(two, "session/resume", &after);
        assert_eq!(told(s, two, from)[..2], end);
        let from = s.count(two);
        s.ask_session(two, "session/resume", r#","cwd":"/workspace""#);
        assert_eq!(told(s, two, from)[0], "state_update idle");
        for odd in [r#"{"type":"_theirs"}"#, r#"{"type":"_acpd/after"}"#, "7"] {
            let odd = format!(r#","cwd":"/workspace","replayFrom":{odd}"#);
            let answer = s.ask_session(two, "session/resume", &odd);
            assert_eq!(answer["error"]["code"], -32602, "{odd}");
        }
    });
}

#[test]
fn a_question_has_a_subject_and_stops_the_foreground() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        let from = s.count(who);
        s.then(|scene| scene.asks_permission("5", "t"));
        let heard = told(s, who, from);
        assert_eq!(heard.last().unwrap(), "state_update requires_action", "{heard:?}");
        let asked = s.editors[who].got.iter().rev();
        let asked = asked
            .clone()
            .find(|message| message["method"] == "session/request_permission");
        let params = &asked.unwrap()["params"];
        assert_eq!(params["subject"]["type"], "tool_call");
        assert_eq!(params["subject"]["toolCall"]["toolCallId"], "t");
        assert!(
            params["title"].is_string() && params.get("toolCall").is_none(),
            "{params}"
        );
        let (thread, number) = (s.scene.id, 1);
        let id = RequestId { thread, number };
        let from = s.count(who);
        s.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"outcome":{{"outcome":"selected","optionId":"1"}}}}}}"#),
        );
        assert!(told(s, who, from).contains(&"state_update running".to_owned()));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// Version 2 has other kinds than these four, and version 1 does not. The ids are positions, so that the answers mean the same.
#[test]
fn options_of_other_kinds_reach_editors_of_version_2_alone() {
    play(|s| {
        let two = at_work(s);
        let one = s.editor(SIMPLE);
        s.ask_session(one, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        s.prompt(two, "do it");
        s.then(|scene| {
            let options = r#"[{"optionId":"a","name":"Ask later","kind":"_later"},{"optionId":"b","name":"Yes","kind":"allow_once"}]"#;
            let call = r#"{"toolCallId":"t","title":"rm x"}"#;
            let params = format!(r#"{{"sessionId":"s-1","toolCall":{call},"options":{options}}}"#);
            scene.calls("5", "session/request_permission", &params);
        });
        for (who, has_all) in [(one, false), (two, true)] {
            let asked = s.editors[who].got.iter();
            let asked = asked
                .rev()
                .find(|message| message["method"] == "session/request_permission");
            let options = asked.unwrap()["params"]["options"].as_array().unwrap().clone();
            let has = |id: &str| options.iter().any(|option| option["optionId"] == id);
            assert_eq!((has("1"), has("2")), (has_all, true));
        }
        s.says(
            one,
            &format!(
                r#"{{"jsonrpc":"2.0","id":"{}","result":{{"outcome":{{"outcome":"selected","optionId":"2"}}}}}}"#,
                RequestId { thread: s.scene.id, number: 1 }
            ),
        );
        assert_eq!(s.scene.answer_to(&json!(5))["result"]["outcome"]["optionId"], "b");
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn terminals_are_acpds_and_arrive_as_such() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        s.then(|scene| {
            scene.update(&tool("t", false, r#","title":"make","kind":"execute""#));
            scene.calls(
                "5",
                "terminal/create",
                r#"{"sessionId":"s-1","command":"make","args":["all"]}"#,
            );
            scene.host_replies(Ok(HostReply::Created));
            scene.update(&tool(
                "t",
                true,
                r#","content":[{"type":"terminal","terminalId":"term_1"}]"#,
            ));
        });
        let begun = &updates(s, who, "terminal_update")[0];
        assert_eq!(
            (&begun["terminalId"], &begun["command"]),
            (&json!("term_1"), &json!("make all"))
        );
        let call = updates(s, who, "tool_call_update").pop().unwrap();
        assert_eq!(
            call["content"],
            json!([{ "type": "terminal", "terminalId": "term_1" }])
        );
        let exited = TerminalEvent::Exited {
            exit: TerminalExit {
                code: Some(2),
                signal: None,
            },
            output: "built\n".to_owned(),
            truncated: false,
        };
        s.then(|scene| scene.terminal_says("term_1", exited));
        let ended = updates(s, who, "terminal_update").pop().unwrap();
        assert_eq!(ended["exitStatus"], json!({ "exitCode": 2 }));
        assert_eq!(ended["output"]["data"], "YnVpbHQK");
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// Commands with a skill among them.
const COMMANDS: &str = concat!(
    r#"{"sessionUpdate":"available_commands_update","availableCommands":["#,
    r#"{"name":"init","description":"I"},{"name":"pdf","description":"P","type":"skill"}]}"#
);

#[test]
fn skills_are_for_editors_that_declare_them() {
    let declares = EDITOR.replace(
        r#""elicitation""#,
        r#""session":{"commands":{"skill":{}}},"elicitation""#,
    );
    for (hello, expected) in [
        (EDITOR, json!(["command"])),
        (declares.as_str(), json!(["command", "skill"])),
    ] {
        play(|s| {
            s.offers_v2 = true;
            let who = Stage::at_work(hello, s);
            s.then(|scene| scene.update(COMMANDS));
            let late = s.editor(hello);
            s.ask_session(late, "session/resume", r#","cwd":"/workspace""#);
            for editor in [who, late] {
                let updates = updates(s, editor, "available_commands_update");
                let commands = updates[0]["availableCommands"].as_array().unwrap();
                let types: Vec<_> = commands.iter().map(|command| &command["type"]).collect();
                assert_eq!((updates.len(), json!(types)), (1, expected.clone()), "{hello}");
            }
        });
    }
}

#[test]
fn options_and_names_that_are_gone_are_cleared() {
    play(|s| {
        let who = at_work(s);
        let option = r#"{"id":"m","name":"M","type":"boolean","currentValue":true}"#;
        for list in [option, "", ""] {
            s.then(|scene| {
                scene.update(&format!(
                    r#"{{"sessionUpdate":"config_option_update","configOptions":[{list}]}}"#
                ));
            });
        }
        let lists = updates(s, who, "config_option_update");
        let lengths: Vec<_> = lists
            .iter()
            .map(|update| update["configOptions"].as_array().unwrap().len())
            .collect();
        assert_eq!(lengths, [1, 0]);
        for name in [Some("A".to_owned()), None] {
            s.scene.ask(Command::Change(Change::Rename { name })).unwrap();
            s.pump();
        }
        let titles = updates(s, who, "session_info_update");
        let titles: Vec<_> = titles.iter().map(|update| &update["title"]).collect();
        assert_eq!(titles, [&json!("A"), &Value::Null]);
    });
}

#[test]
fn questions_of_acpd_itself_are_about_no_call() {
    play(|s| {
        let who = at_work(s);
        s.scene
            .ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
            .unwrap();
        s.prompt(who, "do it");
        s.then(|scene| {
            let write = r#"{"sessionId":"s-1","path":"/workspace/f","content":"x"}"#;
            scene.calls("5", "fs/write_text_file", write);
        });
        let params = &asked(s, who, "session/request_permission")["params"];
        assert_eq!(params.get("subject"), None, "{params}");
        assert!(
            params["title"].as_str().unwrap().contains("/workspace/f"),
            "{params}"
        );
        assert!(params["description"].is_string(), "{params}");
        assert_eq!(updates(s, who, "tool_call_update"), [Value::Null; 0]);
    });
}

/// Returns the last request of a method that an editor received.
pub fn asked<'s>(s: &'s Stage, who: usize, method: &str) -> &'s Value {
    let mut got = s.editors[who].got.iter().rev();
    let asked = got.find(|message| message["method"] == method);
    asked.unwrap_or_else(|| panic!("{method} was not asked"))
}

#[test]
fn a_form_is_whole_and_its_answer_reaches_the_agent() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        let form = r#"{"sessionId":"s-1","mode":"form","message":"Which key?"}"#;
        s.then(|scene| scene.calls("5", "elicitation/create", form));
        let form = asked(s, who, "elicitation/create").clone();
        assert_eq!(
            form["params"]["requestedSchema"],
            json!({ "type": "object", "properties": {} })
        );
        s.says(
            who,
            &json!({ "jsonrpc": "2.0", "id": form["id"], "result": { "action": "decline" } }).to_string(),
        );
        let answer = s.scene.sent.iter().rfind(|sent| sent.answers.is_some()).unwrap();
        assert_eq!(answer.json["result"]["action"], "decline");
    });
}

#[test]
fn signing_in_has_the_words_of_version_1_for_the_agent() {
    play(|s| {
        let who = at_work(s);
        s.slow = true;
        s.request(
            who,
            "auth/login",
            r#"{"methodId":"key","type":"agent","_meta":{"k":1}}"#,
        );
        let Some(Request::AskAgent {
            thread: None,
            request: AgentRequest::Authenticate { method_id, members },
            ..
        }) = s.requests.last()
        else {
            panic!("{:?}", s.requests)
        };
        let members = members.as_ref().map(RawJson::get);
        assert_eq!(
            (method_id.as_str(), members),
            ("key", Some(r#"{"_meta":{"k":1}}"#))
        );
    });
}

/// An agent may write any letter of a name as an escape.
#[test]
fn an_agent_cannot_say_what_only_acpd_says() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        let from = s.count(who);
        s.then(|scene| {
            scene.update(r#"{"sessionUpdate":"state\u005fupdate","state":"idle","stopReason":"end_turn"}"#);
            let call = r#"{"toolCallId":"t","title":"rm x","kind":"execute"}"#;
            let options = r#"[{"optionId":"a","name":"Once","kind":"allow_once"}]"#;
            let said = r#""titl\u0065":"Read README","descriptio\u006e":"Reads a file","subjec\u0074":{"type":"none"}"#;
            let params = format!(r#"{{"sessionId":"{SESSION}","toolCall":{call},"options":{options},{said}}}"#);
            scene.calls("5", "session/request_permission", &params);
        });
        assert!(!told(s, who, from).contains(&"state_update idle end_turn".to_owned()));
        let got = &s.editors[who];
        let asked = |text: &&String| text.contains("session/request_permission");
        let text = got.texts.iter().rfind(asked).unwrap();
        for word in ["Read README", "Reads a file", "none"] {
            assert!(!text.contains(word), "{text}");
        }
        s.then(|scene| scene.stops_with("cancelled"));
    });
}

#[test]
fn updates_that_acpd_cannot_read_do_not_reach_the_editor() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        let from = s.count(who);
        s.then(|scene| {
            for invalid in [
                r#"{"sessionUpdate":"notice","severity":"info"}"#,
                r#"{"sessionUpdate":"cursor_update"}"#,
                r#"{"sessionUpdate":"subagent_update","title":"x"}"#,
                r#"{"sessionUpdate":"usage_update","used":"many"}"#,
                r#"{"sessionUpdate":"compaction_summary_chunk"}"#,
                r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p"}}"#,
                r#"{"sessionUpdate":"available_commands_update"}"#,
            ] {
                scene.update(invalid);
            }
            scene.update(r#"{"sessionUpdate":"plan_update","plan":{"type":"_tree","planId":"p"}}"#);
            let block = r#"{"type":"text","text":"x"}"#;
            scene.update(&format!(
                r#"{{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{block}}}"#
            ));
            scene.update(r#"{"sessionUpdate":"_theirs","x":1}"#);
            scene.stops_with("end_turn");
        });
        assert_eq!(
            told(s, who, from),
            [
                "plan_update",
                "compaction_summary_chunk x",
                "_theirs",
                "state_update idle end_turn"
            ]
        );
    });
}
