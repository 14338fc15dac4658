//! Tool calls of the agent, and the files that they change.
//!
//! In: the agent's reports about its tool calls, answers to permission requests about them. Out: events, and the tool
//! calls that exceed a limit. Owns: the state of the tool calls beyond their events. Never: settles a request.

mod unreported;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use acpd_model::event::Level;
use acpd_model::item::ToolStatus;
use acpd_model::limits::{OPEN_FILE_CHANGES, OPEN_TOOL_BYTES, OPEN_TOOL_CALLS};
use acpd_model::{EventKind, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, Origin, RawJson};

use super::journal::{FileChange, Journal};
use crate::agent::ToolUpdate;
use crate::projection::{FileDiff, ItemView, unified_diff};

/// Protocol violations of an agent that are recorded in one turn.
const VIOLATIONS: usize = 64;

/// The effect of an update on its tool call.
pub(super) enum ToolOutcome {
    /// It started the tool call.
    Began(ItemId),
    /// It changed the open tool call.
    Updated(ItemId),
    /// It repeated the last update of the open tool call.
    Repeated(ItemId),
    /// It came after the end of the tool call.
    Late,
}

/// The tool calls of a thread.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    /// Open tool calls that the agent has named in a permission request only → whether they may run.
    unreported: BTreeMap<ItemId, bool>,
    /// Those of them that a denial has ended, until the agent reports on them or the turn is over.
    refused: BTreeSet<ItemId>,
    /// Those that the agent reports on and a denial has ended, unless the agent says how they ended.
    denied: BTreeSet<ItemId>,
    /// The last update of each open tool call, as a hash.
    last_updates: BTreeMap<ItemId, u64>,
    /// The agent's protocol violations in this turn.
    violations: BTreeSet<(Option<ItemId>, &'static str)>,
}

impl ToolCalls {
    /// Handles the agent's report about a tool call: in an update, or in a permission request if `asked`.
    pub fn handle(
        &mut self,
        journal: &mut Journal,
        tool: ToolUpdate,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
        asked: bool,
    ) -> ToolOutcome {
        let known = journal.live().tools.get(journal.lane(), tool.id.as_str());
        let open = known.filter(|known| journal.live().items.contains_key(&known.item));
        match (open, known) {
            (Some(known), _) => {
                if !asked {
                    self.unreported.remove(&known.item);
                }
                let before = tool_status(journal, known.item);
                if tool.opens && !asked {
                    self.violation(journal, Some(known.item), "opened the same tool call twice");
                }
                if !asked && tool.status.is_some_and(|new| new < before) {
                    self.violation(journal, Some(known.item), "set the status of a tool call back");
                }
                let status = tool.status.map_or(before, |new| new.max(before));
                let item = known.item;
                let hash = raw.as_ref().map(hash_of);
                let repeats = hash.is_some() && self.last_updates.get(&item) == hash.as_ref();
                if let Some(hash) = hash {
                    self.last_updates.insert(item, hash);
                }
                let kind = EventKind::Item(ItemEvent::Updated { item, status });
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
                self.follow_tool(journal, item, status, tool.has_diff);
                if repeats && status == before {
                    ToolOutcome::Repeated(item)
                } else {
                    ToolOutcome::Updated(item)
                }
            }
            (None, Some(known)) if (!asked && self.refused.remove(&known.item)) || !tool.opens => {
                let kind = EventKind::Item(ItemEvent::Updated {
                    item: known.item,
                    status: known.status,
                });
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
                ToolOutcome::Late
            }
            _ => {
                self.make_room_for_tool(journal);
                let item = journal.next_item();
                let status = tool.status.unwrap_or_default();
                let start = ItemStart::ToolCall {
                    tool_call_id: tool.id.into_string(),
                    title: tool.title.unwrap_or_default(),
                    kind: tool.kind.unwrap_or_else(|| "other".to_owned()),
                    status,
                };
                let kind = EventKind::Item(ItemEvent::Started {
                    item,
                    parent: None,
                    start,
                });
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
                if asked {
                    self.unreported.insert(item, false);
                }
                self.follow_tool(journal, item, status, tool.has_diff);
                ToolOutcome::Began(item)
            }
        }
    }

    /// Ends the oldest tool call without an open request if there are too many. Later updates of it are recorded like
    /// all late updates.
    fn make_room_for_tool(&mut self, journal: &mut Journal) {
        if journal.live().items.tools().len() < OPEN_TOOL_CALLS {
            return;
        }
        if let Some(oldest) = oldest_tool(journal, None) {
            self.violation(
                journal,
                None,
                "left more tool calls open than are followed: the oldest are ended",
            );
            self.complete_tool(journal, oldest, ItemOutcome::Failed);
        }
    }

    /// Returns a tool call to end if all together exceed the byte limit: the oldest without an open request, else the
    /// oldest. `next` is the tool call of a permission request that is about to be recorded.
    pub fn next_excess(&mut self, journal: &mut Journal, next: Option<ItemId>) -> Option<ItemId> {
        if journal.live().items.tool_bytes() <= OPEN_TOOL_BYTES {
            return None;
        }
        let mut tools = journal.live().items.tools().iter().copied();
        let oldest = oldest_tool(journal, next).or_else(|| tools.find(|tool| Some(*tool) != next))?;
        self.violation(
            journal,
            None,
            "said more of its open tool calls than is held: the oldest are ended",
        );
        Some(oldest)
    }

    /// Ends a tool call as failed.
    pub fn fail(&mut self, journal: &mut Journal, tool: ItemId) {
        self.complete_tool(journal, tool, ItemOutcome::Failed);
    }

    /// Clears the violations of the last turn.
    pub fn begin_turn(&mut self) {
        self.violations.clear();
    }

    /// Records a protocol violation of the agent, once for each item, so that clients do not see the data as valid.
    fn violation(&mut self, journal: &mut Journal, item: Option<ItemId>, what: &'static str) {
        if self.violations.len() < VIOLATIONS && self.violations.insert((item, what)) {
            let message = match item {
                Some(item) => format!("The agent {what} ({item})."),
                None => format!("The agent {what}."),
            };
            journal.notice(Level::Info, "protocolViolation", &message);
        }
    }

    /// Records an update of a session that does not belong to this thread; it changes nothing here.
    pub fn foreign_update(&mut self, journal: &mut Journal, params: Option<RawJson>) {
        journal.emit_unshown(params, None);
        self.violation(journal, None, "reported on a session that is not this thread's");
    }

    /// Applies the consequences of a tool call's change: the files it touches, and its end.
    pub(super) fn follow_tool(
        &mut self,
        journal: &mut Journal,
        item: ItemId,
        status: ToolStatus,
        has_diff: bool,
    ) {
        if has_diff {
            self.start_files(journal, item);
        }
        match status {
            ToolStatus::Completed => self.complete_tool(journal, item, ItemOutcome::Completed),
            ToolStatus::Failed => self.complete_tool(journal, item, ItemOutcome::Failed),
            ToolStatus::Pending | ToolStatus::InProgress => {}
        }
    }

    fn start_files(&mut self, journal: &mut Journal, tool: ItemId) {
        let Some(ItemView::Tool(view)) = journal.item(tool) else {
            return;
        };
        let mut paths: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for diff in view.diffs() {
            if seen.insert(diff.path.clone()) {
                paths.push(diff.path);
            }
        }
        let known = journal.live().items.files_of(tool);
        let known: BTreeSet<String> = known.map(|(_, path)| path.to_owned()).collect();
        for path in paths {
            if journal.live().items.count_files() >= OPEN_FILE_CHANGES {
                return self.violation(
                    journal,
                    Some(tool),
                    "shows more files than clients are notified about one by one",
                );
            }
            if !known.contains(&path) {
                let item = journal.next_item();
                let kind = EventKind::Item(ItemEvent::Started {
                    item,
                    parent: Some(tool),
                    start: ItemStart::FileChange { path },
                });
                journal.emit(Origin::Agent, kind, None);
            }
        }
    }

    /// Ends a tool call, its files first.
    fn complete_tool(&mut self, journal: &mut Journal, tool: ItemId, outcome: ItemOutcome) {
        self.unreported.remove(&tool);
        self.denied.remove(&tool);
        self.last_updates.remove(&tool);
        let files = journal.live().items.files_of(tool);
        let files: Vec<(ItemId, String)> = files.map(|(item, path)| (item, path.to_owned())).collect();
        let diffs = match journal.item(tool) {
            Some(ItemView::Tool(view)) if !files.is_empty() => view.diffs(),
            _ => Vec::new(),
        };
        // With several edits of one file, the first has the original content and the last has the current content.
        let mut edits_of: BTreeMap<&str, Vec<&FileDiff>> = BTreeMap::new();
        for diff in &diffs {
            edits_of.entry(&diff.path).or_default().push(diff);
        }
        for (item, path) in &files {
            let edits = edits_of.remove(path.as_str()).unwrap_or_default();
            let diff: String = edits
                .iter()
                .map(|d| unified_diff(path, &d.before(), &d.new_text))
                .collect();
            if let (Some(first), Some(last), ItemOutcome::Completed) = (edits.first(), edits.last(), outcome)
            {
                let old = first.before();
                let of_all = (edits.len() > 1).then(|| unified_diff(path, &old, &last.new_text));
                journal.note_file_change(&FileChange {
                    path,
                    old: &old,
                    new: &last.new_text,
                    diff: of_all.as_ref().unwrap_or(&diff),
                });
            }
            let end = ItemEnd::FileChange {
                path: path.clone(),
                diff,
                replaced: None,
            };
            journal.emit(
                Origin::Agent,
                EventKind::Item(ItemEvent::Completed {
                    item: *item,
                    outcome,
                    end,
                }),
                None,
            );
        }
        journal.complete(tool, outcome);
    }

    /// Ends all open items except terminals, which may outlive a turn, and those for which `is_kept` returns `true`.
    pub fn close_all(
        &mut self,
        journal: &mut Journal,
        outcome: ItemOutcome,
        is_kept: impl Fn(ItemId) -> bool,
    ) {
        self.refused.clear();
        let ends = |id: &ItemId, view: &ItemView| !matches!(view, ItemView::Terminal { .. }) && !is_kept(*id);
        let open: Vec<(ItemId, bool)> = journal
            .live()
            .items
            .iter()
            .filter(|(id, open)| ends(id, &open.view))
            .map(|(id, open)| (*id, matches!(open.view, ItemView::Tool(_))))
            .collect();
        for (item, is_tool) in open {
            if is_tool {
                let is_completed = outcome == ItemOutcome::Completed;
                if is_completed && self.denied.contains(&item) {
                    self.complete_tool(journal, item, ItemOutcome::Failed);
                } else if !(is_completed && self.end_unreported(journal, item)) {
                    self.complete_tool(journal, item, outcome);
                }
            } else {
                journal.complete(item, outcome);
            }
        }
        // Of the calls that continue, a later turn's end must know it as well.
        self.denied.retain(|item| journal.item(*item).is_some());
    }
}

/// Returns the oldest open tool call without an open request, now or `next`.
fn oldest_tool(journal: &Journal, next: Option<ItemId>) -> Option<ItemId> {
    let requests = journal.live().requests.values();
    let asked: BTreeSet<ItemId> = requests
        .filter_map(|open| open.event.kind.item())
        .chain(next)
        .collect();
    let mut tools = journal.live().items.tools().iter();
    tools.find(|tool| !asked.contains(tool)).copied()
}

fn hash_of(update: &RawJson) -> u64 {
    let mut hasher = DefaultHasher::new();
    update.get().hash(&mut hasher);
    hasher.finish()
}

fn tool_status(journal: &Journal, item: ItemId) -> ToolStatus {
    match journal.item(item) {
        Some(ItemView::Tool(tool)) => tool.status(),
        _ => ToolStatus::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use acpd_model::ThreadId;
    use acpd_model::event::Outcome;

    use super::*;
    use crate::time::Now;

    #[test]
    fn a_denied_call_that_continues_fails_when_it_ends() {
        let now = Now {
            mono: Duration::ZERO,
            wall: 0,
        };
        let mut journal = Journal::new(ThreadId(uuid::Uuid::nil()), Arc::default(), now);
        let mut calls = ToolCalls::default();
        let tool = ToolUpdate {
            id: "t".into(),
            opens: true,
            title: None,
            kind: None,
            status: None,
            has_diff: false,
        };
        let ToolOutcome::Began(call) = calls.handle(&mut journal, tool, None, None, false) else {
            panic!("it begins");
        };
        calls.question_settled(&mut journal, call, &Outcome::Declined);
        calls.close_all(&mut journal, ItemOutcome::Completed, |item| item == call);
        calls.close_all(&mut journal, ItemOutcome::Completed, |_| false);
        let mut events = Vec::new();
        journal.take_events(&mut events);
        let outcomes: Vec<ItemOutcome> = events
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::Item(ItemEvent::Completed { outcome, .. }) => Some(outcome),
                _ => None,
            })
            .collect();
        assert_eq!(outcomes, [ItemOutcome::Failed]);
    }
}
