//! The names of a thread's subagents, which lines about them begin with.
//!
//! In: what `thread/lanes` lists, and notifications. Out: labels such as `review │ `. Owns: the names. Never: lets an agent's text
//! reach a terminal as it is.

use std::collections::BTreeMap;

use acpd_client::protocol::{Lane, LaneState, LaneUpdated, LanesListed, Notification};
use acpd_model::text::shorten;

use crate::terminal::plain::plain_line;

/// Maximum length of a label's name, in characters.
const NAME_CHARS: usize = 24;

/// The name of a subagent of which nothing else is known.
const UNNAMED: &str = "subagent";

/// Maximum number of names: a thread has no more subagents in its life.
const NAMES: usize = 1024;

/// The names of subagents, by their lanes, and which of them work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lanes {
    names: BTreeMap<String, Names>,
    /// Whether each works, or waits for a user, as far as that was reported.
    working: BTreeMap<String, bool>,
}

/// What may name a subagent. The first one that says something does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Names {
    title: Option<String>,
    description: Option<String>,
    session: Option<String>,
}

impl Names {
    fn label(&self) -> String {
        let names = [&self.title, &self.description, &self.session];
        let name = names.into_iter().flatten().find(|name| !name.trim().is_empty());
        name.map_or(UNNAMED, String::as_str).to_owned()
    }

    fn is_empty(&self) -> bool {
        let Self {
            title,
            description,
            session,
        } = self;
        title.is_none() && description.is_none() && session.is_none()
    }
}

/// Returns whether a subagent works, or waits for a user.
fn works(state: &LaneState) -> bool {
    matches!(state.state.as_str(), "running" | "requires_action")
}

/// Returns an agent's name as one short line that cannot end its label.
fn named(name: Option<&str>) -> Option<String> {
    let name = plain_line(name?).replace('│', "|");
    Some(shorten(name.trim(), NAME_CHARS))
}

impl Lanes {
    /// Reads the subagents of a thread.
    pub fn of(listed: &LanesListed) -> Self {
        let names = |lane: &Lane| Names {
            title: named(lane.title.as_deref()),
            description: named(lane.description.as_deref()),
            session: named(lane.session_id.as_deref()),
        };
        let lanes = listed.data.iter().take(NAMES);
        let works = |lane: &Lane| lane.state.as_ref().is_some_and(works);
        Self {
            working: lanes
                .clone()
                .map(|lane| (lane.lane.clone(), works(lane)))
                .collect(),
            names: lanes.map(|lane| (lane.lane.clone(), names(lane))).collect(),
        }
    }

    /// Takes what a notification says of subagents. Returns whether a name has changed.
    pub fn fold(&mut self, notification: &Notification) -> bool {
        match notification {
            Notification::ThreadLaneUpdated(report) => return self.report(report),
            // The agent has another session now, or none: the work of its subagents has ended with the one before.
            Notification::ThreadUpdated(updated) if updated.agent.is_some() => self.end_session(),
            Notification::ThreadRolledBack(_) | Notification::ThreadForked(_) => self.end_session(),
            _ => {}
        }
        false
    }

    fn report(&mut self, report: &LaneUpdated) -> bool {
        let Some(lane) = &report.lane else {
            return false;
        };
        if self.names.len() >= NAMES && !self.names.contains_key(lane) {
            return false;
        }
        if let Some(state) = &report.state {
            // Of a subagent without a state nothing is known: its process may have ended.
            let works = state.as_ref().is_some_and(works);
            self.working.insert(lane.clone(), works);
        }
        let names = self.names.entry(lane.clone()).or_default();
        let before = names.label();
        if let Some(title) = &report.title {
            names.title = named(title.as_deref());
        }
        if let Some(description) = &report.description {
            names.description = named(description.as_deref());
        }
        if let Some(session) = named(report.session_id.as_deref()) {
            names.session = Some(session);
        }
        names.label() != before
    }

    /// Adds what the daemon lists. What was reported since is kept.
    pub fn add(&mut self, listed: &LanesListed) {
        let Self { names, working } = Self::of(listed);
        for (lane, works) in working {
            self.working.entry(lane).or_insert(works);
        }
        for (lane, names) in names {
            let known = self.names.entry(lane).or_default();
            known.title = known.title.take().or(names.title);
            known.description = known.description.take().or(names.description);
            known.session = known.session.take().or(names.session);
        }
    }

    /// Returns whether anything names a lane. What was reported of one may say nothing but its state.
    pub fn knows(&self, lane: &str) -> bool {
        self.names.get(lane).is_some_and(|names| !names.is_empty())
    }

    fn end_session(&mut self) {
        self.working.values_mut().for_each(|works| *works = false);
    }

    /// Returns how many subagents work, of those that were reported.
    pub fn count_at_work(&self) -> usize {
        self.working.values().filter(|works| **works).count()
    }

    /// Returns what lines about a lane begin with; empty for the main agent.
    pub fn label(&self, lane: Option<&str>) -> String {
        self.short_label(lane, NAME_CHARS)
    }

    /// Returns such a label whose name has at most this many characters.
    pub fn short_label(&self, lane: Option<&str>, chars: usize) -> String {
        let Some(lane) = lane else {
            return String::new();
        };
        let name = self
            .names
            .get(lane)
            .map_or_else(|| UNNAMED.to_owned(), Names::label);
        format!("{} │ ", shorten(&name, chars))
    }
}

/// Puts a label in front of each line of a text.
pub fn labelled(label: &str, text: &str) -> String {
    if label.is_empty() {
        return text.to_owned();
    }
    let lines: Vec<String> = text.split('\n').map(|line| format!("{label}{line}")).collect();
    lines.join("\n")
}

/// Returns the lane that a notification is about; `None` for the main agent, and for what is about no agent.
pub fn lane_of(notification: &Notification) -> Option<&str> {
    let lane = match notification {
        Notification::ItemStarted(of) => &of.lane,
        Notification::ItemAgentMessageDelta(of) | Notification::ItemAgentThoughtDelta(of) => &of.lane,
        Notification::ItemUserMessage(of) => &of.lane,
        Notification::ItemCompleted(of) => &of.lane,
        Notification::ItemToolCallStarted(of) => &of.lane,
        Notification::ItemUpdated(of) => &of.lane,
        Notification::ItemToolCallCompleted(of) => &of.lane,
        Notification::ItemFileChangeStarted(of) => &of.lane,
        Notification::ItemFileChangeCompleted(of) => &of.lane,
        Notification::ItemTerminalCommandStarted(of) => &of.lane,
        Notification::ItemTerminalCommandCompleted(of) => &of.lane,
        Notification::ThreadTerminalWaiting(of) => &of.lane,
        Notification::TurnPlanUpdated(of) => &of.lane,
        Notification::TurnPlanRemoved(of) => &of.lane,
        Notification::ThreadNotice(of) => &of.lane,
        Notification::ThreadLaneUpdated(of) => &of.lane,
        _ => return None,
    };
    lane.as_deref()
}

/// Maximum size of an unfinished line, in bytes. What is longer is printed in parts.
const LINE_BYTES: usize = 4096;

/// The lines that subagents have begun, by items. Several write at once, so only whole lines are printed.
#[derive(Debug, Default)]
pub struct Begun(BTreeMap<String, String>);

impl Begun {
    /// Adds a piece of an item's text; returns the lines that are whole now.
    pub fn push(&mut self, item: &str, piece: &str) -> Vec<String> {
        let begun = self.0.entry(item.to_owned()).or_default();
        begun.push_str(piece);
        let end = match begun.rfind('\n') {
            Some(end) => end,
            None if begun.len() > LINE_BYTES => begun.len(),
            None => return Vec::new(),
        };
        let rest = begun.split_off(end);
        let whole = std::mem::replace(begun, rest.strip_prefix('\n').unwrap_or(&rest).to_owned());
        whole.split('\n').map(str::to_owned).collect()
    }

    /// Ends an item; returns its last line, if that has begun.
    pub fn end(&mut self, item: &str) -> Option<String> {
        self.0.remove(item).filter(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::terminal::items::fixtures::{notification, object};

    fn report(members: Value) -> Notification {
        notification("thread/lane/updated", members)
    }

    #[test]
    fn a_label_is_the_title_or_what_else_names_a_subagent() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.label(None), "");
        assert_eq!(lanes.label(Some("lane_1")), "subagent │ ");
        assert!(lanes.fold(&report(json!({ "lane": "lane_1", "sessionId": "s-1" }))));
        assert_eq!(lanes.label(Some("lane_1")), "s-1 │ ");
        assert!(lanes.fold(&report(json!({ "lane": "lane_1", "title": "review" }))));
        assert_eq!(lanes.count_at_work(), 0);
        for (state, working) in [("running", 1), ("requires_action", 1), ("idle", 0)] {
            assert!(!lanes.fold(&report(json!({ "lane": "lane_1", "state": { "state": state } }))));
            assert_eq!(lanes.count_at_work(), working, "{state}");
        }
        assert!(!lanes.fold(&report(json!({ "lane": "lane_1", "description": "x" }))));
        assert_eq!(lanes.label(Some("lane_1")), "review │ ");
        assert!(lanes.fold(&report(json!({ "lane": "lane_1", "title": null }))));
        assert_eq!(lanes.label(Some("lane_1")), "x │ ");
        let listed = json!({ "data": [
            { "lane": "lane_2", "title": " ", "description": "reads", "state": { "state": "running" } },
            { "lane": "lane_3", "state": { "state": "running" }, "title": format!("a\u{1b}[2J │ b\n{}", "x".repeat(10_000)) },
        ] });
        let lanes = {
            let mut known = Lanes::default();
            known.fold(&report(
                json!({ "lane": "lane_2", "sessionId": "s-2", "state": { "state": "idle" } }),
            ));
            known.add(&object(listed));
            known
        };
        assert!(lanes.knows("lane_3") && !lanes.knows("lane_1"));
        assert_eq!(lanes.count_at_work(), 1, "what was reported since counts");
        assert_eq!(lanes.label(Some("lane_2")), "reads │ ");
        assert_eq!(lanes.short_label(Some("lane_2"), 3).chars().count(), 6);
        let hostile = lanes.label(Some("lane_3"));
        assert!(hostile.chars().count() <= NAME_CHARS + 3, "{hostile}");
        assert!(
            hostile.matches('│').count() == 1 && !hostile.contains(['\n', '\u{1b}']),
            "{hostile}"
        );
    }

    #[test]
    fn work_ends_with_the_process_the_session_and_what_is_reported() {
        let running = json!({ "lane": "lane_1", "state": { "state": "running" } });
        for end in [
            report(json!({ "lane": "lane_1", "state": null })),
            report(json!({ "lane": "lane_1", "state": { "state": "idle" } })),
            notification(
                "thread/updated",
                json!({ "agent": { "sessionId": "s", "how": "new" } }),
            ),
            notification("thread/rolledBack", json!({ "fidelity": "exact" })),
        ] {
            let mut lanes = Lanes::default();
            lanes.fold(&report(running.clone()));
            lanes.fold(&report(json!({ "lane": "lane_1", "title": "review" })));
            assert_eq!(lanes.count_at_work(), 1, "what is left out stays as it was");
            lanes.fold(&end);
            assert_eq!(lanes.count_at_work(), 0, "{end:?}");
            assert_eq!(lanes.label(Some("lane_1")), "review │ ");
            lanes.add(&object(json!({ "data": [running.clone()] })));
            assert_eq!(lanes.count_at_work(), 0, "the list was read before: {end:?}");
        }
    }

    #[test]
    fn a_state_names_no_subagent() {
        let mut lanes = Lanes::default();
        lanes.fold(&report(
            json!({ "lane": "lane_1", "state": { "state": "running" } }),
        ));
        assert!(!lanes.knows("lane_1"));
        lanes.add(&object(
            json!({ "data": [{ "lane": "lane_1", "title": "review" }] }),
        ));
        assert!(lanes.knows("lane_1"));
        assert_eq!(lanes.count_at_work(), 1, "what was reported since counts");
    }

    #[test]
    fn each_line_has_the_label() {
        assert_eq!(labelled("", "a\nb"), "a\nb");
        assert_eq!(labelled("x │ ", "a\nb"), "x │ a\nx │ b");
        let notice = notification("thread/notice", json!({ "lane": "lane_1" }));
        assert_eq!(lane_of(&notice), Some("lane_1"));
        assert_eq!(lane_of(&notification("thread/notice", json!({}))), None);
    }

    #[test]
    fn only_whole_lines_leave_a_text_and_a_long_one_leaves_in_parts() {
        let mut begun = Begun::default();
        assert!(begun.push("a", "one").is_empty() && begun.push("b", "other").is_empty());
        assert_eq!(begun.push("a", " line\ntwo\n\nthr"), ["one line", "two", ""]);
        assert_eq!(begun.end("a").as_deref(), Some("thr"));
        assert_eq!(begun.end("a"), None);
        assert_eq!(begun.push("b", "\n"), ["other"]);
        assert_eq!(begun.end("b"), None);
        let long = "ä".repeat(LINE_BYTES);
        assert_eq!(begun.push("c", &long), [long]);
        assert_eq!(begun.end("c"), None);
    }
}
