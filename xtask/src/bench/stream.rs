//! The cost of one update: serializing it for clients, applying it, storing it; and the time to the first update. The
//! targets are those that a user would notice.

use std::time::{Duration, Instant};

use acpd_log::{Durability, EventLog, Sqlite};
use acpd_model::item::ToolStatus;
use acpd_model::limits::OPEN_TOOL_CALLS;
use acpd_model::{
    Event, EventKind, ItemEvent, ItemId, ItemStart, Limits, Origin, RawJson, Seq, Summary, ThreadId, TurnId,
};
use acpd_proto::agent::{AgentEvent, Update};
use acpd_proto::projection::Live;
use acpd_proto::surface::app::frame;
use acpd_proto::thread::{AgentExit, Input, Thread};
use acpd_proto::time::Now;

use super::Binaries;
use super::daemon::{Daemon, Relay};
use super::measure::{daemon_turn, percentile, relay_turn};
use super::report::{Report, Target};

/// Number of updates, measured one by one.
const UPDATES: u64 = 2_000;
/// Number of turns per measurement.
const TURNS: usize = 20;
/// The prompt of a turn with one update.
const FIRST: &str = "lone n=1 ms=1 bytes=300";

/// Runs all measurements of this module.
pub fn costs(binaries: &Binaries, report: &mut Report) -> anyhow::Result<()> {
    let events: Vec<Event> = (1..=UPDATES).map(update).collect();
    let thread = ThreadId(uuid::Uuid::from_u128(8 << 76));
    let name = thread.to_string();
    let took = each(&events, |event| drop(frame(&name, event)));
    add(report, "an update: written for clients, p99", took, 1.0);
    let mut live = Live::new(thread);
    let took = each(&events, |event| {
        live.fold(event);
    });
    add(report, "an update: a tool status applied, p99", took, 1.0);
    add(
        report,
        "all tool calls that may be open: ended at once",
        all_end(),
        1000.0,
    );
    add(
        report,
        "an update: stored by itself, p99",
        stored(thread, &events)?,
        5.0,
    );
    first_update(binaries, report)
}

/// Returns an update: the first opens a tool call, the others change it.
fn update(seq: Seq) -> Event {
    let item = ItemId(1);
    let kind = if seq == 1 {
        EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start: ItemStart::ToolCall {
                tool_call_id: "call".into(),
                title: "work".into(),
                kind: "other".into(),
                status: ToolStatus::InProgress,
            },
        })
    } else {
        EventKind::Item(ItemEvent::Updated {
            item,
            status: ToolStatus::InProgress,
        })
    };
    let update = serde_json::json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "call", "status": "in_progress",
        "rawOutput": { "n": seq, "pad": "x".repeat(200) },
    });
    Event {
        seq,
        at: 1_700_000_000_000,
        turn: Some(TurnId(1)),
        by: Origin::Agent,
        kind,
        raw: Some(RawJson::from(&update)),
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

/// Measures closing the maximum number of open tool calls, each with a file change, when their agent exits.
fn all_end() -> Vec<u64> {
    let moment = |millis| Now {
        mono: Duration::from_millis(millis),
        wall: 1_700_000_000_000,
    };
    let thread = ThreadId(uuid::Uuid::from_u128(9 << 76));
    let mut thread = Thread::new(thread, Limits::default(), moment(0));
    for number in 0..OPEN_TOOL_CALLS {
        let update = serde_json::json!({
            "sessionUpdate": "tool_call", "toolCallId": format!("call-{number}"), "title": "work", "kind": "edit",
            "content": [{ "type": "diff", "path": format!("/w/{number}"), "oldText": "1\n", "newText": "2\n" }],
        });
        if let Ok(update) = Update::parse(&update.to_string(), None) {
            thread.handle(Input::Agent(AgentEvent::Update(update)), moment(1));
        }
    }
    let gone = AgentExit {
        reason: "it is over".into(),
        stderr: String::new(),
    };
    let begun = Instant::now();
    thread.handle(Input::AgentExited(gone), moment(2));
    vec![nanos(begun.elapsed())]
}

/// Returns the nanoseconds of each call of `work`.
fn each(events: &[Event], mut work: impl FnMut(&Event)) -> Vec<u64> {
    let timed = |event| {
        let begun = Instant::now();
        work(event);
        nanos(begun.elapsed())
    };
    events.iter().map(timed).collect()
}

fn stored(thread: ThreadId, events: &[Event]) -> anyhow::Result<Vec<u64>> {
    let dir = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let log = Sqlite::open(&dir.path().join("log.db"), Durability::Process)?;
        let summary = Summary::default();
        let mut took = Vec::new();
        for event in events {
            let begun = Instant::now();
            let summary = (event.seq == 1).then_some(&summary);
            log.append(thread, std::slice::from_ref(event), summary).await?;
            took.push(nanos(begun.elapsed()));
        }
        log.close().await?;
        Ok(took)
    })
}

/// Measures a turn with one update, from prompt to end: an upper bound for the time to that update.
fn first_update(binaries: &Binaries, report: &mut Report) -> anyhow::Result<()> {
    let relay = Relay::start(binaries)?;
    let (mut client, session) = relay.client()?;
    let mut bare = Vec::new();
    for _ in 0..TURNS {
        bare.push(nanos(relay_turn(&mut client, &session, FIRST)?));
    }
    drop(relay);
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let mut client = daemon.client()?;
    let mut ours = Vec::new();
    for _ in 0..TURNS {
        ours.push(nanos(daemon_turn(&mut client, FIRST)?));
    }
    let (bare, ours) = (percentile(&mut bare, 0.5), percentile(&mut ours, 0.5));
    add(
        report,
        "prompt to first update: added, p50",
        vec![ours.saturating_sub(bare)],
        150.0,
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
fn add(report: &mut Report, name: &str, mut nanos: Vec<u64>, millis: f64) {
    let value = percentile(&mut nanos, 0.99) as f64 / 1e6;
    report.add(name, value, "ms", Some(Target::AtMost(millis)));
}

fn nanos(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}
