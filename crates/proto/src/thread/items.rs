//! What the agent reports becomes items and state.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::{Level, Outcome};
use acpd_model::item::ToolStatus;
use acpd_model::limits::{OPEN_FILE_CHANGES, OPEN_TOOL_BYTES, OPEN_TOOL_CALLS, VIOLATIONS};
use acpd_model::{EventKind, ItemEnd, ItemId, ItemOutcome, ItemStart, Origin, RawJson};

use super::thread::Thread;
use crate::agent::{ToolUpdate, Update, UpdateKind};
use crate::projection::{FileDiff, ItemView, unified_diff};

impl Thread {
    pub(super) fn handle_update(&mut self, update: Update) {
        let Update {
            kind,
            raw,
            raw_params,
        } = update;
        if !matches!(kind, UpdateKind::Chunk(_)) {
            self.messages.interrupt();
        }
        let kind = match kind {
            UpdateKind::Chunk(chunk) => {
                let quirks = self.session.quirks();
                return self
                    .messages
                    .handle_chunk(&mut self.journal, quirks, chunk, raw, raw_params);
            }
            UpdateKind::Tool(tool) => return self.handle_tool(tool, raw, raw_params, false),
            UpdateKind::Plan(entries) => EventKind::PlanReplaced { entries },
            UpdateKind::Commands => EventKind::CommandsReplaced {},
            UpdateKind::Mode(mode_id) => EventKind::ModeChanged { mode_id },
            UpdateKind::ConfigOptions => EventKind::ConfigOptionsReplaced {},
            UpdateKind::Usage { used, size, cost } => EventKind::UsageUpdated { used, size, cost },
            UpdateKind::SessionInfo { title } => {
                let overruled = title.is_some() && self.journal.live().names.person.is_some();
                EventKind::SessionInfoUpdated { title, overruled }
            }
            UpdateKind::Notice { level, message } => EventKind::NoticeGiven {
                level,
                code: "agentNotice".to_owned(),
                message,
            },
            UpdateKind::Compaction {
                status: Some(status), ..
            } => EventKind::NoticeGiven {
                level: Level::Info,
                code: "compaction".to_owned(),
                message: format!("The agent shortens its context: {status}"),
            },
            UpdateKind::Compaction { status: None, .. } | UpdateKind::Other => {
                return self.journal.emit_unshown(raw, raw_params);
            }
        };
        self.journal
            .emit_with_params(Origin::Agent, kind, raw, raw_params);
    }

    /// Takes what is said of a tool call: by an update, or where it is `asked` whether the call may go on.
    pub(super) fn handle_tool(
        &mut self,
        tool: ToolUpdate,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
        asked: bool,
    ) {
        let quirks = self.session.quirks();
        self.messages.end_partial_echo(&mut self.journal, quirks);
        let known = self.journal.live().tools.get(tool.id.as_str());
        let open = known.filter(|known| self.journal.live().items.contains_key(&known.item));
        match (open, known) {
            (Some(known), _) => {
                if !asked {
                    self.unreported.remove(&known.item);
                }
                let before = self.tool_status(known.item);
                if tool.opens && !asked {
                    self.violation(Some(known.item), "opened the same tool call twice");
                }
                if !asked && tool.status.is_some_and(|new| new < before) {
                    self.violation(Some(known.item), "set the status of a tool call back");
                }
                let status = tool.status.map_or(before, |new| new.max(before));
                let kind = EventKind::ItemUpdated {
                    item: known.item,
                    status,
                };
                self.journal
                    .emit_with_params(Origin::Agent, kind, raw, raw_params);
                self.follow_tool(known.item, status, tool.has_diff);
                self.bound_tool_bytes(asked.then_some(known.item));
            }
            (None, Some(known)) if (!asked && self.refused_items.remove(&known.item)) || !tool.opens => {
                let kind = EventKind::ItemUpdated {
                    item: known.item,
                    status: known.status,
                };
                self.journal
                    .emit_with_params(Origin::Agent, kind, raw, raw_params);
            }
            _ => {
                self.make_room_for_tool();
                let item = self.journal.next_item();
                self.messages.break_off();
                let status = tool.status.unwrap_or_default();
                let start = ItemStart::ToolCall {
                    tool_call_id: tool.id.into_string(),
                    title: tool.title.unwrap_or_default(),
                    kind: tool.kind.unwrap_or_else(|| "other".to_owned()),
                    status,
                };
                let kind = EventKind::ItemStarted {
                    item,
                    parent: None,
                    start,
                };
                self.journal
                    .emit_with_params(Origin::Agent, kind, raw, raw_params);
                if asked {
                    self.unreported.insert(item, false);
                }
                self.follow_tool(item, status, tool.has_diff);
                self.bound_tool_bytes(asked.then_some(item));
            }
        }
    }

    /// Ends the oldest tool call where there are too many, as far as nobody is asked about it. What is still said of it is
    /// recorded like all that is said too late.
    fn make_room_for_tool(&mut self) {
        if self.journal.live().items.tools().len() < OPEN_TOOL_CALLS {
            return;
        }
        if let Some(oldest) = self.oldest_tool(None) {
            self.violation(
                None,
                "left more tool calls open than are followed: the oldest are ended",
            );
            self.complete_tool(oldest, ItemOutcome::Failed);
        }
    }

    /// Ends tool calls, the oldest first, that hold too much together. Where there is none but those that somebody is asked about,
    /// their questions end too. `next` is the one that somebody is about to be asked about.
    fn bound_tool_bytes(&mut self, next: Option<ItemId>) {
        while self.journal.live().items.tool_bytes() > OPEN_TOOL_BYTES {
            let mut tools = self.journal.live().items.tools().iter().copied();
            let oldest = self.oldest_tool(next);
            let Some(oldest) = oldest.or_else(|| tools.find(|tool| Some(*tool) != next)) else {
                return;
            };
            self.violation(
                None,
                "said more of its open tool calls than is held: the oldest are ended",
            );
            let question_requests = self.journal.live().requests.iter();
            let about: Vec<u32> = question_requests
                .filter(|(_, open)| open.event.kind.item() == Some(oldest))
                .map(|(number, _)| *number)
                .collect();
            for number in about {
                self.settle_request(Origin::Daemon, number, &Outcome::Cancelled);
            }
            self.complete_tool(oldest, ItemOutcome::Failed);
        }
    }

    /// The oldest open tool call that nobody is asked about, now or `next`.
    fn oldest_tool(&self, next: Option<ItemId>) -> Option<ItemId> {
        let question_requests = self.journal.live().requests.values();
        let asked: BTreeSet<ItemId> = question_requests
            .filter_map(|open| open.event.kind.item())
            .chain(next)
            .collect();
        let mut tools = self.journal.live().items.tools().iter();
        tools.find(|tool| !asked.contains(tool)).copied()
    }

    /// Records what the agent did against the protocol, once for each item; it is not shown as if it were right.
    fn violation(&mut self, item: Option<ItemId>, what: &'static str) {
        if self.violations.len() < VIOLATIONS && self.violations.insert((item, what)) {
            let message = match item {
                Some(item) => format!("The agent {what} ({item})."),
                None => format!("The agent {what}."),
            };
            self.journal.notice(Level::Info, "protocolViolation", &message);
        }
    }

    /// What the agent says of a session that is not this thread's changes nothing here.
    pub(super) fn foreign_update(&mut self, params: Option<RawJson>) {
        self.journal.emit_unshown(params, None);
        self.violation(None, "reported on a session that is not this thread's");
    }

    fn tool_status(&self, item: ItemId) -> ToolStatus {
        match self.journal.item(item) {
            Some(ItemView::Tool(tool)) => tool.status(),
            _ => ToolStatus::default(),
        }
    }

    /// What a tool call's change brings with it: the files it touches, and its end.
    pub(super) fn follow_tool(&mut self, item: ItemId, status: ToolStatus, has_diff: bool) {
        if has_diff {
            self.start_files(item);
        }
        match status {
            ToolStatus::Completed => self.complete_tool(item, ItemOutcome::Completed),
            ToolStatus::Failed => self.complete_tool(item, ItemOutcome::Failed),
            ToolStatus::Pending | ToolStatus::InProgress => {}
        }
    }

    fn start_files(&mut self, tool: ItemId) {
        let Some(ItemView::Tool(view)) = self.journal.item(tool) else {
            return;
        };
        let mut paths: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for diff in view.diffs() {
            if seen.insert(diff.path.clone()) {
                paths.push(diff.path);
            }
        }
        let known = self.journal.live().items.files_of(tool);
        let known: BTreeSet<String> = known.map(|(_, path)| path.to_owned()).collect();
        for path in paths {
            if self.journal.live().items.count_files() >= OPEN_FILE_CHANGES {
                return self.violation(Some(tool), "shows more files than are told one by one");
            }
            if !known.contains(&path) {
                let item = self.journal.next_item();
                let kind = EventKind::ItemStarted {
                    item,
                    parent: Some(tool),
                    start: ItemStart::FileChange { path },
                };
                self.journal.emit(Origin::Agent, kind, None);
            }
        }
    }

    /// Ends a tool call, its files first.
    fn complete_tool(&mut self, tool: ItemId, outcome: ItemOutcome) {
        self.unreported.remove(&tool);
        let files = self.journal.live().items.files_of(tool);
        let files: Vec<(ItemId, String)> = files.map(|(item, path)| (item, path.to_owned())).collect();
        let diffs = match self.journal.item(tool) {
            Some(ItemView::Tool(view)) if !files.is_empty() => view.diffs(),
            _ => Vec::new(),
        };
        // Several edits of one file: the first has what was there, the last what is there now.
        let mut edits_of: BTreeMap<&str, Vec<&FileDiff>> = BTreeMap::new();
        for diff in &diffs {
            edits_of.entry(&diff.path).or_default().push(diff);
        }
        for (item, path) in &files {
            let edits = edits_of.remove(path.as_str()).unwrap_or_default();
            let diff = edits
                .iter()
                .map(|d| unified_diff(path, &d.before(), &d.new_text))
                .collect();
            let end = ItemEnd::FileChange {
                path: path.clone(),
                diff,
                replaced: None,
            };
            self.journal.emit(
                Origin::Agent,
                EventKind::ItemCompleted {
                    item: *item,
                    outcome,
                    end,
                },
                None,
            );
            if let (Some(first), Some(last), ItemOutcome::Completed) = (edits.first(), edits.last(), outcome)
            {
                self.journal
                    .note_file_change(path, &first.before(), &last.new_text);
            }
        }
        self.journal.complete(tool, outcome);
    }

    /// Ends everything that is open, but for terminals and files that are being written: those may outlive a turn,
    /// and end when they do.
    pub(super) fn close_items(&mut self, outcome: ItemOutcome) {
        self.refused_items.clear();
        let message = self.messages.open_item();
        let ends_itself = |id: &ItemId, view: &ItemView| match view {
            ItemView::Terminal { .. } => true,
            ItemView::File { .. } => self.callbacks.is_being_written(*id),
            ItemView::Message(_) | ItemView::Tool(_) => Some(*id) == message,
        };
        let open: Vec<(ItemId, bool)> = self
            .journal
            .live()
            .items
            .iter()
            .filter(|(id, open)| !ends_itself(id, &open.view))
            .map(|(id, open)| (*id, matches!(open.view, ItemView::Tool(_))))
            .collect();
        for (item, is_tool) in open {
            if is_tool {
                let ended = outcome == ItemOutcome::Completed && self.end_unreported(item);
                if !ended {
                    self.complete_tool(item, outcome);
                }
            } else {
                self.journal.complete(item, outcome);
            }
        }
        self.journal.emit_turn_diff();
        self.messages.end(&mut self.journal, outcome);
    }
}
