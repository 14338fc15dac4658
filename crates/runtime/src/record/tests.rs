//! Recordings, read back from their files.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::pipe::{RecordedReader, RecordedWriter};
use super::*;

/// A directory for a recording.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("wire")
    }

    fn start(&self, bounds: Bounds) -> (WireRecorder, RecordThread) {
        WireRecorder::with_bounds(&self.path(), bounds).unwrap()
    }

    /// Returns the lines of the file whose name begins like this.
    fn lines(&self, name: &str) -> Vec<Value> {
        let entries = self.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let is_it = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(name);
        let found: Vec<_> = entries.filter(is_it).collect();
        let [path] = &found[..] else {
            panic!("one file {name}: {found:?}")
        };
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

const SMALL: Bounds = Bounds {
    queue: 10_000,
    file: 1_000,
    total: 5_000,
};

fn parts(lines: &[Value]) -> Vec<(&str, Value)> {
    let of = |line| -> (&str, Value) {
        let line: &Value = line;
        let content = line.get("msg").unwrap_or(&line["raw"]);
        (line["dir"].as_str().unwrap(), content.clone())
    };
    lines.iter().map(of).collect()
}

#[test]
fn files_are_closed_to_others_and_so_is_their_directory() {
    let place = Place::new();
    let (wire, thread) = place.start(BOUNDS);
    drop(wire.agent("../odd name/\u{1f600}"));
    drop(wire);
    thread.finish();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.path()), 0o700);
    let files: Vec<_> = place
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    assert_eq!(files.len(), 1);
    assert_eq!(mode(&files[0].path()), 0o600);
    let name = files[0].file_name().into_string().unwrap();
    assert!(name.starts_with("agent-.._odd_name__-"), "{name}");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(
        WireRecorder::start(&place.path()).is_err(),
        "others could read it"
    );
}

#[tokio::test]
async fn the_lines_of_an_agent_are_recorded_however_they_arrive() {
    let place = Place::new();
    let (wire, thread) = place.start(BOUNDS);
    let recording = Arc::new(wire.agent("fake"));
    let (ours, mut theirs) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(ours);
    let mut reader = RecordedReader {
        reader: Box::new(reader),
        recording: Arc::clone(&recording),
    };
    let mut writer = RecordedWriter {
        writer: Box::new(writer),
        recording,
    };
    for part in [
        "{\"id\":",
        "1}\n{\"n\": 1.10}\r\nno JSON\n{\"token\":\"s\"}",
        "\nunfinished",
    ] {
        theirs.write_all(part.as_bytes()).await.unwrap();
        let mut read = vec![0; part.len()];
        reader.read_exact(&mut read).await.unwrap();
        assert_eq!(read, part.as_bytes());
    }
    writer.write_all(b"{\"method\":\"x\"}\n").await.unwrap();
    drop((reader, writer, wire));
    thread.finish();
    let lines = place.lines("agent-fake-");
    assert_eq!(
        parts(&lines),
        [
            ("a2c", json!({ "id": 1 })),
            ("a2c", json!({ "n": 1.10 })),
            ("a2c", json!("no JSON")),
            ("a2c", json!({ "token": "[redacted]" })),
            ("c2a", json!({ "method": "x" })),
        ]
    );
    assert!(lines.iter().all(|line| line["proc"] == 1 && line["t"].is_f64()));
}

#[test]
fn messages_of_clients_are_recorded_whole() {
    let place = Place::new();
    let (wire, thread) = place.start(BOUNDS);
    let recording = wire.client("app");
    recording.text(Direction::FromClient, "{\n\"id\": 1}");
    recording.message(Direction::ToClient, &Bytes::from_static(b"{\"result\":{}}"));
    drop((recording, wire));
    thread.finish();
    let lines = place.lines("client-app-");
    let expected = [("c2s", json!({ "id": 1 })), ("s2c", json!({ "result": {} }))];
    assert_eq!(parts(&lines), expected);
}

#[test]
fn omitted_records_are_marked() {
    let place = Place::new();
    let (wire, thread) = place.start(SMALL);
    let recording = wire.agent("fake");
    recording.part(Direction::FromAgent, b"{\"be");
    // Larger than the queue.
    recording.part(Direction::FromAgent, &vec![b'x'; SMALL.queue + 1]);
    // The rest of the line, of which the middle is missing, and the next one.
    recording.part(Direction::FromAgent, b"end\":1}\n{\"next\":1}\n");
    recording.part(Direction::FromAgent, &vec![b'x'; SMALL.queue + 1]);
    drop((recording, wire));
    thread.finish();
    let lines = place.lines("agent-");
    let [first, next, last] = &lines[..] else {
        panic!("{lines:?}")
    };
    for mark in [first, last] {
        assert_eq!(
            (&mark["dir"], &mark["proc"]),
            (&json!("mark"), &json!(0)),
            "{mark}"
        );
        assert!(
            mark["raw"]
                .as_str()
                .unwrap()
                .starts_with("1 messages or parts of lines are missing")
        );
    }
    assert_eq!(next["msg"], json!({ "next": 1 }));
}

#[test]
fn a_file_and_all_files_have_a_bound() {
    let place = Place::new();
    let (wire, thread) = place.start(SMALL);
    let text = json!("x".repeat(100)).to_string();
    let first = wire.client("first");
    for _ in 0..50 {
        first.text(Direction::FromClient, &text);
        while wire.0.waiting.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
    }
    for number in 0..10 {
        let other = wire.client(&format!("other{number}"));
        for _ in 0..8 {
            other.text(Direction::FromClient, &text);
            while wire.0.waiting.load(Ordering::Relaxed) > 0 {
                std::thread::yield_now();
            }
        }
    }
    drop((first, wire));
    thread.finish();
    let lines = place.lines("client-first-");
    assert!(lines.len() < 12, "{}", lines.len());
    let last = lines.last().unwrap()["raw"].as_str().unwrap();
    assert!(
        last.starts_with("nothing more is recorded: the limit of 1000 bytes"),
        "{last}"
    );
    let size = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().metadata().unwrap().len();
    let total: u64 = place.path().read_dir().unwrap().map(size).sum();
    assert!(total < SMALL.total + 1_000, "{total}");
}

/// The directory is removed while the daemon records.
#[test]
fn a_disk_that_fails_stops_the_recording_and_nothing_else() {
    let place = Place::new();
    let (wire, thread) = place.start(BOUNDS);
    std::fs::remove_dir_all(place.path()).unwrap();
    let recording = wire.agent("fake");
    recording.part(Direction::FromAgent, b"{}\n");
    while !wire.0.has_stopped.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    recording.part(Direction::FromAgent, b"{}\n");
    drop((recording, wire));
    thread.finish();
    assert!(!place.path().exists());
}
