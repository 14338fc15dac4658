//! Requests to a daemon with no agent and an in-memory log.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Program, TerminalSpec, TerminalUpdate};
use acpd_model::event::{ClientOrigin, Fidelity, PlanEntry, TurnStatus};
use acpd_model::item::ToolStatus;
use acpd_model::limits::{
    ANSWER_PAGES, LIST_PAGE_BYTES, METADATA_BYTES, SMALL_ANSWER_BYTES, TURNS_PAGE_BYTES, UNSENT_BYTES_OF_ONE,
    USAGE_ROWS,
};
use acpd_model::usage::{DAY_MILLIS, DailyUsage, Spent};
use acpd_model::{
    AccessScope, ErrorCode, Event, EventKind, Extract, Failure, ItemEnd, ItemEvent, ItemId, ItemOutcome,
    ItemStart, Limits, MessageType, Origin, RawJson, RequestId, Role, Seq, Summary, ThreadEvent, ThreadId,
    TurnEvent, TurnId,
};
use acpd_policy::Scope;
use acpd_proto::agent::{AgentRequest, ConfigValue};
use acpd_proto::projection::{Live, SessionChange, TurnsPage, marks_of};
use acpd_proto::surface::contract::Lane;
use acpd_proto::surface::reply::{ListPage, Reply, SeenThread};
use acpd_proto::surface::request::{
    Extent, Follow, FollowFrom, ListThreads, OpenThread, ReadUsage, Request, SearchThreads, SeeThreads,
    SessionOptions, StartThread, Turns, UsageBy,
};
use acpd_proto::thread::{Answer, InterruptOptions};
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::mpsc;

use super::{Caller, Defaults, Response, Service};
use crate::agent::config::AgentConfig;
use crate::host::{AgentIo, Host, TerminalIo};
use crate::test_context::context;
use crate::thread::directory::Directory;

async fn service(data_dir: &std::path::Path) -> Service {
    let context = context(data_dir, BTreeMap::new(), Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    Service::new(directory, context)
}

fn thread() -> ThreadId {
    ThreadId(uuid::Uuid::from_u128(7))
}

async fn failure(service: &Service, role: Role, request: Request) -> Option<ErrorCode> {
    let caller = Caller::new(Origin::Daemon, role, Lane::App, Defaults::none());
    let dispatched = service.call(&caller, request).await;
    dispatched.answer.await.err().map(|failure| failure.code)
}

#[tokio::test]
async fn requests_beyond_the_role_are_refused_for_each_surface() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let thread = thread();
    let answer = |scope| Request::Answer {
        request: RequestId { thread, number: 1 },
        answer: Answer::Decline { always: true },
        scope,
    };
    let sign_in = |thread| Request::AskAgent {
        thread,
        request: AgentRequest::Logout,
        names_thread: false,
    };
    for (role, request) in [
        (Role::Operator, Request::DeleteThread { thread }),
        (Role::Operator, sign_in(Some(thread))),
        (Role::Operator, sign_in(None)),
        (
            Role::Observer,
            Request::Interrupt {
                thread,
                turn: None,
                options: InterruptOptions::default(),
            },
        ),
        (Role::Observer, answer(None)),
        (Role::Approver, answer(Some(Scope::Agent))),
    ] {
        let refused = failure(&service, role, request.clone()).await;
        assert_eq!(refused, Some(ErrorCode::Forbidden), "{request:?}");
        let known = failure(&service, Role::Owner, request.clone()).await;
        assert_ne!(known, Some(ErrorCode::Forbidden), "{request:?}");
    }
    let list = Request::ListThreads(ListThreads::default());
    assert_eq!(failure(&service, Role::Observer, list).await, None);
}

#[tokio::test]
async fn an_editor_that_answers_nothing_holds_no_lease() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let (thread, take) = (thread(), true);
    let refused = failure(&service, Role::Owner, Request::MoveLease { thread, take }).await;
    assert_eq!(refused, Some(ErrorCode::Unsupported));
}

/// They are for a running agent, and so start it.
#[tokio::test]
async fn options_of_an_editor_start_no_agent_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    store(&service, &[crate::test_context::event(1)]).await;
    let caller = user("u", Role::Owner);
    let open = |config_options| {
        Request::OpenThread(Box::new(OpenThread {
            thread: thread(),
            from: FollowFrom::Latest,
            turns: None,
            session: Some(SessionOptions {
                config_options,
                ..SessionOptions::default()
            }),
            claims: Vec::new(),
            starts_agent: true,
        }))
    };
    let latest = async || {
        let request = Request::ReadThread {
            thread: thread(),
            turns: None,
        };
        match ask(&service, &caller, request).await {
            Reply::Thread(view) => view.live.last_seq,
            other => panic!("another reply: {other:?}"),
        }
    };
    ask(&service, &caller, open(Vec::new())).await;
    let before = latest().await;
    let option = ("model".to_owned(), ConfigValue::Id("m-1".to_owned()));
    ask(&service, &caller, open(vec![option])).await;
    assert_eq!(latest().await, before);
}

#[tokio::test]
async fn initialize_without_an_agent_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let refused = failure(&service, Role::Owner, Request::Initialize).await;
    assert_eq!(refused, Some(ErrorCode::InvalidParams));
}

fn event(seq: Seq, turn: u32, kind: EventKind) -> Event {
    Event {
        seq,
        at: 1,
        turn: Some(TurnId(turn)),
        by: Origin::Agent,
        kind,
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

fn queued(name: &str) -> EventKind {
    EventKind::Turn(TurnEvent::Queued {
        client_turn_id: Some(name.into()),
        input: vec![RawJson::parse(r#"{"type":"text","text":"x"}"#).unwrap()],
        meta: None,
    })
}

fn settled() -> EventKind {
    EventKind::Turn(TurnEvent::Settled {
        status: TurnStatus::Completed,
        stop_reason: Some("end_turn".into()),
        error: None,
        started_at: None,
        usage: None,
        changes: None,
        plan: None,
        plans: None,
        permitted: 0,
        waited_ms: 0,
    })
}

/// Stores the events of a thread, with their places.
async fn store(service: &Service, events: &[Event]) {
    let extract = Extract {
        marks: marks_of(thread(), events),
        ..Extract::default()
    };
    let log = &service.context.log;
    log.append_with(thread(), events, Some(&Summary::default()), &extract)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_client_turn_id_is_known_for_the_threads_life() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let mut events = Vec::new();
    for turn in 1..=600 {
        let seq = 2 * u64::from(turn) - 1;
        events.push(event(seq, turn, queued(&format!("c{turn}"))));
        events.push(event(seq + 1, turn, settled()));
    }
    let kept = Some(TurnId(599));
    let fidelity = Fidelity::Exact;
    let last_kept = kept;
    let mut rollback = event(
        1201,
        600,
        EventKind::Thread(ThreadEvent::TurnsRolledBack {
            last_kept,
            fidelity,
            session_id: None,
        }),
    );
    rollback.turn = None;
    events.push(rollback);
    store(&service, &events).await;
    let known = async |name| {
        service
            .ended_turn(thread(), name)
            .await
            .unwrap()
            .map(|turn| turn.id)
    };
    assert_eq!(
        known("c1").await,
        Some(TurnId(1)),
        "the thread itself has forgotten it"
    );
    assert_eq!(known("c599").await, kept);
    assert_eq!(known("c600").await, None, "a dropped turn may be started again");
    assert_eq!(known("c601").await, None);
}

#[tokio::test]
async fn the_outcome_of_a_prompt_is_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let events = [
        event(1, 1, queued("over")),
        event(2, 2, queued("later")),
        event(3, 1, settled()),
        event(4, 2, settled()),
    ];
    store(&service, &events).await;
    let names = ["over", "later", "never"].map(str::to_owned).to_vec();
    let claimed = service.claim(thread(), names, 3).await.unwrap();
    let found: Vec<_> = claimed
        .iter()
        .map(|claim| (claim.turn, claim.settled.as_ref().map(|event| event.seq)))
        .collect();
    let expected = [(Some(TurnId(1)), Some(3)), (Some(TurnId(2)), None), (None, None)];
    assert_eq!(found, expected);
}

/// Returns the events of a running turn: a tool call that ended and is updated again and again, then unfinished messages.
fn large_turn() -> Vec<Event> {
    const LARGE: usize = 600 << 10;
    let mut events: Vec<Event> = Vec::new();
    let mut add = |kind: EventKind, raw: Option<String>| {
        let raw = raw.map(|raw| RawJson::parse(raw).unwrap());
        let seq = events.len() as Seq + 1;
        events.push(Event {
            raw,
            ..event(seq, 1, kind)
        });
    };
    let started = |item, start| {
        EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        })
    };
    let (call, status) = (ItemId(1), ToolStatus::Completed);
    let turn = EventKind::Turn(TurnEvent::Started {
        client_turn_id: None,
        imported: false,
    });
    add(turn, None);
    let start = ItemStart::ToolCall {
        tool_call_id: "t".into(),
        title: "t".into(),
        kind: "other".into(),
        status,
    };
    add(started(call, start), Some(r#"{"toolCallId":"t"}"#.into()));
    let end = ItemEnd::ToolCall {
        status,
        call: RawJson::parse(r#"{"toolCallId":"t"}"#).unwrap(),
    };
    let outcome = ItemOutcome::Completed;
    add(
        EventKind::Item(ItemEvent::Completed {
            item: call,
            outcome,
            end,
        }),
        None,
    );
    for number in 0..5 {
        let raw = format!(
            r#"{{"toolCallId":"t","rawOutput":"{number}{}"}}"#,
            "x".repeat(LARGE)
        );
        add(
            EventKind::Item(ItemEvent::Updated { item: call, status }),
            Some(raw),
        );
    }
    let role = MessageType::AgentMessage;
    for item in (2..=4).map(ItemId) {
        let start = ItemStart::Message {
            role,
            message_id: None,
            client_message_id: None,
        };
        add(started(item, start), None);
        let text = "y".repeat(LARGE);
        add(
            EventKind::Item(ItemEvent::Delta {
                item,
                role,
                text,
                message_id: None,
            }),
            None,
        );
    }
    events
}

/// Stores events, and returns the pages of their turns, the last one first.
async fn pages(events: &[Event]) -> Vec<TurnsPage> {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    store(&service, events).await;
    let mut live = Live::new(thread());
    for event in events {
        live.fold(event);
    }
    let live = Arc::new(live);
    let (mut before, mut found) = (None, Vec::new());
    loop {
        let turns = Turns {
            before,
            ..Turns::default()
        };
        let page = service.turns_page(&live, turns).await.unwrap();
        before = page.older;
        found.push(page);
        if before.is_none() {
            return found;
        }
    }
}

/// Returns the items of a page with their contents as JSON.
fn contents(page: &TurnsPage) -> Vec<(u32, String)> {
    let items = page.turns.iter().flat_map(|turn| &turn.items);
    items
        .map(|item| (item.id.0, serde_json::to_string(&item.content()).unwrap()))
        .collect()
}

#[tokio::test]
async fn a_page_is_bounded_whatever_is_unfinished_or_late() {
    let pages = pages(&large_turn()).await;
    let mut found = Vec::new();
    for page in &pages {
        let contents = contents(page);
        let bytes: usize = contents.iter().map(|(_, content)| content.len()).sum();
        assert!(bytes as u64 <= 2 * TURNS_PAGE_BYTES, "{bytes} bytes");
        found.extend(contents.into_iter().rev());
    }
    let ids: Vec<u32> = found.iter().map(|(item, _)| *item).collect();
    assert_eq!(ids, [4, 3, 2, 1]);
    assert!(found[3].1.contains("\"4x"), "it has the last update");
    // The others are left out, and a notice says so.
    let notes = pages.last().unwrap().turns.iter().flat_map(|turn| &turn.notes);
    let notes: Vec<_> = notes.map(|note| (note.after, note.event.seq)).collect();
    assert_eq!(notes, [(Some(ItemId(1)), 7)]);
}

/// The state of a thread has the texts of unfinished items, so that it waits for room as well.
#[tokio::test]
async fn a_thread_is_read_once_there_is_room_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let events = large_turn();
    let (first, later) = events.split_at(2);
    store(&service, first).await;
    let caller = Caller::new(Origin::Daemon, Role::Observer, Lane::App, Defaults::none());
    let held = service.context.unsent.take(&caller, u64::MAX).await;
    let request = Request::ReadThread {
        thread: thread(),
        turns: Some(Turns::default()),
    };
    let mut answer = service.call(&caller, request).await.answer;
    for _ in 0..20 {
        assert!((&mut answer).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    let log = &service.context.log;
    log.append(thread(), later, Some(&Summary::default()))
        .await
        .unwrap();
    drop(held);
    let response = answer.await.unwrap();
    let Reply::Thread(view) = response.reply else {
        panic!("another reply: {:?}", response.reply);
    };
    assert_eq!(view.live.last_seq, events.len() as Seq);
    assert!(view.live.items.is_empty(), "the page has what it shows of them");
    assert!(response.charge.is_some());
}

#[tokio::test]
async fn turns_beyond_a_page_are_charged_before_they_are_read() {
    const CALL: u64 = TURNS_PAGE_BYTES + 1;
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let turns = u32::try_from(ANSWER_PAGES).unwrap() + 1;
    let text = "x".repeat(usize::try_from(CALL).unwrap());
    let mut events: Vec<Event> = Vec::new();
    for turn in 1..=turns {
        let (item, status) = (ItemId(turn), ToolStatus::Completed);
        let kinds = [
            EventKind::Turn(TurnEvent::Started {
                client_turn_id: None,
                imported: false,
            }),
            EventKind::Item(ItemEvent::Started {
                item,
                parent: None,
                start: ItemStart::ToolCall {
                    tool_call_id: turn.to_string(),
                    title: "t".into(),
                    kind: "other".into(),
                    status,
                },
            }),
            EventKind::Item(ItemEvent::Completed {
                item,
                outcome: ItemOutcome::Completed,
                end: ItemEnd::ToolCall {
                    status,
                    call: RawJson::parse(format!(r#"{{"rawOutput":"{text}"}}"#)).unwrap(),
                },
            }),
            settled(),
        ];
        let first = (Seq::from(turn) - 1) * kinds.len() as Seq + 1;
        let of_turn = kinds.into_iter().zip(first..);
        events.extend(of_turn.map(|(kind, seq)| event(seq, turn, kind)));
    }
    store(&service, &events).await;
    let all = u64::from(UNSENT_BYTES_OF_ONE);
    let caller = Caller::new(Origin::Daemon, Role::Observer, Lane::Codex, Defaults::none());
    let other = Caller {
        connection: "other".into(),
        ..caller.clone()
    };
    for (extent, read, charged) in [
        (Extent::Page, 1, CALL),
        (Extent::WholeTurns, 1, CALL),
        (Extent::WholeThread, turns - 1, all),
    ] {
        let request = Request::ReadThread {
            thread: thread(),
            turns: Some(Turns {
                extent,
                ..Turns::default()
            }),
        };
        let response = service.call(&caller, request).await.answer.await.unwrap();
        let Reply::Thread(view) = &response.reply else {
            panic!("another reply: {:?}", response.reply);
        };
        let page = view.turns.as_ref().unwrap();
        let ids = page.turns.iter().map(|turn| turn.id.unwrap().0);
        assert!(ids.eq(turns + 1 - read..=turns), "{extent:?}");
        assert!(page.older.is_some(), "{extent:?}");
        let unsent = &service.context.unsent;
        assert!(unsent.try_take(&other, all - charged + 2).is_none(), "{extent:?}");
        drop(response);
        assert!(unsent.try_take(&other, all).is_some(), "{extent:?}");
    }
}

#[tokio::test]
async fn large_answers_wait_for_room_and_no_request_waits_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    let held = service.context.unsent.take(&caller, u64::MAX).await;
    let (thread, turn) = (thread(), TurnId(1));
    let search = SearchThreads {
        query: "x".into(),
        cursor: None,
        limit: None,
        thread: None,
    };
    let requests = [
        Request::ListAgents,
        Request::ListThreads(ListThreads::default()),
        Request::SearchThreads(search),
        Request::ReadTurnDiff { thread, turn },
        Request::ListFolders { path: None },
        Request::ReadPolicies { agent: None },
        Request::ListShares { thread: None },
        Request::ListRemembered { thread },
        Request::ListAgentAnswers { agent: None },
        Request::ReadUsage(ReadUsage::default()),
    ];
    let mut waiting = Vec::new();
    for request in requests {
        let name = format!("{request:?}");
        let dispatched = service.call(&caller, request).now_or_never();
        let mut answer = dispatched.expect("the next request may begin").answer;
        assert!((&mut answer).now_or_never().is_none(), "{name}");
        waiting.push(answer);
    }
    tokio::task::yield_now().await;
    let closed = Request::CloseThread {
        thread,
        release: false,
    };
    let closed = service.call(&caller, closed).await.answer;
    assert!(closed.now_or_never().is_some(), "it is small");
    for answer in &mut waiting {
        assert!(answer.now_or_never().is_none());
    }
    drop(held);
    // All at once, as a connection waits for them.
    let answered = join_all(waiting.into_iter().map(|answer| async {
        // Some fail, since there is no such thread.
        if let Ok(response) = answer.await {
            assert!(response.charge.is_some(), "{:?}", response.reply);
        }
    }));
    answered.await;
}

/// An agent decides how large its answers are, and when they come.
#[tokio::test]
async fn large_answers_of_agents_take_room_once_they_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    let small = usize::try_from(SMALL_ANSWER_BYTES).unwrap();
    for (bytes, waits) in [(2, false), (small, false), (small + 1, true), (8 << 20, true)] {
        let result = RawJson::parse(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap();
        let answer = std::future::ready(Ok(Response::from(Reply::Agent(result)))).boxed();
        let held = service.context.unsent.take(&caller, u64::MAX).await;
        let mut charged = Box::pin(service.charge_late(&caller, answer));
        let at_once = charged.as_mut().now_or_never();
        assert_eq!(at_once.is_none(), waits, "{bytes} bytes");
        drop(held);
        if waits {
            assert!(charged.await.unwrap().charge.is_some(), "{bytes} bytes");
        }
    }
}

/// A handler that took room once more would wait for its own.
#[tokio::test]
async fn large_answers_of_one_connection_do_not_wait_for_each_other_forever() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    let kinds = [
        Request::ListAgents,
        Request::ListRunningAgents,
        Request::ListThreads(ListThreads::default()),
        Request::ListFolders { path: None },
        Request::ReadPolicies { agent: None },
        Request::ListNotificationTargets,
        Request::ListShares { thread: None },
        Request::ListAgentAnswers { agent: None },
        Request::ReadUsage(ReadUsage::default()),
    ];
    for request in kinds {
        let name = format!("{request:?}");
        let made = join_all((0..4).map(|_| async {
            let dispatched = service.call(&caller, request.clone()).await;
            // The room is free again once the answer has been sent.
            dispatched.answer.await.map(|response| response.charge.is_some())
        }));
        let made = tokio::time::timeout(Duration::from_mins(1), made).await;
        for answer in made.unwrap_or_else(|_| panic!("{name} waits for itself")) {
            // Some fail, since nothing of the kind is there.
            assert!(answer.unwrap_or(true), "{name}");
        }
    }
}

/// A host whose disk never answers.
#[derive(Debug)]
struct StuckDisk;

impl Host for StuckDisk {
    fn start_agent(&self, _: &Program) -> Result<AgentIo, Failure> {
        unreachable!("nothing is started")
    }

    fn start_terminal(
        &self,
        _: &TerminalSpec,
        _: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        unreachable!("nothing is started")
    }

    fn resident_memory(&self, pids: &[u32]) -> Vec<u64> {
        vec![0; pids.len()]
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        std::mem::forget(work);
    }
}

#[tokio::test]
async fn answers_that_wait_for_a_disk_hold_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut service = service(dir.path()).await;
    service.context.host = Arc::new(StuckDisk);
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    for request in [
        Request::ListFolders { path: None },
        Request::ListThreads(list_stuck(None)),
    ] {
        let name = format!("{request:?}");
        let mut answer = service.call(&caller, request).await.answer;
        for _ in 0..20 {
            assert!((&mut answer).now_or_never().is_none(), "{name}");
            tokio::task::yield_now().await;
        }
        let all = service.context.unsent.try_take(&caller, u64::MAX);
        assert!(all.is_some(), "{name} holds room");
    }
}

fn list_stuck(only: Option<ThreadId>) -> ListThreads {
    ListThreads {
        cwd: Some("/st\u{fc}ck".into()),
        only,
        ..ListThreads::default()
    }
}

#[tokio::test]
async fn a_directory_is_looked_up_where_the_disk_may_block() {
    let dir = tempfile::tempdir().unwrap();
    let config = AgentConfig {
        command: "/bin/true".to_owned(),
        ..AgentConfig::default()
    };
    let agents = BTreeMap::from([("a".to_owned(), config)]);
    let context = context(dir.path(), agents, Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    let mut service = Service::new(directory, context);
    service.context.host = Arc::new(StuckDisk);
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    let start = StartThread {
        thread: None,
        agent: Some("a".to_owned()),
        cwd: "/st\u{fc}ck".to_owned(),
        additional_directories: vec!["/st\u{fc}ck".to_owned()],
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
    // On this thread, it would be found missing at once.
    let mut started = Box::pin(service.call(&caller, Request::StartThread(Box::new(start))));
    for _ in 0..20 {
        assert!(started.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
}

/// They are many, and have no files to look for.
#[tokio::test]
async fn readers_of_a_link_do_not_make_the_daemon_look_at_its_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut service = service(dir.path()).await;
    service.context.host = Arc::new(StuckDisk);
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    let list = Request::ListThreads(list_stuck(Some(thread())));
    let listed = service.call(&caller, list).await.answer;
    let listed = tokio::time::timeout(Duration::from_mins(1), listed).await;
    assert!(listed.expect("no disk is needed").is_ok());
}

#[tokio::test]
async fn a_page_of_the_list_is_bounded_in_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let metadata = RawJson::parse(format!("\"{}\"", "x".repeat(METADATA_BYTES - 2))).unwrap();
    for number in 1..=40 {
        let summary = Summary {
            metadata: Some(metadata.clone()),
            ..Summary::default()
        };
        let thread = ThreadId(uuid::Uuid::from_u128(number));
        let events = [event(1, 1, queued("c"))];
        let appended = service.context.log.append(thread, &events, Some(&summary));
        appended.await.unwrap();
    }
    let caller = Caller::new(Origin::Daemon, Role::Observer, Lane::App, Defaults::none());
    let (mut cursor, mut listed) = (None, Vec::new());
    loop {
        let wanted = ListThreads {
            cursor,
            ..ListThreads::default()
        };
        let dispatched = service.call(&caller, Request::ListThreads(wanted)).await;
        let Ok(Reply::Threads(ListPage { page, next })) =
            dispatched.answer.await.map(|response| response.reply)
        else {
            panic!("no list");
        };
        let bytes: usize = page.iter().map(|listed| listed.summary.weight()).sum();
        assert!(!page.is_empty() && bytes <= LIST_PAGE_BYTES, "{bytes} bytes");
        listed.extend(page.into_iter().map(|listed| listed.thread));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len(), 40);
}

/// Returns the events of an ended turn with three tool calls, each with a late update of this size, and a plan.
fn turn_with_late_updates(bytes: usize) -> Vec<Event> {
    let status = ToolStatus::Completed;
    let mut kinds = vec![(
        EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        }),
        None,
    )];
    for item in (1..=3).map(ItemId) {
        let call = RawJson::parse(format!(r#"{{"toolCallId":"{}"}}"#, item.0)).unwrap();
        let start = ItemStart::ToolCall {
            tool_call_id: item.0.to_string(),
            title: "t".into(),
            kind: "other".into(),
            status,
        };
        let started = EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        });
        let completed = EventKind::Item(ItemEvent::Completed {
            item,
            outcome: ItemOutcome::Completed,
            end: ItemEnd::ToolCall {
                status,
                call: call.clone(),
            },
        });
        kinds.extend([(started, Some(call)), (completed, None)]);
    }
    let entry = PlanEntry {
        content: "Test".into(),
        priority: "high".into(),
        status: "pending".into(),
    };
    let replaced = TurnEvent::PlanReplaced {
        plan_id: String::new(),
        entries: vec![entry],
        markdown: None,
    };
    kinds.push((EventKind::Turn(replaced), None));
    for item in (1..=3).map(ItemId) {
        let text = "x".repeat(bytes);
        let raw = format!(r#"{{"toolCallId":"{0}","rawOutput":"{0}{text}"}}"#, item.0);
        let raw = RawJson::parse(raw).unwrap();
        kinds.push((EventKind::Item(ItemEvent::Updated { item, status }), Some(raw)));
    }
    let mut settled = settled();
    if let EventKind::Turn(TurnEvent::Settled { plan, .. }) = &mut settled {
        *plan = NonZeroU64::new(8);
    }
    kinds.push((settled, None));
    let numbered = (1..).zip(kinds);
    numbered
        .map(|(seq, (kind, raw))| Event {
            raw,
            ..event(seq, 1, kind)
        })
        .collect()
}

#[tokio::test]
async fn late_updates_without_room_are_on_the_next_page_and_plans_have_room_of_their_own() {
    for (kib, expected) in [(1, vec![vec![1, 2, 3]]), (600, vec![vec![3], vec![2], vec![1]])] {
        let pages = pages(&turn_with_late_updates(kib << 10)).await;
        let items = |page| {
            contents(page)
                .into_iter()
                .map(|(item, _)| item)
                .collect::<Vec<_>>()
        };
        assert_eq!(pages.iter().map(items).collect::<Vec<_>>(), expected);
        for page in &pages {
            for (item, content) in contents(page) {
                assert!(content.contains(&format!("\"{item}x")), "{kib} KiB: {item}");
            }
            assert!(
                page.turns.iter().all(|turn| turn.plans.get("").is_some()),
                "{kib} KiB"
            );
        }
    }
}

/// Returns a client of a user.
fn user(name: &str, role: Role) -> Caller {
    let by = Origin::Client(Box::new(ClientOrigin {
        principal: name.to_owned(),
        client: "test".to_owned(),
    }));
    Caller::new(by, role, Lane::App, Defaults::none())
}

async fn ask(service: &Service, caller: &Caller, request: Request) -> Reply {
    let dispatched = service.call(caller, request).await;
    dispatched.answer.await.unwrap().reply
}

/// Stores threads that each cost as many billionths as their number, on the day of their change.
async fn store_costs(service: &Service, numbers: std::ops::RangeInclusive<u64>, at: acpd_model::Millis) {
    for number in numbers {
        let mut usage = DailyUsage::default();
        let spent = Spent {
            costs: BTreeMap::from([("USD".to_owned(), number)]),
            ..Spent::default()
        };
        usage.add(at, &spent);
        let summary = Summary {
            agent: format!("agent {}", number % 3),
            cwd: "/w".to_owned(),
            updated_at: at,
            usage: Some(Box::new(usage)),
            ..Summary::default()
        };
        let thread = ThreadId(uuid::Uuid::from_u128(u128::from(number)));
        let log = &service.context.log;
        log.append(thread, &[crate::test_context::event(1)], Some(&summary))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn usage_is_added_up_and_its_rows_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    let now = service.context.clock.now().wall;
    let most = u64::try_from(USAGE_ROWS).unwrap() + 7;
    store_costs(&service, 1..=most, now).await;
    // These are too old.
    store_costs(&service, 10_001..=10_002, now - 40 * DAY_MILLIS).await;
    let observer = user("ann", Role::Observer);
    let read = async |by, days| {
        let wanted = Request::ReadUsage(ReadUsage { days, by });
        let Reply::Usage(report) = ask(&service, &observer, wanted).await else {
            panic!("it is another reply")
        };
        report
    };
    let sum = most * (most + 1) / 2;
    let threads = read(UsageBy::Thread, None).await;
    assert_eq!((threads.rows.len(), threads.omitted), (USAGE_ROWS, 7));
    assert_eq!(threads.total.costs["USD"], sum, "the total has what is left out");
    assert_eq!(
        threads.rows[0].spent.costs["USD"], most,
        "the most expensive comes first"
    );
    for (by, rows) in [(UsageBy::Day, 1), (UsageBy::Agent, 3), (UsageBy::Folder, 1)] {
        let report = read(by, Some(1)).await;
        assert_eq!(
            (report.rows.len(), report.total.costs["USD"]),
            (rows, sum),
            "{by:?}"
        );
    }
    let all = read(UsageBy::Day, Some(u32::MAX)).await;
    assert_eq!((all.rows.len(), all.total.costs["USD"]), (2, sum + 20_003));
    assert!(all.rows[0].of > all.rows[1].of, "the last day comes first");
    assert_eq!(read(UsageBy::Day, Some(0)).await.rows.len(), 1, "that is today");
}

#[tokio::test]
async fn a_list_says_what_its_own_user_has_seen() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path()).await;
    store_costs(&service, 1..=2, 50).await;
    let (ann, bob) = (user("ann", Role::Observer), user("bob", Role::Owner));
    let seen = |thread: u128, seen_at| SeenThread {
        thread: ThreadId(uuid::Uuid::from_u128(thread)),
        seen_at,
    };
    let marks = Request::SeeThreads(SeeThreads {
        threads: vec![seen(1, 900), seen(7, 900)],
        since: Some(3),
    });
    assert_eq!(ask(&service, &ann, marks.clone()).await, Reply::Seen(3));
    let listed = async |caller: &Caller| {
        let Reply::Threads(ListPage { page, .. }) =
            ask(&service, caller, Request::ListThreads(ListThreads::default())).await
        else {
            panic!("it is another reply")
        };
        page.iter().map(|listed| listed.seen_at).collect::<Vec<_>>()
    };
    // Newest first: by the id, since both changed at the same time.
    assert_eq!(listed(&ann).await, [Some(3), Some(50)]);
    assert_eq!(listed(&bob).await, [None, None]);
    // A paired device has a name of its own.
    let mut phone = user("phone", Role::Approver);
    phone.user = Some("ann".into());
    assert_eq!(listed(&phone).await, [Some(3), Some(50)]);
    // A reader of a shared thread is no user.
    let mut reader = user("link", Role::Observer);
    reader.permissions.scope = AccessScope::Thread(ThreadId(uuid::Uuid::from_u128(1)));
    for request in [
        marks,
        Request::ReportPresence,
        Request::ReadUsage(ReadUsage::default()),
    ] {
        let refused = service.call(&reader, request).await.answer.await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
    }
}
