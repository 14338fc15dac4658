//! Ids for messages and tool calls to which the agent gave the id of an earlier one, for example because it counts from 1 in each
//! turn. An editor would add them to the earlier one.

use acpd_model::{Event, EventKind, ItemEnd, ItemEvent, ItemStart, RawJson, RequestEvent};

use crate::wire::{has_string, member, spliced};

/// Returns the event as if the agent had given its message or tool call the id of the item.
pub(super) fn with_items_id(event: &Event) -> Event {
    let mut event = event.clone();
    event.repeats_id = false;
    let Some(item) = event.kind.named_item() else {
        return event;
    };
    let id = item.to_string();
    let is_text = matches!(
        event.kind,
        EventKind::Item(ItemEvent::Delta { .. } | ItemEvent::Content { .. })
    );
    let name = if is_text { "messageId" } else { "toolCallId" };
    let quoted = format!("\"{id}\"");
    let renamed = |json: &RawJson| {
        if has_string(json, name) {
            spliced(json, &[(name, &quoted)])
        } else {
            json.clone()
        }
    };
    let is_question = matches!(
        event.kind,
        EventKind::Request(RequestEvent::PermissionRequested { .. })
    );
    match &mut event.kind {
        EventKind::Item(ItemEvent::Started {
            start: ItemStart::ToolCall { tool_call_id, .. },
            ..
        }) => *tool_call_id = id,
        EventKind::Item(ItemEvent::Delta {
            message_id: Some(message_id),
            ..
        }) => *message_id = id,
        EventKind::Item(ItemEvent::Completed {
            end: ItemEnd::ToolCall { call, .. },
            ..
        }) => *call = renamed(call),
        EventKind::Request(RequestEvent::PermissionRequested {
            whole: Some(whole), ..
        }) => **whole = renamed(whole),
        // They have the id in the agent's own message, if at all.
        EventKind::Thread(_)
        | EventKind::Session(_)
        | EventKind::Turn(_)
        | EventKind::Item(
            ItemEvent::Started { .. }
            | ItemEvent::Delta { .. }
            | ItemEvent::Content { .. }
            | ItemEvent::Updated { .. }
            | ItemEvent::Completed { .. }
            | ItemEvent::UserMessageAdded { .. },
        )
        | EventKind::Host(_)
        | EventKind::Request(_)
        | EventKind::Unknown => {}
    }
    event.raw = event.raw.map(|raw| {
        if is_question {
            within(&raw, "toolCall", renamed)
        } else {
            renamed(&raw)
        }
    });
    event.raw_params = event.raw_params.map(|params| within(&params, "update", renamed));
    event
}

/// Changes the member `name` of an object, if it has one.
fn within(json: &RawJson, name: &str, change: impl Fn(&RawJson) -> RawJson) -> RawJson {
    match member(json, name) {
        Some(inner) => spliced(json, &[(name, change(&RawJson::trusted(inner)).get())]),
        None => json.clone(),
    }
}
