//! Reopened sessions: with the full history, or with new events only.

use acpd_model::{Event, EventKind, Origin, RawJson, SessionEvent, ThreadEvent, ThreadId};
use acpd_proto::surface::acp::{ConnectionStart, Peer, frames};
use acpd_proto::surface::contract::Surface;
use acpd_proto::thread::AccessDenied;
use serde_json::{Value, json};

use super::connection::{connection, deliver, opened, request, sent};
use super::stage::{ABLE, SIMPLE, Stage, play};
use crate::support::{thought, tool, wake};

/// Returns the exact updates that an editor received.
fn updates(s: &Stage, who: usize) -> Vec<String> {
    let updates = s.editors[who].texts.iter();
    updates
        .filter(|text| text.contains(r#""method":"session/update""#))
        .cloned()
        .collect()
}

fn two_turns(s: &mut Stage) {
    s.then(|scene| {
        scene.update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
        for round in ["first", "second"] {
            scene.prompt(round);
            scene.update(&thought("hm"));
            scene.update(&tool(round, false, r#","title":"ls","status":"completed""#));
            for word in ["a ", "b ", "c "] {
                scene.chunk(word);
            }
            scene.stops_with("end_turn");
        }
    });
}

#[test]
fn a_loaded_session_equals_the_live_one() {
    play(|s| {
        let watching = Stage::at_work(SIMPLE, s);
        two_turns(s);
        let late = s.editor(SIMPLE);
        let answer = s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert!(answer["result"].is_object());
        assert_eq!(updates(s, late), updates(s, watching));
        assert_eq!(
            s.heard(late).last().unwrap(),
            &format!("answer to {}", answer["id"]),
            "all of it, then the answer"
        );
        s.then(|scene| {
            scene.prompt("third");
            scene.chunk("more");
            scene.stops_with("end_turn");
        });
        assert_eq!(updates(s, late), updates(s, watching), "no gap, no repeat");
        assert_eq!(
            s.heard(late)[s.count(late) - 2..],
            ["user_message_chunk third", "agent_message_chunk more"]
        );
    });
}

#[test]
fn an_editors_own_words_come_back_when_it_loads() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.prompt(who, "mine");
        s.then(|scene| scene.stops_with("end_turn"));
        assert!(updates(s, who).is_empty());
        s.ask_session(who, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(updates(s, who).len(), 1);
        // Loading also works while the turn runs; later updates follow.
        let id = s.prompt(who, "mine, too");
        s.ask_session(who, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(s.heard(who)[s.count(who) - 2], "user_message_chunk mine, too");
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(s.heard(who).last().unwrap(), &format!("end_turn to {id}"));
    });
}

#[test]
fn resume_sends_no_history() {
    play(|s| {
        Stage::at_work(SIMPLE, s);
        two_turns(s);
        let who = s.editor(SIMPLE);
        let answer = s.ask_session(who, "session/resume", r#","cwd":"/workspace""#);
        assert_eq!(
            s.heard(who)[1..],
            [
                format!("answer to {}", answer["id"]),
                "available_commands_update".into()
            ]
        );
        s.then(|scene| {
            scene.prompt("third");
            scene.stops_with("end_turn");
        });
        assert_eq!(s.heard(who).last().unwrap(), "user_message_chunk third");
    });
}

#[test]
fn a_loaded_session_has_the_current_modes_and_options() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.scene.exits("exit status 0");
        s.then(|scene| {
            scene.send(wake());
            scene.answer("initialize", crate::support::FULL);
            let modes = r#"{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask","n":1.10},{"id":"code","name":"Code"}]}"#;
            scene.answer("session/resume", &format!(r#"{{"modes":{modes}}}"#));
            scene.later(100);
            scene.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"code"}"#);
        });
        let late = s.editor(SIMPLE);
        let answer = s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(answer["result"]["modes"]["currentModeId"], "code");
        assert!(
            s.editors[late]
                .texts
                .last()
                .unwrap()
                .contains(r#"{"id":"ask","name":"Ask","n":1.10}"#)
        );
        // A client's change of the mode is sent to all other clients.
        let id = s.request(
            who,
            "session/set_mode",
            &json!({ "sessionId": s.session(), "modeId": "ask" }).to_string(),
        );
        s.then(|scene| scene.answer("session/set_mode", "{}"));
        assert!(s.answer_to(who, &id).unwrap()["result"].is_object());
        assert_eq!(s.heard(late).last().unwrap(), "current_mode_update");
        assert_eq!(
            s.editors[late].got.last().unwrap()["params"]["update"]["currentModeId"],
            "ask"
        );
    });
}

#[test]
fn notices_are_for_the_moment() {
    play(|s| {
        let able = Stage::at_work(ABLE, s);
        let simple = s.editor(SIMPLE);
        s.ask_session(simple, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        s.then(|scene| {
            scene.prompt("x");
            scene.update(r#"{"sessionUpdate":"notice","severity":"warning","title":"low disk"}"#);
            scene.stops_with("end_turn");
        });
        let notices = |s: &Stage, who| s.heard(who).iter().filter(|heard| *heard == "notice").count();
        assert_eq!((notices(s, able), notices(s, simple)), (1, 0));
        let late = s.editor(ABLE);
        s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(notices(s, late), 0);
    });
}

#[test]
fn whether_the_user_is_signed_in_is_for_the_moment() {
    play(|s| {
        let named = Stage::at_work(SIMPLE, s);
        let nameless = s.editor(r#"{"protocolVersion":1}"#);
        let load = |s: &mut Stage, who| {
            s.ask_session(who, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        };
        load(s, nameless);
        let update =
            r#"{"jsonrpc":"2.0","method":"auth/status_update","params":{"state":"unauthenticated"}}"#;
        s.then(|scene| scene.says(update));
        let updates = |s: &Stage, who: usize| {
            let got = s.editors[who].got.iter();
            got.filter(|message| message["method"] == "auth/status_update")
                .count()
        };
        assert_eq!((updates(s, named), updates(s, nameless)), (1, 0));
        let late = s.editor(SIMPLE);
        load(s, late);
        assert_eq!(updates(s, late), 0);
    });
}

/// Everybody who reads a thread would see them, and requesting `auth/status` needs more than that.
#[test]
fn the_accounts_of_a_user_are_neither_stored_nor_shown() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            for line in [
                r#"{"jsonrpc":"2.0","method":"auth/status_update","params":{"state":"authenticated","accounts":[{"label":"Max","email":"a@secret"}]}}"#,
                r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{"authStatus":{"kind":"account","account":{"email":"a@secret"}}}}"#,
            ] {
                scene.says(line);
            }
        });
        let stored: Vec<&str> = s
            .scene
            .log
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Session(SessionEvent::AgentNotified { .. })))
            .filter_map(|event| event.raw.as_ref().map(RawJson::get))
            .collect();
        assert_eq!(
            stored,
            [
                r#"{"state":"authenticated"}"#,
                r#"{"authStatus":{"kind":"account"}}"#
            ]
        );
        let told = s.editors[who].got.iter();
        let told: Vec<&serde_json::Value> = told
            .filter(|message| message["method"] == "auth/status_update")
            .map(|message| &message["params"])
            .collect();
        assert_eq!(told, [&json!({ "state": "authenticated" })]);
    });
}

#[test]
fn editors_without_notices_receive_errors_as_text() {
    play(|s| {
        let able = Stage::at_work(ABLE, s);
        let simple = s.editor(SIMPLE);
        s.ask_session(simple, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        let (of_able, of_simple) = (s.count(able), s.count(simple));
        s.then(|scene| {
            let now = scene.now;
            let denied = AccessDenied {
                code: "sandboxDenied",
                message: "/x was denied".to_owned(),
                advice: "add it to \"read\"".to_owned(),
                folder: None,
            };
            scene.thread.access_denied(denied, now);
            scene.settle();
        });
        let update = |s: &Stage, who: usize, at: usize| s.editors[who].got[at]["params"]["update"].clone();
        let notice = json!({
            "sessionUpdate": "notice", "severity": "warning", "title": "/x was denied", "description": "add it to \"read\"",
        });
        assert_eq!(update(s, able, of_able), notice);
        assert_eq!(s.count(able), of_able + 1);
        let text = update(s, simple, of_simple);
        assert_eq!(text["sessionUpdate"], "agent_message_chunk");
        assert_eq!(
            text["content"]["text"],
            "\n\nacpd: /x was denied\nadd it to \"read\"\n\n"
        );
        let late = s.editor(SIMPLE);
        s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert!(!format!("{:?}", s.editors[late].got).contains("was denied"));
    });
}

/// Returns a connection that is loading a session, and the token of its call.
fn loading(thread: ThreadId) -> (Peer, u64) {
    let mut peer = connection(ConnectionStart::default());
    let params = format!(r#"{{"sessionId":"{thread}","cwd":"/workspace","mcpServers":[]}}"#);
    let (token, _) = request(&mut peer, 2, "session/load", &params);
    (peer, token)
}

/// Wherever a page of the log ends, the response comes between the last event of the history and the next one.
#[test]
fn the_response_to_load_separates_history_from_live_updates() {
    let thread = ThreadId(uuid::Uuid::from_u128(7));
    let event = |seq: u64| Event {
        seq,
        at: 0,
        turn: None,
        by: Origin::Agent,
        // Every third event has no ACP form.
        kind: match seq % 3 {
            0 => EventKind::Thread(ThreadEvent::StatusChanged {
                status: acpd_model::ThreadStatus::Idle,
            }),
            _ => EventKind::Session(SessionEvent::AgentNotified {
                method: format!("_{seq}"),
            }),
        },
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    };
    let events: Vec<Event> = (1..=9).map(event).collect();
    for until in 1..=9 {
        for page in 1..=9 {
            let (mut peer, token) = loading(thread);
            peer.handle_reply(token, Ok(opened(thread, until, 0, Vec::new())));
            for page in events.chunks(page) {
                let last = page.last().unwrap().seq;
                deliver(&mut peer, thread, &frames(&thread.to_string(), page), last);
            }
            let sent = sent(&mut peer);
            let told: Vec<String> = sent
                .iter()
                .map(|m| m["method"].as_str().map_or("answer".into(), str::to_owned))
                .collect();
            let mut expected: Vec<String> = (1..=9)
                .filter(|seq| seq % 3 != 0)
                .map(|seq| format!("_{seq}"))
                .collect();
            let before = (1..=until).filter(|seq| seq % 3 != 0).count();
            expected.insert(before, "answer".into());
            assert_eq!(told, expected, "until {until}, pages of {page}");
        }
    }
}

#[test]
fn no_update_of_a_closed_session_is_sent() {
    let thread = ThreadId(uuid::Uuid::from_u128(7));
    let (mut peer, _) = loading(ThreadId(uuid::Uuid::from_u128(8)));
    let event = Event {
        seq: 1,
        at: 0,
        turn: None,
        by: Origin::Agent,
        kind: EventKind::Session(SessionEvent::AgentNotified { method: "_x".into() }),
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    };
    deliver(&mut peer, thread, &frames(&thread.to_string(), &[event]), 1);
    assert_eq!(sent(&mut peer), Vec::<Value>::new());
}
