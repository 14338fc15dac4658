//! Questions to a client of the app protocol, its answers, and what its role may do.

use std::sync::Arc;

use acpd_model::{ErrorCode, Failure, RequestId, Role};
use acpd_proto::surface::app::{Frame, METHODS, Peer};
use acpd_proto::surface::contract::{Delivery, Output, Pending, Surface};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::{Answer, PickedOption, Verdict};
use bytes::Bytes;
use serde_json::Value;

use super::{Line, error, thread};
use crate::support::{Scene, check};

fn question() -> RequestId {
    RequestId {
        thread: thread(),
        number: 4,
    }
}

/// Returns the option `o` with the kind and the verdict (allow, always) that the client adds.
fn picked(kind: Option<&str>, verdict: Option<(bool, bool)>) -> Answer {
    Answer::Option(PickedOption {
        option_id: "o".into(),
        kind: kind.map(str::to_owned),
        verdict: verdict.map(|(allow, always)| Verdict { allow, always }),
    })
}

#[test]
fn an_answer_comes_as_a_response_or_as_a_request() {
    let id = question();
    for (result, answer) in [
        (r#"{"decision":"accept"}"#, Answer::Accept { always: false }),
        (
            r#"{"decision":"acceptForSession"}"#,
            Answer::Accept { always: true },
        ),
        (r#"{"decision":"decline"}"#, Answer::Decline { always: false }),
        (
            r#"{"decision":"declineForSession"}"#,
            Answer::Decline { always: true },
        ),
        (r#"{"decision":"cancel"}"#, Answer::Cancel),
        (
            r#"{"decision":"accept","optionId":"o"}"#,
            picked(None, Some((true, false))),
        ),
        (
            r#"{"decision":"declineForSession","optionId":"o","optionKind":"reject_always"}"#,
            picked(Some("reject_always"), Some((false, true))),
        ),
        (
            r#"{"optionId":"o","optionKind":"_odd"}"#,
            picked(Some("_odd"), None),
        ),
    ] {
        let mut line = Line::ready("{}");
        line.says(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{result}}}"#));
        let (token, request) = line.called();
        assert_eq!(
            request,
            Request::Answer {
                request: id,
                answer,
                scope: None
            }
        );
        line.peer.handle_reply(token, Ok(Reply::Done));
        assert_eq!(line.peer.poll_output(), None, "a response has no answer");
    }
    for (params, answer) in [
        (r#""approved":true"#, Answer::Accept { always: false }),
        (r#""approved":false"#, Answer::Decline { always: false }),
        (r#""optionId":"o""#, picked(None, None)),
        (
            r#""approved":true,"optionId":"o","optionKind":"allow_once""#,
            picked(Some("allow_once"), Some((true, false))),
        ),
    ] {
        let mut line = Line::ready("{}");
        let wanted = line.wants("item/approve", &format!(r#"{{"requestId":"{id}",{params}}}"#));
        assert_eq!(
            wanted,
            Request::Answer {
                request: id,
                answer,
                scope: None
            }
        );
    }
}

#[test]
fn an_answer_without_a_decision_is_refused() {
    let id = question();
    for body in [
        r#""result":{"decision":"maybe"}"#,
        r#""result":{}"#,
        r#""result":null"#,
        r#""result":{"decision":"cancel","optionId":"o"}"#,
        r#""result":{"decision":"accept","optionKind":"allow_once"}"#,
        r#""error":{"code":-1,"message":"closed"}"#,
    ] {
        let mut line = Line::ready("{}");
        line.says(&format!(r#"{{"jsonrpc":"2.0","id":"{id}",{body}}}"#));
        let told = line.sent();
        assert_eq!(told["method"], "serverRequest/rejected", "{body}");
        assert_eq!(told["params"]["requestId"], id.to_string());
        assert_eq!(told["params"]["error"]["data"]["code"], "invalid_params");
    }
}

#[test]
fn a_late_response_is_notified_and_a_late_request_fails() {
    let id = question();
    let late = || Failure::new(ErrorCode::AlreadyResolved, "it was answered already");
    let mut line = Line::ready("{}");
    line.says(&format!(
        r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"decision":"accept"}}}}"#
    ));
    let (token, _) = line.called();
    line.peer.handle_reply(token, Err(late()));
    let told = line.sent();
    assert_eq!(told["params"]["error"]["data"]["code"], "already_resolved");
    line.request(
        "item/approve",
        &format!(r#"{{"requestId":"{id}","approved":true}}"#),
    );
    let (token, _) = line.called();
    line.peer.handle_reply(token, Err(late()));
    let answer = line.sent();
    assert_eq!((error(&answer).0, error(&answer).1), (-32004, "already_resolved"));
}

/// Returns the message that a client receives for a frame.
fn selected(peer: &mut Peer, frame: &Frame, pending: &Pending) -> Option<Bytes> {
    peer.handle_frames(Delivery {
        thread: thread(),
        frames: std::slice::from_ref(frame),
        last: frame.seq,
        pending,
    });
    match peer.poll_output() {
        Some(Output::Send(text)) => Some(text),
        other => {
            assert_eq!(other, None);
            None
        }
    }
}

/// All questions have been answered.
fn answered() -> Pending {
    Pending::up_to(u64::MAX, Arc::default())
}

/// Returns the notifications of a turn with a permission request.
fn frames() -> Vec<Frame> {
    let scene = check(|s: &mut Scene| {
        s.open_turn();
        s.chunk("hm");
        s.asks_permission("7", "t");
    });
    scene.frames
}

#[test]
fn only_clients_with_approvals_are_asked_while_the_question_is_open() {
    let frames = frames();
    let asked = frames.iter().find(|frame| frame.ask.is_some()).unwrap();
    let (_, asking) = asked.ask.as_deref().unwrap();
    let mut approver = Line::ready(r#"{"approvals":true}"#).peer;
    assert_eq!(
        selected(&mut approver, asked, &Pending::all()),
        Some(asking.clone())
    );
    assert_eq!(
        selected(&mut approver, asked, &answered()),
        Some(asked.text.clone()),
        "it was answered before"
    );
    for capabilities in ["{}", r#"{"approvals":false}"#] {
        let mut observer = Line::ready(capabilities).peer;
        assert_eq!(
            selected(&mut observer, asked, &Pending::all()),
            Some(asked.text.clone()),
            "it sees, and is not asked"
        );
    }
}

#[test]
fn opting_out_is_by_exact_name() {
    let frames = frames();
    let mut peer =
        Line::ready(r#"{"optOutNotificationMethods":["item/agentMessage/delta","thread","turn/"]}"#).peer;
    let shown: Vec<&str> = frames
        .iter()
        .filter(|frame| selected(&mut peer, frame, &Pending::all()).is_some())
        .map(|frame| frame.method)
        .collect();
    assert!(!shown.contains(&"item/agentMessage/delta"));
    assert_eq!(shown.len(), frames.len() - 1);
}

#[test]
fn an_opt_out_does_not_suppress_questions() {
    let id = question();
    let method = "item/permissions/requestApproval";
    let frame = Frame {
        seq: 1,
        method,
        text: "told".into(),
        ask: Some(Box::new((id, "asked".into()))),
    };
    let quiet = |approvals: bool| {
        let out = format!(
            r#"{{"approvals":{approvals},"optOutNotificationMethods":["{method}","serverRequest/rejected"]}}"#
        );
        Line::ready(&out)
    };
    let mut line = quiet(true);
    assert_eq!(
        selected(&mut line.peer, &frame, &Pending::all()).unwrap(),
        "asked"
    );
    assert_eq!(
        selected(&mut line.peer, &frame, &answered()),
        None,
        "it is answered already"
    );
    assert_eq!(
        selected(&mut quiet(false).peer, &frame, &Pending::all()),
        None,
        "it would only see it"
    );
    line.says(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#));
    assert_eq!(line.peer.poll_output(), None);
}

#[test]
fn a_role_may_call_what_the_table_says() {
    // The params fit no method. The role is checked before the params.
    for role in Role::ALL {
        for method in METHODS {
            let mut line = Line::ready_as(role, "{}");
            line.request(method.name, "[]");
            let forbidden = match line.peer.poll_output() {
                Some(Output::Send(message)) => {
                    let answer: Value = serde_json::from_slice(&message).unwrap();
                    error(&answer).1 == "forbidden"
                }
                _ => false,
            };
            assert_eq!(forbidden, !role.may(method.role()), "{role} {}", method.name);
        }
    }
    let mut line = Line::ready_as(Role::Observer, r#"{"approvals":true}"#);
    let refused = line.ask("turn/start", r#"{"text":"x"}"#);
    assert_eq!(
        error(&refused),
        (
            -32007,
            "forbidden",
            "turn/start needs the role operator; this client has the role observer"
        )
    );
}

/// A role that can remember an answer can also revoke it. Beyond the thread, only the owner can do either.
#[test]
fn an_answer_that_holds_beyond_its_thread_is_the_owners() {
    let id = question();
    let agents = acpd_policy::AGENT_IDS + 1;
    for role in [Role::Approver, Role::Operator, Role::Owner] {
        let mut tried = Vec::new();
        let mut is_refused = |what: &str, request: &str| {
            let mut line = Line::ready_as(role, r#"{"approvals":true}"#);
            line.says(request);
            tried.push(match line.peer.poll_output() {
                Some(Output::Send(message)) => {
                    let told: Value = serde_json::from_slice(&message).unwrap();
                    let answer = if told["params"].is_object() {
                        &told["params"]
                    } else {
                        &told
                    };
                    let (_, code, message) = error(answer);
                    assert_eq!(code, "forbidden", "{request}");
                    assert_eq!(
                        message,
                        format!("{what} needs the role owner; this client has the role {role}")
                    );
                    true
                }
                Some(Output::Request { .. }) => false,
                other => panic!("{other:?}"),
            });
        };
        let remembering = "remembering an answer for other threads";
        for scope in ["session", "thread", "agent", "daemon"] {
            is_refused(
                remembering,
                &format!(
                    r#"{{"jsonrpc":"2.0","id":"r","method":"item/approve","params":{{"requestId":"{id}","approved":true,"scope":"{scope}"}}}}"#
                ),
            );
            is_refused(
                remembering,
                &format!(
                    r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"decision":"accept","scope":"{scope}"}}}}"#
                ),
            );
        }
        for answer in [7, agents] {
            is_refused(
                "revoking an answer that applies to other threads",
                &format!(
                    r#"{{"jsonrpc":"2.0","id":"r","method":"policy/remembered/revoke","params":{{"threadId":"{}","id":{answer}}}}}"#,
                    thread()
                ),
            );
        }
        let no = role != Role::Owner;
        assert_eq!(
            tried,
            [false, false, false, false, no, no, no, no, false, no],
            "{role}"
        );
    }
}

#[test]
fn a_client_without_the_role_is_not_asked() {
    let id = question();
    let mut line = Line::ready_as(Role::Observer, r#"{"approvals":true}"#);
    let frame = |asking: &'static str| Frame {
        seq: 1,
        method: "item/permissions/requestApproval",
        text: "told".into(),
        ask: Some(Box::new((id, asking.into()))),
    };
    assert_eq!(
        selected(&mut line.peer, &frame("asked"), &Pending::all()).unwrap(),
        "told"
    );
    line.says(&format!(
        r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"decision":"accept"}}}}"#
    ));
    assert_eq!(line.sent()["params"]["error"]["data"]["code"], "forbidden");
    let mut approver = Line::ready_as(Role::Approver, r#"{"approvals":true}"#);
    assert_eq!(
        selected(&mut approver.peer, &frame("asked"), &Pending::all()).unwrap(),
        "asked"
    );
}
