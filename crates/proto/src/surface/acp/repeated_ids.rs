//! Ids for messages and tool calls to which the agent gave the id of an earlier one, for example because it counts from 1 in each
//! turn. An editor would add them to the earlier one.

use acpd_model::{Event, EventKind, ItemEnd, ItemStart, RawJson};

use crate::wire::{has_string, member, spliced};

/// Returns the event as if the agent had given its message or tool call the id of the item.
pub(super) fn with_items_id(event: &Event) -> Event {
    let mut event = event.clone();
    event.repeats_id = false;
    let Some(item) = event.kind.named_item() else {
        return event;
    };
    let id = item.to_string();
    let name = match event.kind {
        EventKind::ItemDelta { .. } | EventKind::ItemContent { .. } => "messageId",
        _ => "toolCallId",
    };
    let quoted = format!("\"{id}\"");
    let renamed = |json: &RawJson| {
        if has_string(json, name) {
            spliced(json, &[(name, &quoted)])
        } else {
            json.clone()
        }
    };
    let is_question = matches!(event.kind, EventKind::PermissionRequested { .. });
    match &mut event.kind {
        EventKind::ItemStarted {
            start: ItemStart::ToolCall { tool_call_id, .. },
            ..
        } => *tool_call_id = id,
        EventKind::ItemDelta {
            message_id: Some(message_id),
            ..
        } => *message_id = id,
        EventKind::ItemCompleted {
            end: ItemEnd::ToolCall { call, .. },
            ..
        } => *call = renamed(call),
        EventKind::PermissionRequested {
            whole: Some(whole), ..
        } => **whole = renamed(whole),
        _ => {}
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
