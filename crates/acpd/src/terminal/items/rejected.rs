//! The tool calls whose question was declined. An agent may ask about a call more than once: the last answer decides.

use std::collections::HashSet;

use acpd_client::protocol::{Resolution, Turn};

use super::Item;
use super::remarks::ShownAnswer;

/// The rejected tool calls of a turn, by the ids of their items.
#[derive(Debug, Default)]
pub struct RejectedCalls(HashSet<String>);

impl Item {
    /// Reads the items of a turn of a page.
    pub fn of_turn(turn: &Turn) -> Vec<Self> {
        let rejected = RejectedCalls::of_turn(turn);
        let items = turn.items.iter().flatten();
        let items = items.map(|item| {
            let mut item = Self::new(&item.into());
            item.set_rejected(rejected.covers(&item));
            item
        });
        items.collect()
    }
}

impl RejectedCalls {
    /// Reads the answers of a turn of a page.
    pub fn of_turn(turn: &Turn) -> Self {
        let mut calls = Self::default();
        for answer in turn.answers.iter().flatten() {
            calls.handle_answer(&answer.into());
        }
        calls
    }

    /// Takes an answer. Returns the call that it rejects or no longer rejects, and which of both.
    pub fn handle_answer<'a>(&mut self, answer: &ShownAnswer<'a>) -> Option<(&'a str, bool)> {
        let call = answer.item?;
        let is_rejected = match answer.outcome {
            // The question was withdrawn.
            Resolution::Void => return None,
            outcome => *outcome == Resolution::Declined,
        };
        let has_changed = if is_rejected {
            self.0.insert(call.to_owned())
        } else {
            self.0.remove(call)
        };
        has_changed.then_some((call, is_rejected))
    }

    /// Returns whether a call is rejected.
    pub fn contains(&self, call: &str) -> bool {
        self.0.contains(call)
    }

    /// Returns whether an item is a rejected call, or belongs to one.
    pub fn covers(&self, item: &Item) -> bool {
        self.contains(&item.id) || item.parent.as_deref().is_some_and(|call| self.contains(call))
    }

    /// Forgets the calls of a turn that is over.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
