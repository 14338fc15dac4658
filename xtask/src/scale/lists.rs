//! Many threads: start, lists, and other requests meanwhile.

use std::path::Path;
use std::time::Instant;

use acpd_log::{Append, Durability, EventLog, Sqlite};
use acpd_model::event::{ThreadCreated, TurnStatus};
use acpd_model::{Event, EventKind, Origin, Summary, ThreadEvent, ThreadId, ThreadStatus};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::probe::{median, private_dir, start_thread, start_turn, timed};
use super::table::{Figure, Table, bounded};
use crate::bench::{Binaries, Daemon, WORKSPACE};

/// Appends that wait for the log at once.
const AT_ONCE: usize = 128;

/// Lists that are in flight when a turn is interrupted.
const LISTS: u64 = 50;

/// Measures different numbers of threads.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured("Threads", quick, [5_000, 50_000, 500_000], |threads| {
        let dir = tempfile::tempdir()?;
        let data = private_dir(dir.path())?;
        fill(&data.join("log.db"), u32::try_from(threads)?)?;
        Ok((threads.to_string(), measure(binaries, &data)?))
    })
}

fn measure(binaries: &Binaries, data: &Path) -> anyhow::Result<Vec<Figure>> {
    let ready = (0..3).map(|_| Ok(Daemon::start(binaries, data)?.ready_after.as_secs_f64() * 1000.0));
    let ready = median(ready.collect::<anyhow::Result<_>>()?);
    let daemon = Daemon::start(binaries, data)?;
    let mut client = daemon.client()?;
    let (mut along, mut packed): (f64, f64) = (0.0, 0.0);
    for params in filters() {
        // Other work on the host delays one of three less often than a single one.
        let times = (0..3).map(|_| timed(&mut client, "thread/list", &params));
        let times: Vec<f64> = times.collect::<anyhow::Result<_>>()?;
        let shortest = times.into_iter().fold(f64::MAX, f64::min);
        let members = params.as_object().map_or(0, serde_json::Map::len);
        let longest = if members < 2 { &mut along } else { &mut packed };
        *longest = longest.max(shortest);
    }
    let mut interrupts = Vec::new();
    for _ in 0..5 {
        interrupts.push(interrupt(&daemon)?);
    }
    Ok(vec![
        bounded("daemon ready, ms", ready, 300.0),
        bounded("list with one filter or none, longest, ms", along, 50.0),
        bounded("list with two filters, longest, ms", packed, 50.0),
        bounded(
            "an interrupt while 50 lists are in flight, ms",
            interrupts.into_iter().fold(0.0, f64::max),
            50.0,
        ),
    ])
}

/// Returns lists with no filter, with each, and with each pair, with values that match many threads, few, and none.
fn filters() -> Vec<Value> {
    let mut one = vec![json!({ "archived": true })];
    for agent in ["new", "old", "rare", "none"] {
        one.push(json!({ "agentType": agent }));
    }
    for cwd in ["/home/user/new", "/home/user/old", "/rare", "/none"] {
        one.push(json!({ "cwd": cwd }));
    }
    for status in ["active", "idle", "failed"] {
        one.push(json!({ "status": status }));
    }
    for text in ["parser", "newer", "older", "Unicorn", "nothing"] {
        one.push(json!({ "searchTerm": text }));
    }
    let mut all = vec![json!({})];
    for first in &one {
        for second in &one {
            let mut both = first.clone();
            if let (Some(both), Some(second)) = (both.as_object_mut(), second.as_object()) {
                both.extend(second.clone());
            }
            all.push(both);
        }
    }
    all.extend(one);
    all
}

/// Returns the milliseconds until an interrupt is answered that comes after many lists.
fn interrupt(daemon: &Daemon) -> anyhow::Result<f64> {
    let mut owner = daemon.client()?;
    let thread = start_thread(&mut owner)?;
    start_turn(&mut owner, &thread, "slow ms=60000")?;
    owner.count_until(&[b"{\"jsonrpc\":\"2.0\",\"method\":\"item/started\""])?;
    let mut other = daemon.client()?;
    for number in 0..LISTS {
        let params = json!({ "searchTerm": "nothing", "agentType": "old" });
        other.send(
            &json!({ "jsonrpc": "2.0", "id": number + 10, "method": "thread/list", "params": params }),
        )?;
    }
    let begun = Instant::now();
    owner.request(6, "turn/interrupt", &json!({ "threadId": thread }))?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    for _ in 0..LISTS {
        while !serde_json::from_slice::<Value>(other.next()?)?["id"].is_u64() {}
    }
    owner.request(7, "thread/delete", &json!({ "threadId": thread }))?;
    Ok(took)
}

/// Stores threads as a daemon does. Each filter has values that match half of the threads; the oldest is the only one of
/// its kind.
fn fill(path: &Path, threads: u32) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let log = Sqlite::open(path, Durability::Process)?;
        let stored = stream::iter(0..threads).map(|number| {
            let (event, summary) = thread(number, threads);
            let id = ThreadId(uuid::Uuid::from_u128(u128::from(number) + (7 << 76)));
            log.store(Append {
                summary: Some(&summary),
                ..Append::new(id, std::slice::from_ref(&event))
            })
        });
        stored.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        log.close().await?;
        Ok(())
    })
}

fn thread(number: u32, threads: u32) -> (Event, Summary) {
    let at = 1_700_000_000_000 + i64::from(number) * 1000;
    let (kind, name) = match number {
        0 => ("rare", "Rare Unicorn".to_owned()),
        old if old < threads / 2 => ("old", format!("older: write a parser for {number:x}")),
        _ => ("new", format!("newer: fix the parser of {number:x}")),
    };
    let cwd = match kind {
        "rare" => "/rare".to_owned(),
        kind => format!("/home/user/{kind}"),
    };
    let created = ThreadCreated {
        agent: kind.into(),
        cwd: WORKSPACE.into(),
        ..ThreadCreated::default()
    };
    let event = Event {
        seq: 1,
        at,
        turn: None,
        by: Origin::Daemon,
        kind: EventKind::Thread(ThreadEvent::Created(Box::new(created))),
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    };
    let last_turn = if kind == "new" {
        TurnStatus::Completed
    } else {
        TurnStatus::Failed
    };
    let summary = Summary {
        agent: kind.into(),
        cwd,
        name: Some(name),
        status: ThreadStatus::Idle,
        last_turn: Some(last_turn),
        session_id: Some(format!("session-{number}")),
        created_at: at,
        updated_at: at,
        turns: 3,
        archived: number % 10 == 3,
        ..Summary::default()
    };
    (event, summary)
}
