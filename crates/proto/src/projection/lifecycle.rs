//! State of the thread as a whole: rolled back turns, and the origin of a fork.

use std::collections::BTreeSet;

use acpd_model::event::ThreadForked;
use acpd_model::{Millis, ThreadStatus, TurnId};

use super::live::Live;

impl Live {
    /// Returns whether the thread is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.summary.status == ThreadStatus::Deleting
    }

    /// Returns the last turn that is part of the conversation.
    pub fn last_kept(&self) -> Option<TurnId> {
        self.dropped.last_kept(self.last_turn)
    }

    /// Returns the last turn of the conversation that is not queued. Items outside of turns belong to it.
    pub(super) fn last_begun(&self) -> Option<TurnId> {
        let queued: BTreeSet<TurnId> = self.queue.iter().map(|turn| turn.id).collect();
        let mut last = self.last_kept();
        while let Some(turn) = last.filter(|turn| queued.contains(turn)) {
            last = self.dropped.last_kept(turn.0 - 1);
        }
        last
    }

    /// Applies a rollback. The agent's session contains the dropped turns, so that the thread stops using it. `next` is a fork of
    /// it without them.
    pub(super) fn fold_rolled_back(&mut self, last_kept: Option<TurnId>, next: Option<String>) {
        self.dropped.drop_after(last_kept, self.last_turn);
        self.summary.turns = self.last_turn - self.dropped.count();
        self.summary.last_turn = None;
        self.summary.cut_off = false;
        self.last_turn_shown = self.last_begun();
        self.client_turns
            .retain(|_, turn| !self.dropped.contains(turn.id));
        if self.summary.turns == 0 {
            self.names.prompt = None;
            self.summary.name = self.names.shown().cloned();
        }
        self.plans.clear();
        self.usage = None;
        self.let_session_go(next);
    }

    /// Applies a fork. The history before this event belongs to the original thread, which keeps its session.
    pub(super) fn fold_forked(&mut self, forked: &ThreadForked, at: Millis) {
        (self.summary.created_at, self.summary.updated_at) = (at, at);
        // What was spent before belongs to the original thread.
        self.summary.usage = Some(Box::default());
        self.remembered.end_session();
        self.spec.session_id = None;
        self.let_session_go(forked.session_id.clone());
        self.is_copy = forked.session_id.is_some();
    }

    fn let_session_go(&mut self, next: Option<String>) {
        self.forgotten = next.is_none() && self.summary.turns > 0;
        self.summary.session_id = next;
        self.is_copy = false;
        self.tools.clear();
        self.cursors.let_go(&self.dropped);
        self.lanes.end_session();
    }
}
