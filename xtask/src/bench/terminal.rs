//! A terminal that writes without end beside a thread that wants its updates in time.

use std::time::Instant;

use anyhow::Context;
use serde_json::json;

use super::Binaries;
use super::daemon::Daemon;
use super::measure::{ENDS, percentile};
use super::report::{Report, Target};

/// Output of the terminal, in bytes.
const FULL: u64 = 1 << 30;
const QUICK: u64 = 64 << 20;

/// What a terminal is kept of, in bytes: the default of `terminal/create`.
const RING: f64 = 1024.0 * 1024.0;

/// Measures what one terminal's output costs in memory, and what it does to another thread's updates.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn flood(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let bytes = if quick { QUICK } else { FULL };
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let start = json!({ "agentType": "fake", "cwd": "/" });
    let mut calm = daemon.client()?;
    let calm_thread = calm.request(1, "thread/start", &start)?["thread"]["id"].clone();
    let mut loud = daemon.client()?;
    let loud_thread = loud.request(1, "thread/start", &start)?["thread"]["id"].clone();
    let before = daemon.rss()?;
    let text = format!("terminal sh -c \"yes | head -c {bytes}\"");
    let params = json!({ "threadId": loud_thread, "text": text });
    loud.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))?;
    let begun = Instant::now();
    let reader = std::thread::spawn(move || loud.count_until(&[ENDS[0]]).map(|_| begun.elapsed()));
    let mut delays = Vec::new();
    while !reader.is_finished() {
        let params = json!({ "threadId": calm_thread, "text": "lone n=20 ms=5 bytes=300" });
        calm.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "turn/start", "params": params }))?;
        delays.extend(calm.latencies_until(&[ENDS[0]])?);
    }
    let took = reader
        .join()
        .map_err(|_| anyhow::anyhow!("the loud client panicked"))??;
    let added = daemon.peak()?.saturating_sub(before) as f64;
    let worst = delays.iter().copied().max().context("no update came")?;
    report.add(
        "terminal writes: through the daemon",
        bytes as f64 / took.as_secs_f64() / RING,
        "MiB/s",
        None,
    );
    report.add(
        "terminal writes: memory beyond its ring",
        (added - RING).max(0.0) / RING,
        "MiB",
        Some(Target::AtMost(8.0)),
    );
    for (name, delay) in [("p99", percentile(&mut delays, 0.99)), ("worst", worst)] {
        let target = (name == "worst").then_some(Target::AtMost(50.0));
        let name = format!("terminal writes: another thread's update, {name}");
        report.add(&name, delay as f64 / 1e6, "ms", target);
    }
    Ok(())
}
