//! Measures the speed of the log on this host: `cargo run --release -p acpd-log --example append [directory]`.
//!
//! Without a directory, the database is created in the directory for temporary files, which may not be on a disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acpd_log::conformance::sample;
use acpd_log::{Durability, LogError, SharedLog, Sqlite};
use acpd_model::{Seq, ThreadId};
use tempfile::TempDir;

/// Bytes of each event's `raw`.
const RAW_BYTES: usize = 300;

/// How long each value is measured.
const MEASURED: Duration = Duration::from_secs(2);

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let directory = match std::env::args_os().nth(1) {
        Some(parent) => TempDir::new_in(parent)?,
        None => TempDir::new()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    runtime.block_on(async {
        for durability in [Durability::Process, Durability::Power] {
            let path = directory.path().join(format!("{durability:?}.db"));
            let log: SharedLog = Arc::new(Sqlite::open(&path, durability)?);
            println!("{durability:?}");
            for batch in [1, 64, 512] {
                alone(&log, batch).await?;
            }
            together(&log, 16).await?;
            replay(&log, 200_000).await?;
            log.close().await?;
        }
        opening(&directory.path().join("many.db"), 10_000).await
    })
}

/// One caller that awaits each append, as a thread actor does.
async fn alone(log: &SharedLog, batch: u64) -> Outcome {
    let thread = sample::new_thread();
    let mut latencies = Vec::new();
    let begin = Instant::now();
    let mut busy = Duration::ZERO;
    let mut seq = 0;
    while begin.elapsed() < MEASURED {
        let events = sample::run(seq + 1..=seq + batch, RAW_BYTES);
        let summary = sample::summary("alone", 1);
        let summary = (seq == 0).then_some(&summary);
        let asked = Instant::now();
        log.append(thread, &events, summary).await?;
        latencies.push(asked.elapsed());
        busy += asked.elapsed();
        seq += batch;
    }
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    let events = rate(seq, busy);
    println!(
        "  1 caller, batches of {batch:>3}: {events:>9} events/s, p50 {:?}, p99 {:?}",
        at(50),
        at(99)
    );
    Ok(())
}

/// Many callers share commits. Each has a thread of its own and appends one event at a time.
async fn together(log: &SharedLog, callers: u64) -> Outcome {
    let begin = Instant::now();
    let appending: Vec<_> = (0..callers)
        .map(|_| {
            let log = Arc::clone(log);
            tokio::spawn(async move { append_for(&log, sample::new_thread(), begin).await })
        })
        .collect();
    let mut events = 0;
    for appending in appending {
        events += appending.await??;
    }
    let events = rate(events, begin.elapsed());
    println!("  {callers} callers, batches of   1: {events:>9} events/s");
    Ok(())
}

async fn append_for(log: &SharedLog, thread: ThreadId, begin: Instant) -> Result<Seq, LogError> {
    let summary = sample::summary("together", 1);
    let mut seq = 0;
    while begin.elapsed() < MEASURED {
        let summary = (seq == 0).then_some(&summary);
        seq += 1;
        log.append(thread, &[sample::event(seq, RAW_BYTES)], summary)
            .await?;
    }
    Ok(seq)
}

/// Reads a thread from the beginning.
async fn replay(log: &SharedLog, events: Seq) -> Outcome {
    const BATCH: Seq = 64;
    let thread = sample::new_thread();
    let summary = sample::summary("replay", 1);
    for first in (1..=events).step_by(64) {
        let batch = sample::run(first..=first + BATCH - 1, RAW_BYTES);
        log.append(thread, &batch, Some(&summary)).await?;
    }
    let begin = Instant::now();
    let mut after = 0;
    loop {
        let page = log.read(thread, after).await?;
        after = page.events.last().map_or(after, |event| event.seq);
        if page.at_end {
            break;
        }
    }
    println!("  replay: {:>9} events/s", rate(after, begin.elapsed()));
    Ok(())
}

/// Measures how long it takes to open a database with many threads.
async fn opening(path: &Path, threads: u64) -> Outcome {
    let log = Sqlite::open(path, Durability::Process)?;
    let log: SharedLog = Arc::new(log);
    for number in 0..threads {
        let summary = sample::summary("many", number.cast_signed());
        log.append(
            sample::thread(number),
            &sample::run(1..=10, RAW_BYTES),
            Some(&summary),
        )
        .await?;
    }
    log.close().await?;
    drop(log);
    let begin = Instant::now();
    let _log = Sqlite::open(path, Durability::Process)?;
    println!("opening with {threads} threads: {:?}", begin.elapsed());
    Ok(())
}

fn rate(events: u64, time: Duration) -> u128 {
    u128::from(events) * 1_000_000 / time.as_micros().max(1)
}
