use std::collections::BTreeMap;

use acpd_model::{RawJson, RequestId, TurnId};
use uuid::Uuid;

use super::*;
use crate::agent::{AgentRequest, PassthroughMethod};
use crate::projection::SessionChange;
use crate::surface::request::{
    ConfigChange, Follow, FollowFrom, ForkThread, ListThreads, OpenThread, Order, ReadUsage, RunRetention,
    SearchThreads, SeeThreads, SessionOptions, StartThread, StartTurn,
};
use crate::thread::{Answer, Change, InterruptOptions, QueueChange, TerminalAct};

const SHARED: ThreadId = ThreadId(Uuid::from_u128(1));
const OTHER: ThreadId = ThreadId(Uuid::from_u128(2));

fn shared() -> Permissions {
    Permissions {
        role: Role::Observer,
        scope: AccessScope::Thread(SHARED),
    }
}

fn turn() -> TurnId {
    TurnId(3)
}

/// Returns requests that a client can make, about `thread` if they concern a thread. Those that follow a thread's order, and those
/// that a link permits, are complete.
fn requests(thread: ThreadId) -> Vec<Request> {
    let start = StartThread {
        thread: None,
        agent: None,
        cwd: "/".to_owned(),
        additional_directories: Vec::new(),
        session: SessionChange::default(),
        name: None,
        project_id: None,
        metadata: None,
        policy: None,
        mode: None,
        config: BTreeMap::new(),
        initial: Vec::new(),
        session_id: None,
        input: Vec::new(),
        client_turn_id: None,
        follow: Follow::AtOnce,
    };
    let ask = |request| Request::AskAgent {
        thread: Some(thread),
        request,
        names_thread: false,
    };
    let passthrough = AgentRequest::Passthrough {
        method: PassthroughMethod::SetProvider,
        params: None,
    };
    vec![
        Request::Initialize,
        Request::ListAgents,
        Request::ListRunningAgents,
        Request::RunRetention(RunRetention::default()),
        Request::ExamineAgent { agent: String::new() },
        Request::ReadSessionOptions {
            agent: String::new(),
            cwd: String::new(),
            additional_directories: Vec::new(),
        },
        Request::InstallAgent { agent: String::new() },
        Request::ListFolders { path: None },
        Request::CreateFolder { path: String::new() },
        Request::ReadPolicies { agent: None },
        Request::ChangeConfig(ConfigChange::DefaultAgent { agent: None }),
        Request::ListNotificationTargets,
        Request::TestNotifications { target: None },
        Request::SeeThreads(SeeThreads::default()),
        Request::ReportPresence,
        Request::ReadUsage(ReadUsage::default()),
        Request::ListThreads(ListThreads::default()),
        Request::SearchThreads(SearchThreads {
            query: "x".to_owned(),
            cursor: None,
            limit: None,
            thread: Some(thread),
        }),
        Request::ReadThread { thread, turns: None },
        Request::ListLanes { thread },
        Request::WatchThreadList { on: true, only: None },
        Request::StartThread(Box::new(start)),
        Request::OpenThread(Box::new(open(thread))),
        Request::CloseThread {
            thread,
            release: true,
        },
        Request::ForkThread(Box::new(ForkThread {
            thread,
            turn: None,
            name: None,
            session: None,
        })),
        Request::DeleteThread { thread },
        Request::ChangeThread {
            thread,
            change: Change::Archive,
        },
        Request::UnarchiveThread { thread },
        Request::RollBack {
            thread,
            last_kept: None,
        },
        Request::SteerQueuedTurn { thread, turn: turn() },
        Request::SetDirectories {
            thread,
            cwd: String::new(),
            additional_directories: None,
        },
        Request::AddDirectory {
            thread,
            directory: String::new(),
        },
        Request::SetThreadPolicy { thread, policy: None },
        Request::ExplainPolicy {
            thread,
            tool_call: RawJson::trusted("{}"),
        },
        Request::ListRemembered { thread },
        Request::RevokeRemembered { thread, id: 1 },
        Request::ListAgentAnswers { agent: None },
        Request::RevokeAgentAnswer {
            agent: String::new(),
            id: 1,
        },
        Request::CreateShare {
            thread,
            expires_in_secs: None,
            name: None,
        },
        Request::ListShares { thread: Some(thread) },
        Request::RevokeShare { share: String::new() },
        Request::MoveLease { thread, take: true },
        Request::StartTurn(StartTurn {
            thread,
            input: Vec::new(),
            meta: None,
            client_turn_id: None,
            replaces: None,
        }),
        Request::SteerTurn {
            thread,
            input: Vec::new(),
            turn: None,
            client_turn_id: None,
        },
        Request::RunCommand {
            thread,
            line: String::new(),
        },
        Request::ReadSignIn { thread },
        Request::CancelSignIn { thread },
        Request::UseTerminal {
            thread,
            terminal_id: String::new(),
            act: TerminalAct::Kill,
        },
        Request::ReadTurnDiff { thread, turn: turn() },
        Request::Interrupt {
            thread,
            turn: None,
            options: InterruptOptions::default(),
        },
        Request::ChangeQueue {
            thread,
            change: QueueChange::Arrange {
                first: Vec::new(),
                paused: None,
            },
        },
        Request::Answer {
            request: RequestId { number: 1, thread },
            answer: Answer::Accept { always: false },
            scope: None,
        },
        ask(AgentRequest::Logout),
        ask(passthrough),
        ask(AgentRequest::SetMode {
            mode_id: String::new(),
        }),
        Request::NotifyAgent {
            thread,
            method: "_x".to_owned(),
            params: None,
            names_thread: false,
        },
    ]
}

fn open(thread: ThreadId) -> OpenThread {
    OpenThread {
        thread,
        from: FollowFrom::Start,
        turns: None,
        session: Some(SessionOptions::default()),
        claims: vec!["claim".to_owned()],
        starts_agent: true,
    }
}

/// The kinds of requests that a shared thread permits. Every other one is refused.
const PERMITTED: [RequestKind; 9] = [
    RequestKind::Initialize,
    RequestKind::ListThreads,
    RequestKind::SearchThreads,
    RequestKind::ReadThread,
    RequestKind::ListLanes,
    RequestKind::ReadTurnDiff,
    RequestKind::WatchThreadList,
    RequestKind::OpenThread,
    RequestKind::CloseThread,
];

/// A request that concerns no thread and that a link refuses is known by its kind alone.
#[test]
fn every_kind_of_request_about_a_thread_is_among_them() {
    let known: Vec<RequestKind> = requests(SHARED).iter().map(Request::kind).collect();
    let missing: Vec<_> = RequestKind::ALL
        .iter()
        .filter(|kind| kind.order() == Order::Thread || kind.shared_access() != SharedAccess::Refused)
        .filter(|kind| !known.contains(kind))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_shared_thread_permits_no_other_kind() {
    for kind in RequestKind::ALL {
        let permits = shared().check_scope(*kind).is_ok();
        assert_eq!(permits, PERMITTED.contains(kind), "{kind:?}");
    }
}

#[test]
fn requests_have_the_order_of_their_thread_or_of_their_connection() {
    // These concern no thread, or one that does not exist yet.
    let of_the_connection = [
        RequestKind::CreateFolder,
        RequestKind::ChangeConfig,
        RequestKind::WatchThreadList,
        RequestKind::StartThread,
    ];
    for request in requests(OTHER) {
        let kind = request.kind();
        let has_thread = request.order() == Order::Thread && !of_the_connection.contains(&kind);
        assert_eq!(request.ordered_by(), has_thread.then_some(OTHER), "{kind:?}");
    }
}

#[test]
fn a_shared_thread_permits_reading_it_and_nothing_else() {
    for request in requests(SHARED) {
        let kind = request.kind();
        let limited = shared().limit(request);
        assert_eq!(limited.is_ok(), PERMITTED.contains(&kind), "{kind:?}");
        assert_eq!(shared().check_scope(kind).is_ok(), limited.is_ok(), "{kind:?}");
        match limited {
            Ok(request) => assert!(Role::Observer.may(request.role()), "{kind:?}"),
            Err(failure) => assert_eq!(failure, outside(), "{kind:?}"),
        }
    }
}

#[test]
fn another_thread_looks_like_one_that_does_not_exist() {
    for request in requests(OTHER) {
        let kind = request.kind();
        let limited = shared().limit(request);
        match kind.shared_access() {
            SharedAccess::ThatThread => assert_eq!(limited, Err(no_thread(OTHER)), "{kind:?}"),
            SharedAccess::Refused => assert_eq!(limited, Err(outside()), "{kind:?}"),
            SharedAccess::Limited if kind == RequestKind::SearchThreads => {
                assert_eq!(limited, Err(no_thread(OTHER)));
            }
            SharedAccess::Limited => assert!(limited.is_ok(), "{kind:?}"),
        }
    }
}

#[test]
fn lists_and_searches_are_limited_to_the_shared_thread() {
    let limit = |request| shared().limit(request).unwrap();
    let Request::ListThreads(list) = limit(Request::ListThreads(ListThreads::default())) else {
        panic!("a list stays a list");
    };
    assert_eq!(list.only, Some(SHARED));
    // A client cannot choose the thread itself.
    let list = ListThreads {
        only: Some(OTHER),
        ..ListThreads::default()
    };
    let Request::ListThreads(list) = limit(Request::ListThreads(list)) else {
        panic!("a list stays a list");
    };
    assert_eq!(list.only, Some(SHARED));
    let watch = limit(Request::WatchThreadList { on: true, only: None });
    let only = Some(SHARED);
    assert_eq!(watch, Request::WatchThreadList { on: true, only });
    let search = SearchThreads {
        query: "x".to_owned(),
        cursor: None,
        limit: None,
        thread: None,
    };
    let Request::SearchThreads(search) = limit(Request::SearchThreads(search)) else {
        panic!("a search stays a search");
    };
    assert_eq!(search.thread, Some(SHARED));
}

#[test]
fn a_reader_of_a_shared_thread_starts_no_agent_and_stops_none() {
    let opened = shared()
        .limit(Request::OpenThread(Box::new(open(SHARED))))
        .unwrap();
    let Request::OpenThread(opened) = opened else {
        panic!("it stays the same request");
    };
    assert_eq!((opened.session, opened.claims.len()), (None, 0));
    assert!(!opened.starts_agent);
    let closed = shared().limit(Request::CloseThread {
        thread: SHARED,
        release: true,
    });
    let release = false;
    assert_eq!(
        closed,
        Ok(Request::CloseThread {
            thread: SHARED,
            release
        })
    );
}

#[test]
fn a_token_is_limited_by_its_role_alone() {
    for role in Role::ALL {
        let permissions = Permissions::from(role);
        for request in requests(OTHER) {
            let kind = request.kind();
            assert_eq!(permissions.limit(request.clone()), Ok(request), "{kind:?}");
            assert_eq!(permissions.may(kind), role.may(kind.role()), "{kind:?}");
        }
    }
}
