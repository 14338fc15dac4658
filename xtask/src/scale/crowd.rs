//! A session with many tool calls, to which many clients connect at once.

use serde_json::json;

use super::probe::{Updates, mib, private_dir, start_thread, turn};
use super::table::{Figure, Table, bounded};
use crate::bench::{Binaries, Daemon};

/// Bytes that a page with many calls has at least.
const PAGE: u64 = 256 << 10;

/// Clients that resume the thread at once.
const CLIENTS: usize = 30;

/// Measures sessions with different numbers of tool calls.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured(
        "Tool calls in a session, then 30 clients resume at once",
        quick,
        [2_000, 20_000, 200_000],
        |calls| Ok((calls.to_string(), measure(binaries, calls)?)),
    )
}

fn measure(binaries: &Binaries, calls: u64) -> anyhow::Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &private_dir(dir.path())?)?;
    let mut client = daemon.client()?;
    let thread = start_thread(&mut client)?;
    turn(
        &mut client,
        &thread,
        &format!("flood n={calls} bytes=300 kind=call"),
    )?;
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| daemon.client())
        .collect::<anyhow::Result<_>>()?;
    // Without a limit: the newest turn is that of the updates, and small.
    let params = json!({ "threadId": thread });
    let resume = json!({ "jsonrpc": "2.0", "id": 5, "method": "thread/resume", "params": params });
    let before = daemon.rss()?;
    daemon.forget_peak()?;
    let updates = Updates::of(client, &thread, 200, 5)?;
    for client in &mut clients {
        client.send(&resume)?;
    }
    let (most, waits) = std::thread::scope(|scope| {
        let reading: Vec<_> = clients
            .into_iter()
            .map(|mut client| scope.spawn(move || client.bytes_until_answer(5)))
            .collect();
        let waits = updates.finish()?;
        let most = reading.into_iter().try_fold(0, |most, reader| {
            let read = reader
                .join()
                .map_err(|_| anyhow::anyhow!("a reader panicked"))??;
            anyhow::Ok(most.max(read))
        })?;
        anyhow::Ok((most, waits))
    })?;
    anyhow::ensure!(most > PAGE, "the page of {most} bytes lacks the calls");
    let grown = daemon.peak()?.saturating_sub(before);
    Ok(vec![
        bounded("longest wait of an update meanwhile, ms", waits.longest, 50.0),
        bounded("sent to a client for its resume, MiB", mib(most), 2.0),
        bounded("memory, MiB", mib(grown), 60.0),
    ])
}
