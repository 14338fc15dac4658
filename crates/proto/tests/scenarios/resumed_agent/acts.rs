//! Acts of threads and agents, from three random numbers each.

use std::time::Duration;

use acpd_model::RawJson;
use acpd_proto::agent::{AcpVersion, AgentCommand, AgentRequest, ConfigValue, Start};
use acpd_proto::wire::RpcError;
use serde_json::{Value, json};

use super::plan::Player;

/// The kind of the act, and two numbers that vary it.
pub type Act = (u8, u8, u8);

const SESSION: &str = "s-1";

/// Opens the session of an agent that declares some of its capabilities.
pub fn opened(version: AcpVersion, capabilities: u16) -> Player {
    let mut start = Start::new("fake", "/w", Duration::from_mins(1));
    start.acp = version;
    start.additional_directories = vec!["/more".to_owned()];
    start.mcp_servers = vec![RawJson::trusted(
        r#"{"name":"m","command":"/m","args":[],"env":[]}"#,
    )];
    let has = |at: u16| capabilities >> at & 1 == 1;
    let names = [
        "list",
        "close",
        "delete",
        "fork",
        "additionalDirectories",
        "options",
    ];
    let named = names.into_iter().zip(0..).filter(|(_, at)| has(*at));
    let mut session: serde_json::Map<String, Value> =
        named.map(|(name, _)| (name.to_owned(), json!({}))).collect();
    if version == AcpVersion::Two {
        session.insert("mcp".to_owned(), json!({ "stdio": {} }));
    }
    let methods = match version {
        AcpVersion::Two => json!([{ "methodId": "key", "type": "agent", "name": "Key" }]),
        _ => json!([{ "id": "key", "name": "Key" }, { "id": "shell", "name": "Shell", "type": "terminal" }]),
    };
    let mut hello = match version {
        AcpVersion::Two => json!({
            "protocolVersion": 2,
            "info": { "name": "fake", "version": "1" },
            "capabilities": { "session": session, "auth": {} },
        }),
        _ => json!({
            "protocolVersion": 1,
            "agentInfo": { "name": "fake", "version": "1" },
            "agentCapabilities": { "sessionCapabilities": session, "auth": if has(6) { json!({ "logout": {} }) } else { json!({}) } },
            "_meta": { "steering": { "supported": has(7) } },
        }),
    };
    hello["authMethods"] = methods;
    let opened = format!(r#"{{"sessionId":"{SESSION}"}}"#);
    Player::open(start, &hello.to_string(), &opened, version == AcpVersion::Two)
}

fn text(text: &str) -> RawJson {
    json!({ "type": "text", "text": text }).into()
}

/// The thread does something that it does in both versions.
fn thread_acts(player: &mut Player, kind: u8, a: u8, b: u8) {
    match kind {
        0 => {
            let words = ["do it", "/deploy now", "/deploy", "again"];
            player.prompt(vec![text(words[usize::from(a % 4)])]);
        }
        1 => player.cancel(),
        2 => {
            let session = format!("child-{}", a % 2);
            player.command(AgentCommand::CancelSubagent { session });
        }
        3 => player.command(AgentCommand::Notify {
            method: "_vendor/note".to_owned(),
            params: a.is_multiple_of(2).then(|| RawJson::trusted("{\n\"x\":1}")),
        }),
        4 => player.close(),
        5 => player.ask(request(a)),
        _ => {
            let result = if b.is_multiple_of(3) {
                Err(RpcError::new(-32603, "no"))
            } else {
                Ok(json!({ "n": b }).into())
            };
            player.answer(usize::from(a), result);
        }
    }
}

fn request(a: u8) -> AgentRequest {
    let id = format!("o-{}", a % 2);
    match a / 2 % 12 {
        0 => AgentRequest::SetMode { mode_id: id },
        1 => AgentRequest::SetModel { model_id: id },
        2 => AgentRequest::SetConfigOption {
            config_id: id,
            value: ConfigValue::Id("v".to_owned()),
        },
        3 => AgentRequest::ListSessions {
            cwd: None,
            cursor: Some(id),
        },
        4 => AgentRequest::ForkSession { cursor: Some(id) },
        5 => AgentRequest::DeleteSession { session_id: id },
        6 => AgentRequest::CloseSession { session_id: id },
        7 => AgentRequest::Authenticate {
            method_id: ["key", "shell", "none"][usize::from(a % 3)].to_owned(),
            members: None,
        },
        8 => AgentRequest::Logout,
        9 => AgentRequest::SessionOptions {
            cwd: "/w".to_owned(),
            additional_directories: Vec::new(),
            of_session: true,
        },
        10 => AgentRequest::Steer {
            prompt: vec![text(&id)],
        },
        _ => AgentRequest::Extension {
            method: "_vendor/ask".to_owned(),
            params: Some(RawJson::trusted(r#"{"sessionId":"s-1","n":1.10}"#)),
        },
    }
}

/// The agent answers one of its requests, or one that it never received, or time passes.
fn agent_answers(player: &mut Player, a: u8, b: u8) {
    match b % 8 {
        0 => player.reply(usize::from(a), r#""error":{"code":-32603,"message":"no"}"#),
        1 => player.line(
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#,
                5000 + u64::from(a)
            )
            .as_bytes(),
        ),
        2 => player.wait([100, 20_000, 45_000, 700_000][usize::from(a % 4)]),
        _ => player.reply(usize::from(a), r#""result":{"stopReason":"end_turn"}"#),
    }
}

/// The agent sends a request that its client can read, or one that it refuses without the thread.
fn agent_requests(player: &mut Player, a: u8, b: u8) {
    let id = ["7", r#""c""#, "8", "1e2"][usize::from(a % 4)];
    let line = match b % 6 {
        0 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"fs/read_text_file","params":{{"sessionId":"s-1","path":"/w/a"}}}}"#
        ),
        1 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"}},"options":[{{"optionId":"y","name":"Yes","kind":"allow_once"}}]}}}}"#
        ),
        2 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"fs/read_text_file","params":{{"sessionId":"child-0","path":"/w/a"}}}}"#
        ),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"no/such"}}"#),
        // An agent that repeats an id that is open cannot tell its answers apart.
        _ if player.is_open(id) => return,
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}"}}"#, "x".repeat(5000)),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"fs/read_text_file","params":{{"#),
    };
    player.line(line.as_bytes());
}

/// An agent of version 1, or its thread, does something.
pub fn act_in_version_1(player: &mut Player, (kind, a, b): Act, with_halves: bool) {
    let chunk = |text: &str, id: &str| {
        format!(
            r#"{{"sessionUpdate":"agent_message_chunk"{id},"content":{{"type":"text","text":"{text}"}}}}"#
        )
    };
    let halves = [r"a\ud83d", r"\ude00b", r"\ude00\ud83d", r"\ud83d"];
    let ids = ["", r#","messageId":"m""#];
    match kind % 20 {
        kind @ 0..=9 => thread_acts(player, kind, a, b),
        10 | 11 => agent_answers(player, a, b),
        12 | 13 => agent_requests(player, a, b),
        14 if with_halves => {
            let text = chunk(halves[usize::from(a % 4)], ids[usize::from(b % 2)]);
            player.update(SESSION, &text);
        }
        14 | 15 => player.update(SESSION, &chunk("hi é", ids[usize::from(b % 2)])),
        16 => player.update(
            SESSION,
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit"}"#,
        ),
        17 => player.update(&format!("child-{}", a % 2), &chunk("of a subagent", "")),
        18 => player.line(
            [
                &b"\x1b[1mnoise"[..],
                br#"noise {"jsonrpc":"2.0","method":"_vendor/note","params":{}}"#,
                b"\xff\xfe",
                b"[1]",
            ][usize::from(a % 4)],
        ),
        _ => {
            let id = ["7", r#""c""#, "8", "99"][usize::from(a % 4)];
            let withdraw =
                format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#);
            player.line(withdraw.as_bytes());
        }
    }
}

/// An agent of version 2, or its thread, does something.
pub fn act_in_version_2(player: &mut Player, (kind, a, b): Act) {
    match kind % 20 {
        kind @ 0..=7 => thread_acts(player, kind, a, b),
        8 | 9 => agent_answers(player, a, b),
        10 => agent_requests(player, a, b),
        11 => {
            let id = 20 + a % 4;
            let subject = [
                r#"{"type":"tool_call","toolCall":{"toolCallId":"t-0","status":"pending"}}"#,
                r#"{"type":"command","command":"make","terminalId":"e-0"}"#,
                r#"{"type":"_other"}"#,
            ][usize::from(b % 3)];
            let question = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{{"sessionId":"s-1","title":"Run it?","description":"d","subject":{subject},"options":[{{"optionId":"y","name":"Yes","kind":"allow_once"}}]}}}}"#
            );
            player.line(question.as_bytes());
        }
        _ => {
            let session = if a.is_multiple_of(7) { "child-0" } else { SESSION };
            player.update(session, &update_in_version_2(a, b));
        }
    }
}

fn update_in_version_2(a: u8, b: u8) -> String {
    let id = b % 3;
    let texts = ["hi", r"a\ud83d", "/deploy now", &"long ".repeat(300)];
    let text = texts[usize::from(b / 3 % 4)];
    let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
    let kinds = ["user", "agent"];
    let kind = kinds[usize::from(b % 2)];
    let status = ["pending", "in_progress", "completed", "cancelled"][usize::from(b / 4 % 4)];
    match a % 18 {
        0 | 1 => {
            format!(r#"{{"sessionUpdate":"{kind}_message_chunk","messageId":"m-{id}","content":{block}}}"#)
        }
        2 => format!(r#"{{"sessionUpdate":"{kind}_message","messageId":"m-{id}","content":[{block}]}}"#),
        3 => format!(r#"{{"sessionUpdate":"agent_thought_chunk","messageId":"m-{id}","content":{block}}}"#),
        4 => format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"t-{id}","title":"x","status":"{status}"}}"#
        ),
        5 => format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"t-{id}","content":[{{"type":"content","content":{block}}},{{"type":"terminal","terminalId":"e-{id}"}}]}}"#
        ),
        6 => format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"t-{id}","status":null,"content":null}}"#
        ),
        7 | 8 => format!(
            r#"{{"sessionUpdate":"tool_call_content_chunk","toolCallId":"t-{id}","content":{{"type":"content","content":{block}}}}}"#
        ),
        9 => format!(
            r#"{{"sessionUpdate":"terminal_update","terminalId":"e-{id}","output":{{"data":"aGkK"}}}}"#
        ),
        10 => format!(r#"{{"sessionUpdate":"terminal_output_chunk","terminalId":"e-{id}","data":"/w=="}}"#),
        11 => format!(
            r#"{{"sessionUpdate":"terminal_update","terminalId":"e-{id}","exitStatus":{{"exitCode":{id}}}}}"#
        ),
        12 => r#"{"sessionUpdate":"state_update","state":"running","background":[{"id":"b"}]}"#.to_owned(),
        13 | 14 => r#"{"sessionUpdate":"state_update","state":"idle","background":[]}"#.to_owned(),
        15 => format!(
            r#"{{"sessionUpdate":"compaction_update","compactionId":"c-{id}"{}}}"#,
            if b.is_multiple_of(2) {
                r#","status":"completed""#
            } else {
                ""
            }
        ),
        16 => format!(
            r#"{{"sessionUpdate":"available_commands_update","availableCommands":[{{"type":"{}","name":"deploy","description":"d"}}]}}"#,
            if b.is_multiple_of(2) { "skill" } else { "command" }
        ),
        _ => format!(
            r#"{{"sessionUpdate":"cursor_update","cursorId":"c","anchor":{{"type":"agent_message","messageId":"m-{id}","position":"after"}}}}"#
        ),
    }
}
