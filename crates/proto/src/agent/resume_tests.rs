//! Connections that continue from memos, one rule at a time. `tests/scenarios/resumed_agent` holds them against connections without kills.

use std::time::Duration;

use acpd_model::{RawJson, TurnId};
use serde_json::{Value, json};

use super::{
    AcpVersion, AgentCommand, AgentConnection, AgentEvent, AgentRequest, ChunkContent, ConnectionMemo, Start,
    UpdateKind,
};
use crate::time::Now;
use crate::wire::Line;

const SESSION: &str = "0192f0c1-c5d7-7c3e-8a4b-1f2e3d4c5b6a";

/// The answer of Claude Code to `initialize`, without descriptions.
const HELLO: &str = r#"{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"auth":{"logout":{}},"providers":{},"loadSession":true,"sessionCapabilities":{"additionalDirectories":{},"close":{},"delete":{},"fork":{},"list":{},"resume":{}}},"agentInfo":{"name":"@agentclientprotocol/claude-agent-acp","version":"0.101.0"},"authMethods":[{"name":"Log in with Claude","id":"claude-login","type":"terminal","args":["--cli"]}],"_meta":{"steering":{"supported":true}}}"#;
const HELLO_2: &str =
    r#"{"protocolVersion":2,"info":{"name":"fake","version":"1"},"capabilities":{"session":{}}}"#;

fn now(millis: u64) -> Now {
    Now {
        mono: Duration::from_millis(millis),
        wall: 1_700_000_000_000 + i64::try_from(millis).unwrap(),
    }
}

fn start(version: AcpVersion) -> Start {
    let mut start = Start::new("fake", "/w", Duration::from_mins(1));
    start.acp = version;
    start
}

fn says(connection: &mut AgentConnection, line: &str) {
    connection.handle_line(&Line::Whole(line.as_bytes()), now(0));
}

fn answers(connection: &mut AgentConnection, id: u64, result: &str) {
    says(
        connection,
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
    );
}

fn asks(connection: &mut AgentConnection, id: &str) {
    let params = format!(r#"{{"sessionId":"{SESSION}","path":"/w/a"}}"#);
    says(
        connection,
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"fs/read_text_file","params":{params}}}"#),
    );
}

fn updates(connection: &mut AgentConnection, update: &str) {
    says(
        connection,
        &format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":{update}}}}}"#
        ),
    );
}

fn chunk(text: &str) -> String {
    format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#)
}

/// A connection with an open session, whose output was taken.
fn opened(version: AcpVersion) -> AgentConnection {
    let mut connection = AgentConnection::new(start(version), now(0));
    let hello = if version == AcpVersion::Two {
        HELLO_2
    } else {
        HELLO
    };
    answers(&mut connection, 0, hello);
    assert!(!connection.is_resumable(), "the session is not open");
    answers(&mut connection, 1, &format!(r#"{{"sessionId":"{SESSION}"}}"#));
    drain(&mut connection);
    assert!(connection.is_resumable());
    connection
}

fn drain(connection: &mut AgentConnection) -> (Vec<AgentEvent>, String) {
    let writes = String::from_utf8(connection.take_writes()).unwrap();
    (connection.take_events(), writes)
}

fn written(connection: &mut AgentConnection) -> String {
    drain(connection).1
}

fn events(connection: &mut AgentConnection) -> Vec<AgentEvent> {
    drain(connection).0
}

fn encoded(connection: &AgentConnection) -> String {
    serde_json::to_string(&connection.memo(now(0))).unwrap()
}

fn resume(version: AcpVersion, memo: &str, sent: &str) -> AgentConnection {
    let memo: ConnectionMemo = serde_json::from_str(memo).unwrap();
    AgentConnection::resume(start(version), memo, sent.as_bytes(), now(0))
}

fn prompt(turn: u32, text: &str) -> AgentCommand {
    AgentCommand::Prompt {
        turn: TurnId(turn),
        prompt: vec![json!({ "type": "text", "text": text }).into()],
        meta: None,
    }
}

fn set_mode(ask: u64) -> AgentCommand {
    let mode_id = "plan".to_owned();
    AgentCommand::Request {
        ask,
        request: AgentRequest::SetMode { mode_id },
    }
}

fn answer(call: u64, text: &str) -> AgentCommand {
    let result = Ok(RawJson::trusted(&format!(r#"{{"content":"{text}"}}"#)));
    AgentCommand::Answer { call, result }
}

fn gives(connection: &mut AgentConnection, command: AgentCommand) -> String {
    connection.handle_command(command, now(0));
    written(connection)
}

fn text(event: &AgentEvent) -> Option<&str> {
    let AgentEvent::Update(update) = event else {
        return None;
    };
    match &update.kind {
        UpdateKind::Chunk(chunk) => match &chunk.content {
            ChunkContent::Text(text) => Some(text),
            ChunkContent::Block(_) => None,
        },
        _ => None,
    }
}

fn texts(events: &[AgentEvent]) -> Vec<&str> {
    events.iter().filter_map(text).collect()
}

#[test]
fn the_memo_of_a_streaming_agent_is_small_and_does_not_change() {
    let mut connection = opened(AcpVersion::One);
    gives(&mut connection, prompt(1, "do it"));
    let before = encoded(&connection);
    for _ in 0..100 {
        updates(&mut connection, &chunk("some words"));
    }
    events(&mut connection);
    assert_eq!(encoded(&connection), before, "nothing is stored anew");
    assert!(before.len() <= 300, "{} bytes: {before}", before.len());
    // With a question to the user, and the half of a character.
    asks(&mut connection, "17");
    updates(&mut connection, &chunk(r"\ud83d"));
    events(&mut connection);
    let with_call = encoded(&connection);
    assert!(with_call.len() <= 400, "{} bytes: {with_call}", with_call.len());
}

/// Daemons of the same version of the memo read what earlier ones have written. Change this only with that version.
#[test]
fn a_memo_has_the_json_of_its_version() {
    let mut connection = opened(AcpVersion::One);
    gives(&mut connection, prompt(1, "do it"));
    gives(&mut connection, set_mode(4));
    asks(&mut connection, r#""c""#);
    updates(&mut connection, &chunk(r"\ud83d"));
    says(&mut connection, "noise");
    events(&mut connection);
    let expected = json!({
        "session": SESSION,
        "nextId": 4,
        "pending": [
            [2, { "prompt": "turn_1" }, null],
            [3, { "ask": { "ask": 4, "method": "session/set_mode" } }, 1_700_000_060_000_i64],
        ],
        "nextCall": 1,
        "calls": [[0, "c"]],
        "capabilities": 0b1_1011_1111,
        "authMethods": [["claude-login", true]],
        "half": { "unit": 0xd83d, "role": "agentMessage" },
    });
    let memo: Value = serde_json::from_str(&encoded(&connection)).unwrap();
    assert_eq!(memo, expected);

    let mut connection = opened(AcpVersion::Two);
    gives(&mut connection, prompt(1, "do it"));
    for update in [
        r#"{"sessionUpdate":"user_message_chunk","messageId":"u","content":{"type":"text","text":"a"}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"x","content":[{"type":"terminal","terminalId":"e"}]}"#,
        r#"{"sessionUpdate":"terminal_output_chunk","terminalId":"e","data":"aGkK"}"#,
        r#"{"sessionUpdate":"state_update","state":"running","background":[{}]}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"k"}"#,
        r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"type":"skill","name":"deploy"}]}"#,
    ] {
        updates(&mut connection, update);
    }
    events(&mut connection);
    let memo: Value = serde_json::from_str(&encoded(&connection)).unwrap();
    let mut v2 = memo["v2"].clone();
    let allowance = v2["allowance"].take();
    assert!(allowance.is_u64());
    let expected = json!({
        "calls": [[SESSION, [["t", { "shown": v2["calls"][0][1][0][1]["shown"], "content": [{ "type": "terminal", "terminalId": "e" }] }]]]],
        "terminals": [[SESSION, [["e", { "output": "aGkK", "call": "t", "is_announced": true }]]]],
        "messages": [[SESSION, [[["user", "u"], { "content": v2["messages"][0][1][0][1]["content"], "has_content": true }]]]],
        "background": [SESSION],
        "compactions": [[SESSION, "k", "\"in_progress\""]],
        "allowance": null,
        "skills": { "known": ["deploy"] },
        "prompts": { "prompt": { "turn": "turn_1", "is_inserted": true }, "is_working": true },
    });
    assert_eq!(v2, expected);
}

#[test]
fn a_character_that_is_cut_by_a_kill_is_whole() {
    let mut connection = opened(AcpVersion::One);
    updates(&mut connection, &chunk(r"a\ud83d"));
    assert_eq!(texts(&events(&mut connection)), ["a"]);
    let mut next = resume(AcpVersion::One, &encoded(&connection), "");
    updates(&mut next, &chunk(r"\ude00b"));
    assert_eq!(texts(&events(&mut next)), ["😀b"]);
}

#[test]
fn a_request_is_sent_once_whatever_the_kill_has_left_of_it() {
    for command in [prompt(1, "do it"), set_mode(4), AgentCommand::Close] {
        // In the memo.
        let mut connection = opened(AcpVersion::One);
        let before = encoded(&connection);
        let line = gives(&mut connection, command.clone());
        let mut next = resume(AcpVersion::One, &encoded(&connection), "");
        assert_eq!(gives(&mut next, command.clone()), "");
        assert_eq!(encoded(&next), encoded(&connection));
        // In the journal.
        let mut next = resume(AcpVersion::One, &before, &line);
        assert_eq!(gives(&mut next, command.clone()), "");
        assert_eq!(encoded(&next), encoded(&connection));
        // Half of it in the journal, or nothing.
        for sent in ["", line.trim_end(), &line[..line.len() / 2]] {
            let mut next = resume(AcpVersion::One, &before, sent);
            assert_eq!(gives(&mut next, command.clone()), line);
        }
    }
}

#[test]
fn requests_with_one_text_are_as_many_as_before() {
    let mut connection = opened(AcpVersion::One);
    let before = encoded(&connection);
    let first = gives(&mut connection, set_mode(1));
    gives(&mut connection, set_mode(2));
    let mut next = resume(AcpVersion::One, &before, &first);
    assert_eq!(gives(&mut next, set_mode(1)), "");
    let second = gives(&mut next, set_mode(2));
    assert!(second.contains(r#""id":3"#), "{second}");
    for (id, ask) in [(3, 2), (2, 1)] {
        answers(&mut next, id, "{}");
        let [AgentEvent::Answered { ask: answered, .. }] = events(&mut next)[..] else {
            panic!("one answer");
        };
        assert_eq!(answered, ask);
    }
}

#[test]
fn an_answer_and_a_notification_are_sent_once() {
    let mut connection = opened(AcpVersion::One);
    asks(&mut connection, "7");
    asks(&mut connection, "[1,\t{\"a\":2}]");
    events(&mut connection);
    let before = encoded(&connection);
    let first = gives(&mut connection, answer(0, "x"));
    let odd = gives(&mut connection, answer(1, "x"));
    let cancel = gives(&mut connection, AgentCommand::Cancel);
    let mut next = resume(
        AcpVersion::One,
        &before,
        &[first, odd.clone(), cancel.clone()].concat(),
    );
    // The file may have changed.
    assert_eq!(gives(&mut next, answer(0, "y")), "");
    assert_eq!(gives(&mut next, answer(1, "y")), "");
    assert_eq!(gives(&mut next, AgentCommand::Cancel), "");
    assert_eq!(
        gives(&mut next, AgentCommand::Cancel),
        cancel,
        "the second one is new"
    );
    let mut next = resume(AcpVersion::One, &before, "");
    assert_eq!(gives(&mut next, answer(1, "x")), odd);
}

#[test]
fn an_answer_that_no_command_claims_is_dropped() {
    let mut connection = opened(AcpVersion::One);
    let before = encoded(&connection);
    let sent = gives(&mut connection, set_mode(1));
    let mut next = resume(AcpVersion::One, &before, &sent);
    answers(&mut next, 2, "{}");
    assert_eq!(events(&mut next), []);
    assert!(!next.is_resumable(), "a command may still claim the answer");
    // After the time for claims, nothing is kept, and the same command is a new one.
    next.handle_line(&Line::Whole(b"noise"), now(60_000));
    events(&mut next);
    assert!(next.is_resumable());
    next.handle_command(set_mode(1), now(60_000));
    assert!(written(&mut next).contains(r#""id":3"#));
}

#[test]
fn a_new_turn_is_not_taken_for_an_old_one() {
    let mut connection = opened(AcpVersion::One);
    gives(&mut connection, prompt(1, "do it"));
    let before = encoded(&connection);
    let sent = gives(&mut connection, AgentCommand::Cancel);
    let mut next = resume(AcpVersion::One, &before, &sent);
    answers(&mut next, 2, r#"{"stopReason":"cancelled"}"#);
    assert!(events(&mut next)[0].ends_prompt());
    // No command has claimed the cancellation of the first turn.
    assert!(gives(&mut next, prompt(2, "do it")).contains(r#""id":3"#));
    assert_eq!(gives(&mut next, AgentCommand::Cancel), sent);
}

#[test]
fn a_turn_of_version_2_that_has_ended_takes_no_cancellation() {
    let mut connection = opened(AcpVersion::Two);
    gives(&mut connection, prompt(1, "do it"));
    let cancel = gives(&mut connection, AgentCommand::Cancel);
    // The turn ends without an answer to its prompt.
    updates(
        &mut connection,
        r#"{"sessionUpdate":"user_message","messageId":"u","content":[{"type":"text","text":"do it"}]}"#,
    );
    updates(
        &mut connection,
        r#"{"sessionUpdate":"state_update","state":"idle"}"#,
    );
    assert!(events(&mut connection).iter().any(AgentEvent::ends_prompt));
    gives(&mut connection, prompt(2, "again"));
    let mut next = resume(AcpVersion::Two, &encoded(&connection), "");
    assert_eq!(gives(&mut next, prompt(2, "again")), "");
    assert_eq!(gives(&mut next, AgentCommand::Cancel), cancel);
    // The same for a turn that has not ended.
    let mut last = resume(AcpVersion::Two, &encoded(&next), "");
    assert_eq!(gives(&mut last, prompt(2, "again")), "");
    assert_eq!(gives(&mut last, AgentCommand::Cancel), "");
}

#[test]
fn a_command_that_comes_after_its_answer_gets_it() {
    let mut connection = opened(AcpVersion::One);
    let before = encoded(&connection);
    let sent = gives(&mut connection, prompt(1, "do it"));
    let mut next = resume(AcpVersion::One, &before, &sent);
    answers(&mut next, 2, r#"{"stopReason":"end_turn"}"#);
    assert_eq!(events(&mut next), []);
    next.handle_command(prompt(1, "do it"), now(0));
    let (events, writes) = drain(&mut next);
    assert!(matches!(
        events[..],
        [AgentEvent::PromptEnded { turn: TurnId(1), .. }]
    ));
    assert_eq!(writes, "");
}

#[test]
fn a_call_that_the_connection_refuses_itself_is_refused_once() {
    let lines = [
        r#"{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{"#.to_owned(),
        format!(
            r#"{{"jsonrpc":"2.0","id":"l","method":"{}"}}"#,
            "x".repeat(1 << 20)
        ),
    ];
    let mut connection = opened(AcpVersion::One);
    let before = encoded(&connection);
    for line in &lines {
        says(&mut connection, line);
    }
    let (expected, sent) = drain(&mut connection);
    assert_eq!(sent.lines().count(), 2);
    let mut next = resume(AcpVersion::One, &before, &sent);
    says(&mut next, &lines[0]);
    let (mut events, writes) = drain(&mut next);
    assert_eq!(writes, "");
    // A second kill, whose journal begins behind the first one.
    let mut last = resume(AcpVersion::One, &encoded(&next), "");
    says(&mut last, &lines[1]);
    let (rest, writes) = drain(&mut last);
    events.extend(rest);
    assert_eq!(writes, "");
    assert_eq!(events, expected);
    says(&mut last, &lines[1]);
    assert_eq!(written(&mut last).lines().count(), 1, "the next one is new");
}

#[test]
fn an_agent_that_uses_an_id_again_gets_as_many_answers_as_requests() {
    for sent in 0..=3 {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut connection = opened(AcpVersion::One);
            for _ in 0..3 {
                asks(&mut connection, "7");
            }
            events(&mut connection);
            let before = encoded(&connection);
            let mut journal = String::new();
            for call in order.into_iter().take(sent) {
                journal += &gives(&mut connection, answer(call, "x"));
            }
            let mut next = resume(AcpVersion::One, &before, &journal);
            let later: usize = order
                .iter()
                .map(|call| gives(&mut next, answer(*call, "x")).lines().count())
                .sum();
            assert_eq!(sent + later, 3, "{sent} were sent");
        }
    }
}

#[test]
fn an_id_that_is_used_again_after_its_answer_is_another_request() {
    let mut connection = opened(AcpVersion::One);
    asks(&mut connection, "7");
    events(&mut connection);
    let before = encoded(&connection);
    let sent = gives(&mut connection, answer(0, "x"));
    let mut next = resume(AcpVersion::One, &before, &sent);
    asks(&mut next, "7");
    assert!(matches!(
        events(&mut next)[..],
        [AgentEvent::CallbackReceived { call: 1, .. }]
    ));
    assert_eq!(gives(&mut next, answer(0, "y")), "", "that one was answered");
    assert!(gives(&mut next, answer(1, "z")).contains(r#""content":"z""#));
}

#[test]
fn an_answer_to_a_request_that_was_never_sent_settles_nothing() {
    let mut connection = opened(AcpVersion::One);
    let before = encoded(&connection);
    let sent = gives(&mut connection, prompt(1, "do it"));
    let mut next = resume(AcpVersion::One, &before, &sent);
    gives(&mut next, prompt(1, "do it"));
    for id in ["3", "0", "1", "18446744073709551615", "\"x\"", "null", "-1"] {
        says(
            &mut next,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        );
        assert!(
            matches!(events(&mut next)[..], [AgentEvent::Malformed { .. }]),
            "{id}"
        );
    }
    answers(&mut next, 2, r#"{"stopReason":"end_turn"}"#);
    answers(&mut next, 2, r#"{"stopReason":"end_turn"}"#);
    assert!(matches!(
        events(&mut next)[..],
        [AgentEvent::PromptEnded { .. }, AgentEvent::Malformed { .. }]
    ));
}

#[test]
fn the_requests_of_an_agent_cannot_make_a_memo_large() {
    let mut connection = opened(AcpVersion::One);
    asks(&mut connection, &format!(r#""{}""#, "x".repeat(1 << 20)));
    assert!(matches!(
        events(&mut connection)[..],
        [AgentEvent::Malformed { .. }]
    ));
    assert_eq!(encoded(&connection), encoded(&opened(AcpVersion::One)));
    let id = |number: u64| number.to_string();
    for number in 0..10_000 {
        asks(&mut connection, &id(number));
        events(&mut connection);
        if number % 500 == 0 && connection.is_resumable() {
            assert!(encoded(&connection).len() <= 256 << 10);
        }
        if number == 300 {
            // More than a thread admits.
            assert!(connection.is_resumable());
        }
    }
    assert!(!connection.is_resumable(), "until most are answered");
    for call in 0..9_800 {
        gives(&mut connection, answer(call, "x"));
    }
    assert!(connection.is_resumable());
    assert!(encoded(&connection).len() < 8 << 10);
}

#[test]
fn the_content_of_version_2_cannot_make_a_memo_large() {
    let mut connection = opened(AcpVersion::Two);
    let text = "x".repeat(100 << 10);
    let call = |id: u64, status: &str| {
        format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"{status}","content":[{{"type":"content","content":{{"type":"text","text":"{text}"}}}}]}}"#
        )
    };
    let is_small = |connection: &AgentConnection| {
        assert!(!connection.is_resumable() || encoded(connection).len() <= 260 << 10);
        connection.is_resumable()
    };
    let mut states = Vec::new();
    for id in 0..3 {
        updates(&mut connection, &call(id, "in_progress"));
        events(&mut connection);
        states.push(is_small(&connection));
    }
    assert_eq!(states, [true, true, false], "three calls run");
    for id in 0..100 {
        updates(&mut connection, &call(id, "completed"));
        events(&mut connection);
        assert!(is_small(&connection) || id < 2);
    }
    // So many calls that a memo does not have all of them, and terminals with long output.
    let data = "AAAA".repeat(10 << 10);
    for id in 0..4000 {
        let update =
            format!(r#"{{"sessionUpdate":"tool_call_update","toolCallId":"call-{id}","status":"failed"}}"#);
        updates(&mut connection, &update);
    }
    for id in 0..64 {
        let terminal = format!(r#"{{"type":"terminal","terminalId":"e-{id}"}}"#);
        for update in [
            format!(
                r#"{{"sessionUpdate":"tool_call_update","toolCallId":"t-{id}","status":"completed","content":[{terminal}]}}"#
            ),
            format!(
                r#"{{"sessionUpdate":"terminal_update","terminalId":"e-{id}","output":{{"data":"{data}"}},"exitStatus":{{"exitCode":0}}}}"#
            ),
        ] {
            updates(&mut connection, &update);
        }
        events(&mut connection);
    }
    assert!(is_small(&connection), "nothing runs");
    let memo = encoded(&connection);
    let next = resume(AcpVersion::Two, &memo, "");
    assert_eq!(encoded(&next), memo);
    assert!(memo.contains("call-3999") && !memo.contains("call-2000\""));
}

#[test]
fn a_skill_that_was_learned_between_the_kills_is_no_second_prompt() {
    let skills = r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"type":"skill","name":"deploy"}]}"#;
    let none = r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#;
    for (first, second, is_skill) in [(none, skills, true), (skills, none, false)] {
        let mut connection = opened(AcpVersion::Two);
        updates(&mut connection, first);
        events(&mut connection);
        let before = encoded(&connection);
        updates(&mut connection, second);
        events(&mut connection);
        let sent = gives(&mut connection, prompt(1, "/deploy now"));
        assert_eq!(sent.contains(r#""type":"skill""#), is_skill);
        let mut next = resume(AcpVersion::Two, &before, &sent);
        assert_eq!(gives(&mut next, prompt(1, "/deploy now")), "");
        updates(&mut next, second);
        events(&mut next);
        assert_eq!(encoded(&next), encoded(&connection));
    }
}

#[test]
fn a_turn_of_version_2_continues_after_its_prompt_was_answered() {
    let mut connection = opened(AcpVersion::Two);
    gives(&mut connection, prompt(1, "do it"));
    answers(&mut connection, 2, r#"{"messageId":"u"}"#);
    updates(
        &mut connection,
        r#"{"sessionUpdate":"state_update","state":"running"}"#,
    );
    events(&mut connection);
    let before = encoded(&connection);
    let sent = gives(&mut connection, AgentCommand::Cancel);
    for gives_cancel in [true, false] {
        let mut next = resume(AcpVersion::Two, &before, &sent);
        assert_eq!(
            gives(&mut next, prompt(1, "do it")),
            "",
            "its turn has no end yet"
        );
        if gives_cancel {
            assert_eq!(gives(&mut next, AgentCommand::Cancel), "");
        }
        updates(&mut next, r#"{"sessionUpdate":"state_update","state":"idle"}"#);
        let [
            AgentEvent::PromptEnded {
                result: Ok(result), ..
            },
        ] = &events(&mut next)[..]
        else {
            panic!("the turn ends");
        };
        assert_eq!(result.get(), r#"{"stopReason":"cancelled"}"#);
    }
}

#[test]
fn a_prompt_of_version_2_and_its_cancellation_are_found_in_the_journal() {
    let mut connection = opened(AcpVersion::Two);
    let before = encoded(&connection);
    let sent = gives(&mut connection, prompt(1, "do it")) + &gives(&mut connection, AgentCommand::Cancel);
    let mut next = resume(AcpVersion::Two, &before, &sent);
    assert_eq!(gives(&mut next, prompt(1, "do it")), "");
    assert_eq!(encoded(&next), encoded(&connection));
}

#[test]
fn a_request_keeps_its_time_over_the_kill() {
    let mut connection = opened(AcpVersion::One);
    connection.handle_command(set_mode(1), now(10_000));
    written(&mut connection);
    let memo = |text: &str| serde_json::from_str::<ConnectionMemo>(text).unwrap();
    let text = serde_json::to_string(&connection.memo(now(30_000))).unwrap();
    // The clock of the next process begins anew.
    let at = |mono: u64, wall: u64| Now {
        mono: Duration::from_secs(mono),
        wall: now(wall * 1000).wall,
    };
    let mut next = AgentConnection::resume(start(AcpVersion::One), memo(&text), b"", at(1, 50));
    assert_eq!(next.poll_timeout(), Some(Duration::from_secs(21)));
    next.handle_timeout(at(21, 70));
    assert!(matches!(
        events(&mut next)[..],
        [AgentEvent::Answered { result: Err(_), .. }]
    ));
    // While no daemon ran, the agent may have answered.
    let mut next = AgentConnection::resume(start(AcpVersion::One), memo(&text), b"", at(1, 9_000));
    next.handle_timeout(at(1, 9_000));
    assert_eq!(events(&mut next), []);
    next.handle_line(
        &Line::Whole(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
        at(2, 9_001),
    );
    assert!(matches!(
        events(&mut next)[..],
        [AgentEvent::Answered { result: Ok(_), .. }]
    ));
}

#[test]
fn a_reported_fault_is_not_reported_again() {
    let mut connection = opened(AcpVersion::One);
    let noisy = r#"noise {"jsonrpc":"2.0","method":"_vendor/note"}"#;
    says(&mut connection, noisy);
    assert_eq!(events(&mut connection).len(), 2);
    let mut next = resume(AcpVersion::One, &encoded(&connection), "");
    says(&mut next, noisy);
    assert!(matches!(events(&mut next)[..], [AgentEvent::Notified { .. }]));
    // An agent whose output changes its encoding is not one that cannot start.
    next.handle_line(&Line::Whole(b"{\0\"\0a\0\"\0:\x001\0}\0"), now(0));
    assert!(matches!(events(&mut next)[..], [AgentEvent::Malformed { .. }]));
}

#[test]
fn a_session_of_a_shared_process_is_not_resumable() {
    let mut connection = AgentConnection::with_ids(start(AcpVersion::One), 1 << 32, now(0));
    answers(&mut connection, 1 << 32, HELLO);
    answers(
        &mut connection,
        (1 << 32) + 1,
        &format!(r#"{{"sessionId":"{SESSION}"}}"#),
    );
    drain(&mut connection);
    assert!(!connection.is_resumable());
}

#[test]
fn a_session_that_replays_its_conversation_is_not_resumable_yet() {
    let mut connection = AgentConnection::new(
        Start {
            earlier_session: Some(SESSION.to_owned()),
            ..start(AcpVersion::One)
        },
        now(0),
    );
    answers(&mut connection, 0, HELLO);
    answers(&mut connection, 1, "{}");
    drain(&mut connection);
    assert!(!connection.is_resumable());
    connection.handle_timeout(now(1000));
    assert!(matches!(events(&mut connection)[..], [AgentEvent::Opened(_)]));
    assert!(connection.is_resumable());
    let next = resume(AcpVersion::One, &encoded(&connection), "");
    assert_eq!(encoded(&next), encoded(&connection));
}
