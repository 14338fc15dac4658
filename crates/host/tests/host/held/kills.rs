//! A daemon is killed at any point, and each byte of its agent is stored once, and each line for it arrives once.
//!
//! The daemon of this test is this program again. It stores output as a real one does: a record has the bytes and the cursor behind
//! them, and is there as a whole or not at all.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use acpd_host::{Hold, Shims};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Place, binary, stop};

/// Passes the data directory to the daemon. Without it, the daemon's test does nothing.
const DATA: &str = "ACPD_TEST_HELD_IN";
const KILLS: u64 = 30;
const NUMBERS: u64 = 1_000_000;
const ANSWERS: u64 = 4_000;
/// Precedes the daemon's lines on stdout, which the test harness writes to as well.
const STORED: &str = "stored";
const HEADER: usize = 32;

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
        let (mut last, mut output, mut at) = (Self::default(), Vec::new(), 0);
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
    let filler = if number.is_multiple_of(300) {
        100_000
    } else {
        number % 90
    };
    format!("{number} {}\n", "x".repeat(usize::try_from(filler).unwrap()))
}

#[tokio::test]
async fn daemon_works_until_it_is_killed() {
    let Some(data) = std::env::var_os(DATA).map(PathBuf::from) else {
        return;
    };
    let hold: Hold = serde_json::from_slice(&std::fs::read(data.join("hold")).unwrap()).unwrap();
    let path = data.join("log");
    let (mut stored, _, length) = Stored::read(&path);
    let mut log = File::options().create(true).append(true).open(&path).unwrap();
    // Half a record of a daemon that was killed.
    log.set_len(u64::try_from(length).unwrap()).unwrap();
    let shims = Shims::new(binary(), &data);
    let mut agent = shims.attach(&hold, stored.cursor).unwrap();
    let pipes = agent.process.pipes();
    let lines = pipes.sent_since(stored.mark).unwrap();
    let sent = lines.split_inclusive(|byte| *byte == b'\n').count();
    stored.sent += u64::try_from(sent).unwrap();
    let total = u64::try_from(expected_output().len()).unwrap();
    let mut buffer = [0; 3000];
    while stored.cursor < total || stored.sent < ANSWERS {
        let most = usize::try_from(stored.cursor % 2999).unwrap() + 1;
        let number = stored.sent + 1;
        let line = answer(number);
        let read = tokio::select! {
            read = agent.stdout.read(&mut buffer[..most]) => read.unwrap(),
            written = agent.stdin.write_all(line.as_bytes()), if number <= ANSWERS => {
                written.unwrap();
                stored.sent = number;
                continue;
            }
        };
        stored.cursor += u64::try_from(read).unwrap();
        stored.mark = pipes.journal_end();
        log.write_all(&stored.record(&buffer[..read])).unwrap();
        pipes.acknowledge(stored.cursor);
        pipes.forget(stored.mark);
        writeln!(std::io::stdout().lock(), "\n{STORED} {}", stored.cursor).unwrap();
    }
    agent.process.leave(Duration::from_mins(10));
}

fn expected_output() -> String {
    (1..=NUMBERS).map(|number| format!("{number}\n")).collect()
}

/// Runs a daemon until it has stored `records` records, and some instructions more. Returns whether it has finished before, and not
/// by a failure.
fn kill_after(data: &Path, records: u64, instructions: u64) -> bool {
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args([
            "held::kills::daemon_works_until_it_is_killed",
            "--exact",
            "--nocapture",
        ])
        .env(DATA, data)
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

async fn each_byte_is_seen_once(copies: bool) {
    let place = Place::with_copies(copies);
    // Smaller than the output, so that it is passed some times.
    place.shims.set_longest_line(0);
    let data = place.data.path().to_owned();
    let script = format!("seq 1 {NUMBERS} & cat > received; wait");
    let (agent, hold) = place.start(&script, "");
    std::fs::write(data.join("hold"), serde_json::to_vec(&hold).unwrap()).unwrap();
    agent.process.leave(Duration::from_mins(10));
    let mut seed = 7;
    let mut kills = 0;
    while kills < KILLS {
        let (records, instructions) = (next(&mut seed) % 9 + 1, next(&mut seed) % 40_000);
        if kill_after(&data, records, instructions) {
            break;
        }
        kills += 1;
    }
    assert!(
        kills >= KILLS / 2,
        "only {kills} daemons were killed while the agent worked"
    );
    if kills == KILLS {
        assert!(kill_after(&data, u64::MAX, 0), "the last daemon finishes");
    }
    let (stored, output, _) = Stored::read(&data.join("log"));
    assert!(
        output == expected_output().as_bytes(),
        "output was lost or repeated"
    );
    let exit = stop(place.shims.attach(&hold, stored.cursor).unwrap()).await;
    assert_eq!(exit.reason, "the agent exited with code 0");
    let expected: String = (1..=ANSWERS).map(answer).collect();
    let received = std::fs::read(data.join("received")).unwrap();
    assert!(received == expected.as_bytes(), "a line was lost or sent twice");
}

#[tokio::test]
async fn each_byte_is_seen_once_with_splice() {
    each_byte_is_seen_once(false).await;
}

#[tokio::test]
async fn each_byte_is_seen_once_with_copies() {
    each_byte_is_seen_once(true).await;
}
