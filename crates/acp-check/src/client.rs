//! The client's answers to requests of the agent.
//!
//! In: requests. Out: their answers. Owns: the files and terminals that the agent sees. Never: touches a file, or runs a command: the files
//! are in memory, and a terminal has ended at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::wire::{Answer, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND};

/// The file that an agent finds in the working directory of a run.
pub const FILE: &str = "acp-check.txt";

/// The text of [`FILE`].
pub const FILE_TEXT: &str = "This directory belongs to a run of acpd acp-check.\n";

/// The output of all terminals.
const OUTPUT: &str = "acp-check runs no commands\n";

/// Most files that are kept.
const MOST_FILES: usize = 64;

/// Most of a file that is kept with its path, in bytes.
const MOST_FILE_BYTES: usize = 64 << 10;

/// A client with files in memory, and terminals without commands.
#[derive(Debug)]
pub struct Client {
    files: BTreeMap<String, String>,
    terminals: u64,
    /// Whether permission is granted once. Otherwise it is refused.
    allow: bool,
    /// Sessions whose turn was cancelled.
    cancelled: BTreeSet<String>,
}

impl Client {
    /// Creates the client of a process whose sessions are in this directory.
    pub fn new(directory: &str, allow: bool) -> Self {
        Self {
            files: BTreeMap::from([(format!("{directory}/{FILE}"), FILE_TEXT.to_owned())]),
            terminals: 0,
            allow,
            cancelled: BTreeSet::new(),
        }
    }

    /// Answers questions of this session with "cancelled" from now on, or no longer.
    pub fn set_cancelled(&mut self, session: &str, is_cancelled: bool) {
        if is_cancelled {
            self.cancelled.insert(session.to_owned());
        } else {
            self.cancelled.remove(session);
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, method: &str, params: &Value) -> Answer {
        let word = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
        match method {
            "session/request_permission" => Ok(self.permission(word("sessionId"), params)),
            "fs/read_text_file" => self.read(word("path"), params),
            "fs/write_text_file" => self.write(word("path"), word("content")),
            "terminal/create" => {
                self.terminals += 1;
                Ok(json!({ "terminalId": format!("terminal-{}", self.terminals) }))
            }
            "terminal/output" => Ok(json!({
                "output": OUTPUT, "truncated": false, "exitStatus": { "exitCode": 0, "signal": null },
            })),
            "terminal/wait_for_exit" => Ok(json!({ "exitCode": 0, "signal": null })),
            "terminal/kill" | "terminal/release" => Ok(json!({})),
            "elicitation/create" => Ok(json!({ "action": "decline" })),
            _ => Err(error(
                METHOD_NOT_FOUND,
                &format!("acp-check has no method {method:?}"),
            )),
        }
    }

    fn permission(&self, session: &str, params: &Value) -> Value {
        let wanted = if self.allow { "allow_once" } else { "reject_once" };
        let options = params
            .get("options")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let kind = |option: &&Value| option.get("kind").and_then(Value::as_str) == Some(wanted);
        let chosen = options
            .iter()
            .find(kind)
            .and_then(|option| option.get("optionId"));
        match chosen {
            Some(id) if !self.cancelled.contains(session) => {
                json!({ "outcome": { "outcome": "selected", "optionId": id } })
            }
            _ => json!({ "outcome": { "outcome": "cancelled" } }),
        }
    }

    fn read(&self, path: &str, params: &Value) -> Answer {
        let Some(text) = self.files.get(path) else {
            return Err(error(NOT_FOUND, &format!("no file {path:?}")));
        };
        let number = |name: &str| {
            let number = params.get(name).and_then(Value::as_u64);
            number.map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        let skipped = number("line").unwrap_or(1).saturating_sub(1);
        let lines = text.split_inclusive('\n').skip(skipped);
        let content: String = lines.take(number("limit").unwrap_or(usize::MAX)).collect();
        Ok(json!({ "content": content }))
    }

    fn write(&mut self, path: &str, content: &str) -> Answer {
        let is_full = self.files.len() >= MOST_FILES && !self.files.contains_key(path);
        if is_full || path.len() + content.len() > MOST_FILE_BYTES {
            let reason =
                format!("acp-check keeps {MOST_FILES} files of {MOST_FILE_BYTES} bytes with their paths");
            return Err(error(INVALID_PARAMS, &reason));
        }
        self.files.insert(path.to_owned(), content.to_owned());
        Ok(json!({}))
    }
}

/// Builds an error object.
pub fn error(code: i64, message: &str) -> Value {
    json!({ "code": code, "message": message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Schema, Shape, Side};
    use crate::version::Version;

    #[test]
    fn answers_fit_the_schema() {
        let mut client = Client::new("/w", true);
        let schema = Schema::of(Version::One);
        let path = format!("/w/{FILE}");
        for (method, params) in [
            ("terminal/create", json!({ "sessionId": "s", "command": "ls" })),
            (
                "terminal/output",
                json!({ "sessionId": "s", "terminalId": "terminal-1" }),
            ),
            ("terminal/wait_for_exit", json!({})),
            ("terminal/kill", json!({})),
            ("terminal/release", json!({})),
            ("fs/write_text_file", json!({ "path": "/w/a", "content": "b" })),
            (
                "fs/read_text_file",
                json!({ "path": path, "line": 1, "limit": 1 }),
            ),
            (
                "session/request_permission",
                json!({ "sessionId": "s", "options": [] }),
            ),
            (
                "session/request_permission",
                json!({ "options": [{ "optionId": "y", "kind": "allow_once" }] }),
            ),
            ("elicitation/create", json!({})),
        ] {
            let answer = client.answer(method, &params).expect("it is answered");
            let checked = schema.check(Side::Client, Shape::Response, method, &answer);
            assert_eq!(checked, Ok(()), "{method}: {answer}");
        }
        for version in Version::ALL {
            let unknown = client.answer("other", &json!({})).expect_err("it is unknown");
            assert_eq!(Schema::of(version).check_error(&unknown), Ok(()));
        }
    }

    #[test]
    fn files_are_in_memory_and_bounded() {
        let mut client = Client::new("/w", false);
        let read = |client: &mut Client, params: Value| client.answer("fs/read_text_file", &params);
        assert!(read(&mut client, json!({ "path": "/etc/passwd" })).is_err());
        for number in 0..1_000 {
            let params = json!({ "path": format!("/w/{number}"), "content": "a\nb\nc\n" });
            let _ = client.answer("fs/write_text_file", &params);
        }
        assert_eq!(client.files.len(), MOST_FILES);
        let cut = read(&mut client, json!({ "path": "/w/0", "line": 2, "limit": 1 }));
        assert_eq!(cut, Ok(json!({ "content": "b\n" })));
        let long = json!({ "path": "/w/0", "content": "x".repeat(MOST_FILE_BYTES + 1) });
        assert!(client.answer("fs/write_text_file", &long).is_err());
    }

    #[test]
    fn a_cancelled_turn_has_its_questions_cancelled() {
        let mut client = Client::new("/w", true);
        let asked = json!({ "sessionId": "s", "options": [{ "optionId": "y", "kind": "allow_once" }] });
        let answered = |client: &mut Client| client.answer("session/request_permission", &asked);
        client.set_cancelled("s", true);
        assert_eq!(
            answered(&mut client),
            Ok(json!({ "outcome": { "outcome": "cancelled" } }))
        );
        client.set_cancelled("s", false);
        assert_eq!(
            answered(&mut client),
            Ok(json!({ "outcome": { "outcome": "selected", "optionId": "y" } }))
        );
    }
}
