//! Clients that follow the same thread.

use serde_json::json;

use super::probe::{Updates, private_dir, start_thread, turn};
use super::table::{Figure, Table, bounded};
use crate::bench::{Binaries, Daemon, TURN_END};

/// Measures different numbers of clients.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured(
        "Clients that follow a thread",
        quick,
        [10, 100, 1000],
        |clients| Ok((clients.to_string(), measure(binaries, clients)?)),
    )
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn measure(binaries: &Binaries, count: u64) -> anyhow::Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &private_dir(dir.path())?)?;
    let mut first = daemon.client()?;
    let thread = start_thread(&mut first)?;
    turn(&mut first, &thread, "say ready")?;
    let before = daemon.rss()?;
    let mut clients = Vec::new();
    for _ in 1..count {
        let mut client = daemon.client()?;
        client.request(1, "thread/resume", &json!({ "threadId": thread, "limit": 1 }))?;
        clients.push(client);
    }
    let each = daemon.rss()?.saturating_sub(before) as f64 / 1024.0 / (count - 1) as f64;
    let waits = Updates::of(first, &thread, 100, 20)?.finish()?;
    for client in &mut clients {
        client.count_until(&[TURN_END])?;
    }
    Ok(vec![
        bounded("memory for each client, KiB", each, 64.0),
        bounded(
            "an update, from the agent to one of them, p99, ms",
            waits.p99,
            50.0,
        ),
    ])
}
