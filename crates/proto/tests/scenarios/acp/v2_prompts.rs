//! Prompts of version 2 that an editor repeats, or that a connection continues for a lost one.

use std::collections::BTreeMap;

use acpd_model::event::TurnStatus;
use acpd_model::{
    Event, EventKind, ItemId, ItemStart, MessageType, Origin, RawJson, TurnEvent, TurnId, TurnPosition,
};
use acpd_proto::projection::{Item, Live, Transcript, TurnsPage};
use acpd_proto::surface::acp::{ConnectionStart, Peer, PendingPrompt};
use acpd_proto::surface::contract::{Output, Surface};
use acpd_proto::surface::reply::{ClaimedPrompt, Reply, ThreadView};
use acpd_proto::surface::request::{Request, Turns};
use serde_json::{Value, json};

use super::connection::{opened, request, sent};
use super::stage::{Stage, play};
use super::v2::{EDITOR, at_work, greeted, told};
use crate::support::NEW_THREAD;

const TURN: TurnId = TurnId(1);

/// Sends a prompt with a key. Returns the id of the request.
fn prompt(s: &mut Stage, who: usize, key: &Value) -> Value {
    let params = json!({
        "sessionId": s.session(),
        "prompt": [{ "type": "text", "text": "x" }],
        "idempotencyKey": key,
    });
    s.request(who, "session/prompt", &params.to_string())
}

/// Connects another editor that has resumed the session.
fn another(s: &mut Stage) -> usize {
    let who = s.editor(EDITOR);
    s.ask_session(who, "session/resume", r#","cwd":"/workspace""#);
    who
}

fn message_id(s: &Stage, who: usize, id: &Value) -> Option<Value> {
    Some(s.answer_to(who, id)?["result"]["messageId"].clone())
}

#[test]
fn a_repeated_prompt_is_answered_while_its_turn_runs_and_afterwards() {
    play(|s| {
        let key = json!("k");
        let first = at_work(s);
        let lost = prompt(s, first, &key);
        let message = message_id(s, first, &lost);
        assert!(message.as_ref().is_some_and(Value::is_string), "{message:?}");
        let second = another(s);
        let again = prompt(s, second, &key);
        assert_eq!(message_id(s, second, &again), message);
        s.then(|scene| scene.refuse("session/prompt", -32603, "out of memory"));
        let third = another(s);
        let late = prompt(s, third, &key);
        assert_eq!(message_id(s, third, &late), message);
        assert_eq!(s.scene.sent_as("session/prompt").len(), 1);
    });
}

#[test]
fn a_repeated_prompt_waits_while_its_turn_is_queued() {
    play(|s| {
        let key = json!("k");
        let first = at_work(s);
        s.prompt(first, "before");
        let queued = prompt(s, first, &key);
        let second = another(s);
        let again = prompt(s, second, &key);
        assert_eq!(s.answer_to(second, &again), None);
        let from = s.count(second);
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(message_id(s, second, &again), message_id(s, first, &queued));
        let inserted = format!("inserted {again}");
        assert_eq!(told(s, second, from).last(), Some(&inserted));
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(s.scene.sent_as("session/prompt").len(), 2);
    });
}

/// Version 2 counts characters, and leaves acpd no prefix of its own.
#[test]
fn a_key_is_any_text_of_1_to_255_characters() {
    play(|s| {
        let who = at_work(s);
        for key in [json!(7), json!(""), json!("x".repeat(256))] {
            let id = prompt(s, who, &key);
            let error = s.answer_to(who, &id).unwrap()["error"].take();
            assert_eq!(error["code"], -32602, "{error}");
        }
        let mut seen = Vec::new();
        for key in [
            "acp:c0:1".to_owned(),
            "key:acp:c0:1".to_owned(),
            "key:".to_owned(),
            "ä".repeat(255),
        ] {
            let id = prompt(s, who, &json!(key));
            s.then(|scene| scene.stops_with("end_turn"));
            let message = message_id(s, who, &id).unwrap();
            assert!(
                message.is_string() && !seen.contains(&message),
                "{key}: {message}"
            );
            let again = prompt(s, who, &json!(key));
            assert_eq!(message_id(s, who, &again), Some(message.clone()), "{key}");
            seen.push(message);
        }
        assert_eq!(s.scene.sent_as("session/prompt").len(), 4);
    });
}

fn event(seq: u64, kind: TurnEvent) -> Event {
    Event {
        seq,
        at: 0,
        turn: Some(TURN),
        by: Origin::Agent,
        kind: EventKind::Turn(kind),
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

/// Returns the event that ends the turn of the lost prompt.
fn failed() -> Event {
    event(
        4,
        TurnEvent::Settled {
            status: TurnStatus::Failed,
            stop_reason: None,
            error: Some("out of memory".into()),
            started_at: None,
            usage: None,
            changes: None,
            plan: None,
            plans: None,
            permitted: 0,
            waited_ms: 0,
        },
    )
}

fn item(id: u32, role: MessageType) -> Item {
    Item {
        id: ItemId(id),
        parent: None,
        lane: None,
        started_at: None,
        start: ItemStart::Message {
            role,
            message_id: None,
            client_message_id: None,
        },
        view: None,
        end: None,
    }
}

/// Returns a page with these items of the turn, which may have more before them.
fn page(items: Vec<Item>, older: Option<ItemId>, end: Option<&Event>) -> Reply {
    let mut transcript = Transcript::new(NEW_THREAD);
    let client_turn_id = None;
    let start = TurnEvent::Started {
        client_turn_id,
        imported: false,
    };
    transcript.fold(&event(2, start));
    if let Some(end) = end {
        transcript.fold(end);
    }
    let mut turns = transcript.into_turns();
    turns[0].items = items;
    let older = Some(TurnPosition {
        turn: TURN.0,
        item: older,
    });
    Reply::Thread(Box::new(ThreadView {
        live: Live::new(NEW_THREAD).into(),
        turns: Some(TurnsPage { turns, older }),
    }))
}

/// Returns a connection that continues a prompt, whose turn may have ended, and what it asks for and says then.
fn continued(settled: Option<Event>) -> (Peer, u64, Turns) {
    let mut peer = greeted(ConnectionStart {
        after: BTreeMap::from([(NEW_THREAD, 4)]),
        prompts: vec![PendingPrompt {
            id: RawJson::parse("12").unwrap(),
            thread: NEW_THREAD,
            client_turn_id: "acp:old:12".to_owned(),
        }],
        ..ConnectionStart::default()
    });
    let params = json!({ "sessionId": NEW_THREAD, "cwd": "/w" }).to_string();
    let (call, _) = request(&mut peer, 1, "session/resume", &params);
    let claim = ClaimedPrompt {
        client_turn_id: "acp:old:12".to_owned(),
        turn: Some(TURN),
        settled: settled.map(Box::new),
    };
    peer.handle_reply(call, Ok(opened(NEW_THREAD, 4, 4, vec![claim])));
    let (call, turns) = asked(&mut peer);
    (peer, call, turns)
}

/// Returns the page that a connection asks for.
fn asked(peer: &mut Peer) -> (u64, Turns) {
    loop {
        match peer.poll_output() {
            Some(Output::Request { call, request, .. }) => match *request {
                Request::ReadThread { turns, .. } => return (call, turns.unwrap()),
                other => panic!("{other:?}"),
            },
            Some(_) => {}
            None => panic!("it asks for nothing"),
        }
    }
}

#[test]
fn a_prompt_in_the_conversation_succeeds_even_if_its_turn_has_failed() {
    for settled in [Some(failed()), None] {
        let (mut peer, call, _) = continued(settled.clone());
        let items = vec![item(7, MessageType::UserMessage)];
        peer.handle_reply(call, Ok(page(items, None, settled.as_ref())));
        let answer = sent(&mut peer).pop().unwrap();
        assert_eq!(
            (&answer["id"], &answer["result"]["messageId"]),
            (&json!(12), &json!("item_7"))
        );
    }
    let (mut peer, call, _) = continued(Some(failed()));
    peer.handle_reply(call, Ok(page(Vec::new(), None, Some(&failed()))));
    let answer = sent(&mut peer).pop().unwrap();
    assert_eq!(answer["error"]["message"], "out of memory");
    // It will be in the conversation.
    let (mut peer, call, _) = continued(None);
    peer.handle_reply(call, Ok(page(Vec::new(), None, None)));
    assert_eq!(sent(&mut peer), [json!(null); 0]);
}

/// Each page has one item, as if it were large.
#[test]
fn the_message_of_a_prompt_is_found_at_the_beginning_of_a_long_turn() {
    let ids: Vec<u32> = (70..1_000_000).step_by(10).collect();
    let (mut peer, mut call, mut turns) = continued(None);
    let mut pages = 0;
    let answer = loop {
        pages += 1;
        let TurnPosition { turn, item: before } = turns.before.unwrap();
        assert_eq!(
            (turns.limit, turn),
            (Some(1), TURN.0 + u32::from(before.is_none()))
        );
        let before = before.map_or(u32::MAX, |item| item.0);
        let at = ids.partition_point(|id| *id < before);
        let last = at.checked_sub(1).map(|last| ids[last]);
        let older = last.filter(|last| *last > ids[0]).map(ItemId);
        let role = |id| {
            if id == ids[0] {
                MessageType::UserMessage
            } else {
                MessageType::AgentMessage
            }
        };
        let items = last.map(|id| item(id, role(id)));
        peer.handle_reply(call, Ok(page(items.into_iter().collect(), older, None)));
        match peer.poll_output() {
            Some(Output::Send(text)) => break serde_json::from_slice::<Value>(&text).unwrap(),
            Some(Output::Request {
                call: next, request, ..
            }) => {
                let Request::ReadThread {
                    turns: Some(wanted), ..
                } = *request
                else {
                    panic!("{request:?}")
                };
                (call, turns) = (next, wanted);
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(answer["result"]["messageId"], "item_70");
    assert!(pages <= 40, "{pages} pages");
}
