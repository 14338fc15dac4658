//! What subagents do, as editors receive it.
//!
//! In: events of a lane. Out: frames for editors that declared `subagents`, and frames for all others. The former know each subagent
//! as a session, the others see its calls in the session of the thread. Never: shows the agent's own id of a subagent's session: two
//! threads of one editor may have agents that use the same ids.

use std::borrow::Cow;

use acpd_model::event::{Patch, SubagentPatch};
use acpd_model::{Event, EventKind, ItemEnd, ItemEvent, ItemStart, LaneId, RawJson, SessionEvent, json};
use bytes::Bytes;
use serde_json::{Value, json};

use super::encode::Writer;
use super::frame::{Feature, FrameKind};
use super::handshake::with_acpd;
use crate::projection::{Live, named_subagent};
use crate::wire::{may_have, member, object, others, spliced, string_in};

/// What the title of a subagent's call begins with in the session of the thread.
const SUBAGENT: &str = "Subagent: ";

/// Returns the id of a subagent's session for editors.
pub(super) fn session_of(thread: &str, lane: LaneId) -> String {
    format!("{thread}/{lane}")
}

/// Returns the thread that a session of an editor belongs to, and the lane if it is that of a subagent.
pub fn thread_and_lane(session: &str) -> (&str, Option<LaneId>) {
    match session.split_once('/') {
        Some((thread, lane)) if let Ok(lane) = lane.parse() => (thread, Some(lane)),
        _ => (session, None),
    }
}

impl Writer<'_> {
    /// Adds the frames of an event of a subagent.
    pub(super) fn subagents_event(&mut self, lane: LaneId, event: &Event) {
        match &event.kind {
            EventKind::Session(SessionEvent::SubagentUpdated(patch)) => {
                self.subagent_updated(lane, event, patch)
            }
            EventKind::Item(_)
            | EventKind::Turn(_)
            | EventKind::Session(SessionEvent::AgentNotified { .. }) => {
                self.session = Cow::Owned(session_of(self.thread, lane));
                self.for_editors(&FrameKind::Declared(Feature::Subagents), &without_sessions(event));
                self.session = Cow::Borrowed(self.thread);
                if let Some(event) = in_parent(event, lane) {
                    self.for_editors(&FrameKind::OfSubagent(lane), &event);
                }
            }
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => self.plain_event(event),
        }
    }

    /// Adds the frames of an event, of which these editors receive the updates.
    fn for_editors(&mut self, kind: &FrameKind, event: &Event) {
        let from = self.frames.len();
        self.plain_event(event);
        for (frame, ..) in self.frames.iter_mut().skip(from) {
            if matches!(frame.kind, FrameKind::Update | FrameKind::Chunk(_)) {
                frame.kind = kind.clone();
            } else if let FrameKind::Declared(feature) = frame.kind
                && *kind == FrameKind::Declared(Feature::Subagents)
            {
                // Editors without subagents do not know the session.
                frame.kind = FrameKind::DeclaredOfSubagent(feature);
            }
        }
    }

    /// Adds the report on a subagent, in the session of its parent.
    fn subagent_updated(&mut self, lane: LaneId, event: &Event, patch: &SubagentPatch) {
        // Some agents describe a subagent and give it no title.
        let described = || patch.description.set().filter(|_| patch.session_id.is_some());
        if let Some(name) = patch.title.set().or_else(described) {
            self.note(FrameKind::Subagent(lane, name.as_str().into()));
        }
        if let Some(parent) = patch.parent {
            self.session = Cow::Owned(session_of(self.thread, parent));
        }
        let kind = FrameKind::Declared(Feature::Subagents);
        let session = session_of(self.thread, lane);
        match &event.raw {
            Some(raw) => {
                // acpd cancels all work of a thread together.
                let shown = others(raw, &["capabilities"]).unwrap_or_else(|| raw.clone());
                let named = spliced(
                    &shown,
                    &[("sessionId", &Value::from(session.as_str()).to_string())],
                );
                let event = Event {
                    raw: Some(named),
                    raw_params: None,
                    ..event.clone()
                };
                self.passed(&event, kind);
            }
            None => self.own(kind, |update| {
                update
                    .plain("sessionUpdate", "subagent_update")
                    .plain("sessionId", &session);
                if patch.state == Patch::Cleared {
                    update.raw("state", "null");
                }
                update.maybe("title", patch.title.set().or(patch.session_id.as_ref()));
            }),
        }
        self.session = Cow::Borrowed(self.thread);
    }
}

/// Returns what announces the subagents of a thread to an editor that opens it without its history: updates, each with its session.
/// Those that have created others come first.
pub(super) fn announcements(live: &Live) -> Vec<(String, RawJson)> {
    let thread = live.thread.to_string();
    // The others belong to an earlier session of the agent, so that nothing will come from them.
    let subagents = live.lanes.all();
    let present = subagents.filter(|(_, subagent)| !subagent.session_id.is_empty());
    let announced = present.map(|(lane, subagent)| {
        let parent = subagent.parent.map(|parent| session_of(&thread, parent));
        let update = object(|update| {
            let title = subagent.title.as_ref();
            let assumed = || subagent.assumed.then_some(&subagent.session_id);
            update
                .plain("sessionUpdate", "subagent_update")
                .put("sessionId", &session_of(&thread, *lane))
                .maybe("title", title.or_else(assumed))
                .maybe("description", subagent.description.as_ref())
                .maybe("state", subagent.state.as_ref())
                .maybe("cwd", subagent.cwd.as_ref())
                .maybe("additionalDirectories", subagent.directories.as_ref());
        });
        (parent.unwrap_or_else(|| thread.clone()), update)
    });
    announced.collect()
}

/// Returns the event without the agent's ids of sessions, which no editor knows.
fn without_sessions(event: &Event) -> Event {
    let raw = event.raw.as_ref().and_then(|raw| {
        let is_message = string_in(raw, "sessionUpdate").as_deref() == Some("session_message");
        is_message.then(|| others(raw, &["senderSessionId", "recipientSessionId"]))?
    });
    Event {
        raw: raw.or_else(|| event.raw.clone()),
        raw_params: None,
        ..event.clone()
    }
}

/// Returns the event of a tool call whose content does not link to sessions, as [`without_links`] does; `None` if the content has no
/// links.
pub(super) fn event_without_links(event: &Event) -> Option<Event> {
    let of_call = matches!(
        event.kind,
        EventKind::Item(
            ItemEvent::Started {
                start: ItemStart::ToolCall { .. },
                ..
            } | ItemEvent::Updated { .. }
        )
    );
    let call = event.raw.as_ref().filter(|_| of_call).and_then(without_links)?;
    let params = event.raw_params.as_ref();
    let params = params.map(|params| spliced(params, &[("update", call.get())]));
    Some(Event {
        raw: Some(call),
        raw_params: params,
        ..event.clone()
    })
}

/// Returns a tool call without the links to sessions in its content, which have the agent's own ids; `None` if there are none.
pub(super) fn without_links(call: &RawJson) -> Option<RawJson> {
    if !may_have(call.get().as_bytes(), r#""session""#) {
        return None;
    }
    let content: Vec<RawJson> = json::read(member(call, "content")?).ok()?;
    let is_link = |block: &&RawJson| string_in(block, "type").as_deref() == Some("session");
    let kept: Vec<&RawJson> = content.iter().filter(|block| !is_link(block)).collect();
    if kept.len() == content.len() {
        return None;
    }
    let kept = RawJson::of(&kept).ok()?;
    Some(spliced(call, &[("content", kept.get())]))
}

/// Returns the event of a subagent's call as one of the thread's session: its title says whose it is, and `_meta` names the lane.
/// Returns `None` for any other event.
fn in_parent(event: &Event, lane: LaneId) -> Option<Event> {
    let mut event = event.clone();
    match &mut event.kind {
        EventKind::Item(ItemEvent::Started {
            start: ItemStart::ToolCall { title, .. },
            ..
        }) => title.insert_str(0, SUBAGENT),
        EventKind::Item(
            ItemEvent::Updated { .. }
            | ItemEvent::Completed {
                end: ItemEnd::ToolCall { .. },
                ..
            },
        ) => {}
        EventKind::Item(_)
        | EventKind::Turn(_)
        | EventKind::Thread(_)
        | EventKind::Session(_)
        | EventKind::Host(_)
        | EventKind::Request(_)
        | EventKind::Unknown => return None,
    }
    event.raw_params = None;
    event.raw = event.raw.map(|raw| marked(&raw, lane));
    Some(event)
}

/// Puts the name of the subagent into the title of its call.
pub(super) fn with_name(text: Bytes, name: &str) -> Bytes {
    let named = || {
        let message = RawJson::trusted(std::str::from_utf8(&text).ok()?);
        let params = RawJson::trusted(member(&message, "params")?);
        let update = RawJson::trusted(member(&params, "update")?);
        let title: String = json::read(member(&update, "title")?).ok()?;
        let title = format!("{}: {}", named_subagent(name), title.strip_prefix(SUBAGENT)?);
        let update = spliced(&update, &[("title", &Value::from(title).to_string())]);
        let params = spliced(&params, &[("update", update.get())]);
        let message = spliced(&message, &[("params", params.get())]);
        Some(Bytes::from(message.get().to_owned()))
    };
    named().unwrap_or(text)
}

fn marked(call: &RawJson, lane: LaneId) -> RawJson {
    let title = member(call, "title").and_then(|title| json::read::<String>(title).ok());
    let title = title.map(|title| Value::from(format!("{SUBAGENT}{title}")).to_string());
    let meta = member(call, "_meta").filter(|meta| meta.starts_with('{'));
    let meta = with_acpd(meta, &json!({ "lane": lane }));
    let mut put = vec![("_meta", meta.get())];
    put.extend(title.as_deref().map(|title| ("title", title)));
    spliced(call, &put)
}
