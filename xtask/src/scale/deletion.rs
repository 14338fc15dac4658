//! Deletion in a large log, and the daemon's stop after it.

use std::path::Path;

use serde_json::json;

use super::probe::{Updates, private_dir, timed};
use super::stored::{self, Shape};
use super::table::{Figure, Table, bounded};
use crate::bench::{Binaries, Daemon};

/// Threads in the log. Three of them are deleted.
const THREADS: u32 = 10;

/// Measures logs of different sizes.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured("Deletion of 30 % of a log", quick, [100, 1_000, 10_000], |mib| {
        let dir = tempfile::tempdir()?;
        let data = private_dir(dir.path())?;
        let log = data.join("log.db");
        for number in 0..THREADS {
            let bytes = (mib << 20) / u64::from(THREADS);
            stored::thread(&log, stored::id(number), Shape::large(bytes))?;
        }
        let label = format!("{} MiB", std::fs::metadata(&log)?.len() >> 20);
        Ok((label, measure(binaries, &data)?))
    })
}

fn measure(binaries: &Binaries, data: &Path) -> anyhow::Result<Vec<Figure>> {
    let daemon = Daemon::start(binaries, data)?;
    let mut client = daemon.client()?;
    let updates = Updates::start(&daemon, 1000, 5)?;
    let mut answered: f64 = 0.0;
    for number in 0..2 {
        let params = json!({ "threadId": stored::id(number).to_string() });
        answered = answered.max(timed(&mut client, "thread/delete", &params)?);
    }
    let waits = updates.finish()?;
    let params = json!({ "threadId": stored::id(2).to_string() });
    timed(&mut client, "thread/delete", &params)?;
    let stopped = daemon.stop()?;
    Ok(vec![
        bounded("response to `thread/delete`, ms", answered, 100.0),
        bounded("another thread's update meanwhile, p99, ms", waits.p99, 50.0),
        bounded(
            "another thread's update meanwhile, longest, ms",
            waits.longest,
            50.0,
        ),
        bounded(
            "from SIGTERM to the end of the process, s",
            stopped.as_secs_f64(),
            3.0,
        ),
    ])
}
