//! A thread's turns beside agents and clients that take all they can get.
//!
//! Each load runs in a daemon of its own, with the limits that users have. The turns are measured before the load and during it, so that
//! the ratio does not depend on the host.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use super::client::Counter;
use super::daemon::Daemon;
use super::measure::{fill, percentile};
use super::report::{Report, Target};
use super::{Binaries, TURN_END, WORKSPACE};

/// How much there is of each load.
struct Size {
    /// Turns that are measured.
    turns: usize,
    /// Messages of 1 MiB in a long thread.
    messages: usize,
}

const FULL: Size = Size {
    turns: 300,
    messages: 1024,
};
const QUICK: Size = Size {
    turns: 50,
    messages: 64,
};

/// Clients that never read, and the pages that each of them requests.
const DEAF: usize = 16;
const PAGES: u64 = 30;

/// Lists that a page requests, as many at a time as one connection may have in flight, and the threads in the log.
const LISTS: u64 = 1000;
const IN_FLIGHT: u64 = 60;
const THREADS: u32 = 1000;

/// Bytes of one message.
const MESSAGE: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
enum Load {
    /// An agent sends messages as fast as it can.
    Flood,
    /// Clients follow that agent's thread, request its pages, and read nothing.
    Deaf,
    /// A client reads all events of a long thread, again and again.
    LongThread,
    /// A page requests lists, again and again.
    Lists,
}

const LOADS: [Load; 4] = [Load::Flood, Load::Deaf, Load::LongThread, Load::Lists];

/// Measures each load.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn loads(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let size = if quick { QUICK } else { FULL };
    for load in LOADS {
        let name = load.name(&size);
        let mut measured = beside(binaries, load, &size).with_context(|| name.clone())?;
        let (alone, during) = (
            percentile(&mut measured.alone, 0.99) as f64 / 1e6,
            percentile(&mut measured.during, 0.99) as f64 / 1e6,
        );
        report.add(&format!("{name}: another thread's turn, p99"), during, "ms", None);
        report.add(
            &format!("{name}: p99 / p99 without it"),
            during / alone,
            "x",
            None,
        );
        let memory = measured.added as f64 / f64::from(1 << 20);
        let bound = Some(Target::AtMost(140.0));
        report.add(&format!("{name}: memory above idle"), memory, "MiB", bound);
    }
    Ok(())
}

/// The result of one load.
struct Measured {
    /// Durations of turns before the load, in nanoseconds.
    alone: Vec<u64>,
    /// The same during the load.
    during: Vec<u64>,
    /// Bytes of memory that the daemon took during the load.
    added: u64,
}

fn beside(binaries: &Binaries, load: Load, size: &Size) -> anyhow::Result<Measured> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("data");
    load.fill(&data)?;
    let daemon = Daemon::with_limits(binaries, &data, load.limits())?;
    let loud = load.thread(&daemon, size)?;
    let mut calm = daemon.client()?;
    let thread = start(&mut calm)?;
    // The first turns fill caches.
    turns(&mut calm, &thread, size.turns / 10)?;
    let alone = turns(&mut calm, &thread, size.turns)?;
    let before = daemon.rss()?;
    daemon.forget_peak()?;
    let stop = AtomicBool::new(false);
    let during = std::thread::scope(|scope| {
        let running = scope.spawn(|| load.run(&daemon, &loud, &stop));
        let during = turns(&mut calm, &thread, size.turns);
        stop.store(true, Ordering::Relaxed);
        let ran = running.join().map_err(|_| anyhow::anyhow!("the load panicked"))?;
        ran.and(during)
    })?;
    Ok(Measured {
        alone,
        during,
        added: daemon.peak()?.saturating_sub(before),
    })
}

impl Load {
    fn name(self, size: &Size) -> String {
        match self {
            Self::Flood => "an agent that floods".to_owned(),
            Self::Deaf => format!("{DEAF} clients that never read"),
            Self::LongThread => format!("a thread of {} MiB", size.messages),
            Self::Lists => format!("a page that requests {LISTS} lists"),
        }
    }

    /// Returns the settings of the daemon's limits. Only the agent that makes a long thread is read as fast as it writes. No
    /// turn waits for late text, which would be most of what is measured.
    fn limits(self) -> &'static str {
        match self {
            Self::LongThread => "requests_per_window = 100000\nturn_tail_millis = 0\nagent_bytes_per_sec = 0\n",
            Self::Flood | Self::Deaf | Self::Lists => "requests_per_window = 100000\nturn_tail_millis = 0\n",
        }
    }

    /// Fills the log before the daemon starts.
    fn fill(self, data: &Path) -> anyhow::Result<()> {
        if let Self::Lists = self {
            // The daemon rejects a directory that other users can access.
            std::fs::DirBuilder::new().mode(0o700).create(data)?;
            fill(data, THREADS)?;
        }
        Ok(())
    }

    /// Makes the thread that the load is about, if there is one.
    fn thread(self, daemon: &Daemon, size: &Size) -> anyhow::Result<Value> {
        if let Self::Lists = self {
            return Ok(Value::Null);
        }
        let mut client = daemon.client()?;
        let thread = start(&mut client)?;
        if let Self::LongThread = self {
            let text = format!("flood n={} bytes={MESSAGE} kind=chunk", size.messages);
            prompt(&mut client, &thread, &text)?;
            client.count_until(&[TURN_END])?;
        }
        Ok(thread)
    }

    /// Runs the load until `stop` is set.
    fn run(self, daemon: &Daemon, thread: &Value, stop: &AtomicBool) -> anyhow::Result<()> {
        let goes_on = || !stop.load(Ordering::Relaxed);
        let mut client = daemon.client()?;
        match self {
            Self::Flood | Self::Deaf => {
                client.request(1, "thread/resume", &json!({ "threadId": thread }))?;
                prompt(
                    &mut client,
                    thread,
                    &format!("flood n=1000000 bytes={MESSAGE} kind=chunk"),
                )?;
                let deaf = if let Self::Deaf = self {
                    deaf(daemon, thread)?
                } else {
                    Vec::new()
                };
                while goes_on() {
                    client.next()?;
                }
                drop(deaf);
            }
            Self::LongThread => {
                while goes_on() {
                    let mut reader = daemon.client()?;
                    let params = json!({ "threadId": thread, "after": 0 });
                    reader.send(
                        &json!({ "jsonrpc": "2.0", "id": 2, "method": "thread/resume", "params": params }),
                    )?;
                    reader.count_until(&[TURN_END])?;
                }
            }
            Self::Lists => {
                while goes_on() {
                    lists(&mut client)?;
                }
            }
        }
        Ok(())
    }
}

/// Connects clients that follow a thread, request its pages, and never read.
fn deaf(daemon: &Daemon, thread: &Value) -> anyhow::Result<Vec<Counter>> {
    let connect = || -> anyhow::Result<Counter> {
        let mut client = daemon.client()?;
        let resume = json!({ "threadId": thread, "after": 0 });
        client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "thread/resume", "params": resume }))?;
        let read = json!({ "threadId": thread, "includeTurns": true });
        for id in 2..2 + PAGES {
            client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "thread/read", "params": read }))?;
        }
        Ok(client)
    };
    (0..DEAF).map(|_| connect()).collect()
}

/// Requests lists, and reads all of them.
fn lists(client: &mut Counter) -> anyhow::Result<()> {
    let (mut requested, mut received) = (0, 0);
    while received < LISTS {
        if requested < LISTS && requested - received < IN_FLIGHT {
            requested += 1;
            let id = 100 + requested;
            client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "thread/list", "params": {} }))?;
        } else {
            client.count_until(&[b"{\"jsonrpc\":\"2.0\",\"id\":"])?;
            received += 1;
        }
    }
    Ok(())
}

fn start(client: &mut Counter) -> anyhow::Result<Value> {
    let params = json!({ "agentType": "fake", "cwd": WORKSPACE });
    let mut started = client.request(1, "thread/start", &params)?;
    Ok(started["thread"]["id"].take())
}

fn prompt(client: &mut Counter, thread: &Value, text: &str) -> anyhow::Result<()> {
    let params = json!({ "threadId": thread, "text": text });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))
}

/// Runs turns one after the other. Returns how long each took, in nanoseconds.
fn turns(client: &mut Counter, thread: &Value, count: usize) -> anyhow::Result<Vec<u64>> {
    let mut took = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        prompt(client, thread, "say hello")?;
        client.count_until(&[TURN_END])?;
        took.push(u64::try_from(begun.elapsed().as_nanos())?);
    }
    Ok(took)
}
