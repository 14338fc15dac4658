//! A thread's turns beside agents and clients that take all they can get.
//!
//! Each load runs in a daemon of its own, with the limits that users have. The turns are measured before the load and during it, so that
//! the ratio does not depend on the host.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use acpd_model::Limits;
use acpd_model::limits::AGENT_BURST_BYTES;
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

/// Bytes of a list with 5,000 entries of about 60 bytes.
const LIST_BYTES: usize = 300_000;

/// Rules that deny other commands.
const RULES: usize = 63;

/// Clients that search, explain and read, and the requests that each makes at once.
const OBSERVERS: usize = 24;
const REQUESTS: u64 = 55;

#[derive(Debug, Clone, Copy)]
enum Load {
    /// An agent sends large messages as fast as it can.
    Flood,
    /// Clients follow that agent's thread, request its pages, and read nothing.
    Deaf,
    /// A client reads all events of a long thread, again and again.
    LongThread,
    /// A page requests lists, again and again.
    Lists,
    /// An agent sends short deltas as fast as it can.
    Deltas,
    /// An agent begins tool calls, and ends them at once.
    Calls,
    /// An agent shows diffs of two texts in which every line differs.
    Diffs,
    /// An agent replaces a plan of 5,000 entries.
    Plans,
    /// An agent replaces a list of 5,000 commands.
    Commands,
    /// An agent asks about command lines of 60 KB, which are compared with many rules.
    Rules,
    /// A terminal starts processes as fast as it can.
    Processes,
    /// An agent writes large files.
    Writes,
    /// Clients search, have decisions about long command lines explained, and read.
    Observers,
}

const LOADS: [Load; 13] = [
    Load::Flood,
    Load::Deaf,
    Load::LongThread,
    Load::Lists,
    Load::Deltas,
    Load::Calls,
    Load::Diffs,
    Load::Plans,
    Load::Commands,
    Load::Rules,
    Load::Processes,
    Load::Writes,
    Load::Observers,
];

/// Measures each load.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn loads(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let size = if quick { QUICK } else { FULL };
    let mebibyte = f64::from(1 << 20);
    for load in LOADS {
        let name = load.name(&size);
        let mut measured = beside(binaries, load, &size).with_context(|| name.clone())?;
        let alone = percentile(&mut measured.alone, 0.99) as f64 / 1e6;
        for (word, part, bound) in [
            ("p50", 0.5, None),
            ("p99", 0.99, Some(Target::AtMost(100.0))),
            ("longest", 1.0, None),
        ] {
            let during = percentile(&mut measured.during, part) as f64 / 1e6;
            report.add(
                &format!("{name}: another thread's turn, {word}"),
                during,
                "ms",
                bound,
            );
            if word == "p99" {
                report.add(
                    &format!("{name}: p99 / p99 without it"),
                    during / alone,
                    "x",
                    None,
                );
            }
        }
        let memory = measured.added as f64 / mebibyte;
        let bound = Some(Target::AtMost(140.0));
        report.add(&format!("{name}: memory above idle"), memory, "MiB", bound);
        if load.is_limited() {
            let stored = measured.stored as f64 / mebibyte;
            let limit = measured.permitted as f64 / mebibyte;
            let bound = Some(Target::AtMost(limit));
            report.add(&format!("{name}: growth of the log"), stored, "MiB", bound);
        }
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
    /// Bytes by which the files of the log grew.
    stored: u64,
    /// Bytes that one agent may write and have stored in that time.
    permitted: u64,
}

fn beside(binaries: &Binaries, load: Load, size: &Size) -> anyhow::Result<Measured> {
    let dir = tempfile::tempdir()?;
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    std::fs::create_dir(&work)?;
    load.fill(&data)?;
    let daemon = Daemon::with_limits(binaries, &data, &load.settings())?;
    let loud = load.thread(&daemon, &work, size)?;
    let mut calm = daemon.client()?;
    let thread = start(&mut calm, Path::new(WORKSPACE))?;
    // The first turns fill caches.
    turns(&mut calm, &thread, size.turns / 10)?;
    let alone = turns(&mut calm, &thread, size.turns)?;
    let before = (daemon.rss()?, stored(&data)?);
    daemon.forget_peak()?;
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let during = std::thread::scope(|scope| {
        let running = scope.spawn(|| load.run(&daemon, &loud, &stop));
        let during = turns(&mut calm, &thread, size.turns);
        stop.store(true, Ordering::Relaxed);
        let ran = running.join().map_err(|_| anyhow::anyhow!("the load panicked"))?;
        ran.and(during)
    })?;
    let rate = Limits::default().agent_bytes_per_sec;
    let seconds = usize::try_from(begun.elapsed().as_secs() + 1)?;
    Ok(Measured {
        alone,
        during,
        added: daemon.peak()?.saturating_sub(before.0),
        stored: stored(&data)?.saturating_sub(before.1),
        permitted: (AGENT_BURST_BYTES + rate * seconds) as u64,
    })
}

/// Returns the bytes of the files of the log.
fn stored(data: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(data)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("log.db") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

impl Load {
    fn name(self, size: &Size) -> String {
        let name = match self {
            Self::Flood => "an agent that floods",
            Self::Deaf => return format!("{DEAF} clients that never read"),
            Self::LongThread => return format!("a thread of {} MiB", size.messages),
            Self::Lists => return format!("a page that requests {LISTS} lists"),
            Self::Deltas => "an agent that sends short deltas",
            Self::Calls => "tool calls that end at once",
            Self::Diffs => "diffs in which every line differs",
            Self::Plans => "plans of 5,000 entries",
            Self::Commands => "lists of 5,000 commands",
            Self::Rules => return format!("command lines of 60 KB and {RULES} rules"),
            Self::Processes => "a terminal that starts processes",
            Self::Writes => "files of 10 MB",
            Self::Observers => return format!("{OBSERVERS} clients that search, explain and read"),
        };
        name.to_owned()
    }

    /// Returns whether the limit for one agent applies to all that this load stores.
    fn is_limited(self) -> bool {
        !matches!(self, Self::LongThread | Self::Lists | Self::Observers)
    }

    /// Returns the daemon's settings, beginning with those of its limits. Only the agent that makes a long thread is read as fast as it
    /// writes. No turn waits for late text, which would be most of what is measured.
    fn settings(self) -> String {
        let mut settings = "requests_per_window = 100000\nturn_tail_millis = 0\n".to_owned();
        match self {
            Self::LongThread => settings.push_str("agent_bytes_per_sec = 0\n"),
            Self::Rules => {
                let denied: Vec<String> = (0..RULES).map(|rule| format!("Bash(evil{rule} *)")).collect();
                settings.push_str(&format!("[policy]\nallow = [\"Bash\"]\ndeny = {denied:?}\n"));
            }
            _ => {}
        }
        settings
    }

    /// Returns the turn that the load's agent runs again and again; `None` if clients are the load.
    fn turn(self) -> Option<String> {
        let flood = |kind: &str, bytes: usize| format!("flood n=1000000000 bytes={bytes} kind={kind}");
        Some(match self {
            Self::Flood | Self::Deaf => flood("chunk", MESSAGE),
            Self::Deltas => flood("delta", 0),
            Self::Calls => flood("call", 300),
            Self::Diffs => flood("diff", 250_000),
            Self::Plans => flood("plan", LIST_BYTES),
            Self::Commands => flood("commands", LIST_BYTES),
            Self::Rules => format!("permission kind=execute command='{}'", long_line()),
            // What it writes shows that it runs.
            Self::Processes => {
                "terminal sh -c \"for i in 1 2 3 4; do while :; do /bin/true; echo x; done & done; wait\""
                    .to_owned()
            }
            Self::Writes => "files n=1000000000 bytes=10000000 by=write".to_owned(),
            Self::LongThread | Self::Lists | Self::Observers => return None,
        })
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
    fn thread(self, daemon: &Daemon, work: &Path, size: &Size) -> anyhow::Result<Value> {
        if let Self::Lists = self {
            return Ok(Value::Null);
        }
        let mut client = daemon.client()?;
        let thread = start(&mut client, work)?;
        let first = match self {
            Self::LongThread => format!("flood n={} bytes={MESSAGE} kind=chunk", size.messages),
            Self::Observers => "stream n=200".to_owned(),
            _ => return Ok(thread),
        };
        prompt(&mut client, &thread, &first)?;
        client.count_until(&[TURN_END])?;
        Ok(thread)
    }

    /// Runs the load until `stop` is set.
    fn run(self, daemon: &Daemon, thread: &Value, stop: &AtomicBool) -> anyhow::Result<()> {
        let goes_on = || !stop.load(Ordering::Relaxed);
        let mut client = daemon.client()?;
        if let Some(turn) = self.turn() {
            client.request(1, "thread/resume", &json!({ "threadId": thread }))?;
            prompt(&mut client, thread, &turn)?;
            let deaf = if let Self::Deaf = self {
                deaf(daemon, thread)?
            } else {
                Vec::new()
            };
            while goes_on() {
                if client.next()?.starts_with(TURN_END) {
                    prompt(&mut client, thread, &turn)?;
                }
            }
            drop(deaf);
            return Ok(());
        }
        match self {
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
            Self::Observers => {
                let connect = |_| daemon.client();
                let mut observers: Vec<Counter> = (0..OBSERVERS).map(connect).collect::<Result<_, _>>()?;
                while goes_on() {
                    observe(&mut observers, thread)?;
                }
            }
            _ => {
                while goes_on() {
                    lists(&mut client)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns a command line of about 60 KB with as many commands as the policy checks.
fn long_line() -> String {
    let words = "word ".repeat(22);
    vec![format!("echo {}", words.trim_end()); 500].join(" && ")
}

/// Has each client search, explain and read, and reads all answers.
fn observe(observers: &mut [Counter], thread: &Value) -> anyhow::Result<()> {
    let call = json!({ "kind": "execute", "rawInput": { "command": long_line() } });
    let requests = [
        ("thread/search", json!({ "query": "word" })),
        ("policy/explain", json!({ "threadId": thread, "toolCall": call })),
        ("thread/read", json!({ "threadId": thread, "includeTurns": true })),
    ];
    for observer in &mut *observers {
        for (id, (method, params)) in (100..100 + REQUESTS).zip(requests.iter().cycle()) {
            observer.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        }
    }
    for observer in observers {
        for _ in 0..REQUESTS {
            observer.next_result()?;
        }
    }
    Ok(())
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
            client.next_result()?;
            received += 1;
        }
    }
    Ok(())
}

fn start(client: &mut Counter, cwd: &Path) -> anyhow::Result<Value> {
    let params = json!({ "agentType": "fake", "cwd": cwd });
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
