//! The prompts that the agent suggests: shown live, and in no log.

use super::Journal;
use crate::agent::Suggestion;
use crate::fanout::LiveUpdate;

impl Journal {
    /// Replaces the agent's suggestions.
    pub fn suggest(&mut self, suggestions: Vec<Suggestion>) {
        if self.suggestions != suggestions {
            self.suggestions = suggestions;
            self.are_suggestions_unshown = true;
        }
    }

    /// Withdraws the suggestions, because a prompt was sent or the agent is gone.
    pub fn withdraw_suggestions(&mut self) {
        self.suggest(Vec::new());
    }

    /// Shows the suggestions if they have changed. An agent that changes them faster than they are shown has only the last ones
    /// shown.
    pub(super) fn show_suggestions(&mut self) {
        if std::mem::take(&mut self.are_suggestions_unshown) {
            self.show(LiveUpdate::Suggestions(self.suggestions.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use acpd_model::{RawJson, ThreadId};
    use serde_json::json;

    use super::*;
    use crate::thread::effect::Effect;
    use crate::time::Now;

    #[test]
    fn only_the_last_suggestions_wait_to_be_shown() {
        let now = Now {
            mono: Duration::ZERO,
            wall: 0,
        };
        let mut journal = Journal::new(ThreadId(uuid::Uuid::nil()), Arc::default(), now);
        let suggestion = |number: u32| Suggestion {
            prompt: vec![RawJson::from(
                json!({ "type": "text", "text": number.to_string() }),
            )],
        };
        for number in 0..10_000 {
            journal.suggest(vec![suggestion(number)]);
        }
        assert_eq!(journal.waiting(), 1);
        let Some(Effect::Show { shown, .. }) = journal.poll_effect() else {
            panic!("they are shown");
        };
        assert_eq!(shown, LiveUpdate::Suggestions(vec![suggestion(9_999)]));
        assert!(journal.poll_effect().is_none());
        assert_eq!(journal.waiting(), 0);
    }
}
