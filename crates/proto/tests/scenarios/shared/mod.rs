//! One process, many threads: the connections of several threads to one agent.

mod stage;

use acpd_model::TurnId;
use acpd_model::event::Binding;
use acpd_model::limits::AGENT_TEXT_BYTES;
use acpd_proto::agent::{AgentCommand, AgentEvent, AgentRequest, Call};
use acpd_proto::wire::{Line, RpcError};
use serde_json::{Value, json};

use crate::support::message;
use stage::{Stage, hello_of, read_params, two};

#[test]
fn hands_are_shaken_once_and_each_has_a_session_of_its_own() {
    let mut s = Stage::new();
    let a = s.join_as("/one", None);
    let b = s.join_as("/two", None);
    s.greets();
    let new = s.next("session/new");
    assert_eq!(new["params"]["cwd"], "/one");
    s.nothing_was_sent();
    s.answer(&new, &json!({ "sessionId": "s-a" }));
    let new = s.next("session/new");
    assert_eq!(new["params"]["cwd"], "/two");
    s.answer(&new, &json!({ "sessionId": "s-b" }));
    let third = s.join_as("/three", None);
    let new = s.next("session/new");
    assert_eq!(
        new["params"]["cwd"], "/three",
        "who comes later waits for no handshake"
    );
    s.answer(&new, &json!({ "sessionId": "s-c" }));
    s.nothing_was_sent();
    for (seat, session) in [(a, "s-a"), (b, "s-b"), (third, "s-c")] {
        let AgentEvent::Opened(opened) = s.only(seat) else {
            panic!("not opened");
        };
        assert_eq!((&opened.session_id[..], opened.how), (session, Binding::New));
        assert!(opened.capabilities.close);
    }
}

#[test]
fn updates_and_turns_find_their_threads() {
    let (mut s, a, b) = two();
    let prompt_a = s.prompt(a, 1);
    let prompt_b = s.prompt(b, 1);
    assert_ne!(prompt_a["id"], prompt_b["id"]);
    for (session, text) in [("s-a", "a1 "), ("s-b", "b1 "), ("s-a", "a2 "), ("s-b", "b2")] {
        s.chunk(session, text);
    }
    // The same update in another form, which needs full parsing.
    let update: Value = serde_json::from_str(&message("a3")).unwrap();
    s.notifies(
        "session/update",
        &json!({ "_meta": 1, "sessionId": "s-a", "update": update }),
    );
    assert_eq!((s.said(a), s.said(b)), ("a1 a2 a3".into(), "b1 b2".into()));
    s.answer(&prompt_b, &json!({ "stopReason": "refusal" }));
    let AgentEvent::PromptEnded { turn, result } = s.only(b) else {
        panic!("not ended");
    };
    assert_eq!(turn, TurnId(1));
    assert_eq!(result.unwrap().get(), r#"{"stopReason":"refusal"}"#);
    s.command(a, AgentCommand::Cancel);
    assert_eq!(s.next("session/cancel")["params"]["sessionId"], "s-a");
    s.answer(&prompt_a, &json!({ "stopReason": "cancelled" }));
    assert!(matches!(s.only(a), AgentEvent::PromptEnded { .. }));
    s.silent();
}

#[test]
fn a_session_whose_name_needs_escapes_is_found_all_the_same() {
    let mut s = Stage::new();
    let a = s.opened("s\"\\ä");
    let b = s.opened("s");
    s.chunk(r#"s\"\\ä"#, "x");
    s.chunk(r"s\u0022\\\u00e4", "y");
    assert_eq!(s.said(a), "xy");
    assert!(s.take(b).is_empty());
}

#[test]
fn updates_before_the_response_belong_to_the_new_session() {
    let mut s = Stage::new();
    let a = s.opened("s-a");
    let b = s.join();
    let third = s.join();
    let new = s.next("session/new");
    s.nothing_was_sent();
    s.chunk("s-b", "early");
    s.calls(&json!(7), "fs/read_text_file", &read_params("s-b"));
    s.chunk("s-a", "mine");
    assert_eq!(s.said(a), "mine");
    let heard = s.take(b);
    assert!(matches!(
        &heard[..],
        [
            AgentEvent::Update(_),
            AgentEvent::CallbackReceived {
                call: 0,
                request: Call::ReadFile { .. },
                ..
            }
        ]
    ));
    s.answers_call(b, 0, &json!({ "content": "x" }));
    s.next_answer(&json!(7));
    s.answer(&new, &json!({ "sessionId": "s-b" }));
    s.take(b);
    s.chunk("s-c", "early, too");
    s.opens("s-c");
    assert!(matches!(
        &s.take(third)[..],
        [AgentEvent::Update(_), AgentEvent::Opened(_)]
    ));
    s.silent();
}

#[test]
fn a_failed_opening_does_not_block_others() {
    let mut s = Stage::new();
    let a = s.join();
    let b = s.join();
    s.greets();
    let new = s.next("session/new");
    s.refuse(&new, -32603, "no such directory");
    assert!(matches!(s.only(a), AgentEvent::Failed(_)));
    s.opens("s-b");
    assert!(matches!(s.only(b), AgentEvent::Opened(_)));
    s.leave(a);
    assert_eq!((&s.left[..], s.agent.is_retired()), (&[a][..], false));
    // A response with a session of another thread opens no session.
    let third = s.join();
    s.opens("s-b");
    assert!(
        matches!(s.only(third), AgentEvent::Failed(failure) if failure.message.contains("another thread"))
    );
    s.chunk("s-b", "still b's");
    assert_eq!(s.said(b), "still b's");
}

#[test]
fn requests_of_the_agent_are_answered_under_its_ids() {
    let (mut s, a, b) = two();
    // Each thread has its own call numbers, whatever ids the agent uses.
    s.calls(&json!("x"), "fs/read_text_file", &read_params("s-b"));
    s.calls(&json!(0), "fs/read_text_file", &read_params("s-a"));
    s.calls(&json!(1), "fs/read_text_file", &read_params("s-b"));
    let call_a = s.called(a);
    let calls_b = s.take(b);
    assert!(matches!(
        (call_a, &calls_b[..]),
        (
            0,
            [
                AgentEvent::CallbackReceived { call: 0, .. },
                AgentEvent::CallbackReceived { call: 1, .. }
            ]
        )
    ));
    s.answers_call(b, 1, &json!({ "content": "b1" }));
    s.answers_call(a, 0, &json!({ "content": "a0" }));
    s.answers_call(b, 0, &json!({ "content": "b0" }));
    for (id, content) in [(json!(1), "b1"), (json!(0), "a0"), (json!("x"), "b0")] {
        assert_eq!(s.next_answer(&id)["result"]["content"], content);
    }
    // A cancellation goes to the thread that received the request.
    s.calls(&json!(2), "fs/read_text_file", &read_params("s-b"));
    let call = s.called(b);
    s.notifies("$/cancel_request", &json!({ "requestId": 2 }));
    assert_eq!(s.only(b), AgentEvent::CallbackWithdrawn { call });
    s.silent();
}

#[test]
fn a_question_without_a_session_is_that_of_the_request_it_names() {
    let (mut s, a, b) = two();
    let ask = AgentRequest::Extension {
        method: "_login".into(),
        params: None,
    };
    s.command(b, AgentCommand::Request { ask: 9, request: ask });
    let asked = s.next("_login");
    let params = |request: &Value| json!({ "requestId": request, "mode": "url", "message": "Go", "url": "https://x", "elicitationId": "e" });
    s.calls(&json!(5), "elicitation/create", &params(&asked["id"]));
    let call = s.called(b);
    s.answers_call(b, call, &json!({ "action": "accept" }));
    s.next_answer(&json!(5));
    // The end of the elicitation names only its id.
    s.notifies("elicitation/complete", &json!({ "elicitationId": "e" }));
    assert!(matches!(s.only(b), AgentEvent::Notified { method, .. } if method == "elicitation/complete"));
    s.answer(&asked, &json!({}));
    assert!(matches!(
        s.only(b),
        AgentEvent::Answered {
            ask: 9,
            result: Ok(_)
        }
    ));
    // A request for an unknown session reaches no thread.
    s.calls(&json!(6), "elicitation/create", &params(&json!(0)));
    assert_eq!(s.next_answer(&json!(6))["error"]["code"], -32602);
    assert!(s.take(a).is_empty());
    s.silent();
}

#[test]
fn messages_without_a_session_go_to_all_or_are_refused_once() {
    let (mut s, a, b) = two();
    s.notifies("_news", &json!({ "x": 1 }));
    for seat in [a, b] {
        assert!(matches!(s.only(seat), AgentEvent::Notified { method, .. } if method == "_news"));
    }
    s.notifies("_news", &json!({ "sessionId": "s-b" }));
    assert!(matches!(s.only(b), AgentEvent::Notified { .. }));
    s.silent();
    // A request without a session could concern any thread, so no thread's editor receives it.
    s.calls(&json!(1), "_ask", &json!({}));
    assert_eq!(s.next_answer(&json!(1))["error"]["code"], -32601);
    s.silent();
    for (id, method, params, code) in [
        (4, "ask", json!({}), -32601),
        (2, "fs/read_text_file", json!({ "path": "/x" }), -32602),
        (3, "fs/read_text_file", read_params("s-z"), -32602),
    ] {
        s.calls(&json!(id), method, &params);
        let AgentEvent::CallbackRefused { call, error, .. } = s.only(a) else {
            panic!("not refused");
        };
        assert_eq!(error.code, code, "{error}");
        s.command(
            a,
            AgentCommand::Answer {
                call,
                result: Err(error),
            },
        );
        assert_eq!(s.next_answer(&json!(id))["error"]["code"], code);
        s.silent();
    }
}

#[test]
fn lines_without_an_owner_are_recorded_once_by_a_busy_thread() {
    let (mut s, a, b) = two();
    let rubbish = [
        "Loading…",
        "[]",
        r#"{"jsonrpc":"2.0","id":99999999999999,"result":{}}"#,
        r#"{"id":null,"result":1}"#,
    ];
    for line in rubbish {
        s.says(line);
        assert!(matches!(s.only(a), AgentEvent::Malformed { .. }), "{line}");
        s.silent();
    }
    s.prompt(b, 1);
    for line in rubbish {
        s.says(line);
        assert!(matches!(s.only(b), AgentEvent::Malformed { .. }), "{line}");
        s.silent();
    }
    s.agent.handle_line(&Line::Whole(b"\xff\xfe"), s.now);
    s.agent.handle_line(
        &Line::TooLong {
            head: b"{",
            tail: b"",
            bytes: 7,
        },
        s.now,
    );
    s.settle();
    assert_eq!(s.take(b).len(), 2);
    // An update for an unknown session is recorded as well.
    s.chunk("s-z", "from nowhere");
    assert!(matches!(s.only(b), AgentEvent::Foreign { .. }));
    s.silent();
}

#[test]
fn a_leaving_thread_closes_only_its_own_session() {
    let (mut s, a, b) = two();
    let prompt_b = s.prompt(b, 1);
    let prompt = s.prompt(a, 1);
    s.calls(&json!(1), "fs/read_text_file", &read_params("s-a"));
    s.take(a);
    s.leave(a);
    assert_eq!(s.next("session/cancel")["params"]["sessionId"], "s-a");
    let close = s.next("session/close");
    assert_eq!(close["params"]["sessionId"], "s-a");
    assert_eq!(
        s.next_answer(&json!(1))["error"]["code"],
        -32800,
        "nobody else answers it"
    );
    // Later messages of the session belong to no thread.
    s.chunk("s-a", "late");
    s.calls(&json!(2), "fs/read_text_file", &read_params("s-a"));
    assert_eq!(s.next_answer(&json!(2))["error"]["code"], -32800);
    s.answer(&close, &json!({}));
    assert!(s.left.is_empty(), "its turn has not ended yet");
    s.answer(&prompt, &json!({ "stopReason": "cancelled" }));
    assert_eq!(s.left, [a]);
    s.silent();
    assert!(!s.agent.is_retired() && !s.agent.is_empty());
    // The session can be resumed in the same process.
    let again = s.join_as("/workspace", Some("s-a"));
    let resume = s.next("session/resume");
    s.answer(&resume, &json!({}));
    s.later(100);
    assert!(matches!(s.only(again), AgentEvent::Opened(opened) if opened.how == Binding::Resume));
    s.chunk("s-a", "back");
    assert_eq!(s.said(again), "back");
    s.answer(&prompt_b, &json!({ "stopReason": "end_turn" }));
    assert!(matches!(s.only(b), AgentEvent::PromptEnded { .. }));
    s.silent();
    for seat in [b, again] {
        s.leave(seat);
    }
    assert!(s.agent.is_empty(), "nobody needs the process");
}

#[test]
fn a_turn_that_does_not_stop_costs_the_others_nothing() {
    let (mut s, a, b) = two();
    let third = s.opened("s-c");
    s.prompt(a, 1);
    let prompt_b = s.prompt(b, 1);
    s.leave(a);
    s.next("session/cancel");
    let close = s.next("session/close");
    s.answer(&close, &json!({}));
    s.later(1_999);
    assert!(s.left.is_empty() && !s.agent.is_retired());
    s.later(1);
    assert_eq!(s.left, [a]);
    assert!(s.agent.is_retired(), "no new thread comes in");
    // The daemon asks all threads to leave. A thread with a turn stays, and is asked again.
    assert_eq!(
        (s.only(b), s.only(third)),
        (AgentEvent::Retiring, AgentEvent::Retiring)
    );
    s.chunk("s-b", "on");
    assert_eq!(s.said(b), "on");
    s.answer(&prompt_b, &json!({ "stopReason": "end_turn" }));
    assert!(matches!(
        &s.take(b)[..],
        [AgentEvent::PromptEnded { .. }, AgentEvent::Retiring]
    ));
    assert!(!s.agent.is_empty());
    s.leave(b);
    s.leave(third);
    assert!(s.agent.is_empty());
}

#[test]
fn a_thread_that_leaves_while_its_session_opens_closes_it() {
    let mut s = Stage::new();
    let a = s.opened("s-a");
    let b = s.join();
    let third = s.join();
    let new = s.next("session/new");
    s.leave(b);
    s.chunk("s-b", "early");
    s.nothing_was_sent();
    s.answer(&new, &json!({ "sessionId": "s-b" }));
    assert_eq!(s.left, [b]);
    let close = s.next("session/close");
    assert_eq!(close["params"]["sessionId"], "s-b");
    s.opens("s-c");
    s.answer(&close, &json!({}));
    s.chunk("s-b", "late");
    assert!(matches!(s.only(third), AgentEvent::Opened(_)));
    // A queued thread that leaves is removed from the queue.
    let fourth = s.join();
    let fifth = s.join();
    let new = s.next("session/new");
    s.leave(fifth);
    assert_eq!(s.left, [b, fifth]);
    s.answer(&new, &json!({ "sessionId": "s-d" }));
    assert!(matches!(s.only(fourth), AgentEvent::Opened(_)));
    s.nothing_was_sent();
    assert!(s.take(a).is_empty() && !s.agent.is_retired());
}

#[test]
fn one_session_is_one_threads() {
    let (mut s, a, b) = two();
    let third = s.join_as("/workspace", Some("s-a"));
    let heard = s.take(third);
    assert_eq!(heard.len(), 2, "neither resume nor load: {heard:?}");
    for event in &heard {
        let refused = |error: &RpcError| error.message.contains("another thread");
        assert!(
            matches!(event, AgentEvent::ResumeFailed { error, .. } if refused(error)),
            "{event:?}"
        );
    }
    s.opens("s-c");
    s.take(third);
    s.chunk("s-a", "a's");
    assert_eq!(s.said(a), "a's");
    // A session that the agent refuses to load belongs to no thread.
    let fourth = s.join_as("/workspace", Some("s-old"));
    for method in ["session/resume", "session/load"] {
        let asked = s.next(method);
        s.refuse(&asked, -32002, "no such session");
    }
    s.opens("s-d");
    s.take(fourth);
    let fifth = s.join_as("/workspace", Some("s-old"));
    let resume = s.next("session/resume");
    s.chunk("s-old", "while it is opened");
    s.answer(&resume, &json!({}));
    s.later(100);
    assert!(
        matches!(
            &s.take(fifth)[..],
            [AgentEvent::Replayed(_), AgentEvent::Opened(_)]
        ),
        "what it tells of the past is no news"
    );
    assert!(s.take(b).is_empty());
}

#[test]
fn forks_and_new_sessions_come_one_after_the_other() {
    let (mut s, a, b) = two();
    let fork = AgentCommand::Request {
        ask: 1,
        request: AgentRequest::ForkSession { cursor: None },
    };
    s.command(a, fork);
    let third = s.join();
    let asked = s.next("session/fork");
    s.nothing_was_sent();
    s.answer(&asked, &json!({ "sessionId": "s-f" }));
    assert!(matches!(
        s.only(a),
        AgentEvent::Answered {
            ask: 1,
            result: Ok(_)
        }
    ));
    s.opens("s-c");
    s.take(third);
    // The fork is available to the thread that was created for it.
    let fourth = s.join_as("/workspace", Some("s-f"));
    let resume = s.next("session/resume");
    s.answer(&resume, &json!({}));
    s.later(100);
    assert!(matches!(s.only(fourth), AgentEvent::Opened(_)));
    s.chunk("s-a", "a's");
    assert_eq!(s.said(a), "a's");
    assert!(s.take(b).is_empty());
}

/// The process of the origin is another one, such as an older one that still runs.
#[test]
fn a_thread_forks_a_copy_that_another_process_has() {
    let (mut s, a, b) = two();
    let c = s.join_copy("s-f");
    let resume = s.next("session/resume");
    s.refuse(&resume, -32600, "the session is in use by another process");
    let fork = s.next("session/fork");
    assert_eq!(fork["params"]["sessionId"], "s-f");
    s.answer(&fork, &json!({ "sessionId": "s-g" }));
    s.later(100);
    let events = s.take(c);
    assert!(
        matches!(&events[..], [AgentEvent::ResumeFailed { .. }, AgentEvent::Opened(opened)] if opened.session_id == "s-g"),
        "{events:?}"
    );
    s.chunk("s-g", "c's");
    assert_eq!(s.said(c), "c's");
    for seat in [a, b] {
        assert!(s.take(seat).is_empty());
    }
}

/// The thread has a new session by then.
#[test]
fn a_fork_that_is_late_belongs_to_no_thread() {
    let mut s = Stage::new();
    let a = s.join();
    let hello = s.next("initialize");
    let mut answer = hello_of(&json!({ "close": {}, "resume": {}, "fork": {} }));
    answer["agentCapabilities"]["loadSession"] = json!(false);
    s.answer(&hello, &answer);
    s.opens("s-a");
    s.take(a);
    let c = s.join_copy("s-f");
    let resume = s.next("session/resume");
    s.refuse(&resume, -32600, "the session is in use by another process");
    let fork = s.next("session/fork");
    s.later(60_000);
    s.nothing_was_sent();
    s.chunk("s-g", "early");
    s.answer(&fork, &json!({ "sessionId": "s-g" }));
    assert_eq!(s.next("session/close")["params"]["sessionId"], "s-g");
    s.opens("s-h");
    let events = s.take(c);
    assert!(
        matches!(
            &events[..],
            [
                AgentEvent::ResumeFailed { late: false, .. },
                AgentEvent::ResumeFailed { late: true, .. },
                AgentEvent::Retiring,
                AgentEvent::Opened(opened),
                AgentEvent::Retiring,
            ] if opened.session_id == "s-h"
        ),
        "{events:?}"
    );
    s.chunk("s-g", "late");
    s.chunk("s-h", "c's");
    assert_eq!(s.said(c), "c's");
    assert_eq!(s.only(a), AgentEvent::Retiring);
}

#[test]
fn a_process_that_opens_no_session_in_time_accepts_no_thread() {
    let (mut s, a, b) = two();
    let request = AgentRequest::ForkSession { cursor: None };
    s.command(a, AgentCommand::Request { ask: 1, request });
    let fork = s.next("session/fork");
    s.later(1_000);
    let waits = s.join();
    s.later(1_000);
    let third = s.join();
    s.later(58_000);
    let events = s.take(a);
    assert!(matches!(
        events[..],
        [
            AgentEvent::Answered {
                ask: 1,
                result: Err(_)
            },
            AgentEvent::Retiring
        ]
    ));
    assert!(s.agent.is_retired());
    // The first of those that waited has given up, and its request is not sent.
    s.later(1_000);
    assert!(matches!(
        s.take(waits)[..],
        [AgentEvent::Retiring, AgentEvent::Failed(_)]
    ));
    s.answer(&fork, &json!({ "sessionId": "s-f" }));
    assert_eq!(s.next("session/close")["params"]["sessionId"], "s-f");
    s.opens("s-c");
    s.nothing_was_sent();
    assert!(matches!(
        s.take(third)[..],
        [AgentEvent::Retiring, AgentEvent::Opened(_), AgentEvent::Retiring]
    ));
    assert_eq!(s.only(b), AgentEvent::Retiring);
}

#[test]
fn a_sign_in_applies_to_all_threads() {
    let mut s = Stage::new();
    let a = s.join();
    let b = s.join();
    let hello = s.next("initialize");
    let mut answer = hello_of(&json!({}));
    answer["authMethods"] = json!([{ "id": "key", "name": "Key" }]);
    s.answer(&hello, &answer);
    for seat in [a, b] {
        let new = s.next("session/new");
        s.refuse(&new, -32000, "sign in");
        assert!(matches!(s.only(seat), AgentEvent::SignInRequired(_)));
    }
    let request = AgentRequest::Authenticate {
        method_id: "key".into(),
        members: None,
    };
    s.command(b, AgentCommand::Request { ask: 1, request });
    let asked = s.next("authenticate");
    s.answer(&asked, &json!({}));
    assert!(matches!(s.only(b), AgentEvent::Answered { ask: 1, .. }));
    s.opens("s-b");
    s.opens("s-a");
    for (seat, session) in [(a, "s-a"), (b, "s-b")] {
        assert!(matches!(s.only(seat), AgentEvent::Opened(opened) if opened.session_id == session));
    }
    // A thread that gives up waiting for a sign-in needs another process, which may have a signed-in user.
    let third = s.join();
    let new = s.next("session/new");
    s.refuse(&new, -32000, "sign in");
    s.take(third);
    s.leave(third);
    assert!(s.agent.is_retired());
}

#[test]
fn a_failed_handshake_fails_for_all_threads() {
    let mut s = Stage::new();
    let a = s.join();
    let b = s.join();
    let hello = s.next("initialize");
    s.refuse(&hello, -32603, "no config");
    for seat in [a, b] {
        let heard = s.take(seat);
        let told = |event: &AgentEvent| matches!(event, AgentEvent::Failed(failure) if failure.message.contains("no config"));
        assert!(heard.iter().any(told), "{heard:?}");
    }
    assert!(s.agent.is_retired());
    // The same applies if the agent never responds.
    let mut s = Stage::new();
    let a = s.join();
    s.later(30_000);
    let b = s.join();
    s.later(30_000);
    assert!(matches!(s.only(a), AgentEvent::Failed(_)));
    s.leave(a);
    assert_eq!((&s.left[..], s.agent.is_retired()), (&[a][..], true));
    s.take(b);
    s.later(30_000);
    assert!(matches!(s.only(b), AgentEvent::Failed(_)));
}

/// The agent opens the session after its thread has started another one.
#[test]
fn an_abandoned_session_belongs_to_no_thread() {
    let (mut s, a, _b) = two();
    let late = s.join_as("/workspace", Some("s-old"));
    let resume = s.next("session/resume");
    s.later(60_000);
    let load = s.next("session/load");
    s.refuse(&resume, -32603, "too late");
    // The daemon then requests the session by the other method.
    s.chunk("s-old", "history");
    s.later(60_000);
    let new = s.next("session/new");
    s.chunk("s-old", "more history");
    s.answer(&load, &json!({}));
    s.answer(&new, &json!({ "sessionId": "s-new" }));
    let heard = s.take(late);
    let [
        AgentEvent::ResumeFailed { late: true, .. },
        AgentEvent::Replayed(_),
        AgentEvent::ResumeFailed { late: true, .. },
        AgentEvent::Opened(opened),
    ] = &heard[..]
    else {
        panic!("{heard:?}");
    };
    assert_eq!(opened.session_id, "s-new");
    s.chunk("s-old", "for nobody");
    s.chunk("s-new", "news");
    assert_eq!(s.said(late), "news");
    assert!(s.take(a).is_empty());
    s.silent();
}

#[test]
fn a_request_with_an_absurd_method_is_refused_without_threads_too() {
    let mut s = Stage::new();
    s.calls(&json!(7), &format!("_{}", "x".repeat(1 << 20)), &json!({}));
    let error = &s.next_answer(&json!(7))["error"];
    assert_eq!(error["code"], -32601);
    assert!(error["message"].as_str().unwrap().len() <= AGENT_TEXT_BYTES);
    // An id that long is not repeated.
    s.calls(&json!("x".repeat(1 << 20)), "_x", &json!({}));
    s.nothing_was_sent();
}

/// Returns the params of a report on the subagent `child` by the agent of `session`.
fn report(session: &str, child: &str) -> Value {
    json!({ "sessionId": session, "update": { "sessionUpdate": "subagent_update", "sessionId": child } })
}

#[test]
fn a_subagents_session_belongs_to_the_thread_whose_agent_announced_it() {
    let (mut s, a, b) = two();
    s.notifies("session/update", &report("s-a", "s-c"));
    assert!(matches!(s.only(a), AgentEvent::Update(_)));
    s.chunk("s-c", "hello");
    assert!(matches!(s.only(a), AgentEvent::Subagent { session, .. } if session == "s-c"));
    s.calls(&json!(1), "fs/read_text_file", &read_params("s-c"));
    let AgentEvent::Subagent { event, .. } = s.only(a) else {
        panic!("not a subagent's");
    };
    let AgentEvent::CallbackReceived { call, .. } = *event else {
        panic!("not received");
    };
    s.answers_call(a, call, &json!({ "content": "x" }));
    s.next_answer(&json!(1));
    // Another thread's session is no subagent, and another thread's subagent is none either.
    for (seat, session, child) in [(a, "s-a", "s-b"), (b, "s-b", "s-c"), (b, "s-b", "s-a")] {
        s.notifies("session/update", &report(session, child));
        assert!(matches!(s.only(seat), AgentEvent::Foreign { .. }), "{child}");
    }
    s.chunk("s-b", "mine");
    assert_eq!(s.said(b), "mine");
    s.leave(a);
    s.take(a);
    s.chunk("s-c", "late");
    assert!(s.take(b).is_empty());
}

/// Its sessions are not more important than the others.
#[test]
fn a_thread_that_leaves_many_sessions_makes_no_other_one_unknown() {
    let (mut s, a, b) = two();
    s.opened("s-c");
    s.leave(a);
    let child = |number| format!("child {number}");
    for number in 0..500 {
        s.notifies("session/update", &report("s-b", &child(number)));
    }
    s.take(b);
    s.leave(b);
    s.chunk("s-a", "late");
    for number in 0..500 {
        s.chunk(&child(number), "late");
    }
    s.silent();
}

#[test]
fn updates_right_behind_an_announcement_find_their_thread() {
    let (mut s, a, b) = two();
    let report = report("s-a", "s-c").to_string();
    let chunk = json!({ "sessionId": "s-c", "update": { "sessionUpdate": "plan", "entries": [] } });
    for params in [report, chunk.to_string()] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#);
        s.agent.handle_line(&Line::Whole(line.as_bytes()), s.now);
    }
    s.settle();
    let heard = s.take(a);
    assert!(
        matches!(&heard[..], [AgentEvent::Update(_), AgentEvent::Subagent { .. }]),
        "{heard:?}"
    );
    assert!(s.take(b).is_empty());
}

#[test]
fn an_unannounced_session_is_the_only_threads() {
    let mut s = Stage::new();
    let a = s.opened("s-a");
    s.prompt(a, 1);
    s.chunk("s-x", "hello");
    assert!(matches!(s.only(a), AgentEvent::Subagent { session, .. } if session == "s-x"));
    // With another thread, it could be of either.
    let b = s.join();
    s.opens("s-b");
    s.take(b);
    s.chunk("s-y", "hello");
    assert!(matches!(s.only(a), AgentEvent::Foreign { .. }));
}
