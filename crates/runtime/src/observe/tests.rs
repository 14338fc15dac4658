//! What is observed in a thread, by its events.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use acpd_model::event::{Outcome, PermissionOption, QuestionTopic, Ruling};
use acpd_model::item::ToolStatus;
use acpd_model::{ItemOutcome, MessageType, RequestId, ThreadId};

use super::span::Span;
use super::*;
use crate::metrics::Metrics;

/// Keeps spans. Ids are counted.
#[derive(Debug, Default)]
struct Kept {
    ids: AtomicU64,
    spans: Mutex<Vec<Span>>,
}

impl Kept {
    fn next(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Traces for Kept {
    fn trace_id(&self) -> [u8; 16] {
        u128::from(self.next()).to_be_bytes()
    }

    fn span_id(&self) -> [u8; 8] {
        self.next().to_be_bytes()
    }

    fn record(&self, span: Span) {
        self.spans.lock().unwrap().push(span);
    }
}

/// A thread that is observed.
struct Observed {
    thread: ThreadId,
    metrics: Metrics,
    kept: Arc<Kept>,
    traces: Option<Arc<dyn Traces>>,
    observer: Observer,
    at: Millis,
}

const TURN: TurnId = TurnId(1);

impl Observed {
    fn new(traced: bool) -> Self {
        let kept = Arc::new(Kept::default());
        let traces: Arc<dyn Traces> = kept.clone();
        Self {
            thread: crate::ids::Ids::Counted(Arc::default()).thread(),
            metrics: Metrics::new(Arc::new(acpd_log::Memory::default())),
            kept,
            traces: Some(traces).filter(|_| traced),
            observer: Observer::default(),
            at: 1_000_000,
        }
    }

    /// Observes one event, `later` milliseconds after the last one.
    fn event(&mut self, later: Millis, by: Origin, kind: EventKind) {
        self.at += later;
        let event = Event {
            seq: 1,
            at: self.at,
            turn: Some(TURN),
            by,
            kind,
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        };
        let scene = Scene {
            thread: self.thread,
            agent: "fake",
            metrics: &self.metrics,
            traces: self.traces.as_ref(),
        };
        if let EventKind::Turn(TurnEvent::Started { .. }) = &event.kind {
            self.observer.expect_turn(scene, TURN, None);
        }
        self.observer.observe(scene, &[event]);
    }

    fn expect(&mut self, meta: &str) {
        let scene = Scene {
            thread: self.thread,
            agent: "fake",
            metrics: &self.metrics,
            traces: self.traces.as_ref(),
        };
        self.observer
            .expect_turn(scene, TURN, Some(&RawJson::trusted(meta)));
    }

    fn start(&mut self) {
        self.event(0, Origin::Daemon, started());
    }

    fn settle(&mut self, later: Millis, status: TurnStatus) {
        let started_at = Some(1_000_000);
        self.event(
            later,
            Origin::Agent,
            EventKind::Turn(TurnEvent::Settled {
                status,
                stop_reason: Some("planted by the agent".to_owned()),
                error: Some("planted".to_owned()),
                started_at,
                usage: Some(Box::new(RawJson::trusted(
                    r#"{"inputTokens":7,"planted":"x","outputTokens":2}"#,
                ))),
                changes: None,
                plan: None,
                plans: None,
                permitted: 0,
                waited_ms: 0,
            }),
        );
    }

    fn request(&self, number: u32) -> RequestId {
        RequestId {
            thread: self.thread,
            number,
        }
    }

    fn ask(&mut self, later: Millis, number: u32, item: Option<ItemId>) {
        let kind = EventKind::Request(RequestEvent::PermissionRequested {
            request: self.request(number),
            item,
            about: QuestionTopic::Permissions,
            title: "planted".to_owned(),
            options: Box::<[PermissionOption]>::default(),
            decided: false,
            agent_remembers: Box::default(),
            subjects: Box::default(),
            always: None,
            whole: None,
            keeps_content: false,
        });
        self.event(later, Origin::Agent, kind);
    }

    fn answer(&mut self, later: Millis, number: u32, by: Origin, outcome: Outcome) {
        let kind = EventKind::Request(RequestEvent::Settled {
            request: self.request(number),
            outcome,
            item: None,
            title: None,
        });
        self.event(later, by, kind);
    }

    #[track_caller]
    fn counts(&self, lines: &[&str]) {
        let text = self.metrics.text();
        for line in lines {
            assert!(text.contains(&format!("\n{line}\n")), "{line}\n{text}");
        }
    }

    fn spans(&self) -> Vec<Span> {
        self.kept.spans.lock().unwrap().clone()
    }
}

fn started() -> EventKind {
    EventKind::Turn(TurnEvent::Started {
        client_turn_id: None,
        imported: false,
    })
}

fn delta() -> EventKind {
    EventKind::Item(ItemEvent::Delta {
        item: ItemId(1),
        role: MessageType::AgentMessage,
        text: "planted".to_owned(),
        message_id: None,
    })
}

fn client() -> Origin {
    Origin::Client(Box::new(acpd_model::event::ClientOrigin {
        principal: "planted".to_owned(),
        client: "planted".to_owned(),
    }))
}

fn policy() -> Origin {
    Origin::Policy(Box::new(Ruling {
        scope: None,
        rule: Some("planted".to_owned()),
        reason: "planted".to_owned(),
    }))
}

fn bound() -> EventKind {
    EventKind::Session(SessionEvent::AgentBound {
        session_id: "planted".to_owned(),
        how: Binding::New,
        agent: RawJson::trusted("{}"),
        session: RawJson::trusted("{}"),
        protocol: None,
    })
}

fn lost() -> EventKind {
    EventKind::Session(SessionEvent::AgentLost {
        reason: "planted".to_owned(),
        stderr: "planted".to_owned(),
        expected: false,
    })
}

fn tool(item: u32) -> EventKind {
    EventKind::Item(ItemEvent::Started {
        item: ItemId(item),
        parent: None,
        start: ItemStart::ToolCall {
            tool_call_id: "planted".to_owned(),
            title: "planted".to_owned(),
            kind: "execute".to_owned(),
            status: ToolStatus::Pending,
        },
    })
}

fn tool_done(item: u32) -> EventKind {
    EventKind::Item(ItemEvent::Completed {
        item: ItemId(item),
        outcome: ItemOutcome::Completed,
        end: ItemEnd::ToolCall {
            status: ToolStatus::Completed,
            call: RawJson::trusted(r#""planted""#),
        },
    })
}

#[test]
fn a_turn_and_its_first_update_are_timed() {
    let mut thread = Observed::new(false);
    thread.start();
    // The user's own message is no update of the agent.
    thread.event(10, client(), delta());
    thread.event(290, Origin::Agent, delta());
    thread.event(5_000, Origin::Agent, delta());
    thread.settle(100, TurnStatus::Completed);
    thread.counts(&[
        "acpd_turn_first_update_seconds_sum 0.3",
        "acpd_turn_first_update_seconds_count 1",
        "acpd_turn_seconds_sum{status=\"completed\"} 5.4",
    ]);
    assert!(thread.observer.0.is_none(), "a quiet thread has no state");
}

#[test]
fn questions_are_timed_by_who_answers() {
    let mut thread = Observed::new(false);
    thread.start();
    for number in 1..=4 {
        thread.ask(0, number, None);
    }
    let allowed = Outcome::Selected {
        option_id: "a".to_owned(),
        kind: "allow_once".to_owned(),
        sent_option_id: None,
    };
    thread.answer(0, 1, policy(), allowed.clone());
    thread.answer(4_000, 2, client(), allowed);
    thread.answer(0, 3, client(), Outcome::Cancelled);
    let voided = EventKind::Request(RequestEvent::Voided {
        request: thread.request(4),
        reason: "planted".to_owned(),
    });
    thread.event(0, Origin::Daemon, voided);
    // Its question is from before the thread was loaded.
    thread.answer(0, 5, client(), Outcome::Declined);
    thread.counts(&[
        "acpd_approval_wait_seconds_count{by=\"policy\"} 1",
        "acpd_approval_wait_seconds_sum{by=\"policy\"} 0.0",
        "acpd_approval_wait_seconds_count{by=\"person\"} 1",
        "acpd_approval_wait_seconds_sum{by=\"person\"} 4.0",
        "acpd_approval_wait_seconds_count{by=\"none\"} 2",
    ]);
}

#[test]
fn the_start_of_an_agent_is_timed_until_its_session_is_open_or_it_is_gone() {
    let mut thread = Observed::new(true);
    let now = |at| Now {
        mono: Duration::from_secs(1),
        wall: at,
    };
    thread.observer.agent_starts(now(thread.at));
    thread.event(250, Origin::Agent, bound());
    thread.observer.agent_starts(now(thread.at));
    thread.event(50, Origin::Agent, lost());
    // A process that runs already.
    thread.event(50, Origin::Agent, lost());
    // A user signs in.
    thread.observer.agent_starts(now(thread.at));
    thread.observer.sign_in_required();
    thread.event(90_000, Origin::Agent, bound());
    thread.counts(&[
        "acpd_agent_start_seconds_count{result=\"ready\"} 1",
        "acpd_agent_start_seconds_sum{result=\"ready\"} 0.25",
        "acpd_agent_start_seconds_count{result=\"failed\"} 1",
        "acpd_agent_start_seconds_sum{result=\"failed\"} 0.05",
    ]);
    let spans = thread.spans();
    let starts: Vec<_> = spans
        .iter()
        .map(|span| (span.name, span.failed, span.parent))
        .collect();
    let start = SpanName::AgentStart;
    assert_eq!(starts, [(start, false, None), (start, true, None)]);
    assert_ne!(spans[0].trace, spans[1].trace);
    assert!(thread.observer.0.is_none());
}

#[test]
fn a_clock_that_is_set_back_makes_no_negative_time() {
    let mut thread = Observed::new(true);
    thread.start();
    thread.event(-500, Origin::Agent, delta());
    thread.settle(-500, TurnStatus::Failed);
    thread.counts(&[
        "acpd_turn_first_update_seconds_sum 0.0",
        "acpd_turn_seconds_sum{status=\"failed\"} 0.0",
    ]);
    let [turn] = &thread.spans()[..] else {
        panic!("one span")
    };
    assert!(turn.failed && turn.began == turn.ended);
}

#[test]
fn the_spans_of_a_turn_are_below_it_and_contain_no_text() {
    let mut thread = Observed::new(true);
    thread.start();
    thread.event(1, Origin::Agent, tool(5));
    thread.ask(1, 1, Some(ItemId(5)));
    let allowed = Outcome::Selected {
        option_id: "planted".to_owned(),
        kind: "allow_once".to_owned(),
        sent_option_id: None,
    };
    thread.answer(7, 1, client(), allowed);
    thread.event(1, Origin::Agent, tool_done(5));
    thread.settle(10, TurnStatus::Completed);
    let spans = thread.spans();
    let names: Vec<_> = spans.iter().map(|span| span.name).collect();
    assert_eq!(names, [SpanName::Approval, SpanName::Tool, SpanName::Turn]);
    let [approval, tool, turn] = &spans[..] else {
        panic!("three spans")
    };
    assert_eq!((turn.parent, turn.has_remote_parent), (None, false));
    assert_eq!((tool.parent, approval.parent), (Some(turn.id), Some(tool.id)));
    assert!(spans.iter().all(|span| span.trace == turn.trace));
    assert_eq!((approval.began, approval.ended), (1_000_002, 1_000_009));
    let has = |span: &Span, name, value| span.attributes.contains(&(name, value));
    assert!(has(turn, "acpd.turn.stop_reason", Value::Word("other")));
    assert!(has(turn, "gen_ai.usage.input_tokens", Value::Number(7)));
    assert!(has(
        turn,
        "acpd.thread.id",
        Value::Name(thread.thread.to_string().into())
    ));
    assert!(has(tool, "acpd.tool.kind", Value::Word("execute")));
    assert!(has(approval, "acpd.approval.answered_by", Value::Word("person")));
    assert!(!format!("{spans:?}").contains("planted"));
}

#[test]
fn a_turn_is_a_part_of_its_clients_trace() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (flags, recorded) in [("01", true), ("00", false)] {
        let mut thread = Observed::new(true);
        let meta = format!(
            r#"{{"traceparent":"{}{flags}","tracestate":"a=b"}}"#,
            &PARENT[..53]
        );
        thread.expect(&meta);
        let outgoing = thread
            .observer
            .outgoing(Some(TURN), Some(RawJson::trusted(&meta)));
        let sent = TraceContext::in_meta(&outgoing.unwrap()).unwrap();
        assert_eq!(sent.to_string()[..35], PARENT[..35]);
        assert_eq!((sent.sampled, sent.state.as_deref()), (recorded, Some("a=b")));
        let other = thread.observer.outgoing(Some(TurnId(9)), None);
        assert_eq!(other, None, "another turn is no part of it");
        // Not through `start`, which would begin another trace.
        let scene = Scene {
            thread: thread.thread,
            agent: "fake",
            metrics: &thread.metrics,
            traces: thread.traces.as_ref(),
        };
        thread.observer.callback_began(scene, 3, "read_file", 1_000_000);
        thread.observer.callback_ended(scene, 3, 1_000_004, true);
        thread.settle(20, TurnStatus::Completed);
        let spans = thread.spans();
        if !recorded {
            assert_eq!(
                sent.to_string()[36..52],
                PARENT[36..52],
                "the agent gets the client's span"
            );
            assert_eq!(spans, []);
            continue;
        }
        let [callback, turn] = &spans[..] else {
            panic!("two spans: {spans:?}")
        };
        assert_eq!(turn.id, sent.span);
        assert!(turn.has_remote_parent && turn.state.as_deref() == Some("a=b"));
        assert_eq!(turn.parent.map(u64::from_be_bytes), Some(0xb7ad_6b71_6920_3331));
        assert_eq!((callback.parent, callback.failed), (Some(turn.id), true));
    }
}

#[test]
fn nothing_is_traced_without_a_receiver() {
    let mut thread = Observed::new(false);
    let meta = RawJson::trusted(r#"{"traceparent":"as it came","x":1}"#);
    thread.expect(meta.get());
    thread.start();
    thread.event(1, Origin::Agent, tool(5));
    let outgoing = thread.observer.outgoing(Some(TURN), Some(meta.clone()));
    assert_eq!(outgoing, Some(meta));
    thread.settle(1, TurnStatus::Completed);
    assert_eq!(thread.spans(), []);
}

/// An agent that opens items without end and never closes them.
#[test]
fn unfinished_spans_have_a_bound() {
    let mut thread = Observed::new(true);
    thread.start();
    for item in 0..10_000 {
        thread.event(0, Origin::Agent, tool(item));
    }
    for item in 0..10_000 {
        thread.event(0, Origin::Agent, tool_done(item));
    }
    assert_eq!(thread.spans().len(), 256);
}
