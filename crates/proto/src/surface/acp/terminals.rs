//! Terminals in tool calls that the editor did not create: terminals of the daemon, of another editor, or of a closed
//! connection. The editor cannot request their output, so that it receives the output as text.
//!
//! In: the thread's terminals and their output, messages that name terminals. Out: messages that name only the editor's
//! own terminals; when a command has ended, its output for the tool call that shows it. Owns: the newest outputs, and
//! the content of tool calls whose commands run. Never: changes a terminal that the agent created itself; editors can
//! show those.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acpd_model::RawJson;
use acpd_model::limits::EDITOR_TERMINAL_NAMES;
use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;

use super::frame::Terminal;
use super::session::Session;
use crate::wire::{self, Object};
use crate::wire::{inside, may_have, member};

/// Bytes kept for one session of an editor to show as text: of the commands' outputs, and again of the tool calls that
/// show commands.
const SHOWN_OUTPUT_BYTES: usize = 1 << 20;

/// The known terminals of the thread.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    /// The newest terminals, by the daemon's ids; with the output once the command has ended.
    known: VecDeque<(String, Output)>,
    /// Total size of these outputs, in bytes.
    bytes: usize,
    /// Tool calls that show a running command: their ids, as JSON, and their content.
    showing: BTreeMap<String, RawJson>,
    /// Total size of these ids and contents, in bytes.
    showing_bytes: usize,
    /// The highest terminal number when the session was opened.
    pub earlier: u64,
}

#[derive(Debug, PartialEq)]
enum Output {
    Running,
    Ended(String),
    /// The output was dropped to free memory.
    Gone,
}

impl Output {
    fn len(&self) -> usize {
        match self {
            Self::Ended(text) => text.len(),
            Self::Running | Self::Gone => 0,
        }
    }
}

/// Replaces a terminal whose output is not shown again.
const GONE: &str = "(The output is in the thread's record.)";

impl Terminals {
    /// Records that a terminal was created or that its command has ended.
    fn note(&mut self, terminal: &Terminal) {
        let output = match &terminal.output {
            None => Output::Running,
            Some(text) => Output::Ended(text.clone()),
        };
        self.bytes += output.len();
        let known = self.known.iter_mut().find(|(id, _)| *id == terminal.id);
        match known {
            Some((_, known)) => self.bytes -= std::mem::replace(known, output).len(),
            None => self.known.push_back((terminal.id.clone(), output)),
        }
        if self.known.len() > EDITOR_TERMINAL_NAMES
            && let Some((_, output)) = self.known.pop_front()
        {
            self.bytes -= output.len();
        }
        for (_, output) in &mut self.known {
            if self.bytes <= SHOWN_OUTPUT_BYTES {
                break;
            }
            if output.len() > 0 {
                self.bytes -= std::mem::replace(output, Output::Gone).len();
            }
        }
    }

    /// Returns the text that replaces a terminal; `None` if the thread has no such terminal.
    fn text(&self, id: &str) -> Option<&str> {
        match self.known.iter().find(|(known, _)| known == id) {
            Some((_, Output::Running)) => Some(""),
            Some((_, Output::Ended(text))) => Some(text),
            Some((_, Output::Gone)) => Some(GONE),
            None => {
                let number: u64 = id.strip_prefix("term_")?.parse().ok()?;
                (1..=self.earlier).contains(&number).then_some(GONE)
            }
        }
    }

    fn runs(&self, id: &str) -> bool {
        self.known
            .iter()
            .any(|(known, output)| known == id && *output == Output::Running)
    }

    /// Stores the content of a tool call while it shows a running command.
    fn follow(&mut self, tool_call: &str, content: &str, shows_running: bool) {
        if let Some(before) = self.showing.remove(tool_call) {
            self.showing_bytes -= tool_call.len() + before.get().len();
        }
        let bytes = tool_call.len() + content.len();
        if shows_running && self.showing_bytes + bytes <= SHOWN_OUTPUT_BYTES {
            self.showing_bytes += bytes;
            self.showing
                .insert(tool_call.to_owned(), RawJson::trusted(content));
        }
    }
}

impl Session {
    /// Records that a terminal was created or has ended. Returns the updates for the tool calls that show it.
    pub(super) fn terminal_changed(&mut self, thread: &str, terminal: &Terminal) -> Vec<Bytes> {
        if self.terminal(&terminal.id).is_some() {
            return Vec::new();
        }
        self.shown.note(terminal);
        if terminal.output.is_none() {
            return Vec::new();
        }
        let names_it = |content: &RawJson| terminals(content.get()).iter().any(|(id, _)| *id == terminal.id);
        let calls: Vec<(String, RawJson)> = self
            .shown
            .showing
            .iter()
            .filter(|(_, content)| names_it(content))
            .map(|(call, content)| (call.clone(), content.clone()))
            .collect();
        let update = |(call, content): (String, RawJson)| {
            let mut out = Vec::new();
            wire::notification(&mut out, "session/update", |params| {
                params.plain("sessionId", thread).object("update", |update| {
                    update
                        .plain("sessionUpdate", "tool_call_update")
                        .raw("toolCallId", &call)
                        .json("content", Some(&content));
                });
            });
            self.in_its_words(out.into())
        };
        calls.into_iter().map(update).collect()
    }

    /// Rewrites a message so that it names only the editor's own terminals, by the editor's ids.
    pub(super) fn in_its_words(&mut self, message: Bytes) -> Bytes {
        let has = |name: &str| may_have(&message, name);
        // A call that shows a command may have new content.
        let may_matter = has("\"terminalId\"") || !self.shown.showing.is_empty() && has("\"toolCallId\"");
        if !may_matter {
            return message;
        }
        self.reworded(&message).unwrap_or(message)
    }

    fn reworded(&mut self, message: &[u8]) -> Option<Bytes> {
        let text = std::str::from_utf8(message).ok()?;
        let params = inside(text, text, "params")?;
        let call = inside(text, params, "update").or_else(|| inside(text, params, "toolCall"))?;
        let content = inside(text, call, "content")?;
        let named = terminals(content);
        if let Some(id) = member(&RawJson::trusted(call), "toolCallId") {
            let others = named.iter().filter(|(id, _)| self.terminal(id).is_none());
            let runs = others.into_iter().any(|(id, _)| self.shown.runs(id));
            self.shown.follow(id, content, runs);
        }
        let mut out = Vec::with_capacity(text.len() + 64);
        let mut copied = 0;
        // Each output occurs once in a message, even if the agent names its terminal repeatedly.
        let mut shown_once = BTreeSet::new();
        for (id, block) in named {
            let (part, put) = if let Some(its) = self.terminal(&id) {
                (inside(text, block, "terminalId")?, json!(its).to_string())
            } else if shown_once.contains(&id) {
                (block, as_text(GONE))
            } else if let Some(output) = self.shown.text(&id) {
                let put = as_text(output);
                shown_once.insert(id);
                (block, put)
            } else {
                continue;
            };
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            out.extend_from_slice(&text.as_bytes()[copied..start]);
            out.extend_from_slice(put.as_bytes());
            copied = start + part.len();
        }
        if copied == 0 {
            return None;
        }
        out.extend_from_slice(&text.as_bytes()[copied..]);
        Some(out.into())
    }
}

/// Returns the terminals that a tool call's content names, each with its content block.
fn terminals(content: &str) -> Vec<(String, &str)> {
    let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    let named = blocks.into_iter().filter_map(|block| {
        let json = RawJson::from(block);
        let id = serde_json::from_str(member(&json, "terminalId")?).ok()?;
        Some((id, block.get()))
    });
    named.collect()
}

/// Returns a text block of ACP's tool call content.
fn as_text(text: &str) -> String {
    let mut out = Vec::new();
    let mut block = Object::open(&mut out);
    block.plain("type", "content").object("content", |content| {
        content.plain("type", "text").put("text", text);
    });
    block.close();
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_are_forgotten_leave_room_for_others() {
        let mut terminals = Terminals::default();
        let mut note = |number: usize, bytes: usize| {
            let mut terminal = Terminal {
                id: format!("term_{number}"),
                output: None,
            };
            terminals.note(&terminal);
            terminal.output = Some("x".repeat(bytes));
            terminals.note(&terminal);
        };
        let many = 3 * EDITOR_TERMINAL_NAMES;
        for number in 0..many {
            note(number, SHOWN_OUTPUT_BYTES / 2 / EDITOR_TERMINAL_NAMES);
        }
        let large = SHOWN_OUTPUT_BYTES * 3 / 4;
        note(many, large);
        let text = terminals.text(&format!("term_{many}"));
        assert_eq!(text.map(str::len), Some(large));
    }
}
