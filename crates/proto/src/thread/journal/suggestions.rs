//! The prompts that the agent suggests: shown live, and in no log.

use super::Journal;
use crate::agent::Suggestion;
use crate::fanout::LiveUpdate;

impl Journal {
    /// Shows the agent's suggestions in place of those before, if they differ.
    pub fn suggest(&mut self, suggestions: Vec<Suggestion>) {
        if self.suggestions != suggestions {
            self.suggestions.clone_from(&suggestions);
            self.show(LiveUpdate::Suggestions(suggestions));
        }
    }

    /// Withdraws the suggestions, because a prompt was sent or the agent is gone.
    pub fn withdraw_suggestions(&mut self) {
        self.suggest(Vec::new());
    }
}
