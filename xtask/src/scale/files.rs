//! New files of 6 KB in one turn: the turn's diff contains all of them.

use super::probe::{private_dir, start_thread, turn};
use super::table::{Figure, Table, bounded};
use crate::bench::{Binaries, Daemon};

/// Bytes of each file.
const BYTES: u64 = 6000;

/// Measures turns with different numbers of files.
pub fn run(binaries: &Binaries, quick: bool) -> anyhow::Result<Table> {
    Table::measured("New files of 6 KB in a turn", quick, [40, 400, 4000], |files| {
        Ok((files.to_string(), measure(binaries, files)?))
    })
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn measure(binaries: &Binaries, files: u64) -> anyhow::Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let data = private_dir(dir.path())?;
    let daemon = Daemon::start(binaries, &data)?;
    let mut client = daemon.client()?;
    let thread = start_thread(&mut client)?;
    turn(&mut client, &thread, "say ready")?;
    let text = format!("files n={files} bytes={BYTES} ms=5 by=tool");
    let (_, received) = turn(&mut client, &thread, &text)?;
    daemon.stop()?;
    let stored = std::fs::metadata(data.join("log.db"))?.len();
    let content = (files * BYTES) as f64;
    Ok(vec![
        bounded("bytes of the log / files", stored as f64 / content, 4.0),
        bounded("bytes to a client / files", received as f64 / content, 6.0),
    ])
}
