//! Editing an earlier prompt, which is sent in its place.
//!
//! In: keys, and the held conversation. Out: the text of the input, and the turn that it replaces. Owns: which prompt is
//! edited, and the draft that waits meanwhile. Never: sends anything.

use std::time::Instant;

use super::App;
use crate::attach::conversation::entry::Body;
use crate::client::REPLACES_NO_TURNS;
use crate::terminal::items::Item;

/// An earlier prompt in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The turn that it began.
    pub turn: String,
    /// What the input had before.
    draft: String,
}

impl App {
    /// Puts the last prompt into the input, or the one before the edited one.
    pub(super) fn edit_earlier(&mut self, now: Instant) {
        if self.conversation.newer().is_some() {
            self.show_message("go to the newest turn first: Ctrl+End", now);
            return;
        }
        if !self.abilities.replaces_turns {
            self.show_error(REPLACES_NO_TURNS, now);
            return;
        }
        let prompts = self.prompts();
        let edited = self.edit.as_ref().map(|edit| edit.turn.as_str());
        // The edited one may have left the conversation.
        let at = prompts.iter().position(|(turn, _)| Some(*turn) == edited);
        let before = at.unwrap_or(prompts.len()).checked_sub(1);
        let earlier = before.and_then(|before| prompts.get(before));
        let Some((turn, text)) = earlier.map(|(turn, text)| ((*turn).to_owned(), (*text).to_owned())) else {
            self.show_message(
                "no earlier prompt here; those with attachments can be edited in the web UI",
                now,
            );
            return;
        };
        let draft = match self.edit.take() {
            Some(edit) => {
                if !self.prompt.is_empty() {
                    // It may be changed, and can be recalled.
                    self.prompt.take();
                }
                edit.draft
            }
            None => self.prompt.text().to_owned(),
        };
        self.prompt.set(&text);
        self.edit = Some(Edit { turn, draft });
        self.show_message(
            "Enter sends it in its place and drops what followed; files stay",
            now,
        );
    }

    /// Returns the prompts that can be edited, oldest first, each with its turn.
    fn prompts(&self) -> Vec<(&str, &str)> {
        let entries = self.conversation.entries();
        // The beginning of the first turn may be on an older page, and then its first message here is no prompt.
        let partial = self
            .conversation
            .older()
            .and_then(|_| entries.front()?.turn.as_deref());
        let mut found: Vec<(&str, &Item)> = Vec::new();
        for entry in entries {
            let (Some(turn), Body::Item(item)) = (entry.turn.as_deref(), &entry.body) else {
                continue;
            };
            let is_known = found.last().is_some_and(|(known, _)| *known == turn);
            if item.is_of_user() && Some(turn) != partial && !is_known {
                found.push((turn, item));
            }
        }
        found
            .into_iter()
            .filter_map(|(turn, item)| Some((turn, item.whole_text()?)))
            .collect()
    }

    /// Leaves the editing, with the draft in the input again. Returns whether a prompt was edited.
    pub(super) fn leave_edit(&mut self) -> bool {
        let Some(edit) = self.edit.take() else {
            return false;
        };
        if !self.prompt.is_empty() {
            // It can be recalled.
            self.prompt.take();
        }
        self.prompt.set(&edit.draft);
        true
    }

    /// Edits a prompt further that was refused in place of a turn's.
    pub(super) fn edit_again(&mut self, turn: String, text: &str) {
        if self.edit.is_some() {
            self.give_back(text);
            return;
        }
        let draft = self.prompt.text().to_owned();
        self.prompt.set(text);
        self.edit = Some(Edit { turn, draft });
    }
}
