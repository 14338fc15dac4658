//! Rendering of a turn in a terminal.

mod tool_calls;

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use acpd_model::line_ends::shown_diff;
use serde_json::Value;

use self::tool_calls::ToolCalls;
use crate::terminal::items::rejected::RejectedCalls;
use crate::terminal::items::{
    command_line, end_of_command, is_about_protocol, notice_detail, plan_line, unmade, waits_for_input,
};
use crate::terminal::plain::{plain, visible_line};
use crate::terminal::print;

/// Maximum number of shown changes that are remembered.
const SHOWN_CHANGES: usize = 64;

/// Prints notifications as they arrive: the agent's answer on standard output, everything else on standard error.
pub struct Renderer {
    color: bool,
    /// Whether to show notices about the protocol.
    verbose: bool,
    tool_calls: ToolCalls,
    /// Whether the last output on standard output did not end its line.
    in_answer: bool,
    in_thought: bool,
    /// The message of the last notice.
    noted: String,
    /// The changes that a question has shown: their paths, and their added and removed lines.
    shown_changes: VecDeque<(String, String)>,
    /// The tool calls of the turn whose question was declined.
    rejected: RejectedCalls,
    /// The changes that are being made by a tool call, whose own line says how they end.
    of_calls: HashSet<String>,
}

impl Renderer {
    /// Creates a renderer for this process's terminal or pipes. `verbose`: whether to show notices about the protocol.
    pub fn new(verbose: bool) -> Self {
        Self {
            color: print::has_colors(&std::io::stderr()),
            verbose,
            tool_calls: ToolCalls::default(),
            in_answer: false,
            in_thought: false,
            noted: String::new(),
            shown_changes: VecDeque::new(),
            rejected: RejectedCalls::default(),
            of_calls: HashSet::new(),
        }
    }

    /// Prints one notification.
    pub fn show(&mut self, method: &str, params: &Value) {
        let text = |key: &str| plain(params[key].as_str().unwrap_or_default());
        match method {
            "item/agentMessage/delta" => self.answer(params),
            "item/agentThought/delta" => {
                self.show_tool_calls();
                self.end_message();
                self.in_thought = true;
                let thought = text("text");
                print::err(&self.dim(&thought));
            }
            "item/toolCall/started" => self.tool_calls.start(item_id(params), params, Instant::now()),
            "item/updated" => {
                let (item, known) = (item_id(params), &params["toolCall"]);
                self.tool_calls.update(item, known, Instant::now());
            }
            "item/toolCall/completed" => {
                let (item, known) = (item_id(params), &params["toolCall"]);
                self.tool_calls.start(item, known, Instant::now());
                self.show_tool_calls();
                let name = self.tool_calls.complete(item);
                if let Some(how) = unmade(params, self.rejected.contains(item)) {
                    self.line(&format!("✗ {how}: {name}"));
                }
            }
            "item/fileChange/started" if params["parentItemId"].is_string() => {
                self.of_calls.insert(item_id(params).to_owned());
            }
            "item/fileChange/completed" => {
                if let Some(line) = self.change(params) {
                    self.line(&line);
                }
            }
            "serverRequest/resolved" => {
                self.rejected.handle_answer(params);
            }
            // A queued turn that was taken back has nothing to end.
            "turn/completed" if params["turn"]["startedAt"].is_number() => {
                self.rejected.clear();
                self.of_calls.clear();
            }
            "item/terminalCommand/started" => {
                self.line(&format!("$ {}", command_line(params)));
            }
            "item/terminalCommand/output" => {
                self.end_answer();
                // The daemon skips output of a busy command; show how much.
                if let Some(bytes) = params["skippedBytes"].as_u64().filter(|bytes| *bytes > 0) {
                    print::err(&format!(
                        "\n{}\n",
                        self.dim(&format!("[{bytes} bytes are not shown]"))
                    ));
                }
                print::err(&text("text"));
            }
            "thread/terminal/waiting" => self.line(&waits_for_input(params)),
            "item/terminalCommand/completed" => {
                self.line(&end_of_command(params));
            }
            "turn/plan/updated" => self.plan(params),
            "thread/notice" if self.verbose || !is_about_protocol(params) => {
                self.notice(params);
            }
            _ => {}
        }
    }

    /// Returns the line about a change that has ended: a change that was not made has no diff.
    fn change(&mut self, params: &Value) -> Option<String> {
        let diff = params["diff"].as_str().unwrap_or_default();
        let path = params["path"].as_str().unwrap_or_default();
        let is_of_call = self.of_calls.remove(item_id(params));
        let shown = self
            .shown_changes
            .iter()
            .position(|(shown, lines)| shown == path && *lines == changed_lines(diff))
            .and_then(|at| self.shown_changes.remove(at));
        match unmade(params, false) {
            Some(_) if is_of_call => None,
            Some(how) => Some(format!("✗ {how}: {}", visible_line(path))),
            None if shown.is_some() => Some(format!("✓ changed {}", visible_line(path))),
            None => (!diff.is_empty()).then(|| plain(&shown_diff(diff)).trim_end().to_owned()),
        }
    }

    /// Takes the changes that a question shows, which need not be printed again when they are made.
    pub fn skip_shown_changes(&mut self, question: &Value) {
        let subjects = question["subjects"].as_array().into_iter().flatten();
        for subject in subjects {
            if let (Some(path), Some(diff)) = (subject["path"].as_str(), subject["diff"].as_str()) {
                self.shown_changes
                    .push_back((path.to_owned(), changed_lines(diff)));
            }
        }
        while self.shown_changes.len() > SHOWN_CHANGES {
            self.shown_changes.pop_front();
        }
    }

    /// Returns whether the last notice had this message.
    pub fn has_noted(&self, message: &str) -> bool {
        self.noted == message
    }

    fn notice(&mut self, params: &Value) {
        let text = |key: &str| plain(params[key].as_str().unwrap_or_default());
        let (level, message) = (text("level"), text("message"));
        let mut line = format!("{level}: {message}");
        if let Some(detail) = notice_detail(params) {
            line.push_str(&format!("\n{detail}"));
        }
        self.line(&line);
        self.noted = message;
    }

    /// Returns the time at which pending tool calls must be printed.
    pub fn due(&self) -> Option<Instant> {
        self.tool_calls.due()
    }

    /// Prints the tool calls that wait for a better title.
    pub fn show_tool_calls(&mut self) {
        for line in self.tool_calls.take() {
            self.end_thought();
            self.end_message();
            print::err(&format!("{}\n", self.dim(&line)));
        }
    }

    fn answer(&mut self, params: &Value) {
        let text = match params["content"]["type"].as_str() {
            None => plain(params["text"].as_str().unwrap_or_default()),
            Some("text") => plain(params["content"]["text"].as_str().unwrap_or_default()),
            Some(kind) => format!("[{}]", plain(kind)),
        };
        if text.is_empty() {
            return;
        }
        self.show_tool_calls();
        self.end_thought();
        self.in_answer = !text.ends_with('\n');
        print::out(&text);
    }

    fn plan(&mut self, params: &Value) {
        for entry in params["entries"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            self.line(&plan_line(entry));
        }
    }

    /// Ends an unfinished line, so that the next output starts on its own.
    pub fn end_answer(&mut self) {
        self.show_tool_calls();
        self.end_thought();
        self.end_message();
    }

    fn end_message(&mut self) {
        if std::mem::take(&mut self.in_answer) {
            print::out("\n");
        }
    }

    fn end_thought(&mut self) {
        if std::mem::take(&mut self.in_thought) {
            print::err("\n");
        }
    }

    fn line(&mut self, text: &str) {
        self.end_answer();
        print::err(&format!("{}\n", self.dim(text)));
    }

    fn dim(&self, text: &str) -> String {
        if self.color {
            format!("\u{1b}[2m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Returns the added and removed lines of a diff with their ends, without its headers. Never printed.
fn changed_lines(diff: &str) -> String {
    let body = match diff.find("\n@@") {
        Some(at) => &diff[at..],
        None => diff,
    };
    let lines = body.split('\n').filter(|line| line.starts_with(['+', '-', '\\']));
    lines.collect::<Vec<_>>().join("\n")
}

fn item_id(params: &Value) -> &str {
    params["itemId"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Renderer, changed_lines};

    #[test]
    fn only_a_change_that_was_made_is_called_one() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
        let asked = json!({ "subjects": [{ "path": "/x", "diff": "-old\n+new\n" }] });
        let ended = |outcome: &str| {
            let mut renderer = Renderer::new(false);
            renderer.skip_shown_changes(&asked);
            renderer.change(&json!({ "itemId": "i", "path": "/x", "diff": diff, "outcome": outcome }))
        };
        assert_eq!(ended("completed").as_deref(), Some("✓ changed /x"));
        assert_eq!(ended("interrupted").as_deref(), Some("✗ interrupted: /x"));
        assert_eq!(ended("failed").as_deref(), Some("✗ failed: /x"));
        // The line of the tool call says how its changes ended.
        let mut renderer = Renderer::new(false);
        let part =
            json!({ "itemId": "i", "parentItemId": "call", "path": "/x", "diff": diff, "outcome": "failed" });
        renderer.show("item/fileChange/started", &part);
        assert_eq!(renderer.change(&part), None);
    }

    #[test]
    fn the_last_answer_about_a_call_decides_until_its_turn_ends() {
        let mut renderer = Renderer::new(false);
        let mut answered = |outcome: &str| {
            renderer.show(
                "serverRequest/resolved",
                &json!({ "itemId": "i", "outcome": outcome }),
            );
            renderer.show("turn/completed", &json!({ "turn": { "id": "queued" } }));
            renderer.rejected.contains("i")
        };
        assert!(answered("declined"));
        assert!(!answered("accepted"));
        assert!(answered("declined"));
        renderer.show(
            "turn/completed",
            &json!({ "turn": { "id": "t", "startedAt": 1 } }),
        );
        assert!(!renderer.rejected.contains("i"));
    }

    #[test]
    fn a_change_is_the_same_with_and_without_headers() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- old\n+new\n";
        assert_eq!(changed_lines(diff), "--- old\n+new");
        assert_eq!(changed_lines("--- old\n+new\n"), changed_lines(diff));
        // A question about one of these has not shown the others.
        let ends = ["+new\n", "+new\r\n", "+new\n\\ No newline at end of file\n"].map(changed_lines);
        assert!(ends[0] != ends[1] && ends[0] != ends[2], "{ends:?}");
    }

    #[test]
    fn an_agent_cannot_drive_the_terminal() {
        assert_eq!(
            crate::terminal::plain::plain("a\u{1b}[2Jb\r\u{202e}c\n\td"),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\n\td"
        );
        assert_eq!(
            crate::terminal::plain::plain("a\r\nb\r\r\nc\r"),
            "a\nb\u{fffd}\nc"
        );
    }
}
