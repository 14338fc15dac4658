//! Dispatch of agent updates to the parts of the thread.

use std::collections::BTreeSet;

use acpd_model::event::{Level, Outcome};
use acpd_model::item::ToolStatus;
use acpd_model::{EventKind, ItemId, ItemOutcome, Origin, RawJson, SessionEvent, TurnEvent};

use super::Thread;
use crate::agent::{ChunkContent, CursorUpdate, Suggestion, ToolUpdate, Update, UpdateKind};
use crate::projection::{ItemView, Named};
use crate::thread::message::Messages;
use crate::thread::session::note_unasked;
use crate::thread::tool_call::ToolOutcome;

impl Thread {
    pub(super) fn handle_update(&mut self, update: Update) {
        let Update {
            kind,
            raw,
            raw_params,
        } = update;
        if !matches!(kind, UpdateKind::Chunk(_)) {
            self.messages.interrupt(self.journal.lane());
        }
        let late = self.late(&kind);
        if late.is_none() && self.is_work(&kind) {
            self.work_unprompted();
        }
        if late.is_none() && self.is_new(&kind) {
            self.session.record_activity(&self.journal);
        }
        if self.journal.lane().is_some() && !concerns_subagents(&kind) {
            return self.journal.emit_unshown(raw, raw_params);
        }
        // What a process reports while it opens the session is its default, or an old state that it replays.
        let is_setting = matches!(kind, UpdateKind::Mode(_) | UpdateKind::ConfigOptions);
        if is_setting && !self.session.is_ready() && !self.live().choices.is_empty() {
            return self.journal.emit_unshown(raw, raw_params);
        }
        let kind = match kind {
            UpdateKind::Chunk(chunk) if self.is_too_late() => {
                return Messages::keep_unshown(&mut self.journal, &chunk, raw, raw_params);
            }
            UpdateKind::Chunk(chunk) => {
                let (journal, quirks) = (&mut self.journal, self.session.quirks());
                return match late {
                    Some(late) => self
                        .messages
                        .handle_late(journal, quirks, late, chunk, raw, raw_params),
                    None => self
                        .messages
                        .handle_chunk(journal, quirks, chunk, raw, raw_params),
                };
            }
            UpdateKind::Tool(tool) => return self.handle_tool(tool, raw, raw_params, false),
            UpdateKind::Subagent(report) => return self.subagent_reported(*report, raw, raw_params),
            UpdateKind::SessionMessage(message) => {
                return self.handle_session_message(message, raw, raw_params);
            }
            UpdateKind::SessionChunk(chunk) => return self.handle_session_chunk(chunk, raw, raw_params),
            UpdateKind::Plan(plan) => return self.replace_plan(plan, raw, raw_params),
            UpdateKind::PlanRemoved(id) => return self.remove_plan(id, raw, raw_params),
            UpdateKind::Commands => EventKind::Session(SessionEvent::CommandsReplaced {}),
            UpdateKind::Mode(mode_id) => EventKind::Session(SessionEvent::ModeChanged { mode_id }),
            UpdateKind::ConfigOptions => {
                EventKind::Session(SessionEvent::ConfigOptionsReplaced { chosen: None })
            }
            UpdateKind::Usage { used, size, cost } => {
                let thread_cost = cost.as_ref().and_then(|cost| self.live().cost_with(cost));
                EventKind::Turn(TurnEvent::UsageUpdated {
                    used,
                    size,
                    cost,
                    thread_cost,
                })
            }
            UpdateKind::SessionInfo { title } => {
                let overruled = title.is_some() && self.live().names.person.is_some();
                EventKind::Session(SessionEvent::InfoUpdated { title, overruled })
            }
            UpdateKind::Notice { level, message } => EventKind::Session(SessionEvent::NoticeGiven {
                level,
                code: "agentNotice".to_owned(),
                message,
                detail: None,
                folder: None,
            }),
            UpdateKind::Cursor(cursor) => {
                let CursorUpdate { id, anchor, forks } = *cursor;
                let place = anchor.and_then(|anchor| {
                    let (kind, id) = (anchor.kind, anchor.id.as_str());
                    self.live().cursors.place(Named { kind, id }, anchor.side)
                });
                EventKind::Session(SessionEvent::CursorUpdated {
                    cursor_id: id,
                    place,
                    forks,
                })
            }
            UpdateKind::Compaction {
                status: Some(status), ..
            } => EventKind::Session(SessionEvent::NoticeGiven {
                level: Level::Info,
                code: "compaction".to_owned(),
                message: format!("The agent shortens its context: {status}"),
                detail: None,
                folder: None,
            }),
            UpdateKind::Suggestions(suggestions) => return self.suggested(suggestions),
            UpdateKind::Compaction { status: None, .. } | UpdateKind::Other => {
                return self.journal.emit_unshown(raw, raw_params);
            }
        };
        self.journal
            .emit_with_params(Origin::Agent, kind, raw, raw_params);
        if is_setting {
            self.session.offered_later(&mut self.journal);
            self.send_requests();
        }
    }

    /// Shows what the agent suggests. What a process repeats while it opens the session was about an earlier prompt.
    fn suggested(&mut self, suggestions: Vec<Suggestion>) {
        if self.session.is_ready() {
            self.journal.suggest(suggestions);
        }
    }

    /// Returns whether an update is work of the agent that a conversation shows, so that it belongs to a turn.
    fn is_work(&self, kind: &UpdateKind) -> bool {
        match kind {
            UpdateKind::Tool(tool) => tool.opens || !self.has_ended(tool),
            // A subagent's plan is not shown.
            UpdateKind::Plan(_) if self.journal.lane().is_some() => false,
            kind => self.is_new(kind),
        }
    }

    /// Returns whether a tool call that is known has ended.
    fn has_ended(&self, tool: &ToolUpdate) -> bool {
        let known = self.live().tools.get(self.journal.lane(), &tool.id);
        known.is_some_and(|known| !self.live().items.contains_key(&known.item))
    }

    /// Returns whether an update has something new, so that it shows that the agent works. A tool call decides that
    /// itself.
    fn is_new(&self, kind: &UpdateKind) -> bool {
        match kind {
            UpdateKind::Plan(plan) => {
                let known = self.live().plans.get(&plan.id);
                known.is_none_or(|known| known.entries != plan.entries || known.markdown != plan.markdown)
            }
            UpdateKind::Chunk(chunk) | UpdateKind::SessionChunk(chunk) => {
                !matches!(&chunk.content, ChunkContent::Text(text) if text.is_empty())
            }
            _ => false,
        }
    }

    /// Handles the agent's report about a tool call: in an update, or in a permission request if `asked`.
    pub(super) fn handle_tool(
        &mut self,
        tool: ToolUpdate,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
        asked: bool,
    ) {
        let quirks = self.session.quirks();
        self.messages.end_partial_echo(&mut self.journal, quirks);
        let deed = if asked { None } else { self.unasked_deed(&tool) };
        let outcome = self
            .tool_calls
            .handle(&mut self.journal, tool, raw, raw_params, asked);
        if matches!(outcome, ToolOutcome::Began(_)) {
            self.messages.break_off(self.journal.lane());
        }
        if matches!(outcome, ToolOutcome::Began(_) | ToolOutcome::Updated(_)) {
            self.session.record_activity(&self.journal);
        }
        if let ToolOutcome::Began(item) | ToolOutcome::Updated(item) | ToolOutcome::Repeated(item) = outcome {
            self.bound_tool_bytes(asked.then_some(item));
        }
        if let (Some(deed), ToolOutcome::Began(_) | ToolOutcome::Updated(_)) = (deed, &outcome) {
            note_unasked(&mut self.journal, deed);
        }
    }

    /// Returns what the agent has done in a tool call that this update completes, if it has neither asked about such an
    /// action in this session, nor had acpd or an editor carry one out. Some agents ask under the id of another call, and some
    /// remember what a user has always allowed.
    fn unasked_deed(&self, tool: &ToolUpdate) -> Option<&'static str> {
        if tool.status != Some(ToolStatus::Completed) || !self.session.may_decide(&self.journal) {
            return None;
        }
        let live = self.live();
        live.turn
            .filter(|turn| Some(turn.id) == self.journal.current_turn())?;
        let known = live.tools.get(self.journal.lane(), tool.id.as_str());
        let open = known.and_then(|known| self.journal.item(known.item));
        let kind = match (&tool.kind, open) {
            (Some(kind), _) => kind.clone(),
            (None, Some(ItemView::Tool(view))) => view.kind(),
            _ => return None,
        };
        match &*kind {
            "execute" => (!live.asks_commands).then_some("ran a command"),
            "edit" | "delete" | "move" => (!live.asks_changes).then_some("changed a file"),
            _ => None,
        }
    }

    /// Ends tool calls that exceed the byte limit, and the requests about them. `next` is the tool call of a
    /// permission request that is about to be recorded.
    fn bound_tool_bytes(&mut self, next: Option<ItemId>) {
        while let Some(tool) = self.tool_calls.next_excess(&mut self.journal, next) {
            let requests = self.live().requests.iter();
            let about: Vec<u32> = requests
                .filter(|(_, open)| open.event.kind.item() == Some(tool))
                .map(|(number, _)| *number)
                .collect();
            for number in about {
                self.settle_request(Origin::Daemon, number, &Outcome::Cancelled);
            }
            self.tool_calls.fail(&mut self.journal, tool);
        }
    }

    /// Ends all open items, except terminals, files that are being written, and items of subagents that work: those may outlive a
    /// turn, and end on their own.
    pub(super) fn close_items(&mut self, outcome: ItemOutcome) {
        let lanes = &self.live().lanes;
        let items = self.live().items.iter();
        let working: BTreeSet<ItemId> = items
            .filter(|(_, open)| lanes.is_at_work(open.lane))
            .map(|(item, _)| *item)
            .collect();
        let (callbacks, messages) = (&self.callbacks, &self.messages);
        let is_kept =
            |item| working.contains(&item) || messages.is_open(item) || callbacks.is_being_written(item);
        self.tool_calls.close_all(&mut self.journal, outcome, is_kept);
        self.messages.end_all(&mut self.journal, outcome);
    }
}

/// Returns whether an update of a subagent is shown. What it reports of its own session, such as its mode or what it uses, is not the
/// thread's.
fn concerns_subagents(kind: &UpdateKind) -> bool {
    match kind {
        UpdateKind::Chunk(_)
        | UpdateKind::Tool(_)
        | UpdateKind::Notice { .. }
        | UpdateKind::Subagent(_)
        | UpdateKind::SessionMessage(_)
        | UpdateKind::SessionChunk(_) => true,
        UpdateKind::Plan(_)
        | UpdateKind::PlanRemoved(_)
        | UpdateKind::Cursor(_)
        | UpdateKind::Suggestions(_)
        | UpdateKind::Commands
        | UpdateKind::Mode(_)
        | UpdateKind::ConfigOptions
        | UpdateKind::Usage { .. }
        | UpdateKind::SessionInfo { .. }
        | UpdateKind::Compaction { .. }
        | UpdateKind::Other => false,
    }
}
