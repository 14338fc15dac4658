//! Updates of a session.

use acpd_model::RawJson;

use super::parts::{beside, empty, list, noted, object_in, objects_in, text_in, with_blocks, without_notes};
use super::session::{with_commands, with_options};
use super::translator::Translator;
use crate::agent::bounds::is_name;
use crate::wire::{member, spliced};

impl Translator {
    /// Returns the updates of version 1 that say the same as one of version 2.
    pub fn update(&mut self, session: &str, update: &RawJson) -> Vec<RawJson> {
        let Some(kind) = text_in(update, "sessionUpdate").filter(|_| is_name(session)) else {
            return vec![update.clone()];
        };
        self.allowance.add(update.get().len());
        let update = &without_notes(update);
        match kind.as_str() {
            "user_message_chunk" => {
                let chunk = self.skills.repeated(update);
                vec![self.messages.chunk(session, "user_message_chunk", &chunk)]
            }
            "agent_message_chunk" => vec![self.messages.chunk(session, "agent_message_chunk", update)],
            "agent_thought_chunk" => vec![self.messages.chunk(session, "agent_thought_chunk", update)],
            "user_message" => {
                let whole = self.skills.repeated(update);
                self.messages.whole(session, "user_message_chunk", &whole)
            }
            "agent_message" => self.messages.whole(session, "agent_message_chunk", update),
            "agent_thought" => self.messages.whole(session, "agent_thought_chunk", update),
            "tool_call_update" => self.tool_call(session, update),
            "tool_call_content_chunk" => self.tool_content(session, update),
            "terminal_update" => self.terminal(session, update, false),
            "terminal_output_chunk" => self.terminal(session, update, true),
            "state_update" => self.state(session, update),
            "plan_update" => vec![plan(update)],
            "available_commands_update" => vec![with_commands(update)],
            "config_option_update" => vec![with_options(update)],
            // The answer to the request says the same.
            "replay_complete" => Vec::new(),
            // Both versions have these in one form.
            "plan_removed"
            | "session_info_update"
            | "usage_update"
            | "notice"
            | "prompt_suggestions_update"
            | "subagent_update" => vec![update.clone()],
            "cursor_update" => vec![self.messages.cursor(session, update)],
            "compaction_update" => vec![self.compactions.whole(session, update)],
            "compaction_summary_chunk" | "session_message" | "session_message_chunk" => {
                vec![with_blocks(update, "content")]
            }
            _ => vec![beside(update)],
        }
    }

    /// Returns the updates for a report of what a session does. The turn says that the agent works, and a question that it waits. Once it
    /// is idle, nothing that it shows stays behind.
    fn state(&mut self, session: &str, update: &RawJson) -> Vec<RawJson> {
        let state = text_in(update, "state").unwrap_or_default();
        let mut updates = Vec::new();
        if state == "idle" {
            updates = self.show_rest(session);
        }
        let is_known = matches!(state.as_str(), "running" | "idle" | "requires_action");
        if self.background.changes(session, update) || !is_known {
            updates.push(beside(update));
        }
        updates
    }
}

/// Returns `plan_update` in which each step has a status of version 1.
fn plan(update: &RawJson) -> RawJson {
    let Some(plan) = object_in(update, "plan") else {
        return update.clone();
    };
    let Some(entries) = objects_in(&plan, "entries") else {
        return update.clone();
    };
    let entries = list(entries.iter().map(entry));
    let plan = spliced(&plan, &[("entries", &entries)]);
    spliced(update, &[("plan", plan.get())])
}

fn entry(entry: &RawJson) -> RawJson {
    let entry = &without_notes(entry);
    let mut put = Vec::new();
    let mut notes = Vec::new();
    if let Some(status) = member(entry, "status") {
        let nearest = match text_in(entry, "status").unwrap_or_default().as_str() {
            "pending" | "in_progress" | "completed" => status,
            "cancelled" => r#""completed""#,
            _ => r#""pending""#,
        };
        if nearest != status {
            put.push(("status", nearest));
            notes.push(("status", status));
        }
    }
    if let Some(priority) = member(entry, "priority")
        && !matches!(
            text_in(entry, "priority").as_deref(),
            Some("high" | "medium" | "low")
        )
    {
        put.push(("priority", r#""medium""#));
        notes.push(("priority", priority));
    }
    if notes.is_empty() {
        return entry.clone();
    }
    let notes = spliced(&empty(), &notes);
    noted(&spliced(entry, &put), notes.get())
}
