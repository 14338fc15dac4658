//! What several parts measure.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::bench::{Counter, Daemon, TURN_END, WORKSPACE, percentile};

/// Creates a data directory as the daemon requires it.
pub fn private_dir(parent: &Path) -> anyhow::Result<PathBuf> {
    let data = parent.join("data");
    std::fs::DirBuilder::new().mode(0o700).create(&data)?;
    Ok(data)
}

/// Starts a thread. Returns its id.
pub fn start_thread(client: &mut Counter) -> anyhow::Result<Value> {
    let params = json!({ "agentType": "fake", "cwd": WORKSPACE });
    Ok(client.request(1, "thread/start", &params)?["thread"]["id"].clone())
}

/// Starts a turn without waiting for it.
pub fn start_turn(client: &mut Counter, thread: &Value, text: &str) -> anyhow::Result<()> {
    let params = json!({ "threadId": thread, "text": text });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))
}

/// Runs a turn to its end. Returns the number and the bytes of the frames that the client received.
pub fn turn(client: &mut Counter, thread: &Value, text: &str) -> anyhow::Result<(u64, u64)> {
    start_turn(client, thread, text)?;
    let (mut frames, mut bytes) = (0, 0);
    loop {
        let frame = client.next()?;
        frames += 1;
        bytes += frame.len() as u64;
        if frame.starts_with(TURN_END) {
            return Ok((frames, bytes));
        }
    }
}

/// Sends a request. Returns the milliseconds until its result.
pub fn timed(client: &mut Counter, method: &str, params: &Value) -> anyhow::Result<f64> {
    let begun = Instant::now();
    client.request(3, method, params)?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// A thread of its own whose agent sends one update at a time.
pub struct Updates {
    client: Counter,
}

/// How long updates took from the agent's line to the client, in milliseconds.
pub struct Waits {
    pub p99: f64,
    pub longest: f64,
}

impl Updates {
    /// Starts `count` updates, one every `millis`.
    pub fn start(daemon: &Daemon, count: u64, millis: u64) -> anyhow::Result<Self> {
        let mut client = daemon.client()?;
        let thread = start_thread(&mut client)?;
        Self::of(client, &thread, count, millis)
    }

    /// Starts them in a turn of this thread.
    pub fn of(mut client: Counter, thread: &Value, count: u64, millis: u64) -> anyhow::Result<Self> {
        start_turn(
            &mut client,
            thread,
            &format!("lone n={count} ms={millis} bytes=300"),
        )?;
        Ok(Self { client })
    }

    /// Waits for the end of the turn.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
    pub fn finish(mut self) -> anyhow::Result<Waits> {
        let mut waits = self.client.latencies_until(&[TURN_END])?;
        let mut millis = |part| percentile(&mut waits, part) as f64 / 1e6;
        Ok(Waits {
            p99: millis(0.99),
            longest: millis(1.0),
        })
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
