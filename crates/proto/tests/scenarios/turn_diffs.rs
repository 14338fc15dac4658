//! The diff of a turn: shown live at a bounded cost, stored once.

use acpd_model::event::{DiffSize, TurnStatus};
use acpd_model::limits::{LIVE_DIFF_BYTES_PER_SEC, LIVE_DIFF_MILLIS, TURN_DIFF_BYTES};
use acpd_model::{Event, EventKind, ItemEvent, PreviousContent, TurnEvent, TurnId};
use acpd_proto::projection::{Live, Transcript};
use acpd_proto::surface::app::frame;
use acpd_proto::thread::{Command, HostReply, Input};
use serde_json::{Value, json};

use crate::support::{Scene, check, check_in, tool};

/// Completes a tool call that adds a file.
fn adds(s: &mut Scene, number: usize, content: &str) {
    let path = format!("/w/{number:04}");
    let shown = json!([{ "type": "diff", "path": path, "oldText": null, "newText": content }]);
    s.update(&tool(
        &format!("t{number}"),
        false,
        &format!(r#","status":"completed","content":{shown}"#),
    ));
}

/// Returns the live diffs so far.
fn live(s: &Scene) -> Vec<String> {
    let diffs = s.shown.iter().map(|frame| {
        let message: Value = serde_json::from_slice(&frame.text).unwrap();
        assert_eq!((frame.seq, frame.method), (0, "turn/diff/updated"));
        let params = &message["params"];
        assert!(params.get("seq").is_none(), "{params}");
        assert_eq!(params["turnId"], "turn_1");
        params["diff"].as_str().unwrap().to_owned()
    });
    diffs.collect()
}

fn stored(s: &Scene) -> Vec<String> {
    let diffs = s.kinds().filter_map(|kind| match kind {
        EventKind::Turn(TurnEvent::DiffUpdated { diff }) => Some(diff.clone()),
        _ => None,
    });
    diffs.collect()
}

/// Returns the sizes of the diffs of all ended turns.
fn sizes(s: &Scene) -> Vec<Option<DiffSize>> {
    let sizes = s.kinds().filter_map(|kind| match kind {
        EventKind::Turn(TurnEvent::Settled { changes, .. }) => Some(changes.as_deref().copied()),
        _ => None,
    });
    sizes.collect()
}

fn log_bytes(log: &[Event]) -> usize {
    let mut bytes = Vec::new();
    for event in log {
        event.encode(&mut bytes).unwrap();
    }
    bytes.len()
}

#[test]
fn a_turns_diff_is_shown_live_and_stored_once() {
    check(|s| {
        s.open_turn();
        adds(s, 1, "one\n");
        s.later(LIVE_DIFF_MILLIS - 1);
        adds(s, 2, "two\n");
        assert_eq!(live(s), [""; 0]);
        s.later(1);
        let [both] = &live(s)[..] else {
            panic!("{:?}", live(s))
        };
        assert!(both.contains("+one\n") && both.contains("+two\n"), "{both}");
        s.later(10_000);
        assert_eq!(live(s).len(), 1, "nothing has changed");
        adds(s, 3, "three\n");
        s.later(LIVE_DIFF_MILLIS);
        assert!(live(s)[1].contains("+three\n"));
        assert_eq!(stored(s), [""; 0]);
        s.stops_with("end_turn");
        assert_eq!(stored(s), [live(s)[1].clone()]);
        let order = s.methods();
        let diff = order.iter().position(|method| *method == "turn/diff/updated");
        assert_eq!(order[diff.unwrap() + 1], "turn/completed");
        assert_eq!(
            sizes(s),
            [Some(DiffSize {
                files: 3,
                added: 3,
                removed: 0,
                incomplete: false,
            })]
        );
        s.later(10_000);
        assert_eq!(live(s).len(), 2);
    });
}

#[test]
fn a_turn_that_ends_soon_shows_no_live_diff() {
    check(|s| {
        s.open_turn();
        (0..50).for_each(|number| adds(s, number, "new\n"));
        s.stops_with("end_turn");
        s.later(10_000);
        assert_eq!(live(s), [""; 0]);
        assert_eq!(stored(s)[0].matches("+new").count(), 50);
    });
}

/// The whole diff was stored and sent after each change: 322 MiB for 400 files of 6 KB.
#[test]
fn the_diffs_of_a_turn_cost_as_much_as_its_changes() {
    let line = format!("{}\n", "x".repeat(59));
    let (files, content) = (400, line.repeat(100));
    for pause in [0, 50, 1000] {
        check(|s| {
            s.open_turn();
            for number in 0..files {
                adds(s, number, &content);
                s.later(pause);
            }
            s.stops_with("end_turn");
            let bytes = files * content.len();
            assert!(log_bytes(&s.log) < 5 * bytes, "{}", log_bytes(&s.log));
            let live: usize = live(s).iter().map(String::len).sum();
            let seconds = files * usize::try_from(pause).unwrap() / 1000;
            let rate = seconds * usize::try_from(LIVE_DIFF_BYTES_PER_SEC).unwrap();
            assert!(
                live <= 5 * bytes / 4 + rate,
                "{live} bytes are shown with {pause} ms"
            );
            assert!(stored(s)[0].len() <= TURN_DIFF_BYTES + 100);
            let size = sizes(s)[0].unwrap();
            assert!(size.incomplete && size.files > 0, "{size:?}");
        });
    }
}

#[test]
fn a_change_that_the_cut_diff_does_not_show_is_not_sent() {
    check(|s| {
        s.open_turn();
        let content = "x".repeat(200_000);
        (0..10).for_each(|number| adds(s, number, &content));
        s.later(LIVE_DIFF_MILLIS);
        assert_eq!(live(s).len(), 1);
        adds(s, 10, &content);
        s.later(60_000);
        assert_eq!(live(s).len(), 1);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_turn_that_fails_has_its_diff() {
    type End = (TurnStatus, fn(&mut Scene));
    let ends: [End; 2] = [
        (TurnStatus::Failed, |s| s.exits("exit status 1")),
        (TurnStatus::Interrupted, |s| {
            s.ask(Command::Stop).unwrap();
        }),
    ];
    for (status, end) in ends {
        check(|s| {
            s.open_turn();
            adds(s, 1, "one\n");
            end(s);
            assert_eq!(s.status(TurnId(1)), status);
            assert_eq!(stored(s).len(), 1);
            assert!(stored(s)[0].contains("+one\n"));
        });
    }
}

#[test]
fn a_restart_in_a_turn_stores_no_diff_of_it() {
    let killed = check(|s| {
        s.open_turn();
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"new\n"}"#,
        );
        let old = PreviousContent::Nothing;
        s.host_replies(Ok(HostReply::Written { old }));
        s.later(LIVE_DIFF_MILLIS);
        assert_eq!(live(s).len(), 1);
    });
    check_in(Scene::restarted(&killed.log), |s| {
        assert_eq!(s.status(TurnId(1)), TurnStatus::Interrupted);
        assert_eq!(stored(s), [""; 0]);
        assert_eq!(s.params("item/fileChange/completed").len(), 1);
        s.later(10_000);
        assert_eq!(live(s), [""; 0]);
    });
}

#[test]
fn a_write_between_turns_belongs_to_no_diff() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"new\n"}"#,
        );
        let (call, _) = s.waiting.remove(0);
        let old = PreviousContent::Nothing;
        let result = Ok(HostReply::Written { old });
        s.handle(Input::Host { call, result });
        assert_eq!(s.thread.poll_timeout(), None);
        s.prompt("again");
        s.stops_with("end_turn");
        assert_eq!(stored(s), [""; 0]);
    });
}

/// Earlier versions stored the diff after each change.
#[test]
fn logs_with_many_diffs_in_a_turn_are_still_readable() {
    let new = check(|s| {
        s.open_turn();
        adds(s, 1, "one\n");
        adds(s, 2, "two\n");
        s.stops_with("end_turn");
    });
    let mut old = Vec::new();
    for event in &new.log {
        old.push(event.clone());
        if matches!(event.kind, EventKind::Item(ItemEvent::Completed { .. })) && event.turn.is_some() {
            let diff = format!("--- the diff so far, {}\n", event.seq);
            let kind = EventKind::Turn(TurnEvent::DiffUpdated { diff });
            old.push(Event {
                kind,
                raw: None,
                raw_params: None,
                repeats_id: false,
                translated: false,
                lane: None,
                ..event.clone()
            });
        }
    }
    let mut live = Live::new(new.id);
    let (mut with, mut without) = (Transcript::default(), Transcript::default());
    let mut last = None;
    for (seq, event) in (1..).zip(&mut old) {
        event.seq = seq;
        let mut bytes = Vec::new();
        event.encode(&mut bytes).unwrap();
        let event = Event::decode(&bytes).unwrap();
        live.fold(&event);
        with.fold(&event);
        let shown = frame(&new.id.to_string(), &event).unwrap();
        if shown.method == "turn/diff/updated" {
            let message: Value = serde_json::from_slice(&shown.text).unwrap();
            assert_eq!(message["params"]["seq"], json!(seq));
            last = Some(message["params"]["diff"].clone());
        }
    }
    new.log.iter().for_each(|event| without.fold(event));
    assert!(old.len() > new.log.len() + 4);
    assert_eq!(
        last,
        Some(json!(stored(&new)[0])),
        "the last one is the whole diff"
    );
    let items = |transcript: &Transcript| {
        let turns = transcript.turns.iter();
        turns.map(|turn| (turn.id, turn.items.len())).collect::<Vec<_>>()
    };
    assert_eq!(items(&with), items(&without));
    assert_eq!(live.summary, new.thread.live().summary);
    check_in(Scene::restarted(&old), |s| assert_eq!(s.log.len(), old.len()));
}
