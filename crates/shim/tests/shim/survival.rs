//! A daemon is killed at any point, and each byte of the agent is stored once, and each line for it arrives once.
//!
//! The daemon of these tests is this program again. It stores output as a real one does: a record has the bytes and the cursor behind
//! them, and is there as a whole or not at all.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use acpd_shim::{Attached, Flushed, Moved, News, Pipes, Status};

use crate::support::{
    PATIENCE, TOKEN, connect, directory, shell, start, wait_for, wait_for_exit, wait_for_news,
};

/// Passes the directory to the daemon. Without it, the daemon's test does nothing.
const DIRECTORY: &str = "ACPD_TEST_ATTACH_IN";
/// Passes the number of records that the daemon stores at most before it waits to be killed.
const RECORDS: &str = "ACPD_TEST_RECORDS";
const KILLS: u64 = 40;
/// Records that a daemon may store while the test comes to kill it. However late that is, the output is not at its end after all
/// kills.
const MARGIN: u64 = 40;
const NUMBERS: u64 = 600_000;
const ANSWERS: u64 = 4_000;
/// Smaller than the output between two kills, so that it is passed many times.
const RING: u64 = 50_000;
/// Precedes the daemon's lines on stdout, which the test harness writes to as well.
const STORED: &str = "stored";

/// What a record stores beside the output.
#[derive(Debug, Clone, Copy, Default)]
struct Stored {
    /// Bytes of output that are stored.
    cursor: u64,
    /// The journal's end.
    mark: u64,
    /// Lines that the journal had up to there.
    sent: u64,
}

const HEADER: usize = 32;

impl Stored {
    fn record(self, output: &[u8]) -> Vec<u8> {
        let length = u64::try_from(output.len()).unwrap();
        let numbers = [self.cursor, self.mark, self.sent, length];
        let mut record: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        record.extend(output);
        record
    }

    /// Returns the last record, all output, and the length of whole records.
    fn read(path: &Path) -> (Self, Vec<u8>, usize) {
        let bytes = std::fs::read(path).unwrap_or_default();
        let mut last = Self::default();
        let mut output = Vec::new();
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + HEADER) {
            let number = |place: usize| u64::from_le_bytes(header[place * 8..][..8].try_into().unwrap());
            let length = usize::try_from(number(3)).unwrap();
            let Some(part) = bytes.get(at + HEADER..at + HEADER + length) else {
                break;
            };
            output.extend(part);
            last = Self {
                cursor: number(0),
                mark: number(1),
                sent: number(2),
            };
            at += HEADER + length;
        }
        (last, output, at)
    }
}

/// Returns a line for the agent. Some are longer than a pipe.
fn answer(number: u64) -> String {
    let filler = if number.is_multiple_of(500) {
        100_000
    } else {
        number % 90
    };
    format!("{number} {}\n", "x".repeat(usize::try_from(filler).unwrap()))
}

/// Counts the lines in the journal from this place on.
fn lines_from(attached: &Attached<Pipes>, mut from: u64) -> u64 {
    let journal = attached.streams().journal();
    let mut buffer = [0; 4096];
    let mut lines = 0;
    while from < journal.end() {
        let read = journal.read(from, &mut buffer).unwrap();
        let ends = buffer[..read].iter().filter(|byte| **byte == b'\n');
        lines += u64::try_from(ends.count()).unwrap();
        from += u64::try_from(read).unwrap();
    }
    lines
}

#[test]
fn daemon_works_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let path = directory.join("log");
    let (mut stored, _, length) = Stored::read(&path);
    let mut log = File::options().create(true).append(true).open(&path).unwrap();
    // Half a record of a daemon that was killed.
    log.set_len(u64::try_from(length).unwrap()).unwrap();
    let mut attached: Attached<Pipes> = connect(&directory, TOKEN, stored.cursor).unwrap();
    stored.sent += lines_from(&attached, stored.mark);
    let mut is_closed = false;
    let records: u64 = std::env::var(RECORDS).unwrap().parse().unwrap();
    for record in 0_u64.. {
        if record == records {
            loop {
                std::thread::park();
            }
        }
        while attached.receive().unwrap().is_some_and(|news| news != News::Lost) {}
        let moved = attached.fill().unwrap();
        let mut buffer = [0; 3000];
        let most = usize::try_from(stored.cursor % 2999).unwrap() + 1;
        let read = attached
            .streams()
            .read(stored.cursor, &mut buffer[..most])
            .unwrap();
        stored.cursor += u64::try_from(read).unwrap();
        for _ in 0..7 {
            if stored.sent < ANSWERS {
                stored.sent += 1;
                attached.append(answer(stored.sent).as_bytes()).unwrap();
            }
        }
        let flushed = attached.flush().unwrap();
        stored.mark = attached.streams().journal().end();
        log.write_all(&stored.record(&buffer[..read])).unwrap();
        attached.acknowledge(stored.cursor).unwrap();
        attached.forget(stored.mark).unwrap();
        writeln!(std::io::stdout().lock(), "\n{STORED} {}", stored.cursor).unwrap();
        if stored.sent == ANSWERS && flushed != Flushed::Blocked && !is_closed {
            attached.close_stdin().unwrap();
            is_closed = true;
        }
        if read > 0 || stored.sent < ANSWERS {
            continue;
        }
        match moved {
            Moved::Ended => return,
            Moved::Bytes(_) | Moved::Full => {}
            Moved::Nothing => {
                let streams = attached.streams();
                let input = streams.input().filter(|_| flushed == Flushed::Blocked);
                wait_for(&[streams.output(), attached.control()], input);
            }
        }
    }
}

/// Runs a daemon until it has stored `records` records, and some instructions more. Returns whether it has finished before, and not
/// by a failure.
fn kill_after(directory: &Path, records: u64, instructions: u64) -> bool {
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args([
            "survival::daemon_works_until_it_is_killed",
            "--exact",
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .env(RECORDS, records.saturating_add(MARGIN).to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    let mut count = 0;
    for line in lines.map_while(Result::ok) {
        if line.starts_with(STORED) {
            count += 1;
            if count == records {
                (0..instructions).for_each(|_| std::hint::spin_loop());
                daemon.kill().unwrap();
                break;
            }
        }
    }
    let status = daemon.wait().unwrap();
    let is_killed = status.signal() == Some(9);
    assert!(is_killed || status.success(), "the daemon failed: {status}");
    !is_killed
}

/// A sequence that is the same in every run.
fn next(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn each_byte_is_seen_once(copies: bool) {
    let here = directory();
    let script = format!("seq 1 {NUMBERS} & cat > \"$0\"; wait");
    let received = here.path().join("received");
    let mut program = shell(&script, received.to_str().unwrap(), RING);
    program.copies = copies;
    let (attached, mut shim) = start::<Pipes>(here.path(), &program).unwrap();
    drop(attached);
    let mut seed = 7;
    for kill in 0..KILLS {
        let (records, instructions) = (next(&mut seed) % 9 + 1, next(&mut seed) % 40_000);
        assert!(
            !kill_after(here.path(), records, instructions),
            "daemon {kill} finished before it was killed"
        );
    }
    assert!(kill_after(here.path(), u64::MAX, 0), "the last daemon finishes");
    let (stored, output, _) = Stored::read(&here.path().join("log"));
    let expected: String = (1..=NUMBERS).map(|number| format!("{number}\n")).collect();
    assert!(output == expected.as_bytes(), "output was lost or repeated");
    let mut attached: Attached<Pipes> = connect(here.path(), TOKEN, stored.cursor).unwrap();
    if attached.status().is_none() {
        wait_for_news(&mut attached, News::Exited(Status::Exited(0)));
    }
    assert_eq!(attached.status(), Some(Status::Exited(0)));
    let expected: String = (1..=ANSWERS).map(answer).collect();
    let received = std::fs::read(received).unwrap();
    assert!(received == expected.as_bytes(), "a line was lost or sent twice");
    attached.end(PATIENCE).unwrap();
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
}

#[test]
fn each_byte_is_seen_once_with_splice() {
    each_byte_is_seen_once(false);
}

#[test]
fn each_byte_is_seen_once_with_copies() {
    each_byte_is_seen_once(true);
}
