//! Tool calls. In version 2, the first update of a call begins it, each later one changes the members that it has, and `null` clears one.

use acpd_model::item::{ToolStatus, acp_tool_kind};
use acpd_model::{RawJson, json};
use serde_json::{Map, Value};

use super::diff;
use super::parts::{beside, list, noted, object_in, objects_in, text_in, text_piece, with_blocks};
use super::terminal::Change;
use super::translator::Translator;
use crate::agent::bounds::is_name;
use crate::wire::{decoded, member, members, object};

/// About the bytes of an object beside its content.
const FRAME_BYTES: usize = 128;
/// The title of a call that has none.
const NO_TITLE: &str = "Tool call";

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
        let is_named = text_in(update, "terminalId").is_some_and(|id| is_name(&id));
        let change = match (is_named, is_chunk) {
            (false, _) => None,
            (true, true) => self.terminals.output(session, update),
            (true, false) => self.terminals.update(session, update),
        };
        match change {
            Some(Change::Exit(call)) => self.whole(session, &call),
            Some(Change::Output(call, bytes)) if self.calls.grow(session, &call, bytes) => {
                self.whole(session, &call)
            }
            Some(Change::Nothing | Change::Output(..)) => Vec::new(),
            Some(Change::Nowhere) | None => vec![beside(update)],
        }
    }

    /// Returns updates with all content of a session that was not shown yet.
    pub(super) fn show_rest(&mut self, session: &str) -> Vec<RawJson> {
        let mut calls = self.calls.changed(session);
        calls.extend(self.terminals.changed(session));
        calls.sort_unstable();
        calls.dedup();
        calls.iter().flat_map(|id| self.whole(session, id)).collect()
    }

    /// Returns the members of a tool call of version 1 that an update of version 2 changes. `asked` is the title of the question that the
    /// update is in.
    pub(super) fn patched(
        &mut self,
        session: &str,
        id: &str,
        update: &RawJson,
        asked: Option<&str>,
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
        let shown = if is_changed { self.shown(session, id) } else { None };
        let mut notes = Map::new();
        let mut cleared = Vec::new();
        let call = object(|out| {
            members(update, |key, value| match (&*decoded(key), value) {
                ("sessionUpdate" | "content" | "status", _) => {}
                ("title" | "kind" | "locations" | "name", "null") if !is_known => {}
                ("title", "null") => {
                    out.put("title", NO_TITLE);
                }
                ("kind", "null") => {
                    out.put("kind", "other");
                }
                ("kind", kind) => {
                    let exact = json::read::<Value>(kind).unwrap_or_default();
                    let nearest = acp_tool_kind(exact.as_str().unwrap_or_default());
                    out.put("kind", nearest);
                    if exact.as_str().is_some_and(|exact| exact != nearest) {
                        notes.insert("kind".to_owned(), exact);
                    }
                }
                ("locations", "null") => {
                    out.raw("locations", "[]");
                }
                (name @ ("rawInput" | "rawOutput"), "null") => {
                    if is_known {
                        cleared.push(Value::from(name));
                    }
                }
                _ => {
                    out.raw(key, value);
                }
            });
            if !is_known && title.is_none() {
                let name = text_in(update, "name");
                out.put("title", asked.or(name.as_deref()).unwrap_or(NO_TITLE));
            }
            if let Some(status) = status {
                out.put("status", status.as_acp());
            }
            if let Some(shown) = shown {
                out.raw("content", &list(shown));
            }
        });
        if let Some(written) = written {
            let exact = json::read::<Value>(written).unwrap_or_default();
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
    pub(super) fn shown(&mut self, session: &str, id: &str) -> Option<Vec<RawJson>> {
        let pieces = self.calls.content(session, id).to_vec();
        let most: usize = pieces.iter().map(|piece| self.bytes_of(session, piece)).sum();
        let most = most.saturating_add(id.len() + FRAME_BYTES);
        if !self.allowance.take(most) {
            return None;
        }
        let mut shown: Vec<RawJson> = Vec::new();
        for piece in pieces {
            match text_in(&piece, "type").as_deref() {
                Some("content") => shown.push(with_blocks(&piece, "content")),
                Some("session") => shown.push(piece),
                Some("diff") => shown.extend(diff::pieces(&piece)),
                Some("terminal") => {
                    let terminal = text_in(&piece, "terminalId").filter(|terminal| is_name(terminal));
                    let text = terminal.and_then(|terminal| self.terminals.show(session, &terminal));
                    let note = format!(r#"{{"terminal":{}}}"#, piece.get());
                    shown.extend(text.map(|text| noted(&text_piece(&text), &note)));
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
        Some(shown)
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

    /// Returns an update with all content of a tool call, unless it is shown later.
    fn whole(&mut self, session: &str, id: &str) -> Vec<RawJson> {
        let shown = self.shown(session, id).map(list);
        let update = shown.map(|content| {
            object(|out| {
                out.put("sessionUpdate", "tool_call_update")
                    .put("toolCallId", id)
                    .raw("content", &content);
            })
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

/// Returns the nearest status that version 1 has.
fn nearest(status: &str) -> ToolStatus {
    match json::read::<String>(status).unwrap_or_default().as_str() {
        "pending" => ToolStatus::Pending,
        "completed" => ToolStatus::Completed,
        "failed" | "cancelled" => ToolStatus::Failed,
        _ => ToolStatus::InProgress,
    }
}
