//! Rendering of a turn in a terminal. Lines about a subagent begin with its name, and do not belong to the answer.

mod tool_calls;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::IsTerminal;
use std::time::Instant;

use acpd_client::protocol::{
    Approval, CallSubject, Delta, FileChangeCompleted, LanesListed, MessageType, Notification, TerminalOutput,
};
use acpd_model::line_ends::shown_diff;

use self::tool_calls::{Facts, ToolCalls};
use crate::terminal::items::lanes::{Begun, Lanes, labelled, lane_of};
use crate::terminal::items::rejected::RejectedCalls;
use crate::terminal::items::remarks::{ShownNotice, ShownPlan, waits_for_input};
use crate::terminal::items::{Command, acp, unmade};
use crate::terminal::plain::{plain, visible_line};
use crate::terminal::print;

/// Maximum number of shown changes that are remembered.
const SHOWN_CHANGES: usize = 64;

/// Maximum size of the lines about subagents that wait for the end of a line of the answer, in bytes.
const HELD_BYTES: usize = 64 << 10;

/// Prints notifications as they arrive: the agent's answer on standard output, everything else on standard error.
pub struct Renderer {
    color: bool,
    /// Whether to show notices about the protocol.
    verbose: bool,
    tool_calls: ToolCalls,
    /// The calls of subagents.
    lane_calls: ToolCalls,
    /// Whether the answer is printed where lines about subagents are shown as well, so that they would break it.
    is_answer_beside: bool,
    /// Whether the last output on standard output did not end its line.
    in_answer: bool,
    /// Whether the message that this output is of has ended, so that its line may end.
    is_message_over: bool,
    in_thought: bool,
    /// The message of the last notice.
    noted: String,
    noted_detail: Option<String>,
    /// The changes that a question has shown: their paths, and their added and removed lines.
    shown_changes: VecDeque<(String, String)>,
    /// The tool calls of the turn whose question was declined.
    rejected: RejectedCalls,
    /// The changes that are being made by a tool call, whose own line says how they end.
    of_calls: HashSet<String>,
    /// The names of the subagents.
    lanes: Lanes,
    /// The lines that subagents and their commands have begun.
    begun: Begun,
    /// The labels of the commands that subagents run, by items: their output does not say whose it is.
    commands: HashMap<String, String>,
    /// Lines about subagents that wait until the answer has ended a line: they must not break it.
    held: String,
}

impl Renderer {
    /// Creates a renderer for this process's terminal or pipes. `verbose`: whether to show notices about the protocol.
    pub fn new(verbose: bool) -> Self {
        Self {
            color: print::has_colors(&std::io::stderr()),
            verbose,
            tool_calls: ToolCalls::default(),
            lane_calls: ToolCalls::default(),
            is_answer_beside: std::io::stdout().is_terminal(),
            in_answer: false,
            is_message_over: false,
            in_thought: false,
            noted: String::new(),
            noted_detail: None,
            shown_changes: VecDeque::new(),
            rejected: RejectedCalls::default(),
            of_calls: HashSet::new(),
            lanes: Lanes::default(),
            begun: Begun::default(),
            commands: HashMap::new(),
            held: String::new(),
        }
    }

    /// Prints one notification.
    pub fn show(&mut self, notification: &Notification) {
        let now = Instant::now();
        self.lanes.fold(notification);
        let label = self.lanes.label(lane_of(notification));
        match notification {
            Notification::ItemAgentMessageDelta(delta) if !label.is_empty() => {
                let piece = plain(&acp::piece(delta.content.as_ref(), &delta.text));
                self.piece(&label, &delta.item_id, &piece);
            }
            Notification::ItemAgentMessageDelta(delta) => self.answer(delta),
            Notification::ItemAgentThoughtDelta(delta) if !label.is_empty() => {
                self.piece(&label, &delta.item_id, &plain(&delta.text));
            }
            Notification::ItemAgentThoughtDelta(delta) => {
                self.show_tool_calls();
                self.end_message();
                self.in_thought = true;
                print::err(&self.dim(&plain(&delta.text)));
            }
            Notification::ItemCompleted(message)
                if label.is_empty() && message.r#type == MessageType::AgentMessage =>
            {
                self.is_message_over = true;
                if !self.held.is_empty() {
                    self.end_message();
                }
            }
            // Messages to a subagent are not its work.
            Notification::ItemCompleted(message) if message.r#type != MessageType::UserMessage => {
                self.end_piece(&label, &message.item_id);
            }
            Notification::ItemToolCallStarted(call) => {
                let facts = Facts {
                    title: call.title.as_deref(),
                    kind: call.kind.as_deref(),
                    input: acp::raw_input(call.tool_call.as_ref()),
                };
                let calls = self.calls(&label);
                calls.start(&call.item_id, &facts, now);
                calls.set_label(&call.item_id, label);
            }
            Notification::ItemUpdated(call) => {
                let facts = Facts::of(call.tool_call.as_ref());
                self.calls(&label).update(&call.item_id, &facts, now);
            }
            Notification::ItemToolCallCompleted(call) => {
                let facts = Facts::of(call.tool_call.as_ref());
                let calls = self.calls(&label);
                calls.start(&call.item_id, &facts, now);
                calls.set_label(&call.item_id, label.clone());
                self.show_tool_calls();
                let name = self.calls(&label).complete(&call.item_id);
                let is_rejected = self.rejected.contains(&call.item_id);
                if let Some(how) = unmade(Some(&call.outcome), is_rejected) {
                    self.line(&label, &format!("✗ {how}: {name}"));
                }
            }
            Notification::ItemFileChangeStarted(change) if change.parent_item_id.is_some() => {
                self.of_calls.insert(change.item_id.clone());
            }
            Notification::ItemFileChangeCompleted(change) => {
                if let Some(line) = self.change(change) {
                    self.line(&label, &line);
                }
            }
            Notification::ServerRequestResolved(answer) => {
                self.rejected.handle_answer(&answer.into());
            }
            // A queued turn that was taken back has nothing to end.
            Notification::TurnCompleted(ended) if ended.turn.started_at.is_some() => {
                self.rejected.clear();
                self.of_calls.clear();
            }
            Notification::ItemTerminalCommandStarted(command) => {
                self.line(&label, &format!("$ {}", Command::from(command).line()));
                if !label.is_empty() {
                    self.commands.insert(command.item_id.clone(), label);
                }
            }
            Notification::ItemTerminalCommandOutput(output) => self.output(output),
            Notification::ThreadTerminalWaiting(waiting) => self.line(&label, &waits_for_input(waiting)),
            Notification::ItemTerminalCommandCompleted(command) => {
                self.end_piece(&label, &command.item_id);
                self.commands.remove(&command.item_id);
                self.line(&label, &Command::from(command).end());
            }
            Notification::TurnPlanUpdated(plan) => {
                for line in ShownPlan::from(plan).first_lines() {
                    self.line(&label, &line);
                }
            }
            Notification::ThreadNotice(notice) => self.notice(&notice.into()),
            _ => {}
        }
    }

    fn output(&mut self, output: &TerminalOutput) {
        // The daemon skips output of a busy command; show how much.
        let skipped = output.skipped_bytes.filter(|bytes| *bytes > 0);
        let skipped = skipped.map(|bytes| format!("[{bytes} bytes are not shown]"));
        if let Some(label) = self.commands.get(&output.item_id).cloned() {
            if let Some(skipped) = skipped {
                self.end_piece(&label, &output.item_id);
                self.line(&label, &skipped);
            }
            return self.piece(&label, &output.item_id, &plain(&output.text));
        }
        self.end_answer();
        if let Some(skipped) = skipped {
            print::err(&format!("\n{}\n", self.dim(&skipped)));
        }
        print::err(&plain(&output.text));
    }

    /// Prints the lines of a subagent that are whole with this piece.
    fn piece(&mut self, label: &str, item: &str, piece: &str) {
        for line in self.begun.push(item, piece) {
            self.line(label, &line);
        }
    }

    /// Prints the last line of an item of a subagent.
    fn end_piece(&mut self, label: &str, item: &str) {
        if let Some(line) = self.begun.end(item) {
            self.line(label, &line);
        }
    }

    /// Returns the line about a change that has ended: a change that was not made has no diff.
    fn change(&mut self, change: &FileChangeCompleted) -> Option<String> {
        let (path, diff) = (&change.path, change.diff.as_deref().unwrap_or_default());
        let is_of_call = self.of_calls.remove(&change.item_id);
        let shown = self
            .shown_changes
            .iter()
            .position(|(shown, lines)| shown == path && *lines == changed_lines(diff))
            .and_then(|at| self.shown_changes.remove(at));
        match unmade(Some(&change.outcome), false) {
            Some(_) if is_of_call => None,
            Some(how) => Some(format!("✗ {how}: {}", visible_line(path))),
            None if shown.is_some() => Some(format!("✓ changed {}", visible_line(path))),
            None => (!diff.is_empty()).then(|| plain(&shown_diff(diff)).trim_end().to_owned()),
        }
    }

    /// Takes the changes that a question shows, which need not be printed again when they are made.
    pub fn skip_shown_changes(&mut self, question: &Approval) {
        for subject in &question.subjects {
            if let CallSubject::File {
                path,
                diff: Some(diff),
                ..
            } = subject
            {
                self.shown_changes.push_back((path.clone(), changed_lines(diff)));
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

    /// Returns whether the last notice had this detail.
    pub fn has_noted_detail(&self, detail: &str) -> bool {
        self.noted_detail.as_deref() == Some(detail)
    }

    fn notice(&mut self, notice: &ShownNotice<'_>) {
        if notice.is_about_protocol() && !self.verbose {
            return;
        }
        let message = notice.message();
        let mut line = format!("{}: {message}", plain(notice.level.as_str()));
        let detail = notice.detail();
        if let Some(detail) = &detail {
            line.push_str(&format!("\n{detail}"));
        }
        let label = self.lanes.label(notice.lane);
        self.line(&label, &line);
        self.noted = message;
        self.noted_detail = detail;
    }

    /// Returns the calls of the main agent, or those of subagents.
    fn calls(&mut self, label: &str) -> &mut ToolCalls {
        if label.is_empty() {
            &mut self.tool_calls
        } else {
            &mut self.lane_calls
        }
    }

    /// Takes the names of the subagents.
    pub fn add_lanes(&mut self, listed: &LanesListed) {
        self.lanes.add(listed);
    }

    /// Returns how many subagents work.
    pub fn subagents_at_work(&self) -> usize {
        self.lanes.count_at_work()
    }

    /// Returns the time at which pending tool calls must be printed.
    pub fn due(&self) -> Option<Instant> {
        let due = [self.tool_calls.due(), self.lane_calls.due()];
        due.into_iter().flatten().min()
    }

    /// Prints the tool calls that wait for a better title.
    pub fn show_tool_calls(&mut self) {
        for line in self.tool_calls.take() {
            self.end_thought();
            self.end_message();
            print::err(&format!("{}\n", self.dim(&line)));
        }
        for line in self.lane_calls.take() {
            self.lane_line(&line);
        }
    }

    fn answer(&mut self, delta: &Delta) {
        let text = plain(&acp::piece(delta.content.as_ref(), &delta.text));
        if text.is_empty() {
            return;
        }
        self.show_tool_calls();
        self.end_thought();
        self.in_answer = !text.ends_with('\n');
        self.is_message_over = false;
        print::out(&text);
        if !self.in_answer {
            self.show_held();
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
        self.show_held();
    }

    fn show_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            print::err(&held);
        }
    }

    fn end_thought(&mut self) {
        if std::mem::take(&mut self.in_thought) {
            print::err("\n");
        }
    }

    fn line(&mut self, label: &str, text: &str) {
        if !label.is_empty() {
            // The calls of its subagent came before it.
            self.show_tool_calls();
            return self.lane_line(&labelled(label, text));
        }
        self.end_answer();
        print::err(&format!("{}\n", self.dim(text)));
    }

    /// Prints a line about a subagent, or holds it until the answer has ended its line or its message. Too much of it breaks the line
    /// only where one sees both: a file or a program gets the answer as it is.
    fn lane_line(&mut self, line: &str) {
        let line = format!("{}\n", self.dim(line));
        if self.in_answer && !self.is_message_over {
            if self.held.len() + line.len() <= HELD_BYTES {
                self.held.push_str(&line);
                return;
            }
            if !self.is_answer_beside {
                self.show_held();
                print::err(&line);
                return;
            }
        }
        self.end_thought();
        self.end_message();
        print::err(&line);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HELD_BYTES, Renderer, changed_lines};
    use crate::terminal::items::fixtures::{notification, read};

    #[test]
    fn only_a_change_that_was_made_is_called_one() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
        let subject = json!({ "type": "file", "access": "edit", "path": "/x", "diff": "-old\n+new\n" });
        let asked = read(
            "item/fileChange/requestApproval",
            json!({ "subjects": [{ "type": "later" }, subject] }),
        );
        let change = |outcome: &str| {
            let members = json!({ "itemId": "i", "path": "/x", "diff": diff, "outcome": outcome });
            read("item/fileChange/completed", members)
        };
        let ended = |outcome: &str| {
            let mut renderer = Renderer::new(false);
            renderer.skip_shown_changes(&asked);
            renderer.change(&change(outcome))
        };
        assert_eq!(ended("completed").as_deref(), Some("✓ changed /x"));
        assert_eq!(ended("interrupted").as_deref(), Some("✗ interrupted: /x"));
        assert_eq!(ended("failed").as_deref(), Some("✗ failed: /x"));
        // The line of the tool call says how its changes ended.
        let mut renderer = Renderer::new(false);
        let part = json!({ "itemId": "i", "parentItemId": "call", "path": "/x" });
        renderer.show(&notification("item/fileChange/started", part));
        assert_eq!(renderer.change(&change("failed")), None);
    }

    #[test]
    fn subagents_are_no_part_of_the_answer_and_do_not_break_its_lines() {
        let mut renderer = Renderer::new(false);
        renderer.color = false;
        let lane = json!({ "lane": "lane_1", "sessionId": "s", "title": "review" });
        renderer.show(&notification("thread/lane/updated", lane));
        let delta = |lane: Option<&str>, item: &str, text: &str| {
            let members = json!({ "itemId": item, "text": text, "lane": lane });
            notification("item/agentMessage/delta", members)
        };
        renderer.show(&delta(None, "i1", "Half a "));
        renderer.show(&delta(Some("lane_1"), "i2", "Found "));
        renderer.show(&delta(Some("lane_1"), "i2", "two.\nAnd"));
        let command = json!({ "itemId": "i3", "command": "make", "lane": "lane_1" });
        renderer.show(&notification("item/terminalCommand/started", command));
        let output = json!({ "itemId": "i3", "text": "one\ntw" });
        renderer.show(&notification("item/terminalCommand/output", output));
        let call =
            json!({ "itemId": "i4", "title": "Read", "kind": "read", "lane": "lane_1", "outcome": "failed" });
        renderer.show(&notification("item/toolCall/started", call.clone()));
        renderer.show(&notification("item/toolCall/completed", call));
        let ended = json!({ "itemId": "i2", "text": "Found two.\nAnd", "lane": "lane_1" });
        renderer.show(&notification("item/completed", ended));
        assert!(renderer.in_answer, "the line of the answer is not broken");
        assert_eq!(
            renderer.held.split_inclusive('\n').collect::<Vec<_>>(),
            [
                "review │ Found two.\n",
                "review │ $ make\n",
                "review │ one\n",
                "review │ ● Read (read)\n",
                "review │ ✗ failed: Read (read)\n",
                "review │ And\n",
            ]
        );
        renderer.show(&delta(None, "i1", "line.\n"));
        assert!(renderer.held.is_empty());
    }

    #[test]
    fn lines_about_subagents_wait_for_the_end_of_the_message_at_most() {
        let delta = |lane: Option<&str>, text: &str| {
            let members = json!({ "itemId": lane.unwrap_or("i1"), "text": text, "lane": lane });
            notification("item/agentMessage/delta", members)
        };
        let ended = || {
            notification(
                "item/completed",
                json!({ "itemId": "i1", "text": "I started both." }),
            )
        };
        let mut renderer = Renderer::new(false);
        renderer.show(&delta(None, "I started both."));
        renderer.show(&delta(Some("lane_1"), "Found two.\n"));
        assert!(!renderer.held.is_empty());
        renderer.show(&ended());
        assert!(renderer.held.is_empty() && !renderer.in_answer);

        // It has ended before the first line comes.
        let mut renderer = Renderer::new(false);
        renderer.show(&delta(None, "I started both."));
        renderer.show(&ended());
        assert!(renderer.in_answer, "nothing needs the end of its line yet");
        renderer.show(&delta(Some("lane_1"), "Found two.\n"));
        assert!(renderer.held.is_empty() && !renderer.in_answer);
        renderer.show(&delta(None, "Both are "));
        renderer.show(&delta(Some("lane_1"), "Found three.\n"));
        assert!(!renderer.held.is_empty() && renderer.in_answer);
    }

    #[test]
    fn too_many_lines_about_subagents_break_the_answer_on_a_terminal_only() {
        for is_answer_beside in [false, true] {
            let mut renderer = Renderer::new(false);
            renderer.is_answer_beside = is_answer_beside;
            let delta = |lane: Option<&str>, text: &str| {
                let members = json!({ "itemId": lane.unwrap_or("i1"), "text": text, "lane": lane });
                notification("item/agentMessage/delta", members)
            };
            renderer.show(&delta(None, "Half a "));
            let long = format!("{}\n", "x".repeat(1000));
            for _ in 0..HELD_BYTES / 1000 {
                renderer.show(&delta(Some("lane_1"), &long));
            }
            assert!(renderer.held.is_empty());
            assert_eq!(renderer.in_answer, !is_answer_beside);
        }
    }

    #[test]
    fn the_last_answer_about_a_call_decides_until_its_turn_ends() {
        let mut renderer = Renderer::new(false);
        let ended = |turn| notification("turn/completed", json!({ "turn": turn }));
        let mut answered = |outcome: &str| {
            let answer = json!({ "itemId": "i", "outcome": outcome });
            renderer.show(&notification("serverRequest/resolved", answer));
            renderer.show(&ended(json!({ "id": "queued" })));
            renderer.rejected.contains("i")
        };
        assert!(answered("declined"));
        assert!(!answered("accepted"));
        assert!(answered("declined"));
        renderer.show(&ended(json!({ "id": "t", "startedAt": 1 })));
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
