//! Tool calls of 4 MB, as fast as the agent can send them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::probe::{mib, private_dir, start_thread, turn};
use super::table::{Figure, Table, bounded, free};
use crate::bench::{Binaries, Daemon};

/// Bytes of each call.
const BYTES: u64 = 4_000_000;

/// Time in which the daemon returns memory.
const SETTLED: Duration = Duration::from_secs(30);

/// Measures turns with different numbers of calls.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured("Tool calls of 4 MB in a turn", quick, [10, 100, 1000], |calls| {
        Ok((calls.to_string(), measure(binaries, calls)?))
    })
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn measure(binaries: &Binaries, calls: u64) -> anyhow::Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let data = private_dir(dir.path())?;
    let daemon = Daemon::start(binaries, &data)?;
    let mut client = daemon.client()?;
    let thread = start_thread(&mut client)?;
    turn(&mut client, &thread, "say ready")?;
    let idle = daemon.rss()?;
    daemon.forget_peak()?;
    let begun = Instant::now();
    let (_, received) = turn(
        &mut client,
        &thread,
        &format!("flood n={calls} bytes={BYTES} kind=call"),
    )?;
    let took = begun.elapsed();
    let peak = daemon.peak()?.saturating_sub(idle);
    while begun.elapsed() < took + SETTLED && daemon.rss()? > idle + (16 << 20) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let kept = daemon.rss()?.saturating_sub(idle);
    let stored = std::fs::metadata(data.join("log.db"))?.len();
    let mut items = 0;
    let mut cursor = json!(null);
    loop {
        let params = json!({ "threadId": thread, "includeTurns": true, "limit": 100, "cursor": cursor });
        let page = client.request(4, "thread/read", &params)?;
        let turns = page["thread"]["turns"].as_array().into_iter().flatten();
        let found = turns.flat_map(|turn| turn["items"].as_array().into_iter().flatten());
        items += found.filter(|item| item["type"] == "toolCall").count() as u64;
        cursor = page["thread"]["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    anyhow::ensure!(items == calls, "{items} of {calls} calls are stored");
    let content = (calls * BYTES) as f64;
    Ok(vec![
        free("MB stored in a second", content / 1e6 / took.as_secs_f64()),
        bounded("memory above idle, MiB", mib(peak), 256.0),
        bounded("the same 30 s later, MiB", mib(kept), 32.0),
        free("bytes to the client / content", received as f64 / content),
        free("bytes of the log / content", stored as f64 / content),
    ])
}
