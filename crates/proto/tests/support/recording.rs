//! Messages of real agents, from `fixtures/transcripts`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A recorded conversation between an agent and a client.
pub struct Recording {
    /// The lines, in order.
    pub lines: Vec<Line>,
}

/// A line of a recording.
pub struct Line {
    /// The time since the start of the recording.
    pub at: Duration,
    /// The number of the agent's process, starting at 1.
    pub process: u32,
    /// Whether the agent wrote the line.
    pub from_agent: bool,
    /// The exact text of the line.
    pub text: String,
    /// The parsed line; `null` if it is not JSON.
    pub json: Value,
}

#[derive(Deserialize)]
struct Stored<'a> {
    t: f64,
    proc: u32,
    dir: &'a str,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    raw: Option<String>,
}

impl Recording {
    /// Reads the recording of `agent`.
    pub fn read(agent: &str) -> Self {
        let path = format!(
            "{}/../../fixtures/transcripts/{agent}.jsonl",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let line = |line: &str| {
            let stored: Stored<'_> = serde_json::from_str(line).unwrap();
            let text = match (stored.msg, stored.raw) {
                (Some(message), _) => message.get().to_owned(),
                (None, Some(raw)) => raw,
                (None, None) => panic!("a line without msg and raw: {line}"),
            };
            Line {
                at: Duration::from_secs_f64(stored.t),
                process: stored.proc,
                from_agent: stored.dir == "a2c",
                json: serde_json::from_str(&text).unwrap_or_default(),
                text,
            }
        };
        Self {
            lines: text.lines().map(line).collect(),
        }
    }

    /// Returns the index of the response to the request at `at`.
    pub fn answer_to(&self, at: usize) -> Option<usize> {
        let request = &self.lines[at];
        let answers = |line: &Line| {
            line.process == request.process
                && line.from_agent != request.from_agent
                && line.method().is_none()
                && line.json["id"] == request.json["id"]
        };
        let after = self.lines[at..].iter().position(answers);
        after.map(|after| at + after)
    }
}

impl Line {
    /// Returns the method of a request or notification.
    pub fn method(&self) -> Option<&str> {
        self.json["method"].as_str()
    }

    /// Returns the session in the params.
    pub fn session(&self) -> Option<&str> {
        self.json["params"]["sessionId"].as_str()
    }

    /// Returns whether the line is a request.
    pub fn is_request(&self) -> bool {
        self.method().is_some() && self.json.get("id").is_some()
    }

    /// Returns the line with another id, and otherwise unchanged.
    pub fn with_id(&self, id: u64) -> String {
        #[derive(Deserialize)]
        struct Id<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
        }
        let old = serde_json::from_str::<Id<'_>>(&self.text).unwrap().id.get();
        let start = old.as_ptr() as usize - self.text.as_ptr() as usize;
        format!("{}{id}{}", &self.text[..start], &self.text[start + old.len()..])
    }
}
