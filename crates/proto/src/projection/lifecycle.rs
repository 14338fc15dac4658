//! What a thread must know of what was done with it as a whole: turns that were dropped, where it was split off.

use acpd_model::event::ThreadForked;
use acpd_model::{Millis, ThreadStatus, TurnId};

use super::live::Live;

impl Live {
    /// Whether the thread is about to vanish.
    pub fn is_deleted(&self) -> bool {
        self.summary.status == ThreadStatus::Deleting
    }

    /// The last turn that is part of the conversation.
    pub fn last_kept(&self) -> Option<TurnId> {
        let mut turns = (1..=self.last_turn).rev().map(TurnId);
        turns.find(|turn| !self.dropped.contains(*turn))
    }

    /// The session that the agent had knows what is dropped, so that it is none of the thread's any more.
    pub(super) fn fold_rolled_back(&mut self, last_kept: Option<TurnId>) {
        self.dropped.drop_after(last_kept, self.last_turn);
        self.summary.turns = self.last_turn - self.dropped.count();
        self.summary.last_turn = None;
        self.client_turns
            .retain(|_, turn| !self.dropped.contains(turn.id));
        if self.summary.turns == 0 {
            self.names.prompt = None;
            self.summary.name = self.names.shown().cloned();
        }
        (self.plan, self.usage) = (None, None);
        self.let_session_go(None);
    }

    /// What came before is another thread's. Its session stays that thread's.
    pub(super) fn fold_forked(&mut self, forked: &ThreadForked, at: Millis) {
        (self.summary.created_at, self.summary.updated_at) = (at, at);
        self.remembered.end_session();
        self.spec.session_id = None;
        self.let_session_go(forked.session_id.clone());
    }

    fn let_session_go(&mut self, next: Option<String>) {
        self.forgotten = next.is_none() && self.summary.turns > 0;
        self.summary.session_id = next;
        self.tools.clear();
    }
}
