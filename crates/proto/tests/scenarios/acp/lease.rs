//! The holder of the lease, and the notifications about it.

use std::sync::Arc;

use acpd_model::event::LeaseMove;
use acpd_model::{EventKind, Role, ThreadEvent};
use acpd_proto::surface::reply::{Reply, ThreadView};
use serde_json::{Value, json};

use super::stage::{SIMPLE, Stage, WORKER, play};
use crate::peer::Line;
use crate::support::{Scene, check};

/// Returns the moves so far: the new holder and the reason.
fn moves(scene: &Scene) -> Vec<(Option<String>, LeaseMove)> {
    let moved = scene.kinds().filter_map(|kind| match kind {
        EventKind::Thread(ThreadEvent::LeaseMoved { holder, why }) => {
            Some((holder.as_ref().map(|holder| holder.connection.clone()), *why))
        }
        _ => None,
    });
    moved.collect()
}

fn to(connection: &str, why: LeaseMove) -> (Option<String>, LeaseMove) {
    (Some(connection.to_owned()), why)
}

pub fn loads(s: &mut Stage, hello: &str) -> usize {
    let who = s.editor(hello);
    s.ask_session(who, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
    who
}

fn moved(s: &Stage, who: usize) -> Vec<Value> {
    let got = s.editors[who].got.iter();
    let moved = got.filter(|message| message["method"] == "_acpd/lease/moved");
    moved
        .map(|message| message["params"]["lease"]["connection"].clone())
        .collect()
}

#[test]
fn the_first_editor_that_can_answer_holds_it() {
    play(|s| {
        let simple = s.editor(SIMPLE);
        let made = s.ask(simple, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        let acpd = &made["result"]["_meta"]["acpd"];
        assert_eq!(
            (&acpd["lease"], &acpd["connection"]),
            (&Value::Null, &json!("c0"))
        );
        assert!(moves(&s.scene).is_empty());
        let worker = loads(s, WORKER);
        loads(s, WORKER);
        assert_eq!(moves(&s.scene), [to("c1", LeaseMove::Opened)]);
        let holder = json!({ "principal": "owner", "client": "worker", "connection": "c1" });
        // The editor that opens the session gets the holder in the response; the others get a notification.
        let answer = s.editors[worker].got.last().unwrap();
        assert_eq!(answer["result"]["_meta"]["acpd"]["lease"], holder);
        assert!(moved(s, worker).is_empty());
        assert_eq!(moved(s, simple), ["c1"]);
        // The app protocol reports the same.
        let notified = &s.scene.params("thread/lease/moved")[0];
        assert_eq!(
            (&notified["holder"], &notified["why"]),
            (&holder, &json!("opened"))
        );
        assert_eq!(notified["by"]["client"], "worker");
        let view = ThreadView {
            live: Arc::new(s.scene.thread.live().clone()),
            turns: None,
        };
        let params = json!({ "threadId": s.scene.id }).to_string();
        let read = Line::ready("{}").result("thread/read", &params, Reply::Thread(Box::new(view)));
        assert_eq!(read["thread"]["lease"], holder);
    });
}

#[test]
fn it_passes_on_when_its_holder_goes() {
    play(|s| {
        let first = Stage::at_work(WORKER, s);
        loads(s, SIMPLE);
        let third = loads(s, WORKER);
        s.ask_session(first, "session/close", "");
        s.kill(third);
        let expected = [
            to("c0", LeaseMove::Opened),
            to("c2", LeaseMove::Left),
            (None, LeaseMove::Left),
        ];
        assert_eq!(moves(&s.scene), expected);
        // The lease can be acquired again.
        s.ask_session(first, "session/resume", r#","cwd":"/workspace""#);
        assert_eq!(moves(&s.scene)[3..], [to("c0", LeaseMove::Opened)]);
    });
}

#[test]
fn it_can_be_asked_for_and_given_up() {
    play(|s| {
        let first = Stage::at_work(WORKER, s);
        let second = loads(s, SIMPLE);
        let got = s.ask_session(second, "_acpd/lease/acquire", "");
        assert_eq!(got["result"]["lease"]["connection"], "c1");
        assert_eq!(moved(s, first), ["c1"]);
        // A second acquire moves nothing, and only the holder can release the lease.
        s.ask_session(second, "_acpd/lease/acquire", "");
        s.ask_session(first, "_acpd/lease/release", "");
        assert_eq!(moves(&s.scene).len(), 2);
        // The first editor has given up its claim.
        let got = s.ask_session(second, "_acpd/lease/release", "");
        assert_eq!(got["result"], json!({ "lease": null }));
        assert_eq!(moves(&s.scene)[2..], [(None, LeaseMove::Released)]);
        s.ask_session(first, "_acpd/lease/acquire", "");
        assert_eq!(moves(&s.scene)[3..], [to("c0", LeaseMove::Acquired)]);
        let elsewhere = s.editor(WORKER);
        let refused = s.ask_session(elsewhere, "_acpd/lease/acquire", "");
        assert!(refused["error"].is_object());
    });
}

#[test]
fn an_observer_gets_no_lease() {
    play(|s| {
        let first = Stage::at_work(SIMPLE, s);
        for role in [Role::Observer, Role::Approver] {
            let looker = s.connect(role);
            s.ask(looker, "initialize", WORKER);
            s.ask_session(looker, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
            let refused = s.ask_session(looker, "_acpd/lease/acquire", "");
            assert_eq!(refused["error"]["data"]["acpd"]["code"], "forbidden");
        }
        assert!(moves(&s.scene).is_empty());
        s.ask_session(first, "_acpd/lease/acquire", "");
        assert_eq!(moves(&s.scene).len(), 1);
    });
}

#[test]
fn the_same_connection_again_keeps_it() {
    play(|s| {
        let first = Stage::at_work(WORKER, s);
        loads(s, WORKER);
        s.ask_session(first, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(moves(&s.scene), [to("c0", LeaseMove::Opened)]);
    });
}

#[test]
fn the_lease_has_no_holder_after_a_restart() {
    let before = play(|s| {
        Stage::at_work(WORKER, s);
    });
    let after = Scene::restarted(&before.log);
    assert_eq!(moves(&after)[1..], [(None, LeaseMove::Restarted)]);
    assert_eq!(after.thread.live().lease, None);
    // A second restart records no further move.
    assert_eq!(moves(&Scene::restarted(&after.log)).len(), 2);
    check(|scene| *scene = after);
}
