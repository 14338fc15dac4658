//! The originals of translated messages. The connection of an agent of version 2 translates its messages into version 1, and keeps in
//! `_meta.acpd` what version 1 cannot express.
//!
//! In: the members of a translated event. Out: those of version 2. Never: reads `_meta.acpd` of an agent of version 1, whose own it is.

use acpd_model::{Event, Origin, RawJson, json};
use serde::Deserialize;

use crate::agent::REVISION;
use crate::wire::{has_string, member, members, object, others, spliced};

/// Returns what the translation has noted in an object.
pub(super) fn notes(json: &RawJson) -> Option<RawJson> {
    let meta = object_in(json, "_meta")?;
    object_in(&meta, "acpd")
}

/// Returns an object without these notes.
pub(super) fn without_notes(json: &RawJson) -> RawJson {
    let Some(meta) = object_in(json, "_meta").filter(|meta| member(meta, "acpd").is_some()) else {
        return json.clone();
    };
    match others(&meta, &["acpd"]) {
        Some(rest) => spliced(json, &[("_meta", rest.get())]),
        None => others(json, &["_meta"]).unwrap_or_else(|| RawJson::trusted("{}")),
    }
}

/// Returns a message or an update that version 1 has no word for.
pub(in crate::surface::acp) fn beside(event: &Event) -> Option<RawJson> {
    let raw = event.raw.as_ref().filter(|_| event.translated)?;
    if member(raw, "sessionUpdate")? != r#""session_info_update""# {
        return None;
    }
    object_in(&notes(raw)?, "update")
}

/// Returns an update that version 1 has no word for, unless it is about what acpd says itself or has no use without its id.
pub(in crate::surface::acp) fn update_beside(update: &RawJson) -> Option<RawJson> {
    let word = text_in(update, "sessionUpdate")?;
    let is_named = match word.as_str() {
        "agent_message" | "agent_thought" => has_string(update, "messageId"),
        "tool_call_content_chunk" => {
            let piece = object_in(update, "content");
            // No editor has the agent's own ids of sessions.
            let is_shown = |kind: String| kind != "session";
            let kind = piece.and_then(|piece| text_in(&piece, "type"));
            has_string(update, "toolCallId") && kind.is_some_and(is_shown)
        }
        "terminal_update" => has_string(update, "terminalId"),
        "terminal_output_chunk" => has_string(update, "terminalId") && has_string(update, "data"),
        // The state of the session, its options and the messages of users are those of acpd, and so is a replay.
        "state_update" | "config_option_update" | "user_message" | "replay_complete" | "tool_call_update" => {
            false
        }
        _ => true,
    };
    if !is_named {
        return None;
    }
    let update = with_own_terminal(&without_notes(update));
    if word != "terminal_update" {
        return Some(update);
    }
    // acpd does not pass on requests to end the command of a terminal.
    others(&update, &["capabilities"])
}

/// Returns an object that names a terminal of the agent by an id that none of acpd's terminals has.
pub(in crate::surface::acp) fn with_own_terminal(json: &RawJson) -> RawJson {
    match text_in(json, "terminalId").filter(|id| id.starts_with("term_")) {
        Some(id) => {
            let id = serde_json::Value::from(format!("agent:{id}")).to_string();
            spliced(json, &[("terminalId", &id)])
        }
        None => json.clone(),
    }
}

/// Output of a terminal of the agent.
#[derive(Debug)]
pub(in crate::surface::acp) struct Output {
    /// The update with it.
    pub chunk: RawJson,
    /// The id of the terminal.
    pub terminal: String,
    /// Whether no update has named the terminal before.
    pub begins: bool,
}

/// Returns the output of terminals that a tool call shows now.
pub(in crate::surface::acp) fn output(event: &Event) -> Vec<Output> {
    let raw = event.raw.as_ref().filter(|_| event.translated);
    let notes = raw.and_then(notes);
    let output: Option<Vec<RawJson>> = notes.and_then(|notes| json::read(member(&notes, "output")?).ok());
    let output = output.unwrap_or_default();
    output
        .iter()
        .filter_map(|pending| {
            let named = with_own_terminal(pending);
            let terminal = text_in(&named, "terminalId")?;
            let data = text_in(pending, "data")?;
            let chunk = object(|out| {
                out.plain("sessionUpdate", "terminal_output_chunk")
                    .put("terminalId", &terminal)
                    .put("data", &data);
            });
            let begins = member(pending, "begins") == Some("true");
            Some(Output {
                chunk,
                terminal,
                begins,
            })
        })
        .collect()
}

/// Returns the id of a terminal of the agent, if an update that version 1 has no word for is the first one about it.
pub(in crate::surface::acp) fn begun_terminal(event: &Event, update: &RawJson) -> Option<String> {
    let notes = notes(event.raw.as_ref()?)?;
    if member(&notes, "begins") != Some("true") {
        return None;
    }
    text_in(update, "terminalId")
}

/// Returns a chunk as the agent sent it: with its block, and as a part of the message that it replaces.
pub(super) fn chunk(chunk: &RawJson) -> RawJson {
    let chunk = with_blocks(chunk);
    replacement(&chunk).unwrap_or(chunk)
}

/// Returns an update with the blocks that the agent sent in place of those of version 1.
pub(super) fn with_blocks(update: &RawJson) -> RawJson {
    let of = |content: &str| match content.as_bytes().first() {
        Some(b'{') => original_block(&RawJson::trusted(content)),
        Some(b'[') => {
            let blocks: Vec<RawJson> = json::read(content).ok()?;
            let originals: Vec<_> = blocks.iter().map(original_block).collect();
            if originals.iter().all(Option::is_none) {
                return None;
            }
            let pairs = originals.into_iter().zip(&blocks);
            let whole: Vec<RawJson> = pairs
                .map(|(original, block)| original.unwrap_or_else(|| block.clone()))
                .collect();
            RawJson::of(&whole).ok()
        }
        _ => None,
    };
    match member(update, "content").and_then(of) {
        Some(content) => spliced(update, &[("content", content.get())]),
        None => update.clone(),
    }
}

/// Returns the block that the agent sent in place of a text; `None` if the block is the agent's.
fn original_block(block: &RawJson) -> Option<RawJson> {
    object_in(&notes(block)?, "block")
}

/// Returns the form that the agent sent, if version 1 has another one.
pub(in crate::surface::acp) fn original_form(event: &Event) -> Option<RawJson> {
    let raw = event.raw.as_ref().filter(|_| event.translated)?;
    object_in(&notes(raw)?, "requestedSchema")
}

/// Returns the agent's update of the message that a chunk replaces, if it is a chunk of a replacement.
fn replacement(chunk: &RawJson) -> Option<RawJson> {
    let notes = notes(chunk)?;
    let replaced = text_in(&notes, "replaces")?;
    let id = text_in(chunk, "messageId")?;
    // An id that the agent has repeated is another one here.
    if !id.strip_prefix(&replaced)?.starts_with(REVISION) {
        return None;
    }
    let id = serde_json::Value::from(replaced).to_string();
    let chunk = spliced(&without_notes(chunk), &[("messageId", &id)]);
    if member(&notes, "begins") != Some("true") {
        return Some(chunk);
    }
    let word = text_in(&chunk, "sessionUpdate")?;
    let word = word.strip_suffix("_chunk")?;
    Some(object(|out| {
        members(&chunk, |key, value| match key {
            "sessionUpdate" => {
                out.put(key, word);
            }
            "content" => {
                out.list(key, &[RawJson::trusted(value)]);
            }
            _ => {
                out.raw(key, value);
            }
        });
    }))
}

/// Returns whether an id is that of a message that replaces another one.
pub(in crate::surface::acp) fn is_replacement(id: Option<&str>) -> bool {
    id.is_some_and(|id| id.contains(REVISION))
}

/// Returns a plan with the statuses and priorities that the agent gave its steps.
pub(super) fn plan(update: &RawJson) -> Option<RawJson> {
    let plan = object_in(update, "plan")?;
    let entries: Vec<RawJson> = json::read(member(&plan, "entries")?).ok()?;
    let entries: Vec<RawJson> = entries.iter().map(entry).collect();
    let plan = object(|out| {
        members(&plan, |key, value| {
            if key == "entries" {
                out.list(key, &entries);
            } else {
                out.raw(key, value);
            }
        });
    });
    Some(spliced(update, &[("plan", plan.get())]))
}

fn entry(entry: &RawJson) -> RawJson {
    let Some(notes) = notes(entry) else {
        return entry.clone();
    };
    let said = |name| {
        let value = member(&notes, name).filter(|value| value.starts_with('"'))?;
        Some((name, value))
    };
    let said: Vec<_> = ["status", "priority"].into_iter().filter_map(said).collect();
    spliced(&without_notes(entry), &said)
}

/// Returns the answer to a prompt with the stop reason that the agent gave, if version 1 has no word for it. Without one, the agent gave
/// none.
pub(in crate::surface::acp) fn ending(response: &RawJson) -> Option<RawJson> {
    let reason = member(&notes(response)?, "stopReason").map(str::to_owned)?;
    let response = without_notes(response);
    if reason.starts_with('"') {
        return Some(spliced(&response, &[("stopReason", &reason)]));
    }
    Some(others(&response, &["stopReason"]).unwrap_or_else(|| RawJson::trusted("{}")))
}

/// What a tool call of version 2 has in other words in version 1.
#[derive(Debug, Default)]
pub(super) struct CallNotes {
    /// Whether the call is one of version 2.
    pub is_translated: bool,
    /// The status and the kind, as JSON text, if version 1 has others.
    words: Vec<(&'static str, String)>,
    /// Members that are `null`.
    cleared: Vec<String>,
    /// Members that the agent did not write.
    added: Vec<String>,
    /// Terminals that have nothing to show: each with its place in the content of version 1.
    hidden: Vec<Hidden>,
    /// Whether the update only shows more output of terminals.
    pub repeats: bool,
}

#[derive(Debug, Deserialize)]
struct Hidden {
    at: usize,
    block: RawJson,
}

impl CallNotes {
    /// Returns those of a call whose notes are of an earlier update.
    pub fn outdated(is_translated: bool) -> Self {
        Self {
            is_translated,
            ..Self::default()
        }
    }

    pub fn of(call: &RawJson) -> Self {
        let notes = notes(call).unwrap_or_else(|| RawJson::trusted("{}"));
        let names = |name: &str| -> Vec<String> {
            let names = member(&notes, name).and_then(|names| json::read(names).ok());
            names.unwrap_or_default()
        };
        Self {
            is_translated: true,
            words: ["status", "kind"]
                .into_iter()
                .filter_map(|name| {
                    let word = member(&notes, name).filter(|word| word.starts_with('"'))?;
                    Some((name, word.to_owned()))
                })
                .collect(),
            cleared: names("cleared"),
            added: names("added"),
            hidden: member(&notes, "hidden")
                .and_then(|hidden| json::read(hidden).ok())
                .unwrap_or_default(),
            repeats: member(&notes, "repeats") == Some("true"),
        }
    }

    /// Returns the content that the agent sent in place of that of version 1.
    pub fn content(&self, blocks: &[RawJson]) -> Vec<RawJson> {
        let mut content = Vec::with_capacity(blocks.len() + self.hidden.len());
        for at in 0..=blocks.len() {
            let hidden = self.hidden.iter().filter(|hidden| hidden.at == at);
            content.extend(hidden.map(|hidden| with_own_terminal(&without_notes(&hidden.block))));
            content.extend(blocks.get(at).and_then(block));
        }
        content
    }

    /// Returns whether the member is not the agent's, or is in the notes.
    pub fn replace(&self, name: &str) -> bool {
        let is_listed = |names: &[String]| names.iter().any(|listed| listed == name);
        let is_word = self.words.iter().any(|(word, _)| *word == name);
        is_listed(&self.cleared) || is_listed(&self.added) || is_word
    }

    /// Returns the members that are in the notes, as JSON text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        let words = self.words.iter().map(|(name, word)| (*name, word.as_str()));
        let cleared = self.cleared.iter().map(|name| (name.as_str(), "null"));
        words.chain(cleared)
    }
}

/// Returns the block of a tool call's content that the agent sent in place of one of version 1; `None` if that is of another one.
fn block(block: &RawJson) -> Option<RawJson> {
    let Some(notes) = notes(block) else {
        return Some(with_blocks(block));
    };
    if member(&notes, "continues").is_some() {
        return None;
    }
    let original = ["diff", "terminal", "block"];
    let original = original.iter().find_map(|name| object_in(&notes, name));
    let original = original.map(|original| with_own_terminal(&without_notes(&original)));
    Some(original.unwrap_or_else(|| without_notes(block)))
}

/// What a question of an agent of version 2 is about.
#[derive(Debug, Default)]
pub(super) struct QuestionNotes {
    /// The title that the agent gave the question.
    pub title: Option<String>,
    /// The agent's description.
    pub description: Option<String>,
    /// What it is about, unless it is a tool call.
    pub subject: Option<RawJson>,
    /// Whether the agent named no subject.
    pub is_about_nothing: bool,
}

/// The beginning of the ids of tool calls for questions that are not about one.
const NO_CALL: &str = "acpd:question:";

impl QuestionNotes {
    /// Returns what the event of the question has noted.
    pub fn of(event: &Event) -> Self {
        let raw = event.raw.as_ref().filter(|_| event.translated);
        let Some((raw, notes)) = raw.and_then(|raw| Some((raw, notes(raw)?))) else {
            return Self::default();
        };
        let subject = object_in(&notes, "subject").filter(|subject| has_string(subject, "type"));
        let call = object_in(raw, "toolCall").and_then(|call| text_in(&call, "toolCallId"));
        Self {
            title: text_in(&notes, "title"),
            description: text_in(&notes, "description"),
            is_about_nothing: subject.is_none() && call.is_some_and(|id| id.starts_with(NO_CALL)),
            subject: subject.as_ref().map(with_own_terminal),
        }
    }
}

/// Returns whether an event begins or ends the tool call of a question that is not about one. Version 2 has none for it.
pub(in crate::surface::acp) fn is_of_question(event: &Event, id: &str) -> bool {
    let is_acpds = event.by != Origin::Agent || event.raw.is_none();
    (event.translated || is_acpds) && id.starts_with(NO_CALL)
}

fn object_in(json: &RawJson, name: &str) -> Option<RawJson> {
    let value = member(json, name).filter(|value| value.starts_with('{'));
    value.map(RawJson::trusted)
}

fn text_in(json: &RawJson, name: &str) -> Option<String> {
    let value = member(json, name).filter(|value| value.starts_with('"'))?;
    json::read(value).ok()
}
