//! The printed lines of tool calls.
//!
//! Agents start a call with a placeholder such as "Terminal", and send the real title soon after. So a new title waits
//! briefly: until the time is up, other output is printed, or the call ends. A later title gets its own line; an
//! unchanged title gets none.
//!
//! In: what is known of calls, and the time. Out: lines. Owns: the last printed name of each running call. Never:
//! prints.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use acpd_client::protocol::AcpObject;
use acpd_model::text::shorten;
use acpd_policy::call_title;
use serde_json::Value;

use crate::terminal::items::acp;
use crate::terminal::plain::plain_line;

/// Time that a title waits for a better one.
const SETTLE: Duration = Duration::from_millis(500);

/// Maximum length of a printed title, in characters.
const TITLE_CHARS: usize = 2000;

/// The running tool calls.
#[derive(Debug, Default)]
pub struct ToolCalls {
    running: HashMap<String, Call>,
    /// Item ids of the calls with an unprinted line, oldest first.
    waiting: Vec<String>,
    /// The latest time to print them.
    due: Option<Instant>,
}

#[derive(Debug, Default)]
struct Call {
    title: String,
    kind: String,
    /// What its lines begin with.
    label: String,
    /// The name that was last printed.
    printed: Option<String>,
    /// Whether the call has an unprinted line.
    waits: bool,
}

/// What names a call. Absent members are unchanged.
pub struct Facts<'f> {
    pub title: Option<&'f str>,
    pub kind: Option<&'f str>,
    pub input: &'f Value,
}

impl<'f> Facts<'f> {
    /// Reads the call as its agent sent it.
    pub fn of(call: Option<&'f AcpObject>) -> Self {
        Self {
            title: call.and_then(acp::title),
            kind: call.and_then(acp::kind),
            input: acp::raw_input(call),
        }
    }
}

impl Call {
    fn take(&mut self, facts: &Facts<'_>) {
        if let Some(title) = facts.title {
            self.title = shorten(&plain_line(&call_title(title, facts.input)), TITLE_CHARS);
        }
        if let Some(kind) = facts.kind {
            self.kind = shorten(&plain_line(kind), TITLE_CHARS);
        }
    }

    fn name(&self) -> String {
        match (self.title.is_empty(), self.kind.is_empty()) {
            (false, false) => format!("{} ({})", self.title, self.kind),
            (false, true) => self.title.clone(),
            (true, _) => self.kind.clone(),
        }
    }
}

impl ToolCalls {
    /// Adds a call.
    pub fn start(&mut self, item: &str, facts: &Facts<'_>, now: Instant) {
        self.running.entry(item.to_owned()).or_default();
        self.update(item, facts, now);
    }

    /// Sets what the lines of a call begin with: the name of the subagent whose call it is.
    pub fn set_label(&mut self, item: &str, label: String) {
        if let Some(call) = self.running.get_mut(item) {
            call.label = label;
        }
    }

    /// Updates a call. Ignores updates after the call's end.
    pub fn update(&mut self, item: &str, facts: &Facts<'_>, now: Instant) {
        let Some(call) = self.running.get_mut(item) else {
            return;
        };
        call.take(facts);
        if !call.waits && call.printed.as_ref() != Some(&call.name()) {
            call.waits = true;
            self.waiting.push(item.to_owned());
            self.due.get_or_insert(now + SETTLE);
        }
    }

    /// Removes a completed call; returns its name.
    pub fn complete(&mut self, item: &str) -> String {
        let call = self.running.remove(item);
        call.map(|call| call.name()).unwrap_or_default()
    }

    /// Returns the latest time to print the waiting lines.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the waiting lines.
    pub fn take(&mut self) -> Vec<String> {
        self.due = None;
        let waiting = std::mem::take(&mut self.waiting);
        let lines = waiting.iter().filter_map(|item| {
            let call = self.running.get_mut(item)?;
            let name = call.name();
            call.waits = false;
            let is_new = call.printed.replace(name.clone()).as_ref() != Some(&name);
            is_new.then(|| format!("{}● {name}", call.label))
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn start(calls: &mut ToolCalls, item: &str, call: &Value, now: Instant) {
        calls.start(item, &Facts::of(call.as_object()), now);
    }

    fn update(calls: &mut ToolCalls, item: &str, call: &Value, now: Instant) {
        calls.update(item, &Facts::of(call.as_object()), now);
    }

    #[test]
    fn a_title_that_comes_soon_is_the_only_one_printed() {
        let (mut calls, begin) = (ToolCalls::default(), Instant::now());
        start(
            &mut calls,
            "1",
            &json!({ "title": "Terminal", "kind": "execute" }),
            begin,
        );
        start(
            &mut calls,
            "2",
            &json!({ "title": "Read", "kind": "read" }),
            begin,
        );
        let later = begin + SETTLE / 2;
        update(&mut calls, "1", &json!({ "title": "printf hello" }), later);
        // A better title does not extend the wait.
        assert_eq!(calls.due(), Some(begin + SETTLE));
        assert_eq!(calls.take(), ["● printf hello (execute)", "● Read (read)"]);
        assert_eq!((calls.due(), calls.take().len()), (None, 0));
    }

    #[test]
    fn a_title_that_comes_late_is_printed_once_more_and_one_that_stays_is_not() {
        let (mut calls, now) = (ToolCalls::default(), Instant::now());
        start(
            &mut calls,
            "1",
            &json!({ "title": "Terminal", "kind": "execute" }),
            now,
        );
        assert_eq!(calls.take(), ["● Terminal (execute)"]);
        for same in [
            json!({}),
            json!({ "title": "Terminal" }),
            json!({ "title": null }),
        ] {
            update(&mut calls, "1", &same, now);
            assert_eq!(calls.due(), None, "{same}");
        }
        for title in ["one", "two", "three", "two"] {
            update(&mut calls, "1", &json!({ "title": title }), now);
        }
        assert_eq!(calls.take(), ["● two (execute)"]);
        // A name that changes and changes back counts as unchanged.
        for title in ["x", "two"] {
            update(&mut calls, "1", &json!({ "title": title }), now);
        }
        assert!(calls.take().is_empty());
        assert_eq!(calls.complete("1"), "two (execute)");
        assert_eq!(calls.complete("1"), "");
        update(&mut calls, "1", &json!({ "title": "too late" }), now);
        assert!(calls.take().is_empty());
    }

    #[test]
    fn a_command_has_the_quotes_that_it_runs_with() {
        let (mut calls, now) = (ToolCalls::default(), Instant::now());
        let input = json!({ "command": "sh", "args": ["-c", "a; b"] });
        let started = Facts {
            title: Some("sh -c a; b"),
            kind: None,
            input: &input,
        };
        calls.start("1", &started, now);
        start(
            &mut calls,
            "2",
            &json!({ "title": "sh -c a; b", "rawInput": input }),
            now,
        );
        assert_eq!(calls.take(), ["● sh -c 'a; b'", "● sh -c 'a; b'"]);
    }

    #[test]
    fn a_title_cannot_drive_the_terminal_or_fill_it() {
        let (mut calls, now) = (ToolCalls::default(), Instant::now());
        start(
            &mut calls,
            "1",
            &json!({ "title": "a\u{1b}[2J\u{200b}\n✗ failed", "kind": "\u{7}" }),
            now,
        );
        start(&mut calls, "2", &json!({ "title": "x".repeat(1 << 20) }), now);
        start(&mut calls, "3", &json!({ "kind": "other" }), now);
        let lines = calls.take();
        assert_eq!(
            (&lines[0][..], &lines[2][..]),
            ("● a\u{fffd}[2J\u{fffd}\u{fffd}✗ failed (\u{fffd})", "● other")
        );
        assert!(lines[1].chars().count() <= TITLE_CHARS + 2 && lines[1].ends_with('…'));
    }
}
