//! What operations cost at different sizes: a table with one line for each operation, one column for each size, and the
//! exponent with which the cost grows. 0 means that the size does not matter, 1 that the cost is proportional to it.

mod thread;

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use crate::bench::{Binaries, Counter, Daemon};

/// Repetitions of each operation. The median counts.
const REPEATS: usize = 5;

/// Concurrent reads of the same thread.
const READERS: u64 = 64;

/// One operation at all sizes.
struct Line {
    name: &'static str,
    unit: &'static str,
    most: Option<f64>,
    values: Vec<f64>,
}

/// Runs everything and prints a table.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    let binaries = Binaries::beside_this()?;
    let sizes: &[u64] = if args.contains(&"--quick") {
        &[1_000, 10_000, 100_000]
    } else {
        &[10_000, 100_000, 1_000_000]
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut bytes = Vec::new();
    for &size in sizes {
        let dir = tempfile::tempdir()?;
        let data = dir.path().join("data");
        std::fs::DirBuilder::new().mode(0o700).create(&data)?;
        let log = data.join("log.db");
        let begun = Instant::now();
        let turns = thread::store(&log, size)?;
        let stored = std::fs::metadata(&log)?.len();
        println!(
            "{size} events in {turns} turns, {} MiB in the log, stored in {:.1} s",
            stored >> 20,
            begun.elapsed().as_secs_f64()
        );
        bytes.push(stored);
        for (at, figure) in long_thread(&binaries, &data, turns)?.into_iter().enumerate() {
            let (name, unit, most, value) = figure;
            if lines.len() <= at {
                lines.push(Line {
                    name,
                    unit,
                    most,
                    values: Vec::new(),
                });
            }
            lines[at].values.push(value);
        }
    }
    print_table(&lines, sizes);
    Ok(())
}

type Figure = (&'static str, &'static str, Option<f64>, f64);

/// Measures the operations on one long thread.
fn long_thread(binaries: &Binaries, data: &Path, turns: u32) -> anyhow::Result<Vec<Figure>> {
    let id = thread::LONG.to_string();
    let read = |limit: u32| json!({ "threadId": id, "includeTurns": true, "limit": limit });
    let older =
        json!({ "threadId": id, "includeTurns": true, "limit": 20, "cursor": (turns / 2).to_string() });
    let mut figures: Vec<Figure> = Vec::new();
    let mut first = Vec::new();
    for _ in 0..REPEATS {
        // Nothing is loaded in a new daemon.
        let daemon = Daemon::start(binaries, data)?;
        let mut client = daemon.client()?;
        let resume = json!({ "threadId": id, "limit": 1 });
        first.push(timed(&daemon, &mut client, "thread/resume", &resume)?);
    }
    push(&mut figures, "first touch, ms", "first touch, MiB", first);

    let daemon = Daemon::start(binaries, data)?;
    let mut client = daemon.client()?;
    let resumed = client.request(1, "thread/resume", &json!({ "threadId": id, "limit": 1 }))?;
    let last = resumed["latestSeq"].as_u64().context("no latestSeq")?;
    let operations = [
        (
            "resume near the end, ms",
            "resume near the end, MiB",
            "thread/resume",
            json!({ "threadId": id, "after": last - 100 }),
        ),
        ("read limit=1, ms", "read limit=1, MiB", "thread/read", read(1)),
        (
            "read of an older page, ms",
            "read of an older page, MiB",
            "thread/read",
            older,
        ),
    ];
    for (time, memory, method, params) in operations {
        let mut measured = Vec::new();
        for _ in 0..REPEATS {
            measured.push(timed(&daemon, &mut client, method, &params)?);
        }
        push(&mut figures, time, memory, measured);
    }
    fork(&daemon, &mut client, &id, turns, &mut figures)?;
    figures.push((
        "64 reads at once, MiB",
        "MiB",
        Some(256.0),
        many_reads(&daemon, &id)?,
    ));
    Ok(figures)
}

/// Measures a fork of the whole thread and of its first half, and a page of the fork.
fn fork(
    daemon: &Daemon,
    client: &mut Counter,
    id: &str,
    turns: u32,
    figures: &mut Vec<Figure>,
) -> anyhow::Result<()> {
    let (mut forks, mut pages) = (Vec::new(), Vec::new());
    for turn in [turns, turns / 2, turns / 3] {
        let begun = Instant::now();
        let params = json!({ "threadId": id, "turnId": format!("turn_{turn}") });
        let forked = client.request(3, "thread/fork", &params)?;
        forks.push((begun.elapsed().as_secs_f64() * 1000.0, 0.0));
        let params = json!({ "threadId": forked["thread"]["id"], "includeTurns": true, "limit": 20 });
        pages.push(timed(daemon, client, "thread/read", &params)?);
    }
    figures.push((
        "fork, ms",
        "ms",
        Some(1000.0),
        median(forks.iter().map(|(ms, _)| *ms).collect()),
    ));
    push(
        figures,
        "read of the fork's last page, ms",
        "read of the fork's last page, MiB",
        pages,
    );
    Ok(())
}

/// Sends many reads at once, and returns by how many MiB the daemon's memory grows.
fn many_reads(daemon: &Daemon, id: &str) -> anyhow::Result<f64> {
    let mut client = daemon.client()?;
    let before = daemon.rss()?;
    daemon.forget_peak()?;
    for request in 0..READERS {
        let params = json!({ "threadId": id, "includeTurns": true, "limit": 1000 });
        client.send(
            &json!({ "jsonrpc": "2.0", "id": request + 10, "method": "thread/read", "params": params }),
        )?;
    }
    let mut answers = 0;
    while answers < READERS {
        let frame = client.next()?;
        let message: Value = serde_json::from_slice(frame)?;
        if message["id"].is_u64() {
            anyhow::ensure!(message.get("error").is_none(), "{}", message["error"]);
            answers += 1;
        }
    }
    Ok(mib(daemon.peak()?.saturating_sub(before)))
}

/// Sends a request. Returns the milliseconds until its result, and by how many MiB the daemon's memory grew meanwhile.
fn timed(daemon: &Daemon, client: &mut Counter, method: &str, params: &Value) -> anyhow::Result<(f64, f64)> {
    let before = daemon.rss()?;
    daemon.forget_peak()?;
    let begun = Instant::now();
    client.request(2, method, params)?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    Ok((took, mib(daemon.peak()?.saturating_sub(before))))
}

fn push(figures: &mut Vec<Figure>, time: &'static str, memory: &'static str, measured: Vec<(f64, f64)>) {
    let (times, grown): (Vec<f64>, Vec<f64>) = measured.into_iter().unzip();
    figures.push((time, "ms", Some(100.0), median(times)));
    figures.push((memory, "MiB", Some(16.0), grown.into_iter().fold(0.0, f64::max)));
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn print_table(lines: &[Line], sizes: &[u64]) {
    print!("\n{:<36}", "");
    for size in sizes {
        print!("{size:>12}");
    }
    println!("{:>10}{:>10}", "growth", "bound");
    for line in lines {
        print!("{:<36}", line.name);
        for value in &line.values {
            print!("{value:>12.2}");
        }
        let (first, last) = (
            line.values[0].max(0.05),
            line.values[line.values.len() - 1].max(0.05),
        );
        let sizes = sizes[sizes.len() - 1] as f64 / sizes[0] as f64;
        let growth = (last / first).log(sizes);
        let bound = line
            .most
            .map_or_else(String::new, |most| format!("{most} {}", line.unit));
        let missed = line.most.is_some_and(|most| last > most);
        println!("{growth:>10.2}{bound:>12}{}", if missed { " MISSED" } else { "" });
    }
}
