//! Sessions: the answers to requests about them, their options and commands.

use acpd_model::RawJson;

use super::parts::{empty, list, object_in, objects_in, renamed, text_in, without_notes};
use super::skill::is_skill;
use crate::wire::{member, object, others, spliced};

/// Returns the answer to a request that opened a session in the form of version 1, and an update with the session's commands, which version
/// 1 has in updates only.
pub(in crate::agent) fn session(result: &RawJson) -> (RawJson, Option<RawJson>) {
    let commands = objects_in(result, "availableCommands").filter(|commands| !commands.is_empty());
    let update = commands.map(|commands| {
        let commands = list(commands.iter().filter_map(command));
        object(|out| {
            out.put("sessionUpdate", "available_commands_update")
                .raw("availableCommands", &commands);
        })
    });
    let rest = others(result, &["availableCommands"]).unwrap_or_else(empty);
    (with_options(&rest), update)
}

/// Returns the answer to another request, whose method in version 1 is `method`.
pub(in crate::agent) fn answer(method: &str, result: &RawJson) -> RawJson {
    match method {
        "session/set_config_option"
        | "session/set_mode"
        | "session/set_model"
        | "session/fork"
        | "session/options" => with_commands(&with_options(result)),
        _ => result.clone(),
    }
}

/// Returns an object whose `configOptions` have the form of version 1. Options of a kind that version 1 does not have are left out.
pub(super) fn with_options(json: &RawJson) -> RawJson {
    let Some(options) = objects_in(json, "configOptions") else {
        return json.clone();
    };
    let options = list(options.iter().filter_map(option));
    spliced(json, &[("configOptions", &options)])
}

fn option(option: &RawJson) -> Option<RawJson> {
    if !matches!(text_in(option, "type")?.as_str(), "select" | "boolean") {
        return None;
    }
    let option = renamed(&without_notes(option), &[("configId", "id")]);
    let values = objects_in(&option, "options").unwrap_or_default();
    if values.iter().all(|value| member(value, "groupId").is_none()) {
        return Some(option);
    }
    let groups = list(values.iter().map(|group| renamed(group, &[("groupId", "group")])));
    Some(spliced(&option, &[("options", &groups)]))
}

/// Returns an object whose `availableCommands` have the form of version 1. What is neither a command nor a skill is left out.
pub(super) fn with_commands(json: &RawJson) -> RawJson {
    let Some(commands) = objects_in(json, "availableCommands") else {
        return json.clone();
    };
    let commands = list(commands.iter().filter_map(command));
    spliced(json, &[("availableCommands", &commands)])
}

fn command(command: &RawJson) -> Option<RawJson> {
    if is_skill(command) {
        return Some(command.clone());
    }
    if text_in(command, "type").is_some_and(|kind| kind != "command") {
        return None;
    }
    let is_text = |input: &RawJson| text_in(input, "type").is_none_or(|kind| kind == "text");
    let input = object_in(command, "input").filter(is_text);
    let input = input.and_then(|input| others(&input, &["type"]));
    let rest = others(&without_notes(command), &["type", "input"])?;
    Some(object(|out| {
        out.others(Some(&rest)).json("input", input.as_ref());
    }))
}
