//! Acknowledged appends survive SIGKILL.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use acpd_log::conformance::{read_all, sample};
use acpd_log::{Durability, LogError, SharedLog, Sqlite};
use acpd_model::{Event, Seq};

const ROUNDS: usize = 20;
const THREADS: u64 = 3;

/// Passes the database's path to the child. Without it, the child's test does nothing.
const DATABASE: &str = "ACPD_TEST_APPEND_TO";

/// Precedes each acknowledgement on the child's stdout, which the test harness writes to as well.
const ACKNOWLEDGED: &str = "acknowledged";

fn open(path: &Path) -> SharedLog {
    Arc::new(Sqlite::open(path, Durability::Process).unwrap())
}

/// Returns events that any process can recompute from their numbers. One in a hundred fills several pages of the
/// database.
fn events(seqs: RangeInclusive<Seq>) -> Vec<Event> {
    let bytes = |seq| if seq % 100 == 0 { 20_000 } else { 40 };
    seqs.map(|seq| sample::event(seq, bytes(seq))).collect()
}

async fn last(log: &SharedLog, thread: u64) -> Seq {
    match log.last_seq(sample::thread(thread)).await {
        Ok(last) => last,
        Err(LogError::NoSuchThread(_)) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Appends to one thread forever.
async fn append_on(log: SharedLog, thread: u64) {
    let mut last = last(&log, thread).await;
    loop {
        let next = last + 1 + last % 7;
        let summary = sample::summary(&format!("{next}"), next.cast_signed());
        let summary = (last % 5 == 0).then_some(&summary);
        log.append(sample::thread(thread), &events(last + 1..=next), summary)
            .await
            .unwrap();
        writeln!(std::io::stdout().lock(), "\n{ACKNOWLEDGED} {thread} {next}").unwrap();
        last = next;
    }
}

#[tokio::test]
async fn child_appends_until_it_is_killed() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let log = open(&PathBuf::from(path));
    let appending = (0..THREADS).map(|thread| tokio::spawn(append_on(Arc::clone(&log), thread)));
    for appending in appending.collect::<Vec<_>>() {
        appending.await.unwrap();
    }
}

/// Runs the child until it has acknowledged `appends` appends. Returns the last acknowledged number of each thread.
fn kill_after(path: &Path, appends: usize) -> Vec<Seq> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child_appends_until_it_is_killed", "--exact", "--nocapture"])
        .env(DATABASE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = vec![0; THREADS.try_into().unwrap()];
    let mut count = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while lines.read_line(&mut line).unwrap() > 0 {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ([ACKNOWLEDGED, thread, seq], true) = (words.as_slice(), line.ends_with('\n')) {
            acknowledged[thread.parse::<usize>().unwrap()] = seq.parse().unwrap();
            count += 1;
            if count == appends {
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    assert!(count >= appends, "the child ended by itself");
    child.wait().unwrap();
    acknowledged
}

#[tokio::test]
async fn acknowledged_events_survive_sigkill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let mut before = vec![0; THREADS.try_into().unwrap()];
    for round in 0..ROUNDS {
        let acknowledged = kill_after(&path, 1 + round * 37 % 150);
        let log = open(&path);
        for (thread, acknowledged) in (0..).zip(acknowledged) {
            let at = usize::try_from(thread).unwrap();
            let last = last(&log, thread).await;
            assert!(last >= acknowledged, "round {round}: {last} of {acknowledged}");
            assert!(last >= before[at], "round {round}: an earlier round is lost");
            if last > 0 {
                let stored = read_all(&log, sample::thread(thread), 0).await;
                assert_eq!(stored, events(1..=last), "round {round}");
            }
            before[at] = last;
        }
        log.close().await.unwrap();
    }
    assert!(before.iter().all(|last| *last > 0), "{before:?}");
}
