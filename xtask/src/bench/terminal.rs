//! A flooding terminal next to a thread that needs low latency.
//!
//! A flood slows down the host in any case. So the relay's updates are measured too, next to the same command on a
//! terminal whose output is read and discarded.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use acpd_host::{Environment, Program, Terminal, TerminalSpec};
use anyhow::Context;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Binaries;
use super::WORKSPACE;
use super::client::Counter;
use super::daemon::{Daemon, Relay};
use super::measure::{ENDS, percentile};
use super::report::{Report, Target};

/// Output of the terminal, in bytes.
const FULL: u64 = 1 << 30;
const QUICK: u64 = 64 << 20;

/// Bytes of output that a terminal keeps: the default of `terminal/create`.
const RING: usize = 1 << 20;

/// The repeated line; as long as a typical line of build output.
const LINE: &str = "the quick brown fox jumps over the lazy dog and comes back for the other one, again";

/// The result of a flood.
struct Flood {
    took: Duration,
    /// Latencies of another thread's updates during the flood, in nanoseconds.
    delays: Vec<u64>,
}

/// Measures the memory cost of one terminal's output, and its effect on another thread's updates.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn flood(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let bytes = if quick { QUICK } else { FULL };
    let command = format!("yes {LINE} | head -c {bytes}");
    let mut bare = beside_relay(binaries, &command).context("the relay's flood")?;
    let (mut ours, added) = beside_daemon(binaries, &command).context("the daemon's flood")?;
    let mebibyte = f64::from(1 << 20);
    for (whose, flood) in [("emptied only", &bare), ("through the daemon", &ours)] {
        let rate = bytes as f64 / flood.took.as_secs_f64() / mebibyte;
        report.add(&format!("terminal writes: {whose}"), rate, "MiB/s", None);
    }
    let beyond = added.saturating_sub(RING as u64) as f64 / mebibyte;
    let bound = Some(Target::AtMost(8.0));
    report.add("terminal writes: memory beyond its ring", beyond, "MiB", bound);
    for (word, part) in [("p99", 0.99), ("worst", 1.0)] {
        let name = format!("terminal writes: another thread's update, {word}");
        let bare = percentile(&mut bare.delays, part) as f64 / 1e6;
        let ours = percentile(&mut ours.delays, part) as f64 / 1e6;
        report.add(&format!("{name}: bare relay"), bare, "ms", None);
        report.add(&format!("{name}: acpd"), ours, "ms", None);
        let bound = Some(Target::AtMost(50.0));
        report.add(&format!("{name}: added"), (ours - bare).max(0.0), "ms", bound);
    }
    Ok(())
}

fn beside_relay(binaries: &Binaries, command: &str) -> anyhow::Result<Flood> {
    let relay = Relay::start(binaries)?;
    let (mut calm, session) = relay.client()?;
    let command = command.to_owned();
    let loud = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(empty(&command))
    });
    let prompt = json!([{ "type": "text", "text": LONE }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    measure(&mut calm, "session/prompt", &params, &ENDS[1..], loud)
}

fn beside_daemon(binaries: &Binaries, command: &str) -> anyhow::Result<(Flood, u64)> {
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let start = json!({ "agentType": "fake", "cwd": WORKSPACE });
    let mut calm = daemon.client()?;
    let calm_thread = calm.request(1, "thread/start", &start)?["thread"]["id"].clone();
    let mut loud = daemon.client()?;
    let loud_thread = loud.request(1, "thread/start", &start)?["thread"]["id"].clone();
    let before = daemon.rss()?;
    let text = format!("terminal sh -c \"{command}\"");
    let params = json!({ "threadId": loud_thread, "text": text });
    let begun = Instant::now();
    loud.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))?;
    let loud = std::thread::spawn(move || loud.count_until(&[ENDS[0]]).map(|_| begun.elapsed()));
    let params = json!({ "threadId": calm_thread, "text": LONE });
    let flood = measure(&mut calm, "turn/start", &params, &ENDS[..1], loud)?;
    Ok((flood, daemon.peak()?.saturating_sub(before)))
}

const LONE: &str = "lone n=20 ms=5 bytes=300";

/// Runs turn after turn until the flooding turn is over.
fn measure(
    calm: &mut Counter,
    method: &str,
    params: &Value,
    ends: &[&[u8]],
    loud: std::thread::JoinHandle<anyhow::Result<Duration>>,
) -> anyhow::Result<Flood> {
    let mut delays = Vec::new();
    while !loud.is_finished() {
        calm.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params }))?;
        delays.extend(calm.latencies_until(ends)?);
    }
    let took = loud
        .join()
        .map_err(|_| anyhow::anyhow!("the loud one panicked"))??;
    anyhow::ensure!(!delays.is_empty(), "no update came");
    Ok(Flood { took, delays })
}

/// Runs the command on a terminal without a reader.
async fn empty(command: &str) -> anyhow::Result<Duration> {
    let program = Program {
        command: "sh".into(),
        args: vec!["-c".into(), command.into()],
        env: Environment::here(&[], &BTreeMap::new()),
        cwd: WORKSPACE.into(),
        sandbox: None,
    };
    let spec = TerminalSpec {
        program,
        directory: None,
        output_bytes: RING,
    };
    let begun = Instant::now();
    let terminal = Terminal::spawn(&spec, mpsc::channel(1).0)
        .map_err(|failure| anyhow::anyhow!("no terminal: {failure}"))?;
    terminal.wait().await;
    let took = begun.elapsed();
    terminal.release().await;
    Ok(took)
}
