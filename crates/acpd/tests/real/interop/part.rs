//! The part that each program plays: its instructions, and the expected results.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::trace::Trace;
use crate::support::Daemon;

/// The transport between an editor and the daemon.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `acpd acp`.
    Stdio,
    /// `/acp`, upgraded to a WebSocket.
    WebSocket,
    /// `/acp`, with posted messages and event streams.
    Http,
}

impl Way {
    /// Returns the instructions for a program to use this transport; `command` starts `acpd acp`.
    pub fn told(self, daemon: &Daemon, agent: &str, command: &[String]) -> Value {
        let (way, scheme) = match self {
            Self::Stdio => ("stdio", ""),
            Self::WebSocket => ("websocket", "ws"),
            Self::Http => ("http", "http"),
        };
        json!({
            "way": way,
            "command": command,
            "url": format!("{scheme}://{}/acp?agent={agent}", daemon.address()),
            "token": daemon.place.token().trim(),
        })
    }
}

/// The text that the agent writes.
pub const TEXT: &str = "one two";

/// The delegated requests that an editor with files and terminals receives.
pub const LENT: [&str; 6] = [
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/release",
    "terminal/wait_for_exit",
];

/// The output of `echo hello` in an editor's terminal.
const OUTPUT: &str = "hello\n";

/// Length of a text in one chunk; longer than the read buffer of many programs.
const LONG_BYTES: usize = 100_000;

/// A prompt, the user's actions meanwhile, and the expected end.
struct Turn {
    name: &'static str,
    prompt: String,
    /// The kind of the option that the user chooses.
    answer: Option<&'static str>,
    /// The agent's message at which the user cancels.
    cancel_at: Option<&'static str>,
    said: String,
    stop_reason: &'static str,
}

/// The instructions for a client, with the expected results.
pub struct Part {
    way: Way,
    lend: bool,
    work: PathBuf,
    turns: Vec<Turn>,
}

fn turn(name: &'static str, prompt: impl Into<String>, said: impl Into<String>) -> Turn {
    Turn {
        name,
        prompt: prompt.into(),
        answer: None,
        cancel_at: None,
        said: said.into(),
        stop_reason: "end_turn",
    }
}

impl Part {
    /// Creates a part for a client of `daemon`; with `lend` it declares that it serves files and terminals.
    pub fn new(daemon: &Daemon, way: Way, lend: bool) -> Self {
        let work = daemon.place.work();
        let file = work.join("notes.txt").display().to_string();
        let ask = |name, answer, said: &str| Turn {
            answer: Some(answer),
            ..turn(name, "permission kind=execute command=make", said)
        };
        let tools =
            "say hello; tool kind=edit id=t1 title=Edit path=a.txt; plan; think n=2; usage; image; say done";
        let files = format!("write path={file} text='{TEXT}'; read path={file}");
        let turns = vec![
            turn("tools", tools, "hellodone"),
            turn(
                "long",
                format!("longline bytes={LONG_BYTES}"),
                "x".repeat(LONG_BYTES),
            ),
            ask("allowed", "allow_once", "allowed (allow_once)"),
            ask("rejected", "reject_once", "rejected (reject_once)"),
            turn("files", files, "wrote 7 bytesread 7 bytes: one two"),
            turn("terminal", "terminal echo hello", "exit 0: hello"),
            Turn {
                cancel_at: Some("begun"),
                stop_reason: "cancelled",
                ..turn("cancelled", "say begun; slow ms=600000", "begun")
            },
            // Runs on the second connection.
            turn("after", "say again", "again"),
        ];
        Self {
            way,
            lend,
            work,
            turns,
        }
    }

    /// Returns the file that the agent writes and reads.
    pub fn file(&self) -> PathBuf {
        self.work.join("notes.txt")
    }

    /// Returns the program's instructions; `command` starts `acpd acp`.
    pub fn told(&self, daemon: &Daemon, command: &[String]) -> Value {
        let mut told = self.way.told(daemon, "fake", command);
        let mut turns: Vec<_> = self.turns.iter().map(Turn::told).collect();
        let after = turns.pop();
        told["cwd"] = json!(self.work);
        told["lend"] = json!(self.lend);
        told["turns"] = json!(turns);
        told["after"] = json!(after);
        told
    }

    /// Checks the trace of a client that has played the part.
    pub fn check(&self, trace: &Trace) {
        trace.check_frames();
        for hello in trace.steps("hello") {
            assert_eq!((&hello["version"], &hello["load"]), (&json!(1), &json!(true)));
        }
        let ends = trace.steps("turn");
        assert_eq!(ends.len(), self.turns.len(), "{ends:#?}");
        let mut all = String::new();
        for (turn, end) in self.turns.iter().zip(&ends) {
            let said = end["said"].as_str().expect("a turn says something");
            // A terminal of the daemon ends lines with "\r\n", one of an editor possibly with "\n".
            assert_eq!(
                (end["name"].as_str(), said.trim_end(), end["stopReason"].as_str()),
                (Some(turn.name), turn.said.as_str(), Some(turn.stop_reason))
            );
            if turn.name != "after" {
                all.push_str(said);
            }
        }
        assert_eq!(trace.asked("session/request_permission"), 2);
        assert_eq!(trace.did("session/cancel"), 1);

        let listed = &trace.steps("listed")[0];
        let sessions = listed["sessions"].as_array().expect("they are a list");
        assert!(sessions.contains(&listed["session"]), "{listed}");
        // Compares what the SDK returned to the program with the wire: everything of the first connection, in order.
        assert_eq!(trace.steps("loaded")[0]["said"], all);
        let (seen, replayed) = (trace.story(1, OUTPUT), trace.story(2, OUTPUT));
        for (index, (seen, replayed)) in seen.iter().zip(&replayed).enumerate() {
            assert_eq!(seen, replayed, "part {index} of the story");
        }
        assert_eq!(seen.len() + 2, replayed.len(), "{:#?}", replayed.last());

        assert_eq!(trace.steps("closed").len(), 1);
        let ends = trace.steps("ended");
        assert_eq!(ends.len(), 2);
        for end in ends {
            assert!(self.way != Way::Stdio || end["code"] == 0, "{end}");
        }
    }
}

impl Turn {
    fn told(&self) -> Value {
        json!({
            "name": self.name,
            "prompt": self.prompt,
            "answer": self.answer,
            "cancelAt": self.cancel_at,
        })
    }
}
