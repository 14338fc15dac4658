//! Turns are queued, and the same client turn id identifies the same turn.

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, Limits, RawJson, TurnId};
use acpd_proto::projection::{Transcript, text_block};
use acpd_proto::thread::{Command, InterruptOptions, QueueChange, Reply, SteerDelivery, TurnView};
use serde_json::json;

use crate::support::{FULL, Scene, check, check_in};

fn block(json: &str) -> RawJson {
    RawJson::parse(json).unwrap()
}

fn prompts(scene: &Scene) -> Vec<String> {
    let text = |sent: &&crate::support::Sent| {
        sent.json["params"]["prompt"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    scene.sent_as("session/prompt").iter().map(text).collect()
}

#[test]
fn the_agent_has_one_prompt_at_a_time() {
    check(|s| {
        s.open_session();
        let turns = [s.prompt("one"), s.prompt("two"), s.prompt("three")];
        assert_eq!(turns, [TurnId(1), TurnId(2), TurnId(3)]);
        assert_eq!(prompts(s), ["one"]);
        assert_eq!(s.thread.live().queue.len(), 2);
        s.chunk("1");
        s.stops_with("end_turn");
        assert_eq!(prompts(s), ["one", "two"]);
        s.chunk("2");
        s.stops_with("max_tokens");
        s.chunk("3");
        s.stops_with("refusal");
        assert_eq!(prompts(s), ["one", "two", "three"]);
        assert_eq!(
            turns.map(|turn| s.status(turn)),
            [TurnStatus::Completed, TurnStatus::Limited, TurnStatus::Refused]
        );
        assert_eq!(s.said(), ["1", "2", "3"]);
        let queued = s.params("turn/queued");
        let input = json!([{ "type": "text", "text": "two" }]);
        assert_eq!(
            queued[0]["turn"],
            json!({ "id": "turn_2", "status": "queued", "input": input }),
            "every client learns what waits"
        );
    });
}

#[test]
fn a_turn_says_whether_it_waits() {
    check(|s| {
        s.open_session();
        let first = s.start_turn(vec![text_block("a")], None).unwrap();
        assert!(!first.queued && first.status.is_none());
        assert_eq!(first.started_at, Some(s.now.wall));
        let second = s.start_turn(vec![text_block("b")], None).unwrap();
        assert!(second.queued && second.started_at.is_none());
    });
}

#[test]
fn the_same_client_turn_id_is_one_turn_in_every_state() {
    check(|s| {
        s.open_session();
        let again = |s: &mut Scene, name: &str| -> TurnView {
            let before = s.log.len();
            let view = s.start_turn(vec![text_block("other words")], Some(name)).unwrap();
            assert_eq!(s.log.len(), before, "nothing happened");
            view
        };
        let a = s.start_turn(vec![text_block("a")], Some("A")).unwrap();
        let b = s.start_turn(vec![text_block("b")], Some("B")).unwrap();
        let c = s.start_turn(vec![text_block("c")], Some("C")).unwrap();
        assert_eq!(again(s, "A"), a, "while it runs");
        assert_eq!(again(s, "B"), b, "while it waits");
        s.interrupt_turn(Some(c.id)).unwrap();
        assert_eq!(
            again(s, "C").status,
            Some(TurnStatus::Interrupted),
            "taken out of the queue"
        );
        s.stops_with("end_turn");
        assert_eq!(again(s, "A").status, Some(TurnStatus::Completed));
        s.refuse("session/prompt", -32603, "the model is gone");
        assert_eq!(again(s, "B").status, Some(TurnStatus::Failed));
        assert_eq!(
            again(s, "A").status,
            Some(TurnStatus::Completed),
            "a turn keeps its own status when later ones end otherwise"
        );
        assert_eq!(prompts(s), ["a", "b"]);
    });
}

#[test]
fn too_many_turns_are_refused_and_leave_no_trace() {
    let limits = Limits {
        queued_turns: 2,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        s.open_turn();
        s.prompt("b");
        s.prompt("c");
        let before = s.log.len();
        let refused = s.start_turn(vec![text_block("d")], Some("D")).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        assert_eq!(s.log.len(), before);
        s.stops_with("end_turn");
        let accepted = s.start_turn(vec![text_block("d")], Some("D")).unwrap();
        assert_eq!(accepted.id, TurnId(4), "the refused one used up no number");
    });
}

#[test]
fn invalid_input_is_refused() {
    check(|s| {
        s.open_session();
        for input in [
            vec![],
            vec![block("7")],
            vec![block("{}")],
            vec![block(r#"{"type":"hologram"}"#)],
        ] {
            let refused = s.start_turn(input, None).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidParams);
        }
        assert!(s.sent_as("session/prompt").is_empty());
    });
}

const PLAIN: &str = r#"{"protocolVersion":1,"agentCapabilities":{}}"#;

#[test]
fn a_block_that_the_agent_did_not_declare_is_refused_by_the_capabilitys_name() {
    let blocks = [
        (r#"{"type":"image","data":"","mimeType":"image/png"}"#, "image"),
        (r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#, "audio"),
        (
            r#"{"type":"resource","resource":{"uri":"file:///a","text":"x"}}"#,
            "embeddedContext",
        ),
    ];
    check(|s| {
        s.create();
        s.answer("initialize", PLAIN);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        for (json, capability) in blocks {
            let refused = s.start_turn(vec![block(json)], None).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unsupported);
            assert!(
                refused
                    .message
                    .contains(&format!("promptCapabilities.{capability}")),
                "{refused}"
            );
        }
        let passes = vec![
            text_block("see"),
            block(r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#),
        ];
        s.start_turn(passes, None).unwrap();
        assert!(s.awaits("session/prompt"));
    });
    check(|s| {
        s.open_session();
        let all = blocks.map(|(json, _)| block(json)).to_vec();
        s.start_turn(all, None).unwrap();
        assert!(
            s.awaits("session/prompt"),
            "an agent that declared them gets them"
        );
    });
}

#[test]
fn a_block_that_came_before_the_agent_was_known_fails_its_turn() {
    check(|s| {
        s.create();
        let image = block(r#"{"type":"image","data":"","mimeType":"image/png"}"#);
        let turn = s.start_turn(vec![image], None).unwrap().id;
        let next = s.prompt("words");
        s.answer("initialize", PLAIN);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        let (status, _, error) = s.ending(turn);
        assert_eq!(status, TurnStatus::Failed);
        assert!(error.unwrap().contains("promptCapabilities.image"), "{error:?}");
        assert_eq!(prompts(s), ["words"], "the next one goes on");
        s.stops_with("end_turn");
        assert_eq!(s.status(next), TurnStatus::Completed);
    });
}

#[test]
fn stop_reasons_stay_distinct() {
    for (reason, status) in [
        ("end_turn", TurnStatus::Completed),
        ("max_tokens", TurnStatus::Limited),
        ("max_turn_requests", TurnStatus::Limited),
        ("refusal", TurnStatus::Refused),
        ("cancelled", TurnStatus::Interrupted),
        ("_vendor/sleepy", TurnStatus::Completed),
    ] {
        check(|s| {
            s.open_turn();
            s.stops_with(reason);
            assert_eq!(s.ending(TurnId(1)), (status, Some(reason), None));
        });
    }
}

#[test]
fn an_answer_without_a_stop_reason_is_a_failure() {
    for result in ["null", "{}", "[]", r#"{"stopReason":7}"#] {
        check(|s| {
            s.open_turn();
            s.answer("session/prompt", result);
            let (status, _, error) = s.ending(TurnId(1));
            assert_eq!(status, TurnStatus::Failed);
            assert!(error.unwrap().contains("stop reason"));
        });
    }
}

#[test]
fn an_error_of_the_agent_fails_the_turn_with_its_words() {
    check(|s| {
        s.open_turn();
        s.chunk("half");
        let id = s.open_request("session/prompt");
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":400,"message":"bad model","data":{{"why":"quota"}}}}}}"#
        ));
        let (status, stop, error) = s.ending(TurnId(1));
        assert_eq!((status, stop), (TurnStatus::Failed, None));
        assert_eq!(error, Some(r#"bad model (400): {"why":"quota"}"#));
        assert_eq!(s.said(), ["half"]);
    });
}

fn arrange(s: &mut Scene, first: &[u32], paused: Option<bool>) {
    let first = first.iter().copied().map(TurnId).collect();
    let change = QueueChange::Arrange { first, paused };
    assert_eq!(s.ask(Command::ChangeQueue(change)), Ok(Reply::Done));
}

fn queue(s: &Scene) -> (Vec<u32>, bool) {
    let live = s.thread.live();
    (
        live.queue.iter().map(|turn| turn.id.0).collect(),
        live.queue_paused,
    )
}

const PAUSE: InterruptOptions = InterruptOptions {
    pause_queue: true,
    at_once: false,
};

#[test]
fn an_interruption_can_pause_the_queue() {
    check(|s| {
        s.open_session();
        s.prompt("one");
        s.prompt("two");
        s.prompt("three");
        s.interrupt_with(None, PAUSE).unwrap();
        s.stops_with("cancelled");
        assert_eq!(prompts(s), ["one"], "the rest waits");
        assert_eq!(queue(s), (vec![2, 3], true));
        let changed = &s.params("turn/queue/changed")[0];
        assert_eq!(changed["queuedTurnIds"], json!(["turn_2", "turn_3"]));
        assert_eq!(
            (&changed["paused"], &changed["by"]["principal"]),
            (&json!(true), &json!("owner"))
        );
        let sent = s.prompt("now");
        assert_eq!(prompts(s), ["one", "now"], "a new message does not wait for them");
        s.stops_with("end_turn");
        assert_eq!(
            (queue(s), s.status(sent)),
            ((vec![2, 3], true), TurnStatus::Completed)
        );
        arrange(s, &[], Some(false));
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        assert_eq!(prompts(s), ["one", "now", "two", "three"]);
        assert_eq!(queue(s), (vec![], false));
    });
}

/// Pages had it in the queued turn, and clients that followed the thread after the turn before.
#[test]
fn text_between_turns_does_not_belong_to_a_queued_turn() {
    let turns = |s: &Scene| {
        let mut whole = Transcript::default();
        s.log.iter().for_each(|event| whole.fold(event));
        let turns = whole.into_turns().into_iter();
        turns
            .map(|turn| (turn.id.map(|id| id.0), turn.items.len()))
            .collect::<Vec<_>>()
    };
    check(|s| {
        s.open_session();
        s.chunk("before the first turn");
        s.prompt("one");
        s.prompt("two");
        s.prompt("three");
        s.interrupt_with(None, PAUSE).unwrap();
        s.stops_with("cancelled");
        s.chunk("late");
        s.later(1_000);
        assert_eq!(turns(s), [(None, 1), (Some(1), 2), (Some(2), 0), (Some(3), 0)]);
        // The queue starts in another order, and an edited prompt has a later event.
        let input = vec![text_block("better")];
        s.ask(Command::ChangeQueue(QueueChange::Edit {
            turn: TurnId(2),
            input,
        }))
        .unwrap();
        s.chunk("later still");
        s.later(1_000);
        assert_eq!(turns(s), [(None, 1), (Some(1), 2), (Some(2), 0), (Some(3), 0)]);
        arrange(s, &[3, 2], None);
        arrange(s, &[], Some(false));
        s.chunk("in three");
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        s.chunk("later");
        s.later(1_000);
        assert_eq!(turns(s), [(None, 1), (Some(1), 2), (Some(2), 1), (Some(3), 3)]);
    });
}

#[test]
fn a_queue_that_becomes_empty_is_not_paused() {
    check(|s| {
        s.open_turn();
        let queued = s.prompt("later");
        s.interrupt_with(None, PAUSE).unwrap();
        s.interrupt_turn(Some(queued)).unwrap();
        assert_eq!(queue(s), (vec![], false));
        s.prompt("again");
        s.stops_with("cancelled");
        assert_eq!(prompts(s), ["do it", "again"]);
    });
    check(|s| {
        s.open_turn();
        s.interrupt_with(None, PAUSE).unwrap();
        assert!(s.params("turn/queue/changed").is_empty(), "nothing waits");
    });
}

#[test]
fn queued_turns_are_put_in_order() {
    check(|s| {
        s.open_turn();
        for text in ["b", "c", "d"] {
            s.prompt(text);
        }
        arrange(s, &[4, 9, 1], None);
        assert_eq!(queue(s), (vec![4, 2, 3], false), "other turns are ignored");
        let before = s.log.len();
        arrange(s, &[4], None);
        assert_eq!(s.log.len(), before, "nothing changed");
        for _ in 0..4 {
            s.stops_with("end_turn");
        }
        assert_eq!(prompts(s), ["do it", "d", "b", "c"]);
    });
}

#[test]
fn a_queued_prompt_can_be_replaced() {
    check(|s| {
        s.open_turn();
        let queued = s.start_turn(vec![text_block("b")], Some("B")).unwrap().id;
        s.prompt("c");
        let edit =
            |s: &mut Scene, turn, input| s.ask(Command::ChangeQueue(QueueChange::Edit { turn, input }));
        assert_eq!(edit(s, queued, vec![text_block("better")]), Ok(Reply::Done));
        let told = s.params("turn/queued").pop().unwrap();
        assert_eq!(
            told["turn"],
            json!({
                "id": "turn_2",
                "status": "queued",
                "clientTurnId": "B",
                "input": [{ "type": "text", "text": "better" }],
            })
        );
        assert_eq!(
            edit(s, queued, vec![]).unwrap_err().code,
            ErrorCode::InvalidParams
        );
        assert_eq!(
            edit(s, TurnId(1), vec![text_block("x")]).unwrap_err().code,
            ErrorCode::Conflict,
            "it runs"
        );
        let again = s.start_turn(vec![text_block("b")], Some("B")).unwrap();
        assert_eq!((again.id, again.queued), (queued, true));
        s.stops_with("end_turn");
        s.stops_with("end_turn");
        assert_eq!(prompts(s), ["do it", "better", "c"], "it keeps its place");
    });
}

#[test]
fn a_queued_prompt_can_be_sent_into_the_running_turn() {
    const STEERS: &str =
        r#"{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}"#;
    let steer = |turn| Command::SteerQueued { turn };
    check(|s| {
        s.create();
        s.answer("initialize", STEERS);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("one");
        let queued = s.prompt("two");
        let call = s.send(steer(queued));
        assert_eq!(queue(s), (vec![], false));
        s.answer("_session/steering", r#"{"outcome":"injected"}"#);
        let reply = Reply::Steered {
            turn: TurnId(1),
            delivery: SteerDelivery::Steered,
        };
        assert_eq!(s.replies[&call], Ok(reply));
        s.stops_with("end_turn");
        assert_eq!(prompts(s), ["one"], "it is not sent twice");
    });
    check(|s| {
        s.open_turn();
        let queued = s.prompt("two");
        let refused = s.ask(steer(queued)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unsupported);
        assert_eq!(queue(s), (vec![2], false), "it still waits");
    });
}

#[test]
fn the_agent_is_terminated_at_once_if_a_client_wants_that() {
    let now = InterruptOptions {
        pause_queue: false,
        at_once: true,
    };
    check(|s| {
        s.open_turn();
        s.chunk("I go on and");
        s.interrupt();
        assert!(s.thread.live().turn.is_some(), "the agent does not end the turn");
        s.interrupt_with(None, now).unwrap();
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        assert_eq!(s.stops, 1);
    });
    check(|s| {
        s.open_turn();
        s.interrupt_with(Some(TurnId(1)), now).unwrap();
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        let next = s.prompt("again");
        s.exits("killed by SIGKILL");
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.stops_with("end_turn");
        assert_eq!(
            s.status(next),
            TurnStatus::Completed,
            "the next turn gets a new process"
        );
    });
}
