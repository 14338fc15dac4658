//! The initial state of a connection: a directory, a thread, and open requests of a lost connection.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, Origin, RawJson, ThreadId, TurnEvent, TurnId};
use acpd_proto::projection::Live;
use acpd_proto::surface::acp::{ConnectionStart, Peer, PendingPrompt, frames};
use acpd_proto::surface::contract::{Output, Surface};
use acpd_proto::surface::reply::ClaimedPrompt;
use acpd_proto::surface::request::{FollowFrom, OpenThread, Request};
use serde_json::{Value, json};

use super::connection::{connection, deliver, opened, opened_as, request, sent};
use super::stage::NOW;

fn opens(peer: &mut Peer, id: u64, method: &str, params: &str) -> (u64, OpenThread) {
    match request(peer, id, method, params) {
        (token, Request::OpenThread(open)) => (token, *open),
        other => panic!("{other:?}"),
    }
}

fn thread() -> ThreadId {
    ThreadId(uuid::Uuid::from_u128(7))
}

/// Returns an event of a turn.
pub fn event(seq: u64, turn: TurnId, kind: EventKind) -> Event {
    Event {
        seq,
        at: 0,
        turn: Some(turn),
        by: Origin::Agent,
        kind,
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

/// Returns the event that ends a turn.
pub fn settled(seq: u64, turn: TurnId) -> Event {
    let kind = EventKind::Turn(TurnEvent::Settled {
        status: TurnStatus::Completed,
        stop_reason: Some("end_turn".into()),
        error: None,
        started_at: Some(1),
        usage: None,
        changes: None,
        plan: None,
        plans: None,
        permitted: 0,
        waited_ms: 0,
    });
    event(seq, turn, kind)
}

#[test]
fn paths_are_relative_to_the_directory_of_the_connection() {
    let mut peer = connection(ConnectionStart {
        cwd: "/home/u/project".into(),
        ..ConnectionStart::default()
    });
    for (id, cwd, absolute) in [
        (2, ".", "/home/u/project"),
        (3, "a/b/", "/home/u/project/a/b"),
        (4, "/x/", "/x"),
    ] {
        let params = json!({ "cwd": cwd }).to_string();
        let (_, Request::StartThread(start)) = request(&mut peer, id, "session/new", &params) else {
            panic!("{cwd}")
        };
        assert_eq!(start.cwd, absolute);
    }
    let params = json!({ "sessionId": thread(), "cwd": "a", "additionalDirectories": ["b", "/c"] });
    let (_, open) = opens(&mut peer, 5, "session/load", &params.to_string());
    let session = open.session.unwrap();
    assert_eq!(session.change.cwd.as_deref(), Some("/home/u/project/a"));
    assert_eq!(session.additional_directories, ["/home/u/project/b", "/c"]);
}

#[test]
fn the_first_new_session_is_the_thread_of_the_connection() {
    let mut peer = connection(ConnectionStart {
        thread: Some(thread()),
        ..ConnectionStart::default()
    });
    let (_, open) = opens(
        &mut peer,
        1,
        "session/new",
        r#"{"cwd":"/elsewhere","mcpServers":[]}"#,
    );
    assert_eq!((open.thread, open.from), (thread(), FollowFrom::Start));
    assert_eq!(open.session.unwrap().change.cwd, None);
    let (_, next) = request(&mut peer, 2, "session/new", r#"{"cwd":"/elsewhere"}"#);
    assert!(matches!(next, Request::StartThread(_)), "{next:?}");
}

#[test]
fn a_session_is_resumed_behind_the_last_event_that_was_seen() {
    let mut peer = connection(ConnectionStart {
        after: BTreeMap::from([(thread(), 4)]),
        ..ConnectionStart::default()
    });
    let from = |peer: &mut Peer, id: u64, thread: ThreadId| {
        let params = json!({ "sessionId": thread }).to_string();
        opens(peer, id, "session/resume", &params).1.from
    };
    let seen = FollowFrom::After { seq: 4, clamp: true };
    assert_eq!(from(&mut peer, 1, thread()), seen);
    let other = ThreadId(uuid::Uuid::from_u128(8));
    assert_eq!(from(&mut peer, 2, other), FollowFrom::Latest);
}

/// Of four prompts, one has ended, one runs, one never arrived, and one belongs to another thread.
#[test]
fn prompts_of_a_lost_connection_are_answered_by_the_next_one() {
    let prompt = |id: u64, thread: ThreadId| PendingPrompt {
        id: RawJson::parse(id.to_string()).unwrap(),
        thread,
        client_turn_id: format!("acp:old:{id}"),
    };
    let other = ThreadId(uuid::Uuid::from_u128(8));
    let mut peer = connection(ConnectionStart {
        prompts: vec![
            prompt(11, thread()),
            prompt(12, thread()),
            prompt(13, thread()),
            prompt(14, other),
        ],
        ..ConnectionStart::default()
    });
    let params = json!({ "sessionId": thread() }).to_string();
    let (token, open) = opens(&mut peer, 1, "session/resume", &params);
    assert_eq!(open.claims, ["acp:old:11", "acp:old:12", "acp:old:13"]);
    let claim = |id: u64, turn, settled: Option<Event>| ClaimedPrompt {
        client_turn_id: format!("acp:old:{id}"),
        turn,
        settled: settled.map(Box::new),
    };
    peer.handle_reply(
        token,
        Ok(opened(
            thread(),
            9,
            9,
            vec![
                claim(11, Some(TurnId(1)), None),
                claim(12, Some(TurnId(2)), Some(settled(5, TurnId(2)))),
                claim(13, None, None),
            ],
        )),
    );
    let answers = sent(&mut peer);
    let ids: Vec<_> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(12), &json!(13)]);
    assert_eq!(answers[1]["result"]["stopReason"], "end_turn");
    assert_eq!(answers[2]["error"]["data"]["acpd"]["code"], "overloaded");
    let end = [settled(10, TurnId(1))];
    deliver(&mut peer, thread(), &frames(&thread().to_string(), &end), 10);
    let answers = sent(&mut peer);
    assert_eq!((answers.len(), &answers[0]["id"]), (1, &json!(11)));
    // A second resume has no prompts left to claim, except for the other thread's.
    assert_eq!(opens(&mut peer, 2, "session/resume", &params).1.claims, [""; 0]);
    let params = json!({ "sessionId": other }).to_string();
    assert_eq!(
        opens(&mut peer, 3, "session/resume", &params).1.claims,
        ["acp:old:14"]
    );
}

#[test]
fn a_resumable_connection_receives_checkpoints() {
    let mut peer = connection(ConnectionStart {
        checkpoints: true,
        ..ConnectionStart::default()
    });
    let session = json!({ "sessionId": thread() }).to_string();
    let (token, _) = opens(&mut peer, 1, "session/resume", &session);
    peer.handle_reply(token, Ok(opened(thread(), 9, 9, Vec::new())));
    let [answer, mark] = &sent(&mut peer)[..] else {
        panic!("an answer and a mark")
    };
    assert_eq!(answer["id"], 1);
    let expected = json!({ "sessionId": thread(), "seq": 9, "open": [] });
    assert_eq!(
        (&mark["method"], &mark["params"]),
        (&json!("_acpd/mark"), &expected)
    );
    deliver(&mut peer, thread(), &[], 9);
    let expected = json!({ "sessionId": thread(), "seq": 9, "live": true });
    assert_eq!(sent(&mut peer)[0]["params"], expected);
    let prompt = json!({ "sessionId": thread(), "prompt": [] });
    let prompt = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt });
    peer.handle_message(&prompt.to_string(), NOW);
    let Some(Output::Send(named)) = peer.poll_output() else {
        panic!("a prompt is named first")
    };
    let named: Value = serde_json::from_slice(&named).unwrap();
    assert_eq!(named["params"], json!({ "id": 2, "name": "acp:c:1" }));
    let Some(Output::Request {
        request, after_sent, ..
    }) = peer.poll_output()
    else {
        panic!("then it is sent")
    };
    let Request::StartTurn(turn) = *request else {
        panic!("{request:?}")
    };
    assert_eq!(
        (turn.client_turn_id.as_deref(), after_sent),
        (Some("acp:c:1"), true)
    );
}

/// Of such a session, the editor has the modes as options only. The response to the resume does not reach it.
#[test]
fn a_session_that_opened_early_has_its_options_on_the_next_connection() {
    let mut peer = connection(ConnectionStart {
        early: BTreeSet::from([thread()]),
        checkpoints: true,
        ..ConnectionStart::default()
    });
    let session = json!({ "sessionId": thread() }).to_string();
    let modes =
        r#"{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}"#;
    let resume = |peer: &mut Peer, id: u64| {
        let (token, _) = opens(peer, id, "session/resume", &session);
        let mut live = Live::new(thread());
        live.last_seq = 9;
        live.modes = RawJson::parse(modes).ok();
        live.mode = Some("code".to_owned());
        peer.handle_reply(token, Ok(opened_as(live, 9, Vec::new())));
        sent(peer);
        deliver(peer, thread(), &[], 9);
        sent(peer)
    };
    let [options, mark] = &resume(&mut peer, 1)[..] else {
        panic!("the options and a mark")
    };
    let option = &options["params"]["update"]["configOptions"][0];
    assert_eq!(
        (&option["id"], &option["currentValue"]),
        (&json!("acpd.mode"), &json!("code")),
        "{options}"
    );
    assert_eq!(mark["params"]["early"], true, "{mark}");
    // An editor that resumes it by itself has the modes in the response.
    let [mark] = &resume(&mut peer, 2)[..] else {
        panic!("a mark")
    };
    let expected = json!({ "sessionId": thread(), "seq": 9, "live": true });
    assert_eq!(mark["params"], expected);
}
