//! One long thread: how it is loaded, resumed, read and forked.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use super::probe::{self, Updates, median, mib, private_dir};
use super::stored::{self, Shape};
use super::table::{Figure, Table, bounded, free};
use crate::bench::{Binaries, Counter, Daemon};

/// Repetitions of each operation. The median time and the highest memory count.
const REPEATS: usize = 5;

/// Concurrent reads of the thread.
const READERS: u64 = 64;

/// Measures threads of different lengths.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured(
        "A thread of events",
        quick,
        [10_000, 100_000, 1_000_000],
        |events| {
            let dir = tempfile::tempdir()?;
            let data = private_dir(dir.path())?;
            let log = data.join("log.db");
            let turns = stored::thread(&log, stored::LONG, Shape::usual(events))?;
            let label = format!("{events}, {} MiB", std::fs::metadata(&log)?.len() >> 20);
            Ok((label, measure(binaries, &data, turns)?))
        },
    )
}

fn measure(binaries: &Binaries, data: &Path, turns: u32) -> anyhow::Result<Vec<Figure>> {
    let id = stored::LONG.to_string();
    let mut figures = Vec::new();
    let mut first = Vec::new();
    for _ in 0..REPEATS {
        // A new daemon has loaded nothing.
        let daemon = Daemon::start(binaries, data)?;
        let mut client = daemon.client()?;
        let resume = json!({ "threadId": id, "limit": 1 });
        first.push(timed(&daemon, &mut client, "thread/resume", &resume)?);
    }
    push(&mut figures, ["first touch, ms", "first touch, MiB"], first);

    let daemon = Daemon::start(binaries, data)?;
    let mut client = daemon.client()?;
    let resumed = client.request(1, "thread/resume", &json!({ "threadId": id, "limit": 1 }))?;
    let last = resumed["latestSeq"].as_u64().context("no latestSeq")?;
    let read = |cursor: Option<String>, limit: u32| json!({ "threadId": id, "includeTurns": true, "limit": limit, "cursor": cursor });
    let operations = [
        (
            ["resume near the end, ms", "resume near the end, MiB"],
            "thread/resume",
            json!({ "threadId": id, "after": last - 100 }),
        ),
        (
            [
                "`thread/read` with `limit` 1, ms",
                "`thread/read` with `limit` 1, MiB",
            ],
            "thread/read",
            read(None, 1),
        ),
        (
            ["read of an older page, ms", "read of an older page, MiB"],
            "thread/read",
            read(Some((turns / 2).to_string()), 20),
        ),
    ];
    for (names, method, params) in operations {
        let measured = (0..REPEATS).map(|_| timed(&daemon, &mut client, method, &params));
        push(&mut figures, names, measured.collect::<anyhow::Result<_>>()?);
    }
    many_reads(&daemon, &mut figures)?;
    fork(&daemon, &mut client, turns, &mut figures)?;
    let waits = Updates::start(&daemon, 500, 5)?.finish()?;
    let name = "another thread's update while forks are indexed, p99, ms";
    figures.push(bounded(name, waits.p99, 50.0));
    Ok(figures)
}

/// Measures a fork of the whole thread and of parts of it, and a page of the fork.
fn fork(daemon: &Daemon, client: &mut Counter, turns: u32, figures: &mut Vec<Figure>) -> anyhow::Result<()> {
    let (mut forks, mut pages) = (Vec::new(), Vec::new());
    for turn in [turns, turns / 2, turns / 3] {
        let begun = Instant::now();
        let params = json!({ "threadId": stored::LONG.to_string(), "turnId": format!("turn_{turn}") });
        let forked = client.request(3, "thread/fork", &params)?;
        forks.push(begun.elapsed().as_secs_f64() * 1000.0);
        let params = json!({ "threadId": forked["thread"]["id"], "includeTurns": true, "limit": 20 });
        pages.push(timed(daemon, client, "thread/read", &params)?);
    }
    figures.push(bounded("fork, ms", median(forks), 1000.0));
    push(
        figures,
        [
            "read of the fork's last page, ms",
            "read of the fork's last page, MiB",
        ],
        pages,
    );
    Ok(())
}

/// Measures many reads at once, each of which continues page by page, and the updates of another thread meanwhile.
fn many_reads(daemon: &Daemon, figures: &mut Vec<Figure>) -> anyhow::Result<()> {
    let updates = Updates::start(daemon, 500, 5)?;
    let mut client = daemon.client()?;
    let done = AtomicBool::new(false);
    let before = daemon.rss()?;
    daemon.forget_peak()?;
    let begun = Instant::now();
    let (waits, pages) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| read_pages(&mut client, &done));
        let waits = updates.finish();
        done.store(true, Ordering::Relaxed);
        (waits, reading.join())
    });
    let pages = pages.map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    anyhow::ensure!(pages >= READERS, "only {pages} pages were read meanwhile");
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let per_second = pages as f64 / begun.elapsed().as_secs_f64();
    let grown = daemon.peak()?.saturating_sub(before);
    figures.push(free("pages read in a second by 64 reads at once", per_second));
    figures.push(bounded("64 reads at once, MiB", mib(grown), 256.0));
    figures.push(bounded(
        "another thread's update meanwhile, p99, ms",
        waits?.p99,
        20.0,
    ));
    Ok(())
}

/// Keeps [`READERS`] reads going until `done`. Returns how many pages were read.
fn read_pages(client: &mut Counter, done: &AtomicBool) -> anyhow::Result<u64> {
    let id = stored::LONG.to_string();
    let send = |client: &mut Counter, number: u64, cursor: Option<String>| {
        let params = json!({ "threadId": id, "includeTurns": true, "limit": 1000, "cursor": cursor });
        client.send(&json!({ "jsonrpc": "2.0", "id": number, "method": "thread/read", "params": params }))
    };
    for number in 0..READERS {
        send(client, number + 10, None)?;
    }
    let (mut pages, mut open) = (0, READERS);
    while open > 0 {
        let frame = client.next()?;
        let Some(number) = answered(frame) else {
            continue;
        };
        let cursor = text_after(frame, b"\"cursor\":");
        pages += 1;
        if done.load(Ordering::Relaxed) {
            open -= 1;
        } else {
            send(client, number, cursor)?;
        }
    }
    Ok(pages)
}

/// Returns the id of the request that a frame answers. A client that parsed whole pages would take more time than the
/// daemon.
fn answered(frame: &[u8]) -> Option<u64> {
    let rest = frame.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

/// Returns the string after the last occurrence of a key.
fn text_after(frame: &[u8], key: &[u8]) -> Option<String> {
    let at = memchr::memmem::rfind(frame, key)? + key.len();
    let text = frame[at..].strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', text)?;
    String::from_utf8(text[..end].to_vec()).ok()
}

/// Sends a request. Returns the milliseconds until its result, and by how many MiB the daemon's memory grew meanwhile.
fn timed(daemon: &Daemon, client: &mut Counter, method: &str, params: &Value) -> anyhow::Result<(f64, f64)> {
    let before = daemon.rss()?;
    daemon.forget_peak()?;
    let took = probe::timed(client, method, params)?;
    Ok((took, mib(daemon.peak()?.saturating_sub(before))))
}

fn push(figures: &mut Vec<Figure>, [time, memory]: [&'static str; 2], measured: Vec<(f64, f64)>) {
    let (times, grown): (Vec<f64>, Vec<f64>) = measured.into_iter().unzip();
    figures.push(bounded(time, median(times), 100.0));
    figures.push(bounded(memory, grown.into_iter().fold(0.0, f64::max), 16.0));
}
