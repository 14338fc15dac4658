//! The recorded logs of `fixtures/logs`: a log that an older acpd wrote, and what that acpd answered about it.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::{Client, Daemon, Place, acpd};

/// A recorded log, and the answers of the acpd that wrote it.
pub struct Recording {
    directory: PathBuf,
    answers: Value,
}

impl Recording {
    /// Reads the recording of the database's version.
    pub fn of(version: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs");
        let directory = fixtures.join(version);
        let answers = unpacked(&directory.join("answers.json.gz"));
        let answers = serde_json::from_slice(&answers).expect("the answers are JSON");
        Self { directory, answers }
    }

    /// Creates a place whose data directory has the log, and whose agent knows its sessions.
    pub fn place(&self) -> Place {
        let place = Place::without_sandbox("");
        place.make_data();
        for name in ["log.db", "log.db-wal"] {
            let packed = self.directory.join(format!("{name}.gz"));
            std::fs::write(place.data().join(name), unpacked(&packed)).expect("it can be written");
        }
        let sessions = place.home().join("sessions");
        for (name, text) in self.answers["sessions"].as_object().expect("it has sessions") {
            std::fs::write(sessions.join(name), text.as_str().expect("a text")).expect("it can be written");
        }
        place
    }

    /// Returns the time at which the recorded daemon was killed.
    fn killed_at(&self) -> u64 {
        self.answers["killedAt"].as_u64().expect("it was killed")
    }

    /// Asks the daemon all that the older one was asked, once the turns that it continues are over, and checks its answers.
    /// `adapt` makes the intended differences of an answer equal.
    pub fn check(&self, daemon: &Daemon, adapt: impl Fn(&mut Value)) {
        self.check_if(daemon, |_| true, adapt);
    }

    /// Checks the same after kills of the daemon. What it does with the interrupted thread then differs from run to run, so
    /// only its events before the recorded kill are checked.
    pub fn check_after_kills(&self, daemon: &Daemon, adapt: impl Fn(&mut Value)) {
        let first = &self.answers["answers"][0]["result"]["data"][0];
        assert_eq!(first["name"], "in the middle of a turn");
        let interrupted = first["id"].as_str().expect("it has an id");
        let is_of_others = |question: &str| !question.contains(interrupted) || question.contains("jsonl");
        self.check_if(daemon, is_of_others, |answer| {
            self.forget_later_lines(answer);
            forget_entries(answer, interrupted);
            adapt(answer);
        });
    }

    fn check_if(&self, daemon: &Daemon, is_asked: impl Fn(&str) -> bool, adapt: impl Fn(&mut Value)) {
        let mut client = Client::new(daemon);
        client.call("thread/list/watch", &json!({}));
        let running = json!({ "status": "running" });
        while client.call("thread/list", &running)["data"] != json!([]) {
            client.wait_for("thread/list/changed");
        }
        let mut differences = Vec::new();
        let answers = self.answers["answers"].as_array().expect("a list").iter();
        let asked = answers.map(|recorded| (recorded, question(recorded)));
        for (number, (recorded, (question, mut expected))) in asked.enumerate() {
            if !is_asked(&question) {
                continue;
            }
            // A connection may send 60 requests in 10 s.
            if number % 5 == 0 {
                client = Client::new(daemon);
            }
            let mut answer = ask(daemon, &mut client, recorded);
            for value in [&mut expected, &mut answer] {
                adapt(value);
                self.forget_later_times(value);
            }
            if let Some(differs) = difference("", &expected, &answer) {
                differences.push(format!("{question}: {differs}"));
            }
        }
        assert!(
            differences.is_empty(),
            "the older acpd answered otherwise:\n{}",
            differences.join("\n")
        );
    }

    /// Removes the lines of an export that are of events after the daemon was killed.
    fn forget_later_lines(&self, answer: &mut Value) {
        if let Value::Array(lines) = answer {
            let is_later = |line: &Value| line["ts"].as_u64().is_some_and(|ts| ts >= self.killed_at());
            lines.retain(|line| line.get("type").is_none() || !is_later(line));
        }
    }

    /// Replaces times after the daemon was killed, which differ from run to run.
    fn forget_later_times(&self, value: &mut Value) {
        match value {
            Value::Number(number) => {
                let is_later = number.as_u64().is_some_and(|number| number >= self.killed_at());
                if is_later {
                    *value = json!("later");
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.forget_later_times(value)),
            Value::Object(members) => {
                let ts = members.get("ts").and_then(Value::as_u64);
                if ts.is_some_and(|ts| ts >= self.killed_at()) && members.contains_key("time") {
                    members.insert("time".to_owned(), json!("later"));
                }
                members
                    .values_mut()
                    .for_each(|value| self.forget_later_times(value));
            }
            _ => {}
        }
    }
}

/// Removes the entries of lists that are about a thread. Lines of exports stay.
fn forget_entries(value: &mut Value, thread: &str) {
    match value {
        Value::Array(list) => {
            list.retain(|entry| {
                let is_line = entry.get("type").is_some();
                is_line || (entry["id"] != thread && entry["threadId"] != thread)
            });
            for entry in list {
                forget_entries(entry, thread);
            }
        }
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| forget_entries(value, thread)),
        _ => {}
    }
}

/// Returns the question of a recorded answer, and the answer alone.
fn question(recorded: &Value) -> (String, Value) {
    let answer = ["result", "pages", "text", "events"]
        .iter()
        .find_map(|member| recorded.get(member))
        .expect("it has an answer");
    let question = ["method", "get", "resume"]
        .iter()
        .find_map(|member| recorded[member].as_str())
        .expect("it has a question");
    let answer = match recorded["get"].as_str() {
        Some(path) => exported(path, answer.as_str().expect("a text")),
        None => answer.clone(),
    };
    (format!("{question} {}", recorded["params"]), answer)
}

/// Asks a recorded question again.
fn ask(daemon: &Daemon, client: &mut Client, recorded: &Value) -> Value {
    if let Some(path) = recorded["get"].as_str() {
        let (thread, format) = export_of(path);
        let written = acpd(&daemon.place, &["export", thread, "--format", format]);
        assert_eq!(written.code, Some(0), "{path}: {}", written.stderr);
        return exported(path, &written.stdout);
    }
    if let Some(thread) = recorded["resume"].as_str() {
        let latest = client.call("thread/read", &json!({ "threadId": thread }));
        let latest = latest["thread"]["latestSeq"].as_u64().expect("it has events");
        client.resume(thread, 0);
        let events = client.until(|message| !message.is_live() && message.params["seq"] == latest);
        return events
            .iter()
            .filter(|event| event.params["threadId"] == thread && !event.is_live())
            .map(|event| json!({ "jsonrpc": "2.0", "method": event.method, "params": event.params }))
            .collect();
    }
    let (method, mut params) = (
        recorded["method"].as_str().expect("a method"),
        recorded["params"].clone(),
    );
    if recorded.get("pages").is_none() {
        return client.call(method, &params);
    }
    let mut pages = Vec::new();
    loop {
        let page = client.call(method, &params);
        let cursor = [&page["nextCursor"], &page["thread"]["cursor"]]
            .into_iter()
            .find(|cursor| cursor.is_string())
            .cloned();
        pages.push(page);
        match cursor {
            Some(cursor) => params["cursor"] = cursor,
            None => return Value::Array(pages),
        }
    }
}

/// Returns the thread and the format in an export's path.
fn export_of(path: &str) -> (&str, &str) {
    let path = path.strip_prefix("/api/threads/").expect("an export");
    path.split_once("/export?format=").expect("an export")
}

/// Returns an export as JSON: its lines parsed, or what was said in a Markdown document. The rest of documents is for
/// readers, and each version writes it in its own way.
fn exported(path: &str, text: &str) -> Value {
    let (_, format) = export_of(path);
    let lines = text.lines();
    match format {
        "jsonl" => lines
            .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
            .collect(),
        "md" => lines
            .filter(|line| line.starts_with("> "))
            .map(Value::from)
            .collect(),
        _ => json!([]),
    }
}

/// Returns the first difference between two values, with its place.
fn difference(place: &str, expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::Object(before), Value::Object(after)) => before
            .keys()
            .chain(after.keys())
            .find_map(|key| difference(&format!("{place}.{key}"), &expected[key], &found[key])),
        (Value::Array(before), Value::Array(after)) => (0..before.len().max(after.len())).find_map(|at| {
            let one = |list: &[Value]| list.get(at).cloned().unwrap_or_else(|| json!("(missing)"));
            difference(&format!("{place}[{at}]"), &one(before), &one(after))
        }),
        _ if expected == found => None,
        _ => Some(format!("{place} was {expected} and is {found}")),
    }
}

fn unpacked(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut content = Vec::new();
    GzDecoder::new(file)
        .read_to_end(&mut content)
        .expect("it is compressed");
    content
}
