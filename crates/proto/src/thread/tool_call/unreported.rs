//! Tool calls that the agent named in a permission request and has not reported on since.
//!
//! Some agents never report on such a tool call, so it would never end. A denial ends it. The others end with their
//! turn, because some agents send only updates after the request. If the agent starts a tool call with the id of a
//! denied one, the daemon treats it as the denied one.

use acpd_model::event::Outcome;
use acpd_model::item::ToolStatus;
use acpd_model::{EventKind, ItemEvent, ItemId, Origin, RawJson};

use super::ToolCalls;
use crate::projection::ItemView;
use crate::thread::journal::Journal;
use crate::wire;

impl ToolCalls {
    /// Ends the tool call of a permission request that was denied. If the agent reports on the call, the agent says how it
    /// ended, and the turn's end does not make it a success.
    pub fn question_settled(&mut self, journal: &mut Journal, item: ItemId, outcome: &Outcome) {
        let Some(may_run) = self.unreported.get_mut(&item) else {
            if !outcome.refuses() {
                self.denied.remove(&item);
            } else if journal.item(item).is_some() {
                self.denied.insert(item);
            }
            return;
        };
        *may_run = !outcome.refuses();
        if !*may_run {
            self.end_unreported(journal, item);
            self.refused.insert(item);
        }
    }

    /// Ends a tool call that the agent will not end: completed if a request about it was answered and not denied,
    /// else failed. Returns whether it was such a tool call.
    pub(super) fn end_unreported(&mut self, journal: &mut Journal, item: ItemId) -> bool {
        let Some(may_run) = self.unreported.remove(&item) else {
            return false;
        };
        let Some(ItemView::Tool(view)) = journal.item(item) else {
            return false;
        };
        let id = view.read::<RawJson>("toolCallId");
        let status = if may_run {
            ToolStatus::Completed
        } else {
            ToolStatus::Failed
        };
        let update = wire::object(|update| {
            if let Some(id) = &id {
                update.raw("toolCallId", id.get());
            }
            update.plain("status", status.as_acp());
        });
        let kind = EventKind::Item(ItemEvent::Updated { item, status });
        journal.emit(Origin::Daemon, kind, Some(update));
        self.follow_tool(journal, item, status, false);
        true
    }
}
