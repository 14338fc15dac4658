//! Tool calls. In version 2, the first update of a call begins it, each later one changes the members that it has, and `null` clears one.

use acpd_model::item::{ToolStatus, acp_tool_kind};
use acpd_model::{RawJson, json as acpd_json};
use serde_json::{Map, Value, json};

use super::diff;
use super::parts::{
    beside, beside_first, list, noted, object_in, objects_in, text_in, text_piece, with_blocks, without_notes,
};
use super::terminal::{Change, PENDING_BYTES, PendingOutput};
use super::translator::Translator;
use crate::agent::bounds::is_name;
use crate::wire::{Object, decoded, member, members, object};

/// About the bytes of an object beside its content.
const FRAME_BYTES: usize = 128;
/// The title of a call that has none.
const NO_TITLE: &str = "Tool call";
/// The members that `null` clears.
const CLEARED: [&str; 8] = [
    "name",
    "title",
    "kind",
    "status",
    "content",
    "locations",
    "rawInput",
    "rawOutput",
];

/// The words of a question.
#[derive(Debug)]
pub(super) struct Asked {
    pub title: String,
    pub description: Option<String>,
}

/// The content of a tool call in the form of version 1.
#[derive(Debug, Default)]
struct Shown {
    content: Vec<RawJson>,
    /// The places of terminals that have nothing to show, and the exact output of the others.
    notes: Map<String, Value>,
}

impl Translator {
    /// Returns the updates for `tool_call_update`.
    pub(super) fn tool_call(&mut self, session: &str, update: &RawJson) -> Vec<RawJson> {
        let Some(id) = text_in(update, "toolCallId").filter(|id| is_name(id)) else {
            return vec![beside(update)];
        };
        let is_new = !self.calls.contains(session, &id);
        let word = if is_new { "tool_call" } else { "tool_call_update" };
        let call = self.patched(session, &id, update, None);
        vec![object(|out| {
            out.put("sessionUpdate", word).others(Some(&call));
        })]
    }

    /// Returns the updates for `tool_call_content_chunk`.
    pub(super) fn tool_content(&mut self, session: &str, chunk: &RawJson) -> Vec<RawJson> {
        let id = text_in(chunk, "toolCallId").filter(|id| is_name(id));
        let (Some(id), Some(piece)) = (id, object_in(chunk, "content")) else {
            return vec![beside(chunk)];
        };
        if !self.calls.contains(session, &id) {
            let first = object(|out| {
                out.put("toolCallId", &id).raw("content", &list([piece]));
            });
            return self.tool_call(session, &first);
        }
        self.note_terminal(session, &id, &piece);
        match self.calls.push(session, &id, piece) {
            Some(true) => self.whole(session, &id),
            Some(false) => Vec::new(),
            None => vec![beside(chunk)],
        }
    }

    /// Returns the updates for `terminal_update` and `terminal_output_chunk`.
    pub(super) fn terminal(&mut self, session: &str, update: &RawJson, is_chunk: bool) -> Vec<RawJson> {
        let Some(id) = text_in(update, "terminalId").filter(|id| is_name(id)) else {
            return vec![beside(update)];
        };
        let change = if is_chunk {
            self.terminals.output(session, update)
        } else {
            self.terminals.update(session, update)
        };
        let mut updates = match change {
            None => return vec![beside(update)],
            Some(Change::Nowhere) => {
                let begins = self.terminals.begins(session, &id);
                return vec![beside_first(update, begins)];
            }
            Some(Change::Exit(call)) => self.whole(session, &call),
            Some(Change::Output(call, bytes)) if self.calls.grow(session, &call, bytes) => {
                self.whole(session, &call)
            }
            Some(Change::Nothing | Change::Output(..)) => Vec::new(),
        };
        if !is_chunk || self.terminals.pending(session, &id) > PENDING_BYTES {
            updates.extend(self.flush_output(session, &id));
        }
        if !is_chunk {
            let begins = self.terminals.begins(session, &id);
            updates.push(beside_first(update, begins));
        }
        updates
    }

    /// Returns an update with the exact output of a terminal that no update of its tool call has.
    fn flush_output(&mut self, session: &str, id: &str) -> Option<RawJson> {
        let PendingOutput { data, begins } = self.terminals.take_pending(session, id)?;
        let chunk = object(|out| {
            out.put("sessionUpdate", "terminal_output_chunk")
                .put("terminalId", id)
                .put("data", &data);
        });
        Some(beside_first(&chunk, begins))
    }

    /// Returns updates with all content of a session that was not shown yet.
    pub(super) fn show_rest(&mut self, session: &str) -> Vec<RawJson> {
        let mut calls = self.calls.changed(session);
        calls.extend(self.terminals.changed(session));
        calls.sort_unstable();
        calls.dedup();
        let mut updates: Vec<RawJson> = calls.iter().flat_map(|id| self.whole(session, id)).collect();
        for id in self.terminals.with_pending(session) {
            updates.extend(self.flush_output(session, &id));
        }
        updates
    }

    /// Returns the members of a tool call of version 1 that an update of version 2 changes. `asked` is the question that the update is in.
    pub(super) fn patched(
        &mut self,
        session: &str,
        id: &str,
        update: &RawJson,
        asked: Option<&Asked>,
    ) -> RawJson {
        let is_known = self.calls.add(session, id);
        let content = member(update, "content").map(|_| objects_in(update, "content").unwrap_or_default());
        if let Some(content) = content {
            for piece in &content {
                self.note_terminal(session, id, piece);
            }
            self.calls.set(session, id, content);
        }
        let title = member(update, "title").filter(|title| *title != "null");
        // A question is about a call that waits, which says nothing of the call.
        let written = member(update, "status").filter(|_| asked.is_none() || !is_known);
        let status = match written {
            Some("null") if is_known => Some(ToolStatus::Pending),
            Some("null") | None => None,
            Some(written) => Some(nearest(written)),
        };
        // Version 1 has no way back.
        let status = status.filter(|status| self.calls.advance(session, id, *status));
        // What follows the end of a call is no longer part of it.
        let is_last = status.is_some_and(ToolStatus::is_final);
        let is_changed = self.calls.is_changed(session, id)
            || is_last
                && self
                    .terminals
                    .changed(session)
                    .iter()
                    .any(|changed| changed == id);
        let description = asked.and_then(|asked| asked.description.as_deref());
        let mut shown = if is_changed || description.is_some() {
            self.shown(session, id)
        } else {
            None
        };
        if let (Some(description), Some(shown)) = (description, &mut shown) {
            let piece = noted(&text_piece(description), r#"{"continues":"question"}"#);
            shown.content.push(piece);
        }
        let mut notes = Map::new();
        let mut cleared = Vec::new();
        let call = object(|out| {
            members(update, |key, value| {
                let name = &*decoded(key);
                if value == "null" && CLEARED.contains(&name) {
                    if is_known && (name != "status" || written.is_some()) {
                        cleared.push(Value::from(name));
                        put_cleared(out, name);
                    }
                } else if name == "kind" {
                    let exact = acpd_json::read::<Value>(value).unwrap_or_default();
                    let nearest = acp_tool_kind(exact.as_str().unwrap_or_default());
                    out.put("kind", nearest);
                    if exact.as_str().is_some_and(|exact| exact != nearest) {
                        notes.insert("kind".to_owned(), exact);
                    }
                } else if !["sessionUpdate", "content", "status"].contains(&name) {
                    out.raw(key, value);
                }
            });
            if !is_known && title.is_none() {
                let name = text_in(update, "name");
                let asked = asked.map(|asked| asked.title.as_str());
                out.put("title", asked.or(name.as_deref()).unwrap_or(NO_TITLE));
                if asked.is_none() {
                    notes.insert("added".to_owned(), Value::from(["title"].as_slice()));
                }
            }
            if let Some(status) = status {
                out.put("status", status.as_acp());
            }
            if let Some(Shown {
                content,
                notes: shown,
            }) = shown
            {
                out.raw("content", &list(content));
                notes.extend(shown);
            }
        });
        if let Some(written) = written {
            let exact = acpd_json::read::<Value>(written).unwrap_or_default();
            let said = status.map(ToolStatus::as_acp);
            let note = Some(exact).filter(|exact| !exact.is_null() && exact.as_str() != said);
            let had_note = self.calls.note_status(session, id, note.is_some());
            if note.is_some() || had_note {
                notes.insert("status".to_owned(), note.unwrap_or_default());
            }
        }
        if !cleared.is_empty() {
            notes.insert("cleared".to_owned(), cleared.into());
        }
        if notes.is_empty() {
            return call;
        }
        noted(&call, &Value::from(notes).to_string())
    }

    /// Returns the content of a tool call in the form of version 1, which is shown now; `None` if it is shown later, because too much would be
    /// repeated.
    fn shown(&mut self, session: &str, id: &str) -> Option<Shown> {
        let pieces = self.calls.content(session, id).to_vec();
        let most: usize = pieces.iter().map(|piece| self.bytes_of(session, piece)).sum();
        let most = most.saturating_add(id.len() + FRAME_BYTES);
        if !self.allowance.take(most) {
            return None;
        }
        let mut shown: Vec<RawJson> = Vec::new();
        let (mut hidden, mut output) = (Vec::new(), Vec::new());
        for piece in pieces {
            match text_in(&piece, "type").as_deref() {
                Some("content") => shown.push(with_blocks(&without_notes(&piece), "content")),
                Some("session") => shown.push(without_notes(&piece)),
                Some("diff") => shown.extend(diff::pieces(&piece)),
                Some("terminal") => {
                    let terminal = text_in(&piece, "terminalId").filter(|terminal| is_name(terminal));
                    if let Some(terminal) = &terminal
                        && let Some(pending) = self.terminals.take_pending(session, terminal)
                    {
                        let PendingOutput { data, begins } = pending;
                        output.push(json!({ "terminalId": terminal, "data": data, "begins": begins }));
                    }
                    match terminal.and_then(|terminal| self.terminals.show(session, &terminal)) {
                        Some(text) => {
                            let note = format!(r#"{{"terminal":{}}}"#, piece.get());
                            shown.push(noted(&text_piece(&text), &note));
                        }
                        None => {
                            let block: Option<Value> = piece.read().ok();
                            hidden.extend(block.map(|block| json!({ "at": shown.len(), "block": block })));
                        }
                    }
                }
                kind => {
                    let text = format!("[{}]", kind.unwrap_or("unknown content"));
                    let note = format!(r#"{{"block":{}}}"#, piece.get());
                    shown.push(noted(&text_piece(&text), &note));
                }
            }
        }
        let bytes: usize = shown.iter().map(|piece| piece.get().len()).sum();
        self.allowance
            .give_back(most.saturating_sub(bytes + id.len() + FRAME_BYTES));
        self.calls.was_shown(session, id, bytes);
        let mut notes = Map::new();
        for (name, noted) in [("hidden", hidden), ("output", output)] {
            if !noted.is_empty() {
                notes.insert(name.to_owned(), noted.into());
            }
        }
        Some(Shown {
            content: shown,
            notes,
        })
    }

    /// Returns about how many bytes a piece of content has in version 1, at most.
    fn bytes_of(&self, session: &str, piece: &RawJson) -> usize {
        let written = piece.get().len();
        match text_in(piece, "type").as_deref() {
            Some("diff") => written.saturating_mul(1 + diff::FACTOR),
            Some("terminal") => {
                let terminal = text_in(piece, "terminalId").unwrap_or_default();
                // An escape has six bytes.
                let output = self.terminals.bytes(session, &terminal).saturating_mul(6);
                written.saturating_add(output + FRAME_BYTES)
            }
            _ => written.saturating_mul(2).saturating_add(FRAME_BYTES),
        }
    }

    /// Returns an update with all content of a tool call, unless it is shown later. If only the output of terminals is new, it `repeats` the
    /// content.
    fn whole(&mut self, session: &str, id: &str) -> Vec<RawJson> {
        let repeats = !self.calls.is_changed(session, id);
        let update = self.shown(session, id).map(|Shown { content, mut notes }| {
            let update = object(|out| {
                out.put("sessionUpdate", "tool_call_update")
                    .put("toolCallId", id)
                    .raw("content", &list(content));
            });
            if repeats {
                notes.insert("repeats".to_owned(), true.into());
            }
            if notes.is_empty() {
                return update;
            }
            noted(&update, &Value::from(notes).to_string())
        });
        update.into_iter().collect()
    }

    /// Takes note of the terminal that a tool call shows.
    fn note_terminal(&mut self, session: &str, call: &str, piece: &RawJson) {
        if text_in(piece, "type").is_some_and(|kind| kind == "terminal")
            && let Some(terminal) = text_in(piece, "terminalId").filter(|terminal| is_name(terminal))
        {
            self.terminals.show_in(session, &terminal, call);
        }
    }
}

/// Writes a member that is cleared, if version 1 can say so. What it cannot say is only noted.
fn put_cleared(out: &mut Object<'_>, key: &str) {
    match key {
        "title" => {
            out.put("title", NO_TITLE);
        }
        "kind" => {
            out.put("kind", "other");
        }
        "locations" => {
            out.raw("locations", "[]");
        }
        "name" => {
            out.raw("name", "null");
        }
        _ => {}
    }
}

/// Returns the nearest status that version 1 has.
fn nearest(status: &str) -> ToolStatus {
    match acpd_json::read::<String>(status).unwrap_or_default().as_str() {
        "pending" => ToolStatus::Pending,
        "completed" => ToolStatus::Completed,
        "failed" | "cancelled" => ToolStatus::Failed,
        _ => ToolStatus::InProgress,
    }
}
