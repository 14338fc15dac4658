//! Skills. In version 2, a prompt invokes one with a block, and in version 1 as any command: its text begins with a slash and the name.

use std::collections::BTreeSet;

use acpd_model::RawJson;
use serde_json::json;

use super::parts::{changed_blocks, objects_in, text_in};
use crate::wire::{object, spliced};

/// Bytes of the names of skills that are known.
const NAMES_BYTES: usize = 64 << 10;

/// The skills of the agent's session, and the one that the last prompt invokes.
#[derive(Debug, Default)]
pub(super) struct Skills {
    known: BTreeSet<String>,
    invoked: Option<Invoked>,
}

#[derive(Debug)]
struct Invoked {
    name: String,
    /// The beginning of the prompt, up to what follows the name.
    written: String,
}

impl Skills {
    /// Takes note of the skills in an object with `availableCommands`.
    pub fn learn(&mut self, json: &RawJson) {
        let Some(commands) = objects_in(json, "availableCommands") else {
            return;
        };
        let skills = commands.iter().filter(|command| is_skill(command));
        let mut left = NAMES_BYTES;
        self.known.clear();
        for name in skills.filter_map(|skill| text_in(skill, "name")) {
            let Some(rest) = left.checked_sub(name.len()) else {
                return;
            };
            left = rest;
            self.known.insert(name);
        }
    }

    /// Returns the prompt with a block for the skill that its text invokes.
    pub fn prompt(&mut self, prompt: Vec<RawJson>) -> Vec<RawJson> {
        self.invoked = None;
        // An agent may take one skill only.
        if prompt.iter().any(is_skill) {
            return prompt;
        }
        let Some((first, others)) = prompt.split_first() else {
            return prompt;
        };
        let text =
            text_in(first, "text").filter(|_| text_in(first, "type").is_some_and(|kind| kind == "text"));
        let Some(text) = text else {
            return prompt;
        };
        let name = text
            .strip_prefix('/')
            .and_then(|text| text.split_whitespace().next())
            .filter(|name| text[1..].starts_with(name) && self.known.contains(*name));
        let Some(name) = name else {
            return prompt;
        };
        let rest = text[1 + name.len()..].trim_start();
        let mut blocks = vec![object(|out| {
            out.put("type", "skill").put("name", name);
        })];
        if !rest.is_empty() {
            blocks.push(spliced(first, &[("text", &json!(rest).to_string())]));
        }
        blocks.extend_from_slice(others);
        self.invoked = Some(Invoked {
            name: name.to_owned(),
            written: text[..text.len() - rest.len()].to_owned(),
        });
        blocks
    }

    /// Returns a message of the user, or a chunk of one, in which the skill that the last prompt invokes is the text that the user has
    /// written.
    pub fn repeated(&self, message: &RawJson) -> RawJson {
        let Some(invoked) = &self.invoked else {
            return message.clone();
        };
        changed_blocks(message, "content", |block| {
            let is_it = is_skill(block) && text_in(block, "name").is_some_and(|name| name == invoked.name);
            is_it.then(|| {
                object(|out| {
                    out.put("type", "text").put("text", &invoked.written);
                })
            })
        })
    }
}

/// Returns whether a command or a block is a skill.
pub(super) fn is_skill(json: &RawJson) -> bool {
    text_in(json, "type").is_some_and(|kind| kind == "skill")
}
