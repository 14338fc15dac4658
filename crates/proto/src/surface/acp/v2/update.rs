//! Updates of agents in the words of version 2.

use std::borrow::Cow;

use acpd_model::{RawJson, json};

use super::original;
use super::tool_call::{has_id, tool_call_update};
use crate::wire::{decoded, has_string, member, members, object, spliced, string_in};

/// Returns an update for editors; `None` if version 2 has none for it. `message_id` makes the id of a chunk's message, which version 1 can
/// leave out. A translated update is one of an agent of version 2.
pub(in crate::surface::acp) fn update_of_agent(
    update: &RawJson,
    is_translated: bool,
    message_id: impl FnOnce() -> String,
) -> Option<Cow<'_, str>> {
    let word = string_in(update, "sessionUpdate")?;
    let original = match &*word {
        _ if !is_translated => None,
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
            Some(original::chunk(update)).filter(|chunk| chunk.get() != update.get())
        }
        "plan_update" => original::plan(update),
        "compaction_summary_chunk" | "session_message" | "session_message_chunk" => {
            Some(original::with_blocks(update))
        }
        _ => None,
    };
    if let Some(original) = original {
        return Some(Cow::Owned(original.get().to_owned()));
    }
    match &*word {
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => chunk(update, message_id),
        "tool_call" | "tool_call_update" => {
            let call = has_id(update).then(|| tool_call_update(update, is_translated));
            Some(Cow::Owned(call.flatten()?.get().to_owned()))
        }
        "available_commands_update" => member(update, "availableCommands")
            .is_some_and(|list| list.starts_with('['))
            .then(|| Cow::Owned(commands(update).get().to_owned())),
        // A plan is written from its event, and all options together when one has changed. An agent of version 1 has
        // no such words; editors would take them for what acpd says.
        "plan"
        | "current_mode_update"
        | "config_option_update"
        | "user_message"
        | "agent_message"
        | "agent_thought"
        | "state_update"
        | "tool_call_content_chunk"
        | "terminal_update"
        | "terminal_output_chunk"
        | "replay_complete" => None,
        _ => Some(Cow::Borrowed(update.get())),
    }
}

fn chunk(update: &RawJson, message_id: impl FnOnce() -> String) -> Option<Cow<'_, str>> {
    if !member(update, "content").is_some_and(|content| content.starts_with('{')) {
        return None;
    }
    if has_string(update, "messageId") {
        return Some(Cow::Borrowed(update.get()));
    }
    let id = serde_json::Value::from(message_id()).to_string();
    Some(Cow::Owned(
        spliced(update, &[("messageId", &id)]).get().to_owned(),
    ))
}

fn commands(update: &RawJson) -> RawJson {
    object(|out| {
        members(update, |key, value| {
            if decoded(key) == "availableCommands" {
                let list: Vec<RawJson> = json::read(value).unwrap_or_default();
                let list: Vec<RawJson> = list.iter().filter_map(command).collect();
                out.list("availableCommands", &list);
            } else {
                out.raw(key, value);
            }
        });
    })
}

/// Returns an update of commands without the skills among them, which an editor may not know; `None` if there are none.
pub(in crate::surface::acp) fn without_skills(update: &RawJson) -> Option<RawJson> {
    let list: Vec<RawJson> = json::read(member(update, "availableCommands")?).ok()?;
    let is_skill = |command: &&RawJson| member(command, "type") == Some("\"skill\"");
    let kept: Vec<&RawJson> = list.iter().filter(|command| !is_skill(command)).collect();
    if kept.len() == list.len() {
        return None;
    }
    let kept = RawJson::of(&kept).ok()?;
    Some(spliced(update, &[("availableCommands", kept.get())]))
}

/// Returns a command with the types that version 2 added.
fn command(command: &RawJson) -> Option<RawJson> {
    if !has_string(command, "name") || !has_string(command, "description") {
        return None;
    }
    Some(object(|out| {
        members(command, |key, value| match &*decoded(key) {
            "input" if value.starts_with('{') => {
                out.raw(key, &typed(&RawJson::trusted(value), "\"text\""));
            }
            "input" | "type" => {}
            _ => {
                out.raw(key, value);
            }
        });
        out.raw("type", kind_of(command).unwrap_or("\"command\""));
    }))
}

/// Returns the object with this type, if it has none.
fn typed(json: &RawJson, kind: &str) -> String {
    match kind_of(json) {
        Some(_) => json.get().to_owned(),
        None => spliced(json, &[("type", kind)]).get().to_owned(),
    }
}

fn kind_of(json: &RawJson) -> Option<&str> {
    member(json, "type").filter(|kind| kind.starts_with('"'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn translated(update: &Value) -> Option<Value> {
        let update = RawJson::from(update);
        let text = update_of_agent(&update, false, || "item_7".to_owned())?;
        Some(serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn each_chunk_has_the_id_of_its_message() {
        let chunk =
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "a" } });
        assert_eq!(translated(&chunk).unwrap()["messageId"], "item_7");
        let mut named = chunk.clone();
        named["messageId"] = json!("m");
        assert_eq!(translated(&named), Some(named));
        let mut odd = chunk;
        odd["content"] = json!("a");
        assert_eq!(translated(&odd), None);
    }

    #[test]
    fn commands_have_types() {
        let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": [
            { "name": "a", "description": "A", "input": null },
            { "name": "b", "description": "B", "input": { "hint": "h" } },
            { "name": 7, "description": "C" },
        ] });
        assert_eq!(
            translated(&commands).unwrap()["availableCommands"],
            json!([
                { "name": "a", "description": "A", "type": "command" },
                { "name": "b", "description": "B", "input": { "hint": "h", "type": "text" }, "type": "command" },
            ])
        );
    }

    #[test]
    fn an_agent_of_version_1_cannot_say_what_acpd_says() {
        for word in [
            "state_update",
            "replay_complete",
            "user_message",
            "terminal_update",
            "config_option_update",
        ] {
            assert_eq!(
                translated(&json!({ "sessionUpdate": word, "state": "idle" })),
                None,
                "{word}"
            );
        }
        let spelled = RawJson::parse(r#"{"session\u0055pdate":"state\u005fupdate","state":"idle"}"#).unwrap();
        assert_eq!(update_of_agent(&spelled, false, String::new), None);
        let other = json!({ "sessionUpdate": "_theirs", "x": 1 });
        assert_eq!(translated(&other), Some(other));
        assert_eq!(translated(&json!({ "x": 1 })), None);
    }
}
