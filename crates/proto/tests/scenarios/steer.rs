//! Additional input for a running turn.

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, EventKind, ItemEnd, ItemEvent, ItemStart, MessageType, TurnId};
use acpd_proto::projection::text_block;
use acpd_proto::thread::{Command, Reply, SteerDelivery};
use serde_json::json;

use crate::support::{Scene, check};

/// The answer to `initialize` of an agent that accepts input for its running turn.
pub const STEERS: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}"#;

fn running(s: &mut Scene) {
    s.create();
    s.answer("initialize", STEERS);
    s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    s.prompt("begin");
    s.chunk("I will");
}

fn steer(s: &mut Scene, words: &str) -> u64 {
    let input = vec![text_block(words)];
    s.send(Command::Steer {
        input,
        turn: None,
        client_turn_id: None,
    })
}

fn steered(s: &Scene, call: u64) -> (TurnId, SteerDelivery) {
    match s.replies.get(&call) {
        Some(Ok(Reply::Steered { turn, delivery })) => (*turn, *delivery),
        other => panic!("{other:?}"),
    }
}

/// Returns the messages that the agent has not taken yet.
fn pending(s: &Scene) -> Vec<String> {
    let steers = s.thread.live().steers.iter();
    steers.map(|steer| steer.text.clone()).collect()
}

/// Returns the user's texts of each turn.
fn words(s: &Scene) -> Vec<(u32, Vec<String>)> {
    let said = |item: &acpd_proto::projection::Item| match item.content() {
        Some(ItemEnd::Message {
            role: MessageType::UserMessage,
            content,
        }) => Some(acpd_proto::projection::content_text(&content)),
        _ => None,
    };
    let turns = s.transcript().turns;
    let turns = turns
        .iter()
        .map(|turn| (turn.id.unwrap().0, turn.items.iter().filter_map(said).collect()));
    turns.collect()
}

#[test]
fn words_to_a_subagent_are_not_those_of_the_user() {
    check(|s| {
        running(s);
        steer(s, "but quickly");
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"running"}}"#);
        let told = r#"{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"but quickly"}}"#;
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"c","update":{told}}}}}"#
        ));
        assert_eq!(pending(s), ["but quickly"]);
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"idle"}}"#);
        s.answer("_session/steering", r#"{"outcome":"injected"}"#);
        assert_eq!(pending(s), [""; 0]);
        s.stops_with("end_turn");
    });
}

#[test]
fn the_agent_takes_them_into_the_turn() {
    check(|s| {
        running(s);
        let call = steer(s, "but quickly");
        assert_eq!(s.params("turn/steering")[0]["text"], "but quickly");
        assert_eq!(s.params("turn/steering")[0]["by"]["principal"], "owner");
        let sent = s.sent_as("_session/steering")[0].clone();
        assert_eq!(
            sent.json["params"],
            json!({
                "sessionId": "s-1",
                "prompt": [{ "type": "text", "text": "but quickly" }],
                "_meta": { "steering": { "idleBehavior": "promptRequired" } },
            })
        );
        assert_eq!(
            words(s),
            [(1, vec!["begin".to_owned()])],
            "they are not known to have arrived"
        );
        assert_eq!(pending(s), ["but quickly"]);
        s.answer("_session/steering", r#"{"outcome":"injected"}"#);
        assert_eq!(pending(s), [""; 0]);
        assert_eq!(steered(s, call), (TurnId(1), SteerDelivery::Steered));
        s.chunk("Very well");
        s.stops_with("end_turn");
        assert_eq!(
            words(s),
            [(1, vec!["begin".to_owned(), "but quickly".to_owned()])]
        );
        assert_eq!(
            s.said(),
            ["I will", "Very well"],
            "an answer to them is a message of its own"
        );
    });
}

#[test]
fn input_for_the_running_turn_keeps_the_clients_own_id() {
    let scene = check(|s| {
        running(s);
        for id in [Some("m-1"), None] {
            s.send(Command::Steer {
                input: vec![text_block("more")],
                turn: None,
                client_turn_id: id.map(str::to_owned),
            });
            s.answer("_session/steering", r#"{"outcome":"injected"}"#);
        }
        s.stops_with("end_turn");
    });
    let ids = scene.log.iter().filter_map(|event| match &event.kind {
        EventKind::Item(ItemEvent::Started {
            start:
                ItemStart::Message {
                    role: MessageType::UserMessage,
                    client_message_id,
                    ..
                },
            ..
        }) => Some(client_message_id.as_deref()),
        _ => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), [None, Some("m-1"), None]);
}

#[test]
fn input_that_the_agent_does_not_accept_is_the_next_turn() {
    for refusal in [
        Some(r#"{"outcome":"promptRequired","reason":"noRunningTurn"}"#),
        None,
    ] {
        check(|s| {
            running(s);
            let call = steer(s, "more");
            match refusal {
                Some(answer) => s.answer("_session/steering", answer),
                None => s.refuse("_session/steering", -32603, "not now"),
            }
            assert_eq!(pending(s), [""; 0], "it is in the queue");
            assert_eq!(steered(s, call), (TurnId(2), SteerDelivery::Queued));
            s.stops_with("end_turn");
            s.stops_with("end_turn");
            let expected = [(1, vec!["begin".to_owned()]), (2, vec!["more".to_owned()])];
            assert_eq!(words(s), expected);
        });
    }
}

#[test]
fn an_agent_that_has_no_way_gets_them_as_the_next_turn() {
    check(|s| {
        s.open_turn();
        let call = steer(s, "more");
        assert_eq!(steered(s, call), (TurnId(2), SteerDelivery::Queued));
        assert!(s.sent_as("_session/steering").is_empty());
        s.stops_with("end_turn");
        s.stops_with("end_turn");
    });
}

#[test]
fn without_a_turn_they_begin_one() {
    check(|s| {
        s.create();
        s.answer("initialize", STEERS);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        let call = steer(s, "hello");
        assert_eq!(steered(s, call), (TurnId(1), SteerDelivery::Queued));
        assert!(s.awaits("session/prompt"));
        s.stops_with("end_turn");
    });
}

#[test]
fn a_turn_that_is_being_stopped_accepts_no_message() {
    check(|s| {
        running(s);
        s.interrupt();
        let call = steer(s, "then this");
        assert_eq!(steered(s, call).1, SteerDelivery::Queued);
        s.stops_with("cancelled");
        s.stops_with("end_turn");
        assert_eq!(
            s.settled_turns(),
            [TurnStatus::Interrupted, TurnStatus::Completed]
        );
    });
}

#[test]
fn words_for_one_turn_do_not_go_into_another() {
    check(|s| {
        running(s);
        let input = || vec![text_block("x")];
        let other = Command::Steer {
            input: input(),
            turn: Some(TurnId(2)),
            client_turn_id: None,
        };
        assert_eq!(s.ask(other).unwrap_err().code, ErrorCode::Conflict);
        let empty = Command::Steer {
            input: Vec::new(),
            turn: None,
            client_turn_id: None,
        };
        assert_eq!(s.ask(empty).unwrap_err().code, ErrorCode::InvalidParams);
        let this = s.send(Command::Steer {
            input: input(),
            turn: Some(TurnId(1)),
            client_turn_id: None,
        });
        s.answer("_session/steering", r#"{"outcome":"injected"}"#);
        assert_eq!(steered(s, this).1, SteerDelivery::Steered);
        s.stops_with("end_turn");
    });
}

#[test]
fn an_answer_after_the_turn_still_belongs_to_it() {
    check(|s| {
        running(s);
        let call = steer(s, "quick");
        s.stops_with("end_turn");
        s.answer("_session/steering", r#"{"outcome":"injected"}"#);
        assert_eq!(steered(s, call), (TurnId(1), SteerDelivery::Steered));
        assert_eq!(words(s), [(1, vec!["begin".to_owned(), "quick".to_owned()])]);
    });
}

#[test]
fn steering_fails_if_the_agent_exits() {
    check(|s| {
        running(s);
        let call = steer(s, "lost");
        s.exits("exit status 1");
        let failure = s.replies[&call].as_ref().unwrap_err();
        assert_eq!(failure.code, ErrorCode::AgentFailed);
        assert_eq!(words(s), [(1, vec!["begin".to_owned()])]);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        assert_eq!(s.params("turn/steering")[0]["text"], "lost", "the log has them");
    });
}
