//! Names, client data, archiving and deletion.

use acpd_model::event::SessionDeleted;
use acpd_model::{ErrorCode, EventKind, Failure, RawJson, ThreadEvent, ThreadStatus, TurnId};
use acpd_proto::agent::{AgentRequest, ElicitationModes};
use acpd_proto::projection::text_block;
use acpd_proto::thread::{Change, Command, Input, InterruptOptions, LastUse, Reply};
use serde_json::json;

use crate::support::{FULL, Scene, check, wake};

/// An agent that can delete a session.
const DELETES: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"delete":{},"resume":{}}}}"#;

fn change(s: &mut Scene, change: Change) -> Result<Reply, Failure> {
    s.ask(Command::Change(change))
}

fn rename(s: &mut Scene, name: Option<&str>) -> Result<Reply, Failure> {
    let name = name.map(str::to_owned);
    change(s, Change::Rename { name })
}

fn name(s: &Scene) -> Option<&str> {
    s.thread.live().summary.name.as_deref()
}

fn title(s: &mut Scene, title: &str) {
    s.update(&format!(
        r#"{{"sessionUpdate":"session_info_update","title":"{title}"}}"#
    ));
}

#[test]
fn a_users_name_overrides_the_agents_title() {
    check(|s| {
        s.open_turn();
        assert_eq!(name(s), Some("do it"));
        title(s, "From the agent");
        assert_eq!(name(s), Some("From the agent"));
        rename(s, Some("  Mine ")).unwrap();
        title(s, "Another");
        assert_eq!(name(s), Some("Mine"));
        rename(s, None).unwrap();
        assert_eq!(name(s), Some("Another"));
        s.stops_with("end_turn");
        let named: Vec<_> = s
            .params("thread/updated")
            .iter()
            .filter(|params| params.get("sessionInfo").is_some() || params.get("by").is_some())
            .map(|params| params.get("name").cloned())
            .collect();
        let expected = [
            Some(json!("From the agent")),
            Some(json!("Mine")),
            None,
            Some(json!("Another")),
        ];
        assert_eq!(named, expected, "no client is told a name that does not count");
    });
}

#[test]
fn a_name_from_the_beginning_is_a_persons() {
    check(|s| {
        s.send(Command::Create {
            spec: Box::default(),
            name: Some("Given".into()),
            project_id: None,
            metadata: None,
            elicitation: ElicitationModes::ALL,
            config_options: Vec::new(),
        });
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("first words");
        title(s, "The agent's");
        assert_eq!(name(s), Some("Given"));
        s.stops_with("end_turn");
        rename(s, None).unwrap();
        assert_eq!(name(s), Some("The agent's"));
    });
}

#[test]
fn names_without_letters_or_end_are_refused() {
    check(|s| {
        s.open_session();
        for bad in ["", " \n", &"x".repeat(1025)] {
            assert_eq!(rename(s, Some(bad)).unwrap_err().code, ErrorCode::InvalidParams);
        }
        assert_eq!(name(s), None);
    });
}

#[test]
fn a_clients_data_are_replaced_as_a_whole() {
    check(|s| {
        s.open_session();
        let set = |s: &mut Scene, json: Option<&str>| {
            let metadata = json.map(|json| RawJson::parse(json).unwrap());
            change(s, Change::SetMetadata { metadata })
        };
        set(s, Some(r#"{"a":1.10,"big":18446744073709551616}"#)).unwrap();
        set(s, Some(r#"{"b":2}"#)).unwrap();
        let kept = s.thread.live().summary.metadata.clone();
        assert_eq!(kept.unwrap().get(), r#"{"b":2}"#);
        let long = format!("\"{}\"", "x".repeat(64 << 10));
        assert_eq!(set(s, Some(&long)).unwrap_err().code, ErrorCode::InvalidParams);
        set(s, None).unwrap();
        assert_eq!(s.thread.live().summary.metadata, None);
        assert_eq!(
            s.params("thread/updated").last().unwrap()["metadata"],
            json!(null)
        );
    });
}

fn pin(pinned: bool, place: Option<u32>) -> Change {
    Change::Pin { pinned, place }
}

#[test]
fn a_pinned_thread_keeps_its_place_until_another_is_chosen_or_the_pin_is_removed() {
    check(|s| {
        s.open_session();
        let place = |s: &Scene| s.thread.live().summary.pin_place;
        // Without a pin there is no place.
        change(s, pin(false, Some(4))).unwrap();
        assert!(
            !s.kinds()
                .any(|kind| matches!(kind, EventKind::Thread(ThreadEvent::PinSet { .. })))
        );
        change(s, pin(true, Some(4))).unwrap();
        change(s, pin(true, Some(4))).unwrap();
        change(s, pin(true, None)).unwrap();
        assert_eq!(place(s), Some(4));
        change(s, pin(true, Some(u32::MAX))).unwrap();
        assert_eq!(place(s), Some(u32::MAX));
        change(s, pin(false, Some(5))).unwrap();
        assert_eq!(place(s), None);
        change(s, pin(true, None)).unwrap();
        assert_eq!(place(s), None);
        let updates = s.params("thread/updated");
        let places: Vec<_> = updates
            .iter()
            .filter(|update| update.get("pinned").is_some())
            .map(|update| update.get("pinPlace"))
            .collect();
        assert_eq!(places, [Some(&json!(4)), Some(&json!(u32::MAX)), None, None]);
    });
}

#[test]
fn a_pin_is_set_at_any_time_and_once() {
    check(|s| {
        s.open_turn();
        let used = s.thread.live().summary.updated_at;
        s.later(10);
        change(s, pin(false, None)).unwrap();
        assert!(
            !s.kinds()
                .any(|kind| matches!(kind, EventKind::Thread(ThreadEvent::PinSet { .. })))
        );
        change(s, pin(true, None)).unwrap();
        change(s, pin(true, None)).unwrap();
        let summary = &s.thread.live().summary;
        assert!(summary.pinned);
        assert_eq!(summary.updated_at, used, "a pin is no use of the thread");
        s.stops_with("end_turn");
        change(s, Change::Archive).unwrap();
        change(s, pin(false, None)).unwrap();
        assert!(!s.thread.live().summary.pinned);
        let updates = s.params("thread/updated");
        let pins: Vec<_> = updates.iter().filter_map(|update| update.get("pinned")).collect();
        assert_eq!(pins, [&json!(true), &json!(false)]);
    });
}

#[test]
fn an_archived_thread_accepts_no_turns_and_has_no_agent() {
    check(|s| {
        s.open_turn();
        let busy = change(s, Change::Archive).unwrap_err();
        assert_eq!(busy.code, ErrorCode::Conflict);
        s.stops_with("end_turn");
        change(s, Change::Archive).unwrap();
        assert_eq!(s.stops, 1);
        let logged = s.next_seq();
        change(s, Change::Archive).unwrap();
        s.exits("exit status 0");
        s.ask(wake()).unwrap();
        assert_eq!(s.starts.len(), 1, "who only looks does not start it");
        let refused = s.start_turn(vec![text_block("x")], None).unwrap_err();
        assert_eq!(
            (refused.code, refused.message.contains("unarchive")),
            (ErrorCode::Conflict, true)
        );
        let mode_id = "code".to_owned();
        let refused = s
            .ask(Command::AgentRequest(AgentRequest::SetMode { mode_id }))
            .unwrap_err();
        assert_eq!((refused.code, s.starts.len()), (ErrorCode::Conflict, 1));
        assert_eq!(s.methods_from(logged), ["thread/notice"], "archived once");
        assert!(s.thread.live().summary.archived);
        change(s, Change::Unarchive).unwrap();
        change(s, Change::Unarchive).unwrap();
        assert_eq!(s.params("thread/unarchived").len(), 1);
        s.prompt("again");
        s.answer("initialize", FULL);
        s.answer("session/resume", "{}");
        s.later(100);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_turn_that_waits_is_taken_back() {
    check(|s| {
        s.open_turn();
        let waiting = s.prompt("later");
        s.interrupt_turn(Some(waiting)).unwrap();
        s.stops_with("end_turn");
        assert_eq!(s.sent_as("session/prompt").len(), 1);
        assert_eq!(s.ending(waiting).0, acpd_model::event::TurnStatus::Interrupted);
    });
}

fn vanished(s: &Scene, session: SessionDeleted) {
    let Some(EventKind::Thread(ThreadEvent::Deleted { session: told })) = s.kinds().next_back() else {
        panic!("the last event is another one");
    };
    assert_eq!(*told, session);
    assert_eq!(s.thread.live().summary.status, ThreadStatus::Deleting);
}

#[test]
fn a_thread_is_deleted_and_nothing_follows() {
    check(|s| {
        s.open_turn();
        assert_eq!(s.ask(Command::Delete).unwrap_err().code, ErrorCode::Conflict);
        s.stops_with("end_turn");
        let call = s.send(Command::Delete);
        vanished(s, SessionDeleted::NotAsked);
        assert_eq!(s.deleted, [Some(call)], "it is answered when its log is gone");
        assert!(!s.replies.contains_key(&call));
        assert_eq!(s.stops, 1);
        s.chunk("late words");
        s.exits("exit status 0");
        let refused = s.ask(wake()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
        vanished(s, SessionDeleted::NotAsked);
    });
}

#[test]
fn the_agent_deletes_its_session_first_where_it_can() {
    let opened = |s: &mut Scene| {
        s.create();
        s.answer("initialize", DELETES);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    };
    check(|s| {
        opened(s);
        s.send(Command::Delete);
        assert_eq!(
            s.sent_as("session/delete")[0].json["params"],
            json!({ "sessionId": "s-1" })
        );
        assert_eq!(s.deleted, []);
        let refused = s.start_turn(vec![text_block("x")], None).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict, "it is being deleted");
        let refused = s.ask(Command::Fork { turn: None }).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        s.answer("session/delete", "{}");
        vanished(s, SessionDeleted::Deleted);
    });
    check(|s| {
        opened(s);
        s.send(Command::Delete);
        s.refuse("session/delete", -32603, "locked");
        vanished(s, SessionDeleted::Failed);
    });
    check(|s| {
        opened(s);
        s.send(Command::Delete);
        s.exits("exit status 1");
        vanished(s, SessionDeleted::Failed);
        assert_eq!(s.deleted.len(), 1);
    });
    check(|s| {
        opened(s);
        s.exits("exit status 0");
        s.send(Command::Delete);
        s.answer("initialize", DELETES);
        s.answer("session/resume", "{}");
        s.later(100);
        s.answer("session/delete", "{}");
        vanished(s, SessionDeleted::Deleted);
    });
}

#[test]
fn an_unused_thread_is_deleted_only_if_nothing_uses_it() {
    let last = |s: &Scene| {
        let summary = &s.thread.live().summary;
        LastUse {
            updated_at: summary.updated_at,
            archived: summary.archived,
            check_only: false,
        }
    };
    let refused = |s: &mut Scene, last: LastUse| {
        let events = s.log.len();
        for check_only in [false, true] {
            let command = Command::DeleteUnused(LastUse { check_only, ..last });
            assert_eq!(s.ask(command).unwrap_err().code, ErrorCode::Conflict);
        }
        assert_eq!((s.log.len(), s.deleted.len()), (events, 0));
    };
    check(|s| {
        s.create();
        s.answer("initialize", DELETES);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.later(10);
        let before = last(s);
        s.start_turn(vec![text_block("x")], None).unwrap();
        refused(s, last(s));
        s.later(10);
        s.stops_with("end_turn");
        // The agent still runs.
        refused(s, last(s));
        s.exits("exit status 0");
        refused(s, before);
        refused(
            s,
            LastUse {
                archived: true,
                ..last(s)
            },
        );
        let only = LastUse {
            check_only: true,
            ..last(s)
        };
        s.ask(Command::DeleteUnused(only)).unwrap();
        assert_eq!(s.deleted, []);
        let call = s.send(Command::DeleteUnused(last(s)));
        assert!(
            s.sent_as("session/delete").is_empty(),
            "no agent is started for it"
        );
        vanished(s, SessionDeleted::NotAsked);
        assert_eq!(s.deleted, [Some(call)]);
    });
}

#[test]
fn a_daemon_that_stops_deletes_nothing() {
    check(|s| {
        s.create();
        s.answer("initialize", DELETES);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        let call = s.send(Command::Delete);
        s.ask(Command::Stop).unwrap();
        assert_eq!(
            s.replies[&call].as_ref().unwrap_err().code,
            ErrorCode::AgentFailed
        );
        assert!(!s.thread.live().is_deleted());
    });
}

#[test]
fn a_daemon_that_was_killed_finishes_the_deletion() {
    let scene = check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.send(Command::Delete);
    });
    let mut again = Scene::restarted(&scene.log);
    assert_eq!(again.deleted, [None]);
    assert_eq!(again.log, scene.log, "nothing follows");
    let call = 7;
    let by = acpd_model::Origin::Daemon;
    let command = Command::Interrupt {
        turn: Some(TurnId(1)),
        options: InterruptOptions::default(),
    };
    again.handle(Input::Command { call, by, command });
    assert_eq!(
        again.replies[&call].as_ref().unwrap_err().code,
        ErrorCode::NotFound
    );
}
