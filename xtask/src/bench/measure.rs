//! The measurements of the benchmark.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use acpd_log::{Durability, EventLog, Sqlite};
use acpd_model::event::ThreadCreated;
use acpd_model::{Event, EventKind, Origin, Summary, ThreadEvent, ThreadId, TurnEvent, TurnId};
use anyhow::Context;
use serde_json::json;

use super::Binaries;
use super::WORKSPACE;
use super::client::Counter;
use super::daemon::{Daemon, Relay};
use super::report::{Report, Target};

/// The size of each measurement.
pub struct Sizes {
    updates: u64,
    deltas: u64,
    lone: u64,
    clients: usize,
    broadcast: u64,
    replay: u64,
    idle: usize,
    turns: usize,
    threads: u32,
    rounds: usize,
}

impl Sizes {
    /// Returns the sizes for published figures.
    pub fn full() -> Self {
        Self {
            updates: 300_000,
            deltas: 1_000_000,
            lone: 500,
            clients: 200,
            broadcast: 5_000,
            replay: 100_000,
            idle: 200,
            turns: 5_000,
            threads: 10_000,
            rounds: 5,
        }
    }

    /// Returns small sizes, for a check that the benchmark runs.
    pub fn quick() -> Self {
        Self {
            updates: 50_000,
            deltas: 100_000,
            lone: 100,
            clients: 50,
            broadcast: 1_000,
            replay: 20_000,
            idle: 20,
            turns: 100,
            threads: 1_000,
            rounds: 1,
        }
    }
}

const MIB: f64 = 1024.0 * 1024.0;
const KIB: f64 = 1024.0;

/// Prefix of the daemon's last frame of a turn.
pub const TURN_END: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"turn/completed\"";

/// Prefixes of the last frame of a turn, from the daemon and from the relay.
pub(super) const ENDS: &[&[u8]] = &[TURN_END, b"{\"id\":2,", b"{\"jsonrpc\":\"2.0\",\"id\":2,"];

/// Runs all measurements.
pub fn all(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    updates(binaries, sizes, report)?;
    throughput(
        binaries,
        sizes,
        report,
        "20-byte deltas",
        &format!("flood n={} kind=delta", sizes.deltas),
        sizes.deltas,
        Targets {
            bare: None,
            by_line: Some(0.85),
        },
    )?;
    latency(binaries, sizes, report)?;
    broadcast(binaries, sizes, report)?;
    replay(binaries, sizes, report)?;
    memory(binaries, sizes, report)?;
    startup(binaries, sizes, report)
}

/// Measures updates that cannot be merged.
pub fn updates(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    throughput(
        binaries,
        sizes,
        report,
        "300-byte updates",
        &format!("flood n={} bytes=300 kind=update", sizes.updates),
        sizes.updates,
        Targets {
            bare: Some(0.30),
            by_line: None,
        },
    )
}

/// Runs one turn through the daemon; returns the time from the prompt to the turn's end.
pub(super) fn daemon_turn(client: &mut Counter, text: &str) -> anyhow::Result<Duration> {
    let started = client.request(
        1,
        "thread/start",
        &json!({ "agentType": "fake", "cwd": WORKSPACE }),
    )?;
    let thread = started["thread"]["id"].clone();
    let begun = Instant::now();
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": { "threadId": thread, "text": text } }))?;
    client.count_until(&[ENDS[0]])?;
    let took = begun.elapsed();
    client.request(3, "thread/unsubscribe", &json!({ "threadId": thread }))?;
    Ok(took)
}

/// Runs one turn of a Codex client through the daemon; returns the time from the prompt to the turn's end.
pub(super) fn codex_turn(client: &mut Counter, text: &str) -> anyhow::Result<Duration> {
    let params = json!({ "model": "fake", "cwd": WORKSPACE });
    let started = client.request(1, "thread/start", &params)?;
    let input = json!([{ "type": "text", "text": text }]);
    let params = json!({ "threadId": started["thread"]["id"], "input": input });
    let begun = Instant::now();
    client.send(&json!({ "id": 2, "method": "turn/start", "params": params }))?;
    client.count_until(&[b"{\"method\":\"turn/completed\""])?;
    Ok(begun.elapsed())
}

/// Runs one turn through the bare relay.
pub(super) fn relay_turn(client: &mut Counter, session: &str, text: &str) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    prompt(client, session, text)?;
    client.count_until(&ENDS[1..])?;
    Ok(begun.elapsed())
}

fn prompt(client: &mut Counter, session: &str, text: &str) -> anyhow::Result<()> {
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params }))
}

/// The least that acpd should reach of what each relay does.
#[derive(Clone, Copy)]
struct Targets {
    bare: Option<f64>,
    by_line: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn throughput(
    binaries: &Binaries,
    sizes: &Sizes,
    report: &mut Report,
    what: &str,
    text: &str,
    count: u64,
    targets: Targets,
) -> anyhow::Result<()> {
    let (mut ours, mut bare, mut by_line) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        bare.push(relayed(&Relay::start(binaries)?, text, count)?);
        by_line.push(relayed(&Relay::by_line(binaries)?, text, count)?);
        let dir = tempfile::tempdir()?;
        let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
        let mut client = daemon.client()?;
        ours.push(count as f64 / daemon_turn(&mut client, text)?.as_secs_f64());
    }
    for (relay, rates, target) in [
        ("bare relay", &mut bare, targets.bare),
        ("relay by line", &mut by_line, targets.by_line),
    ] {
        // Each round has all, so that other work on the host affects them alike.
        let mut ratios: Vec<f64> = ours
            .iter()
            .zip(&*rates)
            .map(|(ours, relay)| ours / relay)
            .collect();
        report.add(&format!("{what}: {relay}"), median(rates), "/s", None);
        report.add(
            &format!("{what}: acpd / {relay}"),
            median(&mut ratios),
            "x",
            target.map(Target::AtLeast),
        );
    }
    report.add(&format!("{what}: acpd"), median(&mut ours), "/s", None);
    Ok(())
}

/// Returns how many of a turn's updates per second a relay passes on.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn relayed(relay: &Relay, text: &str, count: u64) -> anyhow::Result<f64> {
    let (mut client, session) = relay.client()?;
    Ok(count as f64 / relay_turn(&mut client, &session, text)?.as_secs_f64())
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
fn latency(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    let text = format!("lone n={} ms=10 bytes=300", sizes.lone);
    let relay = Relay::start(binaries)?;
    let (mut client, session) = relay.client()?;
    prompt(&mut client, &session, &text)?;
    let mut bare = client.latencies_until(&ENDS[1..])?;
    drop(relay);
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let mut client = daemon.client()?;
    let started = client.request(
        1,
        "thread/start",
        &json!({ "agentType": "fake", "cwd": WORKSPACE }),
    )?;
    let params = json!({ "threadId": started["thread"]["id"], "text": text });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))?;
    let mut ours = client.latencies_until(&[ENDS[0]])?;
    for (name, part, target) in [("p50", 0.50, 0.5), ("p99", 0.99, 5.0)] {
        let (bare, ours) = (
            percentile(&mut bare, part) as f64 / 1e6,
            percentile(&mut ours, part) as f64 / 1e6,
        );
        report.add(&format!("lone update, {name}: bare relay"), bare, "ms", None);
        report.add(&format!("lone update, {name}: acpd"), ours, "ms", None);
        report.add(
            &format!("lone update, {name}: added"),
            (ours - bare).max(0.0),
            "ms",
            Some(Target::AtMost(target)),
        );
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn broadcast(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    let text = format!("flood n={} bytes=300 kind=update", sizes.broadcast);
    let frames = sizes.broadcast as f64 * sizes.clients as f64;
    let relay = Relay::start(binaries)?;
    let (mut first, session) = relay.client()?;
    let mut clients: Vec<_> = (1..sizes.clients)
        .map(|_| Counter::connect(relay.address, None))
        .collect::<Result<_, _>>()?;
    // A turn that reaches all clients proves that all have joined.
    prompt(&mut first, &session, "say joined")?;
    read_all(&mut first, &mut clients, Instant::now(), &ENDS[1..])?;
    let begun = Instant::now();
    prompt(&mut first, &session, &text)?;
    let bare = read_all(&mut first, &mut clients, begun, &ENDS[1..])?;
    drop((relay, clients));
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let mut first = daemon.client()?;
    let thread = first.request(
        1,
        "thread/start",
        &json!({ "agentType": "fake", "cwd": WORKSPACE }),
    )?["thread"]["id"]
        .clone();
    let mut clients = Vec::new();
    for _ in 1..sizes.clients {
        let mut client = daemon.client()?;
        client.request(1, "thread/resume", &json!({ "threadId": thread }))?;
        clients.push(client);
    }
    let begun = Instant::now();
    let params = json!({ "threadId": thread, "text": text });
    first.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))?;
    let ours = read_all(&mut first, &mut clients, begun, &ENDS[..1])?;
    let name = format!("{} clients on one thread", sizes.clients);
    report.add(
        &format!("{name}: bare relay"),
        frames / bare.as_secs_f64(),
        "frames/s",
        None,
    );
    report.add(
        &format!("{name}: acpd"),
        frames / ours.as_secs_f64(),
        "frames/s",
        None,
    );
    report.add(
        &format!("{name}: acpd / bare relay"),
        bare.as_secs_f64() / ours.as_secs_f64(),
        "x",
        None,
    );
    Ok(())
}

/// Reads each client on its own thread until the turn's end; returns the time until the last one has it.
fn read_all(
    first: &mut Counter,
    clients: &mut [Counter],
    begun: Instant,
    ends: &[&[u8]],
) -> anyhow::Result<Duration> {
    std::thread::scope(|scope| {
        let readers: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || client.count_until(ends).map(drop)))
            .collect();
        first.count_until(ends)?;
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().map_err(|_| anyhow::anyhow!("a reader failed"))?)
    })?;
    Ok(begun.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn replay(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let mut client = daemon.client()?;
    let thread = client.request(
        1,
        "thread/start",
        &json!({ "agentType": "fake", "cwd": WORKSPACE }),
    )?["thread"]["id"]
        .clone();
    let text = format!("flood n={} bytes=300 kind=update", sizes.replay);
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": { "threadId": thread, "text": text } }))?;
    client.count_until(&[ENDS[0]])?;
    let mut late = daemon.client()?;
    let begun = Instant::now();
    late.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "thread/resume", "params": { "threadId": thread, "after": 0 } }))?;
    let count = late.count_until(&[ENDS[0]])?;
    anyhow::ensure!(count >= sizes.replay, "only {count} frames were replayed");
    report.add(
        "replay to one client",
        count as f64 / begun.elapsed().as_secs_f64(),
        "events/s",
        None,
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "bytes of memory")]
pub fn memory(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    settle();
    let idle = daemon.rss()? as f64;
    report.add("memory, idle", idle / MIB, "MiB", Some(Target::AtMost(16.0)));
    let mut client = daemon.client()?;
    let turn = |client: &mut Counter, thread: &serde_json::Value| -> anyhow::Result<()> {
        client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": { "threadId": thread, "text": "say hello" } }))?;
        client.count_until(&[ENDS[0]])?;
        Ok(())
    };
    let start = |client: &mut Counter| -> anyhow::Result<serde_json::Value> {
        let started = client.request(
            1,
            "thread/start",
            &json!({ "agentType": "fake", "cwd": WORKSPACE }),
        )?;
        let thread = started["thread"]["id"].clone();
        turn(client, &thread)?;
        client.request(3, "thread/unsubscribe", &json!({ "threadId": thread }))?;
        Ok(thread)
    };
    // The first threads and turns fill shared caches: those of the allocator and the database.
    let mut thread = start(&mut client)?;
    for _ in 0..sizes.idle / 2 {
        thread = start(&mut client)?;
    }
    client.request(1, "thread/resume", &json!({ "threadId": thread }))?;
    for _ in 0..sizes.turns {
        turn(&mut client, &thread)?;
    }
    client.request(3, "thread/unsubscribe", &json!({ "threadId": thread }))?;
    settle();
    let before = daemon.rss()? as f64;
    for _ in 0..sizes.idle {
        thread = start(&mut client)?;
    }
    settle();
    let after = daemon.rss()? as f64;
    let each = (after - before).max(0.0) / sizes.idle as f64;
    report.add(
        "memory, for each idle thread with its agent",
        each / KIB,
        "KiB",
        // Among few threads, what all of them share counts as well.
        (sizes.idle >= Sizes::full().idle).then_some(Target::AtMost(20.0)),
    );
    let mut clients = Vec::new();
    for _ in 0..sizes.idle {
        let mut client = daemon.client()?;
        client.request(1, "thread/resume", &json!({ "threadId": thread }))?;
        clients.push(client);
    }
    settle();
    let each = (daemon.rss()? as f64 - after).max(0.0) / sizes.idle as f64;
    report.add(
        "memory, for each idle client following a thread",
        each / KIB,
        "KiB",
        Some(Target::AtMost(64.0)),
    );
    Ok(())
}

/// Waits until idle agents' readers have freed their buffers, which takes a second.
fn settle() {
    std::thread::sleep(Duration::from_millis(2500));
}

fn startup(binaries: &Binaries, sizes: &Sizes, report: &mut Report) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("data");
    // The daemon rejects a directory that other users can access.
    std::fs::DirBuilder::new().mode(0o700).create(&data)?;
    fill(&data, sizes.threads).context("the log cannot be filled")?;
    let mut times: Vec<f64> = (0..sizes.rounds.max(3))
        .map(|_| Ok(Daemon::start(binaries, &data)?.ready_after.as_secs_f64() * 1e3))
        .collect::<anyhow::Result<_>>()?;
    let name = format!("ready with {} threads in the log", sizes.threads);
    report.add(&name, median(&mut times), "ms", Some(Target::AtMost(150.0)));
    Ok(())
}

/// Writes threads of a few events each.
pub(super) fn fill(data: &Path, threads: u32) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let log = Sqlite::open(&data.join("log.db"), Durability::Process)?;
        for number in 0..threads {
            let at = 1_700_000_000_000 + i64::from(number);
            let event = |seq, kind| Event {
                seq,
                at,
                turn: Some(TurnId(1)),
                by: Origin::Daemon,
                kind,
                raw: None,
                raw_params: None,
                repeats_id: false,
                translated: false,
                lane: None,
            };
            let created = EventKind::Thread(ThreadEvent::Created(Box::new(ThreadCreated {
                agent: "fake".into(),
                cwd: WORKSPACE.into(),
                ..ThreadCreated::default()
            })));
            let events = [
                event(1, created),
                event(
                    2,
                    EventKind::Turn(TurnEvent::Started {
                        client_turn_id: None,
                        imported: false,
                    }),
                ),
            ];
            let summary = Summary {
                agent: "fake".into(),
                cwd: WORKSPACE.into(),
                created_at: at,
                updated_at: at,
                ..Summary::default()
            };
            let thread = ThreadId(uuid::Uuid::from_u128(u128::from(number) + (7 << 76)));
            log.append(thread, &events, Some(&summary)).await?;
        }
        log.close().await?;
        Ok(())
    })
}

pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an index"
)]
pub fn percentile(values: &mut [u64], part: f64) -> u64 {
    values.sort_unstable();
    let at = ((values.len() as f64 * part) as usize).min(values.len().saturating_sub(1));
    values.get(at).copied().unwrap_or_default()
}
