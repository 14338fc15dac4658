//! Forked threads.

use acpd_model::event::{Binding, Directories, Fidelity, SessionDeleted, TurnStatus};
use acpd_model::{
    ErrorCode, Event, EventKind, Failure, ItemEvent, Limits, RawJson, RequestEvent, SessionEvent,
    ThreadEvent, TurnId,
};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::{Live, SessionChange};
use acpd_proto::thread::{Answer, Change, Command, ForkPoint, Reply};
use serde_json::json;

use crate::rollback::turn;
use crate::support::{FORK, FULL, Scene, check, check_in, wake};
use crate::tail::{messages, tail, with_id};

const FORKS: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{},"resume":{},"close":{}}}}"#;

const FORKS_AND_LOADS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"fork":{},"resume":{}}}}"#;

const FORKS_AND_DELETES: &str = r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{},"resume":{},"delete":{}}}}"#;

/// The agent can open a session again only by forking it.
const ONLY_FORKS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}"#;

fn two_turns(s: &mut Scene, hello: &str) {
    s.create();
    s.answer("initialize", hello);
    s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    turn(s, "prompt 1", "answer 1");
    turn(s, "prompt 2", "answer 2");
}

fn point(reply: &Result<Reply, Failure>) -> ForkPoint {
    match reply {
        Ok(Reply::Fork(point)) => (**point).clone(),
        other => panic!("{other:?}"),
    }
}

fn fork(s: &mut Scene, turn: Option<u32>) -> Result<Reply, Failure> {
    s.ask(Command::Fork {
        turn: turn.map(TurnId),
    })
}

/// Creates the fork from the log of the original thread.
fn adopt(s: &Scene, point: &ForkPoint, name: Option<&str>) -> Scene {
    let scene = Scene::adopting(&s.log, point.clone(), name);
    check_in(scene, |_| {})
}

#[test]
fn a_fork_has_the_name_that_its_origin_has_now() {
    check(|s| {
        two_turns(s, FULL);
        let rename = Change::Rename {
            name: Some("Tidy up".into()),
        };
        s.ask(Command::Change(rename)).unwrap();
        // The fork begins before the rename.
        let at = point(&fork(s, Some(1)));
        let name = |new: Scene| new.thread.live().summary.name.clone();
        assert_eq!(name(adopt(s, &at, None)).as_deref(), Some("Tidy up"));
        assert_eq!(name(adopt(s, &at, Some("Own"))).as_deref(), Some("Own"));
    });
}

#[test]
fn a_fork_works_where_its_origin_works_now() {
    check(|s| {
        two_turns(s, FULL);
        let moved = Directories {
            cwd: "/new".into(),
            real_directories: vec!["/new".into()],
            ..Directories::default()
        };
        let change = Change::SetDirectories(moved.clone());
        s.ask(Command::Change(change)).unwrap();
        // The fork begins before the move.
        let at = point(&fork(s, Some(1)));
        let new = adopt(s, &at, None);
        let live = new.thread.live();
        assert_eq!((live.spec.place(), &*live.summary.cwd), (moved, "/new"));
    });
}

#[test]
fn the_agent_of_a_fork_gets_the_session_params_of_now() {
    check(|s| {
        two_turns(s, FULL);
        let change = SessionChange {
            members: Some(RawJson::parse(r#"{"hint":"new"}"#).unwrap()),
            meta: Some(RawJson::parse(r#"{"k":1}"#).unwrap()),
            ..SessionChange::default()
        };
        s.ask(Command::SetSessionParams(change)).unwrap();
        s.exits("it was told to");
        // The fork begins before the change.
        let at = point(&fork(s, Some(1)));
        let mut new = adopt(s, &at, None);
        assert_eq!(new.thread.live().spec.params, s.thread.live().spec.params);
        new.prompt("another way");
        new.answer("initialize", FULL);
        let params = new.sent_as("session/new")[0].json["params"].clone();
        assert_eq!(
            (&params["hint"], &params["_meta"]),
            (&json!("new"), &json!({ "k": 1 }))
        );
        new.answer("session/new", r#"{"sessionId":"s-9"}"#);
        new.stops_with("end_turn");
    });
}

fn shown(s: &Scene) -> Vec<u32> {
    s.transcript()
        .turns
        .iter()
        .filter_map(|turn| turn.id)
        .map(|turn| turn.0)
        .collect()
}

#[test]
fn a_fork_of_a_prefix_is_another_thread_and_its_agent_receives_the_history() {
    check(|s| {
        two_turns(s, FULL);
        let at = point(&fork(s, Some(1)));
        assert_eq!(
            (at.forked.last, at.forked.fidelity),
            (Some(TurnId(1)), Fidelity::Recalled)
        );
        let before = s.log.clone();
        let mut new = adopt(s, &at, Some("Second try"));
        assert_eq!(shown(&new), [1]);
        assert_eq!(new.thread.live().summary.name.as_deref(), Some("Second try"));
        let forked = &new.params("thread/forked")[0];
        assert_eq!(forked["fromThreadId"], json!(s.id));
        assert_eq!(
            (&forked["lastTurnId"], &forked["fidelity"]),
            (&json!("turn_1"), &json!("recalled"))
        );
        let words = |log: &[Event]| {
            log.iter()
                .find(|e| matches!(e.kind, EventKind::Item(ItemEvent::UserMessageAdded { .. })))
                .cloned()
        };
        let (old_words, new_words) = (words(&s.log).unwrap(), words(&new.log).unwrap());
        assert_eq!(
            (old_words.at, old_words.by, old_words.kind),
            (new_words.at, new_words.by, new_words.kind)
        );
        new.prompt("another way");
        new.answer("initialize", FULL);
        assert!(
            new.sent_as("session/resume").is_empty(),
            "the session stays the other thread's"
        );
        new.answer("session/new", r#"{"sessionId":"s-9"}"#);
        let prompt = new.sent_as("session/prompt")[0].json["params"]["prompt"].to_string();
        assert!(
            prompt.contains("answer 1") && !prompt.contains("answer 2"),
            "{prompt}"
        );
        new.stops_with("end_turn");
        assert_eq!(shown(&new), [1, 2]);
        assert_eq!(s.log, before, "the other thread is as it was");
    });
}

#[test]
fn a_fork_of_a_whole_thread_uses_a_fork_of_the_session() {
    check(|s| {
        two_turns(s, FORKS);
        let call = s.send(Command::Fork { turn: None });
        let sent = s.sent_as("session/fork")[0].json["params"].clone();
        assert_eq!(
            sent,
            json!({ "sessionId": "s-1", "cwd": "/workspace", "mcpServers": [] })
        );
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        let at = point(&s.replies[&call]);
        assert_eq!(
            (at.forked.session_id.as_deref(), at.forked.fidelity),
            (Some("s-2"), Fidelity::Exact)
        );
        assert_eq!(
            s.sent_as("session/close")[0].json["params"],
            json!({ "sessionId": "s-2" })
        );
        s.answer("session/close", "{}");
        let mut new = adopt(s, &at, None);
        assert_eq!((shown(&new), new.thread.live().forgotten), (vec![1, 2], false));
        new.prompt("go on");
        new.answer("initialize", FORKS);
        assert_eq!(
            new.sent_as("session/resume")[0].json["params"]["sessionId"],
            "s-2"
        );
        new.answer("session/resume", "{}");
        new.later(100);
        let prompt = new.sent_as("session/prompt")[0].json["params"]["prompt"].clone();
        assert_eq!(prompt, json!([{ "type": "text", "text": "go on" }]));
        new.stops_with("end_turn");
        turn(s, "here too", "yes");
    });
}

/// Returns the fork of a whole thread whose agent answers `hello`, and has copied its session as s-2.
fn copy_of(hello: &str) -> Scene {
    let mut forked = None;
    check(|s| {
        two_turns(s, hello);
        let call = s.send(Command::Fork { turn: None });
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        forked = Some(adopt(s, &point(&s.replies[&call]), None));
        s.exits("exit status 0");
    });
    let new = forked.unwrap();
    assert!(new.thread.live().is_copy);
    new
}

/// Like [`copy_of`], with a prompt for a process that answers `hello`.
fn prompted_copy(hello: &str) -> Scene {
    let mut new = copy_of(hello);
    new.prompt("go on");
    new.answer("initialize", hello);
    new
}

/// The process of the agent refuses a copy because another process has it.
fn is_in_use(s: &mut Scene, method: &str) {
    s.refuse(method, -32600, "the session is in use by another process");
}

fn prompts(s: &Scene) -> serde_json::Value {
    s.sent_as("session/prompt").last().unwrap().json["params"]["prompt"].clone()
}

fn bindings(s: &Scene) -> Vec<Binding> {
    let how = |kind: &EventKind| match kind {
        EventKind::Session(SessionEvent::AgentBound { how, .. }) => Some(*how),
        _ => None,
    };
    s.kinds().filter_map(how).collect()
}

#[test]
fn a_copy_that_another_process_has_is_forked() {
    check_in(prompted_copy(FORKS_AND_LOADS), |new| {
        let opening = new.send(Command::AwaitSession);
        is_in_use(new, "session/resume");
        assert_eq!(
            new.sent_as("session/fork")[0].json["params"],
            json!({ "sessionId": "s-2", "cwd": "/workspace", "mcpServers": [] })
        );
        assert!(!new.replies.contains_key(&opening));
        new.answer("session/fork", r#"{"sessionId":"s-3"}"#);
        new.later(100);
        assert_eq!(new.replies[&opening], Ok(Reply::Done));
        let live = new.thread.live();
        assert_eq!(
            (live.summary.session_id.as_deref(), live.forgotten, live.is_copy),
            (Some("s-3"), false, false)
        );
        assert_eq!(bindings(new), [Binding::New, Binding::Fork]);
        assert_eq!(prompts(new), json!([{ "type": "text", "text": "go on" }]));
        let notices = new.notices();
        assert!(
            !notices
                .iter()
                .any(|code| code == "notReopened" || code == "agentForgot")
        );
        new.stops_with("end_turn");
        // From now on, the session is the thread's own.
        new.exits("exit status 0");
        new.prompt("and on");
        new.answer("initialize", FORKS_AND_LOADS);
        assert_eq!(
            new.sent_as("session/resume").last().unwrap().json["params"]["sessionId"],
            "s-3"
        );
        is_in_use(new, "session/resume");
        is_in_use(new, "session/load");
        new.answer("session/new", r#"{"sessionId":"s-4"}"#);
        assert_eq!(new.sent_as("session/fork").len(), 1);
        new.stops_with("end_turn");
    });
}

#[test]
fn a_copy_that_no_method_opens_is_given_up_with_all_reasons() {
    check_in(prompted_copy(FORKS_AND_LOADS), |new| {
        for method in ["session/resume", "session/fork", "session/load"] {
            is_in_use(new, method);
        }
        new.answer("session/new", r#"{"sessionId":"s-3"}"#);
        let mut notices = new.notices();
        notices.retain(|code| code == "notReopened" || code == "agentForgot");
        assert_eq!(
            notices,
            ["notReopened", "notReopened", "notReopened", "agentForgot"]
        );
        assert!(prompts(new).to_string().contains("answer 2"));
        new.stops_with("end_turn");
    });
}

#[test]
fn a_sign_in_is_no_reason_against_a_method() {
    let hello = r#"{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{},"resume":{}}},"authMethods":[{"id":"web","name":"Web"}]}"#;
    let refuses_unsigned = |new: &mut Scene| {
        new.answer("initialize", hello);
        is_in_use(new, "session/resume");
        new.refuse("session/fork", -32000, "Authentication required");
    };
    let not_reopened = |new: &Scene| {
        let notices = new.notices().into_iter();
        notices.filter(|code| code == "notReopened").count()
    };
    check_in(copy_of(hello), |new| {
        new.ask(wake()).unwrap();
        refuses_unsigned(new);
        new.send(Command::AgentRequest(AgentRequest::Authenticate {
            method_id: "web".into(),
            members: None,
        }));
        new.answer("authenticate", "{}");
        is_in_use(new, "session/resume");
        is_in_use(new, "session/fork");
        new.answer("session/new", r#"{"sessionId":"s-3"}"#);
        assert_eq!(not_reopened(new), 2, "each reason once");
    });
    // The process had answered when it exited.
    check_in(copy_of(hello), |new| {
        new.ask(wake()).unwrap();
        refuses_unsigned(new);
        new.exits("killed");
        new.ask(wake()).unwrap();
        if !new.awaits("initialize") {
            new.later(30_000);
        }
        new.answer("initialize", hello);
        is_in_use(new, "session/resume");
        new.answer("session/fork", r#"{"sessionId":"s-3"}"#);
        assert_eq!(not_reopened(new), 0);
    });
}

/// What the process still says about the copy is not the new session's.
#[test]
fn a_fork_that_is_refused_after_all_leaves_the_copy_to_load() {
    check_in(prompted_copy(FORKS_AND_LOADS), |new| {
        is_in_use(new, "session/resume");
        new.says(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"stray"}}}}"#,
        );
        is_in_use(new, "session/fork");
        new.answer("session/load", "{}");
        new.later(300);
        assert_eq!(bindings(new), [Binding::New, Binding::Load]);
        assert_eq!(new.thread.live().summary.session_id.as_deref(), Some("s-2"));
        assert_eq!(prompts(new), json!([{ "type": "text", "text": "go on" }]));
        new.stops_with("end_turn");
        assert!(!new.said().contains(&"stray".to_owned()));
    });
}

#[test]
fn an_agent_that_neither_loads_nor_resumes_opens_a_copy_by_forking_it() {
    check_in(prompted_copy(ONLY_FORKS), |new| {
        new.answer("session/fork", r#"{"sessionId":"s-3"}"#);
        new.later(100);
        assert_eq!(prompts(new), json!([{ "type": "text", "text": "go on" }]));
        new.stops_with("end_turn");
    });
}

/// The agent deletes what its process has opened for the deletion, not the copy alone.
#[test]
fn a_fork_that_is_deleted_before_it_is_opened_leaves_no_session() {
    let deletes_all = |answers: fn(&mut Scene), expected: SessionDeleted| {
        check_in(copy_of(FORKS_AND_DELETES), |new| {
            let call = new.send(Command::Delete);
            new.answer("initialize", FORKS_AND_DELETES);
            is_in_use(new, "session/resume");
            new.answer("session/fork", r#"{"sessionId":"s-3"}"#);
            new.later(100);
            answers(new);
            let sessions = new.sent_as("session/delete");
            let sessions: Vec<_> = sessions
                .iter()
                .map(|sent| &sent.json["params"]["sessionId"])
                .collect();
            assert_eq!(sessions, ["s-2", "s-3"]);
            assert_eq!(new.deleted, [Some(call)]);
            let last = new.kinds().next_back();
            let Some(EventKind::Thread(ThreadEvent::Deleted { session })) = last else {
                panic!("{last:?}");
            };
            assert_eq!(*session, expected);
        });
    };
    let both = |new: &mut Scene| {
        new.answer("session/delete", "{}");
        assert_eq!(new.deleted, []);
        new.answer("session/delete", "{}");
    };
    deletes_all(both, SessionDeleted::Deleted);
    let one = |new: &mut Scene| {
        is_in_use(new, "session/delete");
        new.answer("session/delete", "{}");
    };
    deletes_all(one, SessionDeleted::Failed);
}

/// A method that ends the process is not tried again.
#[test]
fn an_agent_that_exits_while_it_forks_a_copy_is_not_asked_again() {
    check_in(prompted_copy(FORKS), |new| {
        is_in_use(new, "session/resume");
        let opening = new.send(Command::AwaitSession);
        new.exits("killed");
        assert!(new.replies[&opening].is_err());
        new.ask(wake()).unwrap();
        if !new.awaits("initialize") {
            new.later(30_000);
        }
        new.answer("initialize", FORKS);
        is_in_use(new, "session/resume");
        new.answer("session/new", r#"{"sessionId":"s-3"}"#);
        assert_eq!(new.sent_as("session/fork").len(), 1);
        assert!(prompts(new).to_string().contains("answer 2"));
        new.stops_with("end_turn");
    });
}

#[test]
fn nothing_waits_for_a_session_that_is_not_being_opened() {
    check(|s| {
        two_turns(s, FORKS);
        assert_eq!(s.ask(Command::AwaitSession), Ok(Reply::Done));
        s.exits("exit status 0");
        assert_eq!(s.ask(Command::AwaitSession), Ok(Reply::Done));
    });
}

#[test]
fn an_agent_whose_fork_fails_receives_the_history() {
    check(|s| {
        two_turns(s, FORKS);
        let call = s.send(Command::Fork { turn: None });
        s.refuse("session/fork", -32603, "no");
        assert_eq!(point(&s.replies[&call]).forked.fidelity, Fidelity::Recalled);
        s.exits("exit status 0");
        let call = s.send(Command::Fork {
            turn: Some(TurnId(2)),
        });
        s.answer("initialize", FORKS);
        s.refuse("session/resume", -32002, "gone");
        s.answer("session/new", r#"{"sessionId":"s-3"}"#);
        s.answer("session/fork", r#"{"sessionId":"s-4"}"#);
        let at = point(&s.replies[&call]);
        assert_eq!(
            at.forked.session_id, None,
            "a fork of a session that has forgotten knows nothing"
        );
        assert_eq!(at.forked.fidelity, Fidelity::Recalled);
    });
}

#[test]
fn finished_turns_can_be_forked_while_a_turn_runs() {
    check(|s| {
        two_turns(s, FORKS);
        s.prompt("prompt 3");
        s.prompt("prompt 4");
        let at = point(&fork(s, None));
        assert_eq!(
            (at.forked.last, at.forked.session_id.as_ref()),
            (Some(TurnId(2)), None)
        );
        for (turn, code) in [
            (3, ErrorCode::Conflict),
            (4, ErrorCode::Conflict),
            (5, ErrorCode::NotFound),
        ] {
            assert_eq!(fork(s, Some(turn)).unwrap_err().code, code, "{turn}");
        }
        s.stops_with("end_turn");
        let new = adopt(s, &at, None);
        assert_eq!((shown(&new), new.thread.live().queue.len()), (vec![1, 2], 0));
        assert_eq!(new.thread.live().summary.turns, 2);
        s.stops_with("end_turn");
        let at = point(&s.ask_forked(None));
        assert_eq!(at.forked.last, Some(TurnId(4)));
        assert_eq!(shown(&adopt(s, &at, None)), [1, 2, 3, 4]);
    });
}

impl Scene {
    /// Forks while the agent refuses the fork request.
    fn ask_forked(&mut self, turn: Option<TurnId>) -> Result<Reply, Failure> {
        let call = self.send(Command::Fork { turn });
        self.refuse("session/fork", -32603, "no");
        self.replies[&call].clone()
    }
}

#[test]
fn a_fork_of_all_turns_has_what_came_after_the_last_one() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        s.update(&with_id("m-1", "It"));
        s.answers_prompt("end_turn");
        s.later(tail());
        assert_eq!(s.settled_turns(), [TurnStatus::Completed]);
        s.update(&with_id("m-1", " works"));
        let at = point(&fork(s, None));
        assert_eq!(at.until, Some(s.log.last().unwrap().seq));
        let new = adopt(s, &at, None);
        let expected = [(Some(1), "It".to_owned()), (Some(1), " works".to_owned())];
        assert_eq!(messages(&new), expected);
        assert!(new.thread.live().items.is_empty());
        // What comes later still is the origin's.
        s.update(&with_id("m-1", "!"));
        s.later(2 * tail());
        assert_eq!(messages(s).len(), 3);
        assert_eq!(messages(&new), expected);
        s.prompt("on");
        s.answers_prompt("end_turn");
        s.later(tail());
        assert_eq!(point(&fork(s, Some(1))).until, None);
        let at = point(&fork(s, None));
        assert_eq!(
            (at.forked.last, at.until),
            (Some(TurnId(2)), Some(s.log.last().unwrap().seq))
        );
    });
}

#[test]
fn a_fork_of_the_turns_before_the_running_one_ends_with_them() {
    check(|s| {
        two_turns(s, FULL);
        s.prompt("prompt 3");
        assert_eq!(point(&fork(s, None)).until, None);
        s.stops_with("end_turn");
        s.ask(Command::RollBack {
            last_kept: Some(TurnId(2)),
        })
        .unwrap();
        s.exits("exit status 0");
        // The dropped turn is in the way.
        assert_eq!(point(&fork(s, None)).until, None);
    });
}

#[test]
fn a_thread_without_turns_can_be_forked() {
    check(|s| {
        s.open_session();
        let at = point(&fork(s, None));
        assert_eq!((at.forked.last, at.forked.fidelity), (None, Fidelity::Exact));
        let mut new = adopt(s, &at, None);
        new.prompt("first");
        new.answer("initialize", FULL);
        new.answer("session/new", r#"{"sessionId":"s-2"}"#);
        new.stops_with("end_turn");
        assert_eq!(shown(&new), [1]);
    });
}

#[test]
fn questions_and_commands_of_the_prefix_are_the_new_threads_and_over() {
    use acpd_proto::thread::HostReply;
    check(|s| {
        s.open_turn();
        s.machine = Some(|_| HostReply::Created);
        s.calls(
            "1",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"sleep","args":["9"]}"#,
        );
        s.asks_permission("2", "t-1");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.stops_with("end_turn");
        let at = point(&fork(s, None));
        let new = adopt(s, &at, None);
        assert!(
            new.thread.live().items.is_empty(),
            "the command runs in the other thread"
        );
        for event in &new.log {
            if let EventKind::Request(
                RequestEvent::PermissionRequested { request, .. } | RequestEvent::Settled { request, .. },
            ) = &event.kind
            {
                assert_eq!(request.thread, FORK);
            }
        }
        s.exits("exit status 0");
    });
}

#[test]
fn subagents_of_the_prefix_do_not_work_in_the_new_thread() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("begin");
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"running"}}"#);
        s.stops_with("end_turn");
        let at = point(&fork(s, Some(1)));
        let new = adopt(s, &at, None);
        assert_eq!(new.thread.live().lanes.at_work().count(), 0);
        let reports = new.params("thread/lane/updated");
        let last = reports.last().expect("its readers are told");
        assert_eq!((&last["lane"], &last["state"]), (&json!("lane_1"), &json!(null)));
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"idle"}}"#);
        s.later(tail());
    });
}

#[test]
fn rolled_back_turns_stay_dropped() {
    check(|s| {
        two_turns(s, FULL);
        s.ask(Command::RollBack {
            last_kept: Some(TurnId(1)),
        })
        .unwrap();
        s.exits("exit status 0");
        assert_eq!(fork(s, Some(2)).unwrap_err().code, ErrorCode::NotFound);
        s.prompt("three");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.stops_with("end_turn");
        for (last, expected) in [(Some(1), vec![1]), (Some(3), vec![1, 3]), (None, vec![1, 3])] {
            let at = point(&fork(s, last));
            assert_eq!(shown(&adopt(s, &at, None)), expected);
        }
    });
}

/// The policy became stricter after the turn at which the thread is forked.
#[test]
fn a_fork_does_not_circumvent_a_policy() {
    check(|s| {
        s.open_turn();
        s.asks_permission("1", "t-1");
        s.stops_with("end_turn");
        s.ask(Command::SetPolicy(Some(RawJson::parse("\"readonly\"").unwrap())))
            .unwrap();
        let at = point(&fork(s, Some(1)));
        let new = adopt(s, &at, None);
        assert_eq!(new.thread.live().policy, s.thread.live().policy);
        assert!(new.thread.live().policy.is_some());
    });
}

#[test]
fn it_is_unsupported_if_agents_receive_no_history() {
    let limits = Limits {
        recall_bytes: 0,
        ..Scene::limits()
    };
    check_in(Scene::with_limits(limits), |s| {
        two_turns(s, FORKS);
        assert_eq!(fork(s, Some(1)).unwrap_err().code, ErrorCode::Unsupported);
        let call = s.send(Command::Fork { turn: None });
        s.answer("session/fork", r#"{"sessionId":"s-2"}"#);
        assert_eq!(point(&s.replies[&call]).forked.fidelity, Fidelity::Exact);
        assert_eq!(s.ask_forked(None).unwrap_err().code, ErrorCode::Unsupported);
        s.prompt("on");
        s.stops_with("end_turn");
        assert_eq!(s.settled_turns(), [TurnStatus::Completed; 3]);
    });
}

/// The shared events include what concerns the origin alone: a later turn that was queued early.
#[test]
fn a_fork_drops_state_that_concerns_only_its_origin() {
    check(|s| {
        two_turns(s, FULL);
        s.prompt("prompt 3");
        s.prompt("prompt 4");
        s.stops_with("end_turn");
        let at = point(&fork(s, Some(3)));
        let mut new = adopt(s, &at, None);
        let live = new.thread.live();
        assert_eq!(
            (shown(&new), live.queue.len(), live.summary.turns),
            (vec![1, 2, 3], 0, 3)
        );
        turn_of_fork(&mut new);
        assert_eq!(shown(&new), [1, 2, 3, 5]);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_fork_of_an_archived_thread_is_not_archived() {
    check(|s| {
        s.open_session();
        s.ask(Command::Change(Change::Archive)).unwrap();
        let at = point(&fork(s, None));
        let mut new = adopt(s, &at, None);
        assert!(!new.thread.live().summary.archived && s.thread.live().summary.archived);
        turn_of_fork(&mut new);
        assert_eq!(shown(&new), [1]);
    });
}

#[test]
fn a_fork_of_a_pinned_thread_is_not_pinned() {
    check(|s| {
        s.open_session();
        let pin = Change::Pin {
            pinned: true,
            place: Some(7),
        };
        s.ask(Command::Change(pin)).unwrap();
        let at = point(&fork(s, None));
        let new = adopt(s, &at, None);
        assert!(!new.thread.live().summary.pinned && s.thread.live().summary.pinned);
        assert_eq!(new.thread.live().summary.pin_place, None);
    });
}

/// Runs a turn in a thread whose agent has no session yet.
fn turn_of_fork(new: &mut Scene) {
    new.prompt("here");
    new.answer("initialize", FULL);
    new.answer("session/new", r#"{"sessionId":"s-8"}"#);
    new.stops_with("end_turn");
}

#[test]
fn an_invalid_name_makes_no_thread() {
    check(|s| {
        two_turns(s, FULL);
        let at = point(&fork(s, None));
        let mut new = Scene::new();
        let adopted = acpd_proto::thread::ForkContents {
            live: Box::new(Live::new(FORK)),
            point: at,
            name: Some(" ".into()),
        };
        let refused = new.ask(Command::Adopt(Box::new(adopted))).unwrap_err();
        assert_eq!((refused.code, new.log.len()), (ErrorCode::InvalidParams, 0));
    });
}
